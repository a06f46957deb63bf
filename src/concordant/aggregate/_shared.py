"""What methods of several families share: sums and medians by slot, ties that are ties in spite of rounding."""

from __future__ import annotations

import numpy as np

from concordant import views
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE
from concordant.ranking import snap as snap
from concordant.types import Bools, Floats, Int64s


def is_named(prefs: Preferences) -> Bools:
    """Say of every entry whether its ballot names it, and not only as one of "the rest" in an open last tier."""
    if prefs.open is None:
        return np.ones(len(prefs.item), bool)
    groups = views.tiers(prefs)
    return np.asarray(~groups.is_open[groups.of_entry])


def has_whole_weights(prefs: Preferences) -> bool:
    """Say whether all weights are whole numbers, so that sums of them are exact."""
    return bool((prefs.weight == np.floor(prefs.weight)).all())


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
    starts = np.ones(len(group), bool)
    starts[1:] = (np.diff(group) != 0) | (np.diff(value) != 0)
    first = np.flatnonzero(starts)
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
