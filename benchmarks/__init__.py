"""Benchmarks against other libraries: one row per work, size and rival, with CPU time, memory and agreement.

    python3 dev.py bench users                   default calls as people type them, warm and in fresh processes
    python3 dev.py bench all                     everything, in an environment of its own with the rivals
    python -m benchmarks rrf kendall --size small
    python -m benchmarks --list

A *work* (``works/``) makes inputs from a seed and says how concordant does it. A *rival* (``rivals/``, one
file per library) says how that library does the same work. Each is measured in a process of its own. A *curve* is the
cost of one thing at several sizes, with the exponent that the maths says.
"""
