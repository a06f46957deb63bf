"""Score models: duels, stages, multinomial models, rating streams.

Every module is the NumPy reference of the ``.cpp`` file with the same name. Call them through ``concordant.kernels``.
"""
