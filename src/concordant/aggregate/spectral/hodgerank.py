"""HodgeRank: least-squares scores on the comparison graph, and the cyclic share of the preferences.

Every compared pair has a mean preference y_ij (from ranks, ratings or wins) and a number of comparisons n_ij. The
scores minimise

    sum_ij n_ij (s_i - s_j - y_ij)²

The residual is cyclic (a above b above c above a). Its share of the squared preferences, from 0 (perfectly consistent)
to 1 (entirely cyclic), is reported as ``cyclic_residual`` and shows how far any ranking of these items can be
trusted. Use it for ratings and scores whose differences are meaningful, and as a consistency check.

Cost: the pairwise counts, then one linear system per instance; large systems are solved by conjugate gradients, at
candidates² per step (one step for complete rankings). Reference: X. Jiang, L.-H. Lim, Y. Yao, Y. Ye, Statistical
ranking and combinatorial Hodge theory, Mathematical Programming, 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate import options
from concordant.aggregate.matrices import sharing
from concordant.aggregate.spectral._least_squares import Explained, ExplainsPreferences
from concordant.aggregate.spectral._steps import WORTH_STEPS
from concordant.types import Floats, Int32s

MAX_STEPS = 100
PRECISION = 1e-15  # of the steps, relative to the first residual


@dataclass(frozen=True, kw_only=True)
class HodgeRank(ExplainsPreferences):
    """Least-squares scores on the comparison graph, with the cyclic share of the preferences."""

    residual = "cyclic_residual"

    counts: str = options.counts()

    def explain(self, compared: Floats, mean: Floats, group: Int32s) -> Explained:
        """Solve the normal equations; scores sum to zero in every group of comparable candidates."""
        net, degree = np.einsum("qij,qij->qi", compared, mean), compared.sum(axis=2)
        score = None
        if len(compared) == 1 and compared.shape[1] >= WORTH_STEPS:
            score = _solve_by_steps(compared[0], degree[0], net[0], group[0])
        if score is None:
            score = _solve_at_once(compared, degree, net, group)
        return Explained(score, lambda rows: score[:, rows, None] - score[:, None, :], compared)


def _solve_at_once(compared: Floats, degree: Floats, net: Floats, group: Int32s) -> Floats:
    """Solve the stacked Laplacian systems L s = net directly."""
    m = compared.shape[1]
    laplacian = -compared
    laplacian[:, np.arange(m), np.arange(m)] += degree
    # The constant shift of each group is the only thing left open: its projector closes it.
    largest = degree.max(axis=1)
    laplacian += np.where(largest > 0, largest, 1.0)[:, None, None] * sharing(group)
    return np.asarray(np.linalg.solve(laplacian, net[:, :, None])[:, :, 0])


def _solve_by_steps(compared: Floats, degree: Floats, net: Floats, group: Int32s) -> Floats | None:
    """Solve one system by conjugate gradients, preconditioned by the degrees; None if it needs too many steps."""
    scale = np.where(degree > 0, degree, 1.0)
    score, residual = np.zeros_like(net), net.copy()
    direction = residual / scale
    size = first = float(residual @ direction)
    for _ in range(MAX_STEPS):
        if size <= PRECISION**2 * first:
            centre = np.bincount(group, score) / np.maximum(np.bincount(group), 1)
            return np.asarray(score - centre[group])[None, :]
        product = degree * direction - compared @ direction
        step = size / float(direction @ product)
        score += step * direction
        residual -= step * product
        scaled = residual / scale
        size, before = float(residual @ scaled), size
        direction = scaled + size / before * direction
    return None
