"""Kendall and Kemeny distances (NumPy reference of distance.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.codes import Missing
from concordant.types import Floats, Int32s, Int64s

__all__ = ["kendall_counts", "kendall_matrix"]

# Signs of this many (ranking, pair of items) are held at once; small enough for exact sums in float32.
_CHUNK = 4_000_000


def kendall_counts(reference: Int32s, tiers: Int32s, missing: int) -> Int64s:
    """Count the pairs (discordant, tied in one of the two, ordered in both) of a reference and every ranking."""
    counts = _compare(np.vstack([reference[None, :], tiers]), missing, 1)
    return np.ascontiguousarray(np.concatenate(counts)[:, 1:].T, np.int64)


def kendall_matrix(tiers: Int32s, missing: int, penalty: float, normalised: bool) -> Floats:
    """Return the distances between all pairs of rankings."""
    discordant, tied_once, ordered = _compare(tiers, missing, len(tiers))
    distance = discordant + penalty * tied_once
    if normalised:
        comparable = ordered + tied_once if penalty > 0 else ordered
        distance = np.where(comparable > 0, distance / np.maximum(comparable, 1), 0.0)
    return distance


def _compare(tiers: Int32s, missing: int, first: int) -> tuple[Floats, Floats, Floats]:
    """Count pairs (discordant, tied in one of the two, ordered in both) of the first rankings against all.

    With s the signs (-1, 0, 1) of the pairs of items in a ranking, ``s s'`` is concordant minus discordant
    pairs and ``|s| |s|'`` their sum: matrix products over chunks of pairs.
    """
    rankings, items = tiers.shape
    is_ranked = tiers >= 0
    tier = tiers if missing == Missing.IGNORE else np.where(is_ranked, tiers, items)
    agreement, ordered, tied_once = (np.zeros((first, rankings)) for _ in range(3))
    step = max(_CHUNK // max(rankings * items, 1), 1)
    for start in range(0, items, step):  # these items against all: every pair comes twice
        rows, columns = (slice(None), slice(start, start + step), None), (slice(None), None)
        sign = np.sign(tier[columns] - tier[rows]).astype(np.float32)
        compared = np.ones_like(sign)
        if missing != Missing.LAST:
            combine = np.logical_and if missing == Missing.IGNORE else np.logical_or
            compared = combine(is_ranked[rows], is_ranked[columns]).astype(np.float32)
        sign, compared = (sign * compared).reshape(rankings, -1), compared.reshape(rankings, -1)
        decided = np.abs(sign)
        agreement += sign[:first] @ sign.T / 2
        ordered += decided[:first] @ decided.T / 2
        tied_once += (decided[:first] @ compared.T + compared[:first] @ decided.T) / 2
    return (ordered - agreement) / 2, tied_once - 2 * ordered, ordered
