"""How others do it: one file per library, in it one function per work, from the inputs to a Task.

A function imports its library inside, so that a missing one costs only its own rows.
"""
