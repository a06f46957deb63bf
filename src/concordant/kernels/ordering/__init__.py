"""Orders: minimum-cost search, local search, Lehmer codes, total costs.

Every module is the NumPy reference of the ``.cpp`` file with the same name. Call them through ``concordant.kernels``.
"""
