"""Weighted medians by group in NumPy (twin of medians.cpp)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from concordant.kernels.layouts import WEIGHT_TOLERANCE
from concordant.types import Floats, Int64s

__all__ = ["weighted_medians"]


def weighted_medians(group: Int64s, value: Floats, weight: Floats, n_groups: int) -> Floats:
    """Return the weighted median of every group, NaN for a group without weight.

    It is the mean of the lower median (the least value that at least half the weight does not exceed) and the upper
    one (the least value that more than half does not exceed). Weights may be negative to take a value out again.
    """
    order = np.lexsort((value, group))
    value, weight = value[order], weight[order]
    bounds = np.searchsorted(group[order], np.arange(n_groups + 1))
    return np.array([_median(value[first:stop], weight[first:stop]) for first, stop in pairwise(bounds.tolist())])


def _median(value: Floats, weight: Floats) -> float:
    """Return the median of values that rise."""
    slack = 0.0 if (weight == np.floor(weight)).all() else WEIGHT_TOLERANCE * np.abs(weight).sum()
    total = weight.sum()
    if total <= slack:
        return float("nan")
    distinct, first = np.unique(value, return_index=True)
    reached = np.cumsum(np.add.reduceat(weight, first))
    below = [(reached < total / 2 - slack).sum(), (reached <= total / 2 + slack).sum()]
    return float(distinct[np.minimum(below, len(distinct) - 1)].mean())
