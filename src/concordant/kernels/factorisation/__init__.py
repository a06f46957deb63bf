"""Matrix factorisation: least-squares updates, scores and singular vectors.

Every module is the NumPy reference of the ``.cpp`` file with the same name. Call them through ``concordant.kernels``.
"""
