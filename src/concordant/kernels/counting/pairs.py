"""Pair counts (NumPy reference of pairs.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.bundles import Ballots
from concordant.kernels.layouts import WEIGHT_TOLERANCE, blocks_of, pointers, tier_tables
from concordant.types import Floats, Int64s

__all__ = ["pair_counts", "transpose_matrices"]

IGNORE, LAST, LAST_FREE = range(3)


def pair_counts(ballots: Ballots, missing: int) -> tuple[Int64s, Floats, Floats]:
    """Sum, for all pairs of candidates of an instance, the weight of ballots with i before j: (ptr, wins, ties), flat.

    ``missing`` is the treatment of candidates that a ballot leaves out: 0 ignored, 1 tied in a last tier, 2 a last tier
    whose ties do not count. Ties in the last tier of an open ballot do not count either.
    """
    ptr = pointers(np.diff(ballots.slot_ptr) ** 2)
    wins, ties = np.zeros(ptr[-1]), np.zeros(ptr[-1])
    blocks = blocks_of(ballots.slot_ptr, wins, ties)
    for (_, counts), (_, own_ballots, tier) in zip(blocks, tier_tables(ballots), strict=True):
        weight, is_named = ballots.weight[own_ballots], np.isfinite(tier)
        last = np.where(is_named, tier, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
        is_free = (tier == last) & (ballots.is_open[own_ballots, None] > 0) | ~is_named & (missing != LAST)
        level = np.where(is_free, np.nan, tier)  # NaN is tied with nobody
        for i in range(tier.shape[1]):
            before = tier[:, i : i + 1] < tier
            counts[0][i] = weight @ (before & is_named if missing == IGNORE else before)
            counts[1][i] = weight @ (level[:, i : i + 1] == level)
            counts[1][i, i] = 0
        if (weight != np.floor(weight)).any():
            for block in counts:
                block[np.abs(block) <= WEIGHT_TOLERANCE * weight.sum()] = 0
    return ptr, wins, ties


def transpose_matrices(slot_ptr: Int64s, matrix: Floats) -> Floats:
    """Transpose the square block of every instance."""
    return np.concatenate([np.zeros(0), *(block.T.reshape(-1) for _, (block,) in blocks_of(slot_ptr, matrix))])
