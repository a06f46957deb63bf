"""Pair counts in NumPy (twin of pairs.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.types import Bytes, Floats, Int32s, Int64s

__all__ = ["pair_counts", "transpose_matrices"]

WEIGHT_TOLERANCE = 1e-12
IGNORE, LAST, LAST_FREE = range(3)


def pair_counts(
    slot_ptr: Int64s,
    instance_of_ballot: Int32s,
    indptr: Int64s,
    entry_slot: Int64s,
    tier: Int32s,
    weight: Floats,
    is_open: Bytes,
    missing: int,
) -> tuple[Int64s, Floats, Floats]:
    """Count, for all pairs of candidates of all instances, the weight that puts i before j: (ptr, wins, ties).

    ``missing`` says what a ballot means for candidates it leaves out: 0 nothing, 1 one last tier, 2 one last tier
    whose inner ties do not count. Ties in the last tier of an open ballot do not count either.
    """
    size = np.diff(slot_ptr)
    ptr = np.concatenate([[0], np.cumsum(size**2)]).astype(np.int64)
    wins, ties = np.zeros(ptr[-1]), np.zeros(ptr[-1])
    by_instance = np.argsort(instance_of_ballot, kind="stable")
    first = np.searchsorted(instance_of_ballot[by_instance], np.arange(len(size) + 1))
    for q, m in enumerate(size.tolist()):
        ballots = by_instance[first[q] : first[q + 1]]
        position = np.full((len(ballots), m), np.iinfo(np.int32).max, np.int64)
        level = np.full((len(ballots), m), np.iinfo(np.int32).max, np.int64)
        if missing != LAST:
            level[:] = -1 - np.arange(m)  # a level of its own ties with nobody
        for row, ballot in enumerate(ballots.tolist()):
            span = slice(indptr[ballot], indptr[ballot + 1])
            place = entry_slot[span] - slot_ptr[q]
            group = np.cumsum(np.diff(tier[span], prepend=tier[span][:1]) != 0)
            position[row, place] = level[row, place] = group
            if is_open[ballot] and len(group):
                free = place[group == group[-1]]
                level[row, free] = -1 - free
        block = slice(ptr[q], ptr[q + 1])
        own = weight[ballots]
        wins[block], ties[block] = _count(position, level, own, missing == IGNORE)
        if (own != np.floor(own)).any():
            for counts in (wins[block], ties[block]):
                counts[np.abs(counts) <= WEIGHT_TOLERANCE * own.sum()] = 0
    return ptr, wins, ties


def _count(position: Int64s, level: Int64s, weight: Floats, only_named: bool) -> tuple[Floats, Floats]:
    m = position.shape[1]
    is_named = position < np.iinfo(np.int32).max
    wins, ties = np.zeros((m, m)), np.zeros((m, m))
    for i in range(m):
        before, equal = position[:, i : i + 1] < position, level[:, i : i + 1] == level
        if only_named:
            before &= is_named
        wins[i], ties[i] = weight @ before, weight @ equal
        ties[i, i] = 0
    return wins.reshape(-1), ties.reshape(-1)


def transpose_matrices(slot_ptr: Int64s, matrix: Floats) -> Floats:
    """Transpose the square block of every instance."""
    result = np.empty_like(matrix)
    start = 0
    for m in np.diff(slot_ptr).tolist():
        block = slice(start, start + m * m)
        result[block] = matrix[block].reshape(m, m).T.reshape(-1)
        start += m * m
    return result
