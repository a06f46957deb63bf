"""HodgeRank: least-squares scores on the comparison graph, and the cyclic share of the preferences.

Every compared pair has a mean preference y_ij (from ranks, ratings or wins) and a number of comparisons n_ij. The
scores minimise

    sum_ij n_ij (s_i - s_j - y_ij)²

The residual is cyclic (a above b above c above a). Its share of the squared preferences, from 0 (perfectly consistent)
to 1 (entirely cyclic), is reported as ``cyclic_residual`` and shows how far any ranking of these items can be
trusted. Use it for ratings and scores whose differences are meaningful, and as a consistency check.

For games, ``margin`` takes y_ij from the points of both sides: their difference ("points", Massey's ratings), the
difference up to ``margin_cap`` ("capped"), or sign(d) ln(1 + |d|) ("log"), so that a rout counts less. The scores are
then in points: their difference predicts the margin. ``order_effect`` adds the home advantage h of the first item, so
that s_i - s_j + h is fitted to each game that i played at home; h is reported as ``order_effect``.

Cost: the pairwise counts, then one linear system per instance; large systems are solved by conjugate gradients, at
candidates² per step (one step for complete rankings). Reference: X. Jiang, L.-H. Lim, Y. Yao, Y. Ye, Statistical
ranking and combinatorial Hodge theory, Mathematical Programming, 2011; K. Massey, Statistical models applied to the
rating of sports teams, 1997.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.aggregate.matrices import TIE_OF_SOLVED, group_notices, sharing, stacks
from concordant.aggregate.spectral._least_squares import Explained, ExplainsPreferences
from concordant.aggregate.spectral._margins import MARGINS, advantage_error, games_of, home_advantage
from concordant.aggregate.spectral._steps import WORTH_STEPS
from concordant.method import Outcome
from concordant.models.observations.margins import unknown_margins
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats, Int32s

MAX_STEPS = 100
PRECISION = 1e-15  # of the steps, relative to the first residual


@dataclass(frozen=True, kw_only=True)
class HodgeRank(ExplainsPreferences):
    """Least-squares scores on the comparison graph, with the cyclic share of the preferences."""

    usual_name = "HodgeRank"
    residual = "cyclic_residual"
    aliases = {"massey": {"margin": "points"}}

    counts: str = options.counts()
    margin: str = param("none", "how the points of both sides of a game are used", choices=MARGINS)
    margin_cap: float = param(21.0, "point difference beyond which capped margins do not grow", low=1e-9)
    order_effect: bool = param(False, "estimate position bias (home advantage) of the item shown first")

    def needed(self) -> frozenset[str]:
        """Return the requirements: margins require the points of both sides."""
        return self.needs if self.margin == "none" else self.needs | {"points"}

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the scores; from the margins of games if asked for."""
        if self.margin == "none" and not self.order_effect:
            return super().scores(prefs)
        games = games_of(prefs, self.margin, self.margin_cap, self.order_effect)
        score, advantage = np.zeros(prefs.n_slots), np.zeros(prefs.n_instances)
        information, unexplained, total = 0.0, 0.0, 0.0
        for stack in stacks(prefs.slot_ptr):
            compared, net = stack.take(games.compared), stack.take(games.net)
            if self.order_effect:
                advantage[stack.instances], known = home_advantage(games, stack, self.explain)
                net = net - advantage[stack.instances][:, None, None] * stack.take(games.at_home)
                information += float(known.sum())
            mean = net / np.maximum(compared, 1.0 * (compared == 0))
            explained = self.explain(compared, mean, games.group[stack.slots])
            score[stack.slots] = explained.score
            sums = explained.residual(mean)
            unexplained, total = unexplained + sums[0], total + sums[1]
        fit = {self.residual: unexplained / total if total > 0 else 0.0}
        if self.order_effect and prefs.n_instances == 1:
            fit["order_effect"] = float(advantage[0])
            fit["order_effect_stderr"] = advantage_error(games, score, float(advantage[0]), information)
        notices = () if self.margin == "none" else unknown_margins(prefs, "left out")
        return Outcome(
            snap_scores(prefs, score, TIE_OF_SOLVED), fit=fit, warnings=(*group_notices(prefs, games.group), *notices)
        )

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
