"""Aggregation methods: a folder per family, a file per method.

The registry finds methods by their files. Several families share ``explain`` and the modules next to the families
(``common``, ``election_counts``, ``majorities``, ``matrices``, ``options``, ``rounds``). Call a method by name
(``cc.rank(prefs, "borda")``) or as a class (``cc.Borda``). Methods import models, solvers and lower layers.
"""
