"""What methods of several families share: ties in spite of rounding, points of tiers, medians by group."""

from __future__ import annotations

import numpy as np

from concordant import views
from concordant.gather import segment_index
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE, snap
from concordant.segments import is_new, max_by
from concordant.types import Floats, Int64s


def snap_scores(prefs: Preferences, score: Floats, tolerance: float = TIE_TOLERANCE, least: float = 0.0) -> Floats:
    """Make scores equal that lie this close together, relative to the largest of the instance (or ``least``)."""
    instance = views.instance_of_slot(prefs)
    largest = max_by(instance, np.abs(score), prefs.n_instances, least)
    return snap(score, instance, tolerance / TIE_TOLERANCE * largest)


def points(slot_ptr: Int64s, tier: Int64s) -> Floats:
    """Return how many candidates each slot's tier leaves behind, half for those tied."""
    instance = segment_index(slot_ptr)
    order = np.lexsort((tier, instance))
    first = np.flatnonzero(is_new(instance[order], tier[order]))
    size = np.diff(np.append(first, len(tier)))
    score = np.empty(len(tier))
    score[order] = np.repeat(slot_ptr[1:][instance[order[first]]] - first - (size + 1) / 2, size)
    return score


def weighted_median(group: Int64s, value: Floats, weight: Floats, n_groups: int) -> Floats:
    """Return the weighted median of every group, NaN for a group without weight.

    It is the mean of the lower median (the least value that at least half the weight does not exceed) and the upper
    one (the least value that more than half does not exceed). Weights may be negative to take a value out again.
    """
    result = np.full(n_groups, np.nan)
    if not len(group):
        return result
    order = np.lexsort((value, group))
    group, value, weight = group[order], value[order], weight[order]
    first = np.flatnonzero(is_new(group, value))
    group, value, weight = group[first], value[first], np.add.reduceat(weight, first)
    total = np.bincount(group, weights=weight, minlength=n_groups)
    present, start = np.unique(group, return_index=True)
    before = np.concatenate([[0.0], np.cumsum(weight)])[start]
    reached = np.cumsum(weight) - np.repeat(before, np.diff(np.append(start, len(group))))
    is_whole = bool((weight == np.floor(weight)).all())
    slack = 0.0 if is_whole else TIE_TOLERANCE * max(np.abs(before).max(), np.abs(total).max())
    last = np.append(start[1:], len(group)) - 1
    lower, upper = (
        value[np.minimum(start + np.add.reduceat(is_below, start, dtype=np.int64), last)]
        for is_below in (reached < total[group] / 2 - slack, reached <= total[group] / 2 + slack)
    )
    result[present] = (lower + upper) / 2
    result[total <= slack] = np.nan
    return result
