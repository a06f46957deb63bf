"""Orders: search for least cost, local search, Lehmer codes, totals.

Every module is the NumPy reference of the ``.cpp`` file with the same name. Call them through ``concordant.kernels``.
"""
