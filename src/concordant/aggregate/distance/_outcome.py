"""What the distance methods share: from the tiers of a consensus to its points and its total distance."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from concordant.aggregate.voting._helpers import MISSING_CHOICES, MISSING_DOC
from concordant.gather import segment_index
from concordant.method import Outcome
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.solvers.ordering.costs import PairCosts
from concordant.types import Floats, Int64s

__all__ = ["MISSING_CHOICES", "MISSING_DOC", "OUTPUT_CHOICES", "OUTPUT_DOC", "finish", "points", "unranked"]

OUTPUT_CHOICES = ("permutation", "weak")
OUTPUT_DOC = "whether the consensus may tie items"


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
