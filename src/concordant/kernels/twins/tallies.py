"""Votes counted by pair, and duels from matrices or long lists, in NumPy (twin of tallies.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.types import AnyArray, Bytes, Floats, Int32s, Int64s

__all__ = ["group_duels", "level_counts", "matrix_duels", "tally_votes"]


def tally_votes(
    winner: AnyArray, loser: AnyArray, tie: Bytes, weight: Floats, low: int, span: int
) -> tuple[Int32s, Int32s, Bytes, Floats, Int64s]:
    """Count votes over labels low … low + span - 1: (winner, loser, is_tie, weight, first), a row per pair that met.

    ``first[v]`` is where label low + v first appears (2 x vote, + 1 for the loser's column), -1 if it never does.
    Empty ``tie`` means no ties, empty ``weight`` means every vote counts once.
    """
    a, b = winner.astype(np.int64) - low, loser.astype(np.int64) - low
    first = np.full(span, -1, np.int64)
    for column, codes in ((1, b), (0, a)):
        labels, row = np.unique(codes, return_index=True)
        place = 2 * row + column
        known = first[labels]
        first[labels] = np.where(known < 0, place, np.minimum(known, place))
    is_tie = tie.astype(bool) if len(tie) else np.zeros(len(a), bool)
    a, b = np.where(is_tie, np.minimum(a, b), a), np.where(is_tie, np.maximum(a, b), b)
    key = (is_tie * span + a) * span + b
    cells = 2 * span * span if is_tie.any() else span * span
    counts = np.bincount(key, weight if len(weight) else None, cells)
    met = np.flatnonzero(counts)
    pair = met % (span * span)
    return (
        (pair // span).astype(np.int32),
        (pair % span).astype(np.int32),
        (met // (span * span)).astype(np.uint8),
        counts[met].astype(np.float64),
        first,
    )


def matrix_duels(slot_ptr: Int64s, wins: Floats, ties: Floats) -> tuple[Int64s, Int32s, Int32s, Floats, Floats, Floats]:
    """Return the duels of all square matrices: (duel_ptr, first, second, won, lost, tied), first < second."""
    ptr, parts, start = [0], [], 0
    for q, m in enumerate(np.diff(slot_ptr).tolist()):
        block = slice(start, start + m * m)
        won, tied = wins[block].reshape(m, m), ties[block].reshape(m, m)
        i, j = np.nonzero(np.triu((won != 0) | (won.T != 0) | (tied != 0), 1))
        parts.append((i + slot_ptr[q], j + slot_ptr[q], won[i, j], won[j, i], tied[i, j]))
        ptr.append(ptr[-1] + len(i))
        start += m * m
    first, second, up, down, even = (np.concatenate([part[c] for part in parts]) for c in range(5))
    return np.array(ptr, np.int64), first.astype(np.int32), second.astype(np.int32), up, down, even


def level_counts(
    slot_ptr: Int64s,
    instance_of_ballot: Int32s,
    indptr: Int64s,
    entry_slot: Int64s,
    tier: Int32s,
    level: Floats,
    weight: Floats,
) -> Floats:
    """Return matrices where (i, j) adds weight x (level_i - level_j) for every ballot with i in a better tier."""
    size = np.diff(slot_ptr)
    start = np.concatenate([[0], np.cumsum(size**2)])
    wins = np.zeros(int(start[-1]))
    for b, q in enumerate(instance_of_ballot.tolist()):
        span = slice(indptr[b], indptr[b + 1])
        place, height, own = entry_slot[span] - slot_ptr[q], level[span], tier[span]
        amount = np.where(own[:, None] < own[None, :], height[:, None] - height[None, :], 0.0)
        block = wins[start[q] : start[q + 1]].reshape(size[q], size[q])
        block[np.ix_(place, place)] += weight[b] * amount
    return wins


def group_duels(
    first: Int64s, second: Int64s, won: Floats, lost: Floats, tied: Floats, n_slots: int
) -> tuple[Int32s, Int32s, Floats, Floats, Floats]:
    """Add up rows with the same (first, second), sorted by them."""
    pair, group = np.unique(first * n_slots + second, return_inverse=True)
    counts = [np.asarray(np.bincount(group, column, len(pair)), np.float64) for column in (won, lost, tied)]
    return (pair // n_slots).astype(np.int32), (pair % n_slots).astype(np.int32), counts[0], counts[1], counts[2]
