"""Counting: pairs, comparisons, tallies, votes and medians.

Every module is the NumPy reference of the ``.cpp`` file with the same name. Call them through ``concordant.kernels``.
"""
