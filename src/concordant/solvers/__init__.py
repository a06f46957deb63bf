"""Solvers of smooth problems: they see only functions of vectors.

``objective`` joins scorer, loss and penalty; ``lbfgs``, ``newton``, ``dual``, ``bundle`` and ``stochastic`` minimise
it; ``ordering`` searches orders of least cost. ``learn`` and distance methods import from here; the room imports
losses, scorers and kernels.
"""
