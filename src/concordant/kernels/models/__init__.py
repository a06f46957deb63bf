"""Score models: pairwise comparisons, stagewise choice, multinomial models, sequential ratings.

Every module is the NumPy reference of the ``.cpp`` file with the same name. Call them through ``concordant.kernels``.
"""
