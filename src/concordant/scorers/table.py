"""A table of scores: one weight per item, score = w[item].

With this scorer, a learning-to-rank loss becomes an aggregation method: a query is a ballot, a row is an item.
RankNet's loss then gives the scores of Bradley-Terry, ListMLE's those of Plackett-Luce, the losses of Davidson and of
Rao and Kupper those of their models. Scores are identified up to a constant, which a small ridge penalty fixes.
"""

from __future__ import annotations

import numpy as np

from concordant.scorers.base import Matrix, Scorer
from concordant.types import Floats


class Table(Scorer):
    """Score rows by the weight of their item: X holds item numbers, from 0 to the size of the table minus 1."""

    def scores(self, X: Matrix, theta: Floats) -> Floats:
        """Return w[item] of every row."""
        return np.asarray(theta[X])

    def backward(self, X: Matrix, theta: Floats, kept: None, gradient: Floats) -> Floats:
        """Return, for every item, the sum of the gradients of its rows."""
        return np.bincount(X, gradient, self.size).astype(np.float64, copy=False)
