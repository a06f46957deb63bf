"""Matrix factorisation: least-squares rows, scores of factors.

Every module is the NumPy reference of the ``.cpp`` file with the same name. Call them through ``concordant.kernels``.
"""
