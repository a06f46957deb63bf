"""Likelihoods of observations, prior distributions, and the choice of a prior by marginal likelihood.

``observed`` evaluates likelihood, gradient and Hessian of one instance, ``priors`` defines the prior distributions,
``evidence`` chooses the strength of a prior. ``solve`` and the methods import from here.
"""
