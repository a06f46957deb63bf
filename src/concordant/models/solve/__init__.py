"""Maximum-likelihood and maximum-a-posteriori fits of scores.

``strategies`` chooses the cheapest solver by the estimates in ``costs``, ``objectives`` defines the objective of a
large instance and the ``Fit``, ``factors`` solves large Newton systems by Cholesky factorisation, ``multinomial``
fits the multinomial models. Methods import ``strategies.fit``; this package imports observations, likelihoods and
kernels.
"""
