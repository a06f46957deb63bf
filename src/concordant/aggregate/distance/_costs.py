"""What the distance methods share: what it costs to put one item before another, in whole units, and the outcome.

With W(i, j) the weight of the ballots that put i before j and T(i, j) of those that tie them, the total Kemeny distance
(a pair tied on one side only counts one half) charges a consensus for every pair

- W(j, i) + T(i, j)/2 if it puts i before j,
- (W(i, j) + W(j, i))/2 if it ties them.

Weights with a common unit (whole numbers, tenths, …) make all costs whole multiples of half of it. Counted in such
units sums are exact, equal totals are equal, and a lower bound may be rounded up: that is half of the proofs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import kernels, views
from concordant.aggregate.voting._helpers import MISSING_CHOICES, MISSING_DOC
from concordant.gather import segment_index, sum_by
from concordant.method import Outcome
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.types import Floats, Int64s

__all__ = ["MISSING_CHOICES", "MISSING_DOC", "OUTPUT_CHOICES", "OUTPUT_DOC", "PairCosts", "finish", "pair_costs"]

OUTPUT_CHOICES = ("permutation", "weak")
OUTPUT_DOC = "whether the consensus may tie items"
DENOMINATORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 25, 32, 50, 60, 64, 100, 128, 256, 1000, 1024, 10_000)
UNIT_TOLERANCE = 1e-9
FINEST_UNIT = 1e-10  # of the total weight, where weights have no common unit


@dataclass(frozen=True)
class PairCosts:
    """Costs of every pair of every instance, flat and row-major: whole numbers of ``unit`` (per instance)."""

    slot_ptr: Int64s
    before: Floats
    tied: Floats
    unit: Floats

    @cached_property
    def start(self) -> Int64s:
        """Candidates of every instance, numbered inside it, by their net wins: the Borda order of these costs."""
        size = np.diff(self.slot_ptr)
        lengths = np.repeat(size, size)
        first = np.cumsum(lengths) - lengths
        margin = kernels.transpose_matrices(self.slot_ptr, self.before) - self.before
        net = np.add.reduceat(margin, first) if len(margin) else np.zeros(0)
        order, _ = kernels.order_segments(net, self.slot_ptr, 0.0)
        return np.asarray(order - self.first_slot)

    @cached_property
    def first_slot(self) -> Int64s:
        """The first slot of the instance of every slot."""
        return np.repeat(self.slot_ptr[:-1], np.diff(self.slot_ptr))

    @cached_property
    def matrix_start(self) -> Int64s:
        """Where the matrix of every instance starts."""
        return np.concatenate([[0], np.cumsum(np.diff(self.slot_ptr) ** 2)]).astype(np.int64)

    def totals(self, tiers: Int64s) -> Floats:
        """Return what rankings cost, in units: rankings (rows of tiers, one per slot) x instances."""
        rows = np.ascontiguousarray(np.atleast_2d(tiers), np.int64)
        return kernels.ranking_totals(self.slot_ptr, self.before, self.tied, rows)

    def places(self, order: Int64s) -> Int64s:
        """Turn orders (candidates numbered inside their instance, best first) into the place of every slot."""
        rows = np.atleast_2d(order) + self.first_slot
        places = np.empty_like(rows)
        np.put_along_axis(places, rows, np.arange(rows.shape[1])[None, :] - self.first_slot, axis=1)
        return np.asarray(places.reshape(order.shape))

    def orders(self, tier: Int64s) -> Int64s:
        """Turn tiers into orders, tied candidates by their net wins."""
        by_start = self.start + self.first_slot
        ranked = np.lexsort((tier[by_start], segment_index(self.slot_ptr)))
        return np.asarray(by_start[ranked] - self.first_slot)

    def best_of(self, tiers: Int64s) -> Int64s:
        """Return, for every instance, the cheapest of several rankings (rows of tiers), the first of equals."""
        best = np.argmin(self.totals(tiers), axis=0)
        return np.asarray(tiers[best[segment_index(self.slot_ptr)], np.arange(tiers.shape[1])])


def pair_costs(prefs: Preferences, missing: str) -> PairCosts:
    """Count the costs of every pair of candidates of every instance."""
    counts = views.win_matrices(prefs, missing)
    unit = _cost_unit(prefs)
    against = kernels.transpose_matrices(prefs.slot_ptr, counts.wins)
    per_unit = np.repeat(1 / unit, counts.size**2)
    before = np.rint((against + counts.ties / 2) * per_unit)
    tied = np.rint((against + counts.wins) / 2 * per_unit)
    return PairCosts(prefs.slot_ptr, before, tied, unit)


def _cost_unit(prefs: Preferences) -> Floats:
    """Return, per instance, half of the largest unit fraction all weights are multiples of."""
    unit = np.maximum(views.total_weight(prefs), 1.0) * FINEST_UNIT
    is_open = np.ones(prefs.n_instances, bool)
    for denominator in DENOMINATORS:
        scaled = prefs.weight * denominator
        is_off = np.abs(scaled - np.rint(scaled)) > UNIT_TOLERANCE
        fits = is_open & (sum_by(prefs.instance_of_ballot, is_off, prefs.n_instances) == 0)
        unit[fits] = 0.5 / denominator
        is_open &= ~fits
        if not is_open.any():
            break
    return unit


def finish(
    prefs: Preferences,
    costs: PairCosts,
    tier: Int64s,
    *,
    fit: Mapping[str, float] | None = None,
    warnings: tuple[Notice, ...] = (),
    model: object = None,
) -> Outcome:
    """Score every slot by the candidates its tier leaves behind, ties half, and say what the ranking costs.

    The fit holds the total distance to all ballots, and the mean over them by weight.
    """
    total = float(costs.totals(tier)[0] @ costs.unit)
    weight = float(prefs.weight.sum())
    known = {"total_distance": total, "mean_distance": total / weight if weight else 0.0, **(fit or {})}
    return Outcome(points(prefs.slot_ptr, tier), fit=known, warnings=warnings + unranked(prefs), model=model)


def points(slot_ptr: Int64s, tier: Int64s) -> Floats:
    """Return how many candidates each slot's tier leaves behind, half for those tied."""
    instance = segment_index(slot_ptr)
    order = np.lexsort((tier, instance))
    starts = np.ones(len(tier), bool)
    starts[1:] = (np.diff(tier[order]) != 0) | (np.diff(instance[order]) != 0)
    first = np.flatnonzero(starts)
    size = np.diff(np.append(first, len(tier)))
    score = np.empty(len(tier))
    score[order] = np.repeat(slot_ptr[1:][instance[order[first]]] - first - (size + 1) / 2, size)
    return score


def unranked(prefs: Preferences) -> tuple[Notice, ...]:
    """Warn of candidates no ballot mentions: nothing is known of them."""
    size = np.diff(prefs.slot_ptr)
    is_complete = np.diff(prefs.indptr) == size[prefs.instance_of_ballot]
    if len(np.unique(prefs.instance_of_ballot[is_complete])) == len(size):
        return ()  # some ballot names everyone: no need to look at all entries
    never = np.flatnonzero(np.bincount(prefs.entry_slot, minlength=prefs.n_slots) == 0)
    if not len(never):
        return ()
    names = tuple(dict.fromkeys(prefs.items.take(prefs.slot_item[never])))
    count = f"{len(never)} candidate{'s' * (len(never) > 1)}"
    return (Notice("unranked-candidates", f"no ballot mentions {count}: their places are arbitrary", names),)
