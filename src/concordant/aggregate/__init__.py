"""Aggregation methods: a folder per family, a file per method.

A method is found because its file is there; ``explain`` and the modules next to the families (``common``, ``counting``,
``majorities``, ``matrices``, ``options``, ``rounds``) are shared by several families. Methods are reached through the
registry (``cc.rank(prefs, "borda")``) or as ``cc.Borda``; they import models, solvers and everything below.
"""
