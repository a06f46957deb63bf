"""Maximum-likelihood and maximum-a-posteriori fits of scores.

``strategies`` chooses the cheapest solver by the estimates in ``costs``, ``objectives`` has the objective of a large
instance and the ``Fit``, ``factors`` solves large Newton systems by Cholesky factors, ``multinomial`` fits the
multinomial models. Methods import ``strategies.fit``; the room imports observations, likelihoods and kernels.
"""
