"""Kendall and Kemeny distances in NumPy (twin of distance.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.codes import Missing
from concordant.types import Bools, Floats, Int32s, Int64s

__all__ = ["kendall_counts", "kendall_matrix"]

# Signs of this many (ranking, pair of items) are held at once; small enough for exact sums in float32.
_CHUNK = 4_000_000


def kendall_counts(reference: Int32s, tiers: Int32s, missing: int) -> Int64s:
    """Count (discordant, tied once, ordered by both) pairs of a reference against every ranking."""
    return np.array([_counts(reference, tier, missing) for tier in tiers], np.int64).reshape(-1, 3)


def kendall_matrix(tiers: Int32s, missing: int, penalty: float, normalised: bool) -> Floats:
    """Return the distances between all pairs of rankings.

    With s the signs (-1, 0, 1) of the pairs of items in a ranking, ``s s'`` is concordant minus discordant
    pairs and ``|s| |s|'`` their sum: matrix products over chunks of pairs.
    """
    rankings, items = tiers.shape
    tier, known_item = _complete(tiers, missing)
    agreement, ordered, ordered_known = (np.zeros((rankings, rankings)) for _ in range(3))
    every_item = np.arange(items)
    step = max(_CHUNK // max(rankings * items, 1), 1)
    for start in range(0, items, step):
        i, j = np.nonzero(every_item[start : start + step, None] < every_item)
        i += start
        known = known_item[:, i] & known_item[:, j]
        if missing == Missing.LAST_FREE:
            known = (tiers[:, i] >= 0) | (tiers[:, j] >= 0)
        sign = (np.sign(tier[:, j] - tier[:, i]) * known).astype(np.float32)
        magnitude = np.abs(sign)
        agreement += sign @ sign.T
        ordered += magnitude @ magnitude.T
        ordered_known += magnitude @ known.astype(np.float32).T
    distance = (ordered - agreement) / 2
    tied_once = ordered_known + ordered_known.T - 2 * ordered
    distance += penalty * tied_once
    if normalised:
        comparable = ordered + tied_once if penalty > 0 else ordered
        distance = np.where(comparable > 0, distance / np.maximum(comparable, 1), 0.0)
    return distance


def _complete(tiers: Int32s, missing: int) -> tuple[Int32s, Bools]:
    """Place unranked items last unless they are ignored; say which items then have a place."""
    if missing == Missing.IGNORE:
        return tiers, tiers >= 0
    return np.where(tiers < 0, tiers.shape[-1], tiers).astype(np.int32), np.ones(tiers.shape, bool)


def _counts(reference: Int32s, tiers: Int32s, missing: int) -> tuple[int, int, int]:
    (tier_a, known_a), (tier_b, known_b) = _complete(reference, missing), _complete(tiers, missing)
    known = known_a & known_b
    a, b = tier_a[known].astype(np.int64), tier_b[known].astype(np.int64)
    both = a * (len(reference) + 1) + b
    tied_a, tied_b, tied_both = _tied_pairs(a), _tied_pairs(b), _tied_pairs(both)
    tied_once = tied_a + tied_b - 2 * tied_both
    if missing == Missing.LAST_FREE:
        for one, other in ((reference, b), (tiers, a)):
            unranked = one < 0
            tied_once -= _pairs(int(unranked.sum())) - _tied_pairs(other[unranked])
    discordant = _inversions(b[np.lexsort((b, a))])
    return discordant, tied_once, _pairs(len(a)) - tied_a - tied_b + tied_both


def _pairs(n: int) -> int:
    return n * (n - 1) // 2


def _tied_pairs(values: Int64s) -> int:
    sizes = np.unique(values, return_counts=True)[1]
    return int((sizes * (sizes - 1) // 2).sum())


def _inversions(values: Int64s) -> int:
    """Count the pairs that stand in strictly descending order: merge sort, all blocks of a width at once."""
    n = len(values)
    index = np.arange(n)
    span = int(values.max(initial=0)) + 1
    count, width = 0, 1
    while width < n:
        block = index // (2 * width)
        key = block * span + values
        is_left = (index // width) % 2 == 0
        left, right = key[is_left], key[~is_left]
        end_of_left = np.searchsorted(left, (block[~is_left] + 1) * span)
        count += int((end_of_left - np.searchsorted(left, right, side="right")).sum())
        values = values[np.argsort(key, kind="stable")]
        width *= 2
    return count
