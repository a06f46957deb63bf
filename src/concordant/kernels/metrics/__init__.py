"""Metrics: retrieval measures and distances between rankings.

Every module is the NumPy reference of the ``.cpp`` file with the same name. Call them through ``concordant.kernels``.
"""
