"""What the distance methods share: from the tiers of a consensus to its points and its total distance."""

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
    """A consensus found from what every pair costs."""

    matrices = 8
    missing: str

    @abstractmethod
    def tiers(self, prefs: Preferences, costs: PairCosts) -> Int64s:
        """Return the tier of every slot in the consensus."""

    def scores(self, prefs: Preferences) -> Outcome:
        """Return how many candidates every slot leaves behind, and the total distance."""
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
    """Score every slot by the candidates its tier leaves behind, ties half, and say what the ranking costs.

    The fit holds the total distance to all ballots, and the mean over them by weight.
    """
    total, weight = costs.total(tier), float(prefs.weight.sum())
    known = {"total_distance": total, "mean_distance": total / weight if weight else 0.0, **(fit or {})}
    return Outcome(points(prefs.slot_ptr, tier), fit=known, warnings=warnings + unranked(prefs), model=model)


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


def draws_by_place(seed: int | None, repeats: int, costs: PairCosts) -> Floats:
    """Draw a number for every slot in each of some runs: the same in every instance, by place in the input."""
    draw = np.random.default_rng(seed).random((repeats, int(np.diff(costs.slot_ptr).max())))
    return np.ascontiguousarray(draw[:, number_inside(costs.slot_ptr)])
