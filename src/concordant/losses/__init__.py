"""Losses of ranking models: value and gradient with respect to the scores of the rows, over all queries at once.

A loss does not depend on features: a scorer (``concordant.scorers``) computes scores from rows and backpropagates
gradients, a solver (``concordant.solvers``) updates the parameters. A new loss is one small file and works with every
scorer and solver; ``concordant.learn.LossRanker`` fits any of them, including your own.

``learn`` and solvers import from here; this package imports kernels, ``ballots.segments`` and the registry.
"""

from __future__ import annotations

from concordant.registry import LOSSES

names, load = LOSSES.names, LOSSES.find
