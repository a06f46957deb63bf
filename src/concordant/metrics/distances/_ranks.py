"""Vectors of ranks: validation, positions, tiers, and the items that two rankings share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from concordant.errors import InputError
from concordant.types import Floats, Int32s


def positions(ranks: Floats) -> Floats:
    """Return the mean position of each item's tie group, from 1; unranked items (NaN) form the last group."""
    _, bucket, size = np.unique(ranks, return_inverse=True, return_counts=True)
    end = np.cumsum(size)
    return (end - (size - 1) / 2)[bucket.reshape(-1)]


def tiers(*ranks: Floats) -> Int32s:
    """Convert rankings to rows of integers in [0, items), -1 for unranked, with the same order and ties."""
    stacked = np.stack(ranks)
    rankings, items = stacked.shape
    unranked = np.isnan(stacked)
    whole = np.where(unranked, 1, stacked)
    if ((whole >= 1) & (whole <= items) & (whole == np.floor(whole))).all():
        return np.where(unranked, -1, whole - 1).astype(np.int32)
    order = np.argsort(stacked, axis=1)
    in_order = np.take_along_axis(stacked, order, axis=1)
    rises = np.zeros((rankings, items), np.int32)
    rises[:, 1:] = in_order[:, 1:] > in_order[:, :-1]
    tier = np.empty((rankings, items), np.int32)
    np.put_along_axis(tier, order, np.cumsum(rises, axis=1, dtype=np.int32), axis=1)
    tier[unranked] = -1
    return tier


def floats(values: ArrayLike | tuple[ArrayLike, ...], name: str) -> Floats:
    """Return values as an array of floats, or raise an error that names them."""
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must be an array of numbers: it contains another value, or rows of different lengths."
        ) from None


def vector(values: ArrayLike, name: str) -> Floats:
    """Return ranks as a one-dimensional array, or raise InputError."""
    array = floats(values, name)
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions: give one rank per item in a one-dimensional array.")
    return array


def matrix(ranks: ArrayLike) -> Floats:
    """Return rankings as an array (rankings x items), or raise InputError."""
    array = floats(ranks, "ranks")
    if array.ndim != 2 or not array.size:
        raise InputError(f"ranks has shape {array.shape}: give rankings x items, at least one of each.")
    return array


def two(reference: ArrayLike, ranks: ArrayLike) -> tuple[Floats, Floats]:
    """Return two rankings of the same items as arrays, or raise InputError."""
    first, second = vector(reference, "reference"), vector(ranks, "ranks")
    if len(first) != len(second):
        raise InputError(
            f"The rankings have {len(first)} and {len(second)} items: give both the same items, with NaN for "
            "unranked ones."
        )
    if not len(first):
        raise InputError("The rankings are empty: rank at least one item.")
    return first, second


def common(reference: ArrayLike, ranks: ArrayLike) -> tuple[Floats, Floats]:
    """Return the ranks of the items that both rank."""
    first, second = two(reference, ranks)
    both = ~np.isnan(first) & ~np.isnan(second)
    return first[both], second[both]


def correlation(name: str, reference: ArrayLike, ranks: ArrayLike) -> float:
    """Return SciPy's rank correlation of this name over the items that both rank; NaN if a ranking ties all items."""
    both = common(reference, ranks)
    if any(len(side) < 2 or bool((side == side[0]).all()) for side in both):
        return float("nan")
    from scipy import stats

    return float(getattr(stats, name)(*both).statistic)
