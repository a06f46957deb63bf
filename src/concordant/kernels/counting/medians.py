"""Weighted medians by group (NumPy reference of medians.cpp)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from concordant.kernels.layouts import WEIGHT_TOLERANCE
from concordant.types import Floats, Int64s

__all__ = ["weighted_medians"]


def weighted_medians(group: Int64s, value: Floats, weight: Floats, n_groups: int) -> Floats:
    """Return the weighted median of every group, NaN for a group without weight.

    It is the mean of the lower median (the smallest value up to which at least half of the weight lies) and the upper
    one (the smallest value up to which more than half lies). Weights may be negative, to remove a value.
    """
    order = np.lexsort((value, group))
    value, weight = value[order], weight[order]
    bounds = np.searchsorted(group[order], np.arange(n_groups + 1))
    return np.array([_median(value[first:stop], weight[first:stop]) for first, stop in pairwise(bounds.tolist())])


def _median(value: Floats, weight: Floats) -> float:
    """Return the weighted median of ascending values, as above."""
    slack = 0.0 if (weight == np.floor(weight)).all() else WEIGHT_TOLERANCE * np.abs(weight).sum()
    total = weight.sum()
    if total <= slack:
        return float("nan")
    distinct, first = np.unique(value, return_index=True)
    weight_up_to = np.cumsum(np.add.reduceat(weight, first))
    index = [(weight_up_to < total / 2 - slack).sum(), (weight_up_to <= total / 2 + slack).sum()]
    return float(distinct[np.minimum(index, len(distinct) - 1)].mean())
