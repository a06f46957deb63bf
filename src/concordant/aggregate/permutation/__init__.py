"""Models over permutations: Mallows, generalised Mallows, coset-permutation distance."""
