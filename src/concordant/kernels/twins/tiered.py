"""Pairs of all queries at once, for the twins of the pair losses.

Position p and position p + k of the same query are a pair; taking k = 1, 2, … visits every pair once, and every step
is a handful of array operations over all queries. Memory stays linear; the number of steps is the size of the largest
query.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from concordant.types import Bools, Floats, Int32s, Int64s

LARGE = 1024  # a query of more positions is worth a few array operations of its own


def pair_steps(ptr: Int64s, chosen: Bools | None = None) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield (first, second) positions until every pair of every (chosen) query has been visited."""
    size = np.diff(ptr)
    followers = np.repeat(ptr[1:], size) - 1 - np.arange(ptr[-1] if len(ptr) else 0)
    if chosen is not None:
        followers = followers * np.repeat(chosen, size)
    first, apart = np.flatnonzero(followers >= 1), 1
    while len(first):
        yield first, first + apart
        apart += 1
        first = first[followers[first] >= apart]


def preference_steps(ptr: Int64s, tier: Int32s, chosen: Bools | None = None) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield (better, worse) positions until every pair of different tiers has been visited."""
    for first, second in pair_steps(ptr, chosen):
        differ = tier[first] != tier[second]
        yield first[differ], second[differ]


def weight_by_position(ptr: Int64s, weight: Floats) -> Floats:
    """Return the weight of every position's query."""
    return np.repeat(weight, np.diff(ptr))


def softplus_and_slope(x: Floats) -> tuple[Floats, Floats]:
    """Return log(1 + e^x) and its slope 1 / (1 + e^-x), exact in both tails."""
    small = np.exp(-np.abs(x))
    return np.maximum(x, 0.0) + np.log1p(small), np.where(x >= 0, 1.0, small) / (1 + small)
