"""Footrule-optimal aggregation: the permutation with the smallest total Spearman footrule distance.

    cost(x at position p) = sum over ballots b of w_b |position_b(x) - p|

The cheapest permutation solves an assignment problem. Tied candidates have the mean position of their tier. Candidates
that a ballot leaves out have the mean of its free positions (``missing="last"``), or the ballot is ignored for them
(``"ignore"``). For permutations the footrule distance lies between one and two times the Kendall distance, so the
result costs at most twice the Kemeny optimum. The fit contains both totals.

Cost: a sort of the positions, then at most candidates³ per instance. Reference: C. Dwork, R. Kumar, M. Naor and D.
Sivakumar, Rank aggregation methods for the web, WWW 2001; R. Fagin et al., Comparing and aggregating rankings with
ties, PODS 2004.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.aggregate.distance._outcome import finish
from concordant.aggregate.explain.overruled import WeighsMajorities
from concordant.ballots.segments import pointer, sum_by
from concordant.method import Outcome
from concordant.preferences import Preferences
from concordant.solvers.ordering.costs import pair_costs
from concordant.support import progress
from concordant.support.interrupts import interruptible
from concordant.types import Floats

NUDGE = 1e-6


@dataclass(frozen=True, kw_only=True)
class Footrule(WeighsMajorities):
    """Minimum total Spearman footrule distance, solved as an assignment problem."""

    usual_name = "Spearman footrule"
    aliases = {"spearman-footrule": {}}

    matrices = 16
    waives = {
        "neutrality": "it returns one of several optimal assignments",
        "condorcet_consistency": "it minimises displacements, not discordant pairs",
    }

    missing: str = options.missing(choices=("auto", "last", "ignore"))

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of candidates ranked below every slot, and the totals of both distances."""
        from scipy.optimize import linear_sum_assignment

        missing = views.resolve_missing(prefs, self.missing)
        costs = pair_costs(prefs, missing)
        by_start = costs.start + costs.first_slot
        matrix = position_costs(prefs, missing)
        tier, total = np.zeros(prefs.n_slots, np.int64), 0.0
        for q in progress.steps(np.flatnonzero(np.diff(prefs.slot_ptr)).tolist()):
            first, stop = int(prefs.slot_ptr[q]), int(prefs.slot_ptr[q + 1])
            start, m = int(costs.matrix_start[q]), stop - first
            slots = by_start[first:stop]
            cost = matrix[start : start + m * m].reshape(m, m)[slots - first]
            # Of equal assignments prefer the order of net wins: it puts no candidate behind one that all put behind it.
            nudge = NUDGE * (cost.max() or 1.0) / m**3 * np.outer(np.arange(m)[::-1], np.arange(m))
            row, column = interruptible(partial(linear_sum_assignment, cost + nudge))
            tier[slots[row]] = column
            total += float(cost[row, column].sum())
        return finish(prefs, costs, tier, fit={"total_footrule": total})


def position_costs(prefs: Preferences, missing: str) -> Floats:
    """Return the cost of putting every slot at every position: an m x m block per instance (slots x positions), flat.

    At position p it is the sum of w |position - p| = p W - S over the positions up to p, plus S - p W over those
    beyond, where W sums the weights w and S sums w * position. Positions are multiples of 1/2, so W and S are cumulated
    on a grid of halves.
    """
    size = np.diff(prefs.slot_ptr)
    width = np.repeat(2 * size + 1, size)  # cell h is position h / 2; cells 0 and 1 stay empty
    row = pointer(width)
    placed = views.placed(prefs, missing)
    half = np.rint(2 * placed.position).astype(np.int64)
    weight_at = sum_by(row[placed.slot] + half, placed.weight, int(row[-1]))
    parts = []
    for q, m in enumerate(size.tolist()):
        of_instance = weight_at[row[prefs.slot_ptr[q]] : row[prefs.slot_ptr[q + 1]]].reshape(m, 2 * m + 1)
        weight_cumulated = np.cumsum(of_instance, axis=1)
        moment_cumulated = np.cumsum(of_instance * np.arange(2 * m + 1) / 2, axis=1)
        p = np.arange(1, m + 1)
        weight_up_to, sum_up_to = weight_cumulated[:, 2 * p], moment_cumulated[:, 2 * p]
        weight_beyond, sum_beyond = weight_cumulated[:, -1:] - weight_up_to, moment_cumulated[:, -1:] - sum_up_to
        parts.append((p * weight_up_to - sum_up_to + sum_beyond - p * weight_beyond).reshape(-1))
    return np.concatenate([np.zeros(0), *parts])
