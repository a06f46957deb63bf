"""Costs of ranking one item before another, in integer units.

With W(i, j) the weight of the ballots that rank i before j and T(i, j) of those that tie them, each pair adds to the
total Kemeny distance of a consensus (a pair tied in only one of the two rankings counts one half)

- W(j, i) + T(i, j)/2 if it ranks i before j,
- (W(i, j) + W(j, i))/2 if it ties them.

If the weights have a common unit (integers, tenths, …), all costs are integer multiples of half that unit. In these
units sums are exact, equal totals compare as equal, and lower bounds can be rounded up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import kernels, views
from concordant.ballots.segments import first_of, places, pointer, segment_index, sum_by
from concordant.preferences import Preferences
from concordant.types import Floats, Int64s

DENOMINATORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 25, 32, 50, 60, 64, 100, 128, 256, 1000, 1024, 10_000)
UNIT_TOLERANCE = 1e-9
FINEST_UNIT = 1e-10  # of the total weight, where weights have no common unit


@dataclass(frozen=True)
class PairCosts:
    """Costs of every pair of every instance (or block), flat and row-major, in integer multiples of its ``unit``."""

    slot_ptr: Int64s
    before: Floats
    tied: Floats
    unit: Floats

    @cached_property
    def start(self) -> Int64s:
        """Candidates of every instance, numbered within it, by their net wins: the Borda order of these costs."""
        order, _ = kernels.order_segments(kernels.net_costs(self.slot_ptr, self.before), self.slot_ptr, 0.0)
        return np.asarray(order - self.first_slot)

    @cached_property
    def first_slot(self) -> Int64s:
        """The first slot of the instance of every slot."""
        return first_of(self.slot_ptr)

    @cached_property
    def matrix_start(self) -> Int64s:
        """The start of every instance's matrix."""
        return pointer(np.diff(self.slot_ptr) ** 2)

    def totals(self, tiers: Int64s) -> Floats:
        """Return the costs of rankings (rows of tiers, one tier per slot), in units: rankings x instances."""
        rows = np.ascontiguousarray(np.atleast_2d(tiers), np.int64)
        return kernels.ranking_totals(self.slot_ptr, self.before, self.tied, rows)

    def total(self, tier: Int64s) -> float:
        """Return the cost of one ranking of all instances together, in weight of ballots."""
        return float(self.totals(tier)[0] @ self.unit)

    def matrices(self, instance: int) -> tuple[Floats, Floats]:
        """Return the costs of one instance as square matrices: (before, tied)."""
        start, stop = self.matrix_start[instance : instance + 2].tolist()
        m = int(self.slot_ptr[instance + 1] - self.slot_ptr[instance])
        return self.before[start:stop].reshape(m, m), self.tied[start:stop].reshape(m, m)

    def places(self, order: Int64s) -> Int64s:
        """Convert orders (candidates numbered within their instance, best first) to the position of every slot."""
        return places(self.slot_ptr, order + self.first_slot)

    def orders(self, tier: Int64s) -> Int64s:
        """Convert tiers to orders, breaking ties by net wins."""
        by_start = self.start + self.first_slot
        ranked = np.lexsort((tier[by_start], segment_index(self.slot_ptr)))
        return np.asarray(by_start[ranked] - self.first_slot)

    def chance_before(self) -> Floats:
        """Return 1 if the majority ranks row before column, 0 if the reverse, 1/2 if there is no majority."""
        return kernels.majority_chances(self.slot_ptr, self.before)

    def best_of(self, tiers: Int64s) -> Int64s:
        """Return, for every instance, the cheapest of several rankings (rows of tiers), the first in a tie."""
        best = np.argmin(self.totals(tiers), axis=0)
        return np.asarray(tiers[best[segment_index(self.slot_ptr)], np.arange(tiers.shape[1])])


def pair_costs(prefs: Preferences, missing: str) -> PairCosts:
    """Count the costs of every pair of candidates of every instance."""
    counts = views.win_matrices(prefs, missing)
    unit = _cost_unit(prefs)
    return PairCosts(prefs.slot_ptr, *kernels.pair_costs(prefs.slot_ptr, counts.wins, counts.ties, unit), unit)


def _cost_unit(prefs: Preferences) -> Floats:
    """Return, by instance, half of the largest 1/d of which all weights are multiples, or a very fine unit."""
    total = views.total_weight(prefs)
    unit = np.where(total > 0, total, 1.0) * FINEST_UNIT
    is_open = np.ones(prefs.n_instances, bool)
    for denominator in DENOMINATORS:
        scaled = prefs.weight * denominator
        is_no_multiple = (np.abs(scaled - np.rint(scaled)) > UNIT_TOLERANCE) | (scaled < 0.5)
        fits = is_open & (sum_by(prefs.instance_of_ballot, is_no_multiple, prefs.n_instances) == 0)
        unit[fits] = 0.5 / denominator
        is_open &= ~fits
        if not is_open.any():
            break
    return unit
