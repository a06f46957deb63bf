"""Losses of ranking models: value and gradient with respect to the scores of the rows, over all queries at once.

A loss knows nothing of features: a scorer (``concordant.scorers``) turns rows into scores and scores' gradients into
parameters' gradients, a solver (``concordant.solvers``) moves the parameters. A new loss is one small file here and
works with every scorer and solver; ``concordant.learn.LossRanker`` fits any of them, also one of your own.

``learn`` and solvers import from here; the room imports kernels, ``ballots.segments`` and the registry.
"""

from __future__ import annotations

from concordant.registry import LOSSES

names, load = LOSSES.names, LOSSES.find
