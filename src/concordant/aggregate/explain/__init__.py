"""Explanations that several families of methods share.

``wording`` formats names, numbers and rounds, ``contests`` describes pairwise contests and cycles, ``overruled`` lists
the majorities a consensus contradicts. Methods import from here; this package imports ``results``, ``narrative``, views
and solvers.
"""
