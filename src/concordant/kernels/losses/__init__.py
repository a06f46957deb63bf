"""Learning to rank: list, pair and subset losses, boosting, coordinate descent, forests.

Every module is the NumPy reference of the ``.cpp`` file with the same name. Call them through ``concordant.kernels``.
"""
