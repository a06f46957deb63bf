"""HodgeRank: scores whose differences fit the observed preferences best, and how much no scores can fit.

Every compared pair has a mean preference y_ij (of ranks, ratings, or wins). The scores minimise
sum_ij n_ij (s_i - s_j - y_ij)², a least-squares problem on the comparison graph with n_ij comparisons per edge. The
remainder runs around cycles (a before b before c before a): its share of the squared preferences, from 0 (perfectly
consistent) to 1 (all cyclic), is reported as ``cyclic_residual`` and says how far any ranking can be trusted. Use it
for ratings and scores on a scale, where differences mean something, and as a check of consistency.

Cost: the pairwise counts, then one linear system of the candidates per instance. Reference: X. Jiang, L.-H. Lim,
Y. Yao, Y. Ye, Statistical ranking and combinatorial Hodge theory, Mathematical Programming, 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate import options
from concordant.aggregate.spectral._least_squares import Explained, ExplainsPreferences
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class HodgeRank(ExplainsPreferences):
    """Least-squares scores on the comparison graph, with the share of preferences that run in cycles."""

    residual = "cyclic_residual"

    counts: str = options.counts()

    def explain(self, compared: Floats, mean: Floats, shared: Floats) -> Explained:
        """Solve the normal equations; scores sum to zero in every group of comparable candidates."""
        m = compared.shape[1]
        degree = compared.sum(axis=2)
        laplacian = -compared
        laplacian[:, np.arange(m), np.arange(m)] += degree
        # The constant shift of each group is the only thing left open: its projector closes it.
        laplacian += np.maximum(degree.max(axis=1), 1.0)[:, None, None] * shared
        net = (compared * mean).sum(axis=2)
        score = np.linalg.solve(laplacian, net[:, :, None])[:, :, 0]
        return Explained(score, score[:, :, None] - score[:, None, :], compared)
