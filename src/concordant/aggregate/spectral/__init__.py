"""Spectral methods: least squares, low-rank completion, and Markov chains on the comparison graph."""
