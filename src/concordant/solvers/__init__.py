"""Optimisation solvers for learning to rank and consensus orders.

``objective`` combines scorer, loss and penalty; ``lbfgs``, ``newton``, ``dual``, ``bundle`` and ``stochastic`` minimise
it; ``ordering`` finds orders of minimum cost. ``learn`` and distance methods import from here; this package imports
losses, scorers and kernels.
"""
