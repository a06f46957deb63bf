"""Base class of the distance methods: points and total distance of a consensus, given its tiers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from concordant.aggregate.common import points
from concordant.aggregate.explain.overruled import WeighsMajorities
from concordant.ballots.segments import number_inside
from concordant.method import Outcome
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.solvers.ordering.costs import PairCosts, pair_costs
from concordant.types import Floats, Int64s


class ByDistance(WeighsMajorities):
    """Base of methods that find a consensus from the costs of all pairs."""

    matrices = 8
    missing: str

    @abstractmethod
    def tiers(self, prefs: Preferences, costs: PairCosts) -> Int64s:
        """Return the tier of every slot in the consensus."""

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of candidates ranked below every slot (ties half), and the total distance."""
        costs = pair_costs(prefs, self.missing)
        return finish(prefs, costs, self.tiers(prefs, costs))


def finish(
    prefs: Preferences,
    costs: PairCosts,
    tier: Int64s,
    *,
    fit: Mapping[str, float] | None = None,
    warnings: tuple[Notice, ...] = (),
    model: object = None,
) -> Outcome:
    """Return the outcome of a consensus: scores by tier, and the total and mean distance to the ballots.

    The score of a slot is the number of candidates in lower tiers, plus half of those tied with it.
    """
    total, weight = costs.total(tier), float(prefs.weight.sum())
    figures = {"total_distance": total, "mean_distance": total / weight if weight else 0.0, **(fit or {})}
    return Outcome(points(prefs.slot_ptr, tier), fit=figures, warnings=warnings + unranked(prefs), model=model)


def unranked(prefs: Preferences) -> tuple[Notice, ...]:
    """Return a notice about candidates that no ballot ranks: their positions are arbitrary."""
    size = np.diff(prefs.slot_ptr)
    is_complete = np.diff(prefs.indptr) == size[prefs.instance_of_ballot]
    if len(np.unique(prefs.instance_of_ballot[is_complete])) == len(size):
        return ()  # some ballot names everyone: no need to look at all entries
    unnamed = np.flatnonzero(np.bincount(prefs.entry_slot, minlength=prefs.n_slots) == 0)
    if not len(unnamed):
        return ()
    names = tuple(dict.fromkeys(prefs.items.take(prefs.slot_item[unnamed])))
    count = f"{len(unnamed)} candidate{'s' * (len(unnamed) > 1)}"
    return (Notice("unranked-candidates", f"no ballot ranks {count}: their positions are arbitrary", names),)


def draws_by_place(seed: int | None, repeats: int, costs: PairCosts) -> Floats:
    """Draw a uniform number per run and slot (runs x slots), shared by slots with the same index in their instances."""
    draw = np.random.default_rng(seed).random((repeats, int(np.diff(costs.slot_ptr).max())))
    return np.ascontiguousarray(draw[:, number_inside(costs.slot_ptr)])
