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

from concordant.aggregate.spectral._matrices import (
    COUNTS,
    COUNTS_DOC,
    comparisons,
    group_notices,
    rounded,
    same_group,
    stacks,
)
from concordant.method import Method, Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class Hodgerank(Method):
    """Least-squares scores on the comparison graph, with the share of preferences that run in cycles."""

    matrices = 15
    by_parts = True
    silence = "they are not compared"
    waives = {"condorcet_consistency": "large differences count more than majorities"}

    counts: str = param("difference", COUNTS_DOC, choices=COUNTS)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the scores and, in ``fit``, the cyclic residual."""
        found = comparisons(prefs, self.counts)
        score = np.zeros(prefs.n_slots)
        residual = total = 0.0
        for stack in stacks(prefs.slot_ptr):
            compared, net = stack.take(found.compared), stack.take(found.net)
            shared, _ = same_group(found.group, stack)
            own = solve_laplacian(compared, net.sum(axis=2), shared)
            score[stack.slots] = own
            left = net / np.where(compared > 0, compared, 1.0)
            total += float((compared * left**2).sum())
            left -= np.where(compared > 0, own[:, :, None] - own[:, None, :], 0.0)
            residual += float((compared * left**2).sum())
        return Outcome(
            rounded(prefs, score),
            fit={"cyclic_residual": residual / total if total > 0 else 0.0},
            warnings=group_notices(prefs, found.group),
        )


def solve_laplacian(compared: Floats, net: Floats, shared: Floats) -> Floats:
    """Solve the normal equations; scores sum to zero in every group of comparable candidates."""
    m = compared.shape[1]
    degree = compared.sum(axis=2)
    matrix = -compared
    matrix[:, np.arange(m), np.arange(m)] += degree
    # The constant shift of each group is the only thing left open: its projector closes it.
    scale = np.maximum(degree.max(axis=1), 1.0)
    matrix += scale[:, None, None] * shared
    return np.asarray(np.linalg.solve(matrix, net[:, :, None])[:, :, 0])
