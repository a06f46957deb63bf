"""Footrule-optimal aggregation: the permutation of least total Spearman footrule distance.

Putting candidate x at position p costs the sum over ballots of |position of x - p|; the cheapest permutation is an
assignment problem. Tied candidates stand at the mean position of their tier, those a ballot leaves out at the mean of
the free positions (``missing="last"``) or it says nothing of them (``"ignore"``). For permutations the footrule
distance lies between the Kendall distance and twice of it, so the result costs at most twice the Kemeny optimum.
The fit holds both totals.

Cost: a sort of the positions, then candidates³ per instance at worst. Reference: C. Dwork, R. Kumar, M. Naor and D.
Sivakumar, Rank aggregation methods for the web, WWW 2001; R. Fagin et al., Comparing and aggregating rankings
with ties, PODS 2004.
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
from concordant.support.interrupts import interruptible
from concordant.types import Floats

NUDGE = 1e-6


@dataclass(frozen=True, kw_only=True)
class Footrule(WeighsMajorities):
    """Minimum total Spearman footrule distance, solved as an assignment problem."""

    matrices = 16
    waives = {
        "neutrality": "of several optimal assignments one is taken",
        "condorcet_consistency": "the middle of the positions decides, not the majority of the pairs",
    }

    missing: str = options.missing(choices=("auto", "last", "ignore"))

    def scores(self, prefs: Preferences) -> Outcome:
        """Return how many candidates every slot leaves behind, and the totals of both distances."""
        from scipy.optimize import linear_sum_assignment

        missing = views.resolve_missing(prefs, self.missing)
        costs = pair_costs(prefs, missing)
        by_start = costs.start + costs.first_slot
        matrix = position_costs(prefs, missing)
        tier, total = np.zeros(prefs.n_slots, np.int64), 0.0
        for q in np.flatnonzero(np.diff(prefs.slot_ptr)).tolist():
            first, stop = int(prefs.slot_ptr[q]), int(prefs.slot_ptr[q + 1])
            start, m = int(costs.matrix_start[q]), stop - first
            own = by_start[first:stop]
            cost = matrix[start : start + m * m].reshape(m, m)[own - first]
            # Of equal assignments prefer the order of net wins: it puts no candidate behind one that all put behind it.
            nudge = NUDGE * (cost.max() or 1.0) / m**3 * np.outer(np.arange(m)[::-1], np.arange(m))
            row, column = interruptible(partial(linear_sum_assignment, cost + nudge))
            tier[own[row]] = column
            total += float(cost[row, column].sum())
        return finish(prefs, costs, tier, fit={"total_footrule": total})


def position_costs(prefs: Preferences, missing: str) -> Floats:
    """Return what every position costs every slot: rows of slots, one after the other.

    Each position held with weight w adds w to the slope of |position - p| on its right and takes it off on its left;
    positions are halves of whole numbers, so slopes are summed on a grid of halves and read at whole positions.
    """
    size = np.diff(prefs.slot_ptr)
    width = np.repeat(2 * size + 1, size)  # halves 2, 3, … 2m of the positions 1, 1.5, … m
    row = pointer(width)
    placed = views.placed(prefs, missing)
    half = np.rint(2 * placed.position).astype(np.int64)
    mass = sum_by(row[placed.slot] + half, placed.weight, int(row[-1]))
    parts = []
    for q, m in enumerate(size.tolist()):
        held = mass[row[prefs.slot_ptr[q]] : row[prefs.slot_ptr[q + 1]]].reshape(m, 2 * m + 1)
        below = np.cumsum(held, axis=1)
        moment = np.cumsum(held * np.arange(2 * m + 1) / 2, axis=1)
        at = np.arange(1, m + 1)
        less, sum_less = below[:, 2 * at], moment[:, 2 * at]
        more, sum_more = below[:, -1:] - less, moment[:, -1:] - sum_less
        parts.append((at * less - sum_less + sum_more - at * more).reshape(-1))
    return np.concatenate([np.zeros(0), *parts])
