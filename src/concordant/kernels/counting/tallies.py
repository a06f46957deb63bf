"""Pairwise comparisons counted from votes, ballots or matrices (NumPy reference of tallies.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.bundles import Ballots, DuelRows, Tally
from concordant.kernels.layouts import blocks_of, pointers, preference_steps, segment_of
from concordant.types import AnyArray, Bytes, Floats, Int32s, Int64s

__all__ = ["count_duels", "count_votes", "duel_sums", "group_duels", "level_counts", "matrix_duels", "tally_votes"]


def tally_votes(winner: AnyArray, loser: AnyArray, tie: Bytes, weight: Floats, low: int, span: int) -> Tally:
    """Count votes over labels low … low + span - 1: a row per compared pair, ties with the smaller label as winner.

    Empty ``tie`` means no ties, empty ``weight`` weight 1 for every vote. A pair is coded as
    (is tie * span + winner) * span + loser.
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
    return Tally(
        (pair // span).astype(np.int32),
        (pair % span).astype(np.int32),
        (met // (span * span)).astype(np.uint8),
        counts[met].astype(np.float64),
        first,
    )


def matrix_duels(slot_ptr: Int64s, wins: Floats, ties: Floats) -> tuple[Int64s, DuelRows]:
    """Return the comparisons in square matrices of wins and ties: pointers by instance, rows with first < second."""
    ptr, parts = [0], []
    for span, (won, tied) in blocks_of(slot_ptr, wins, ties):
        i, j = np.nonzero(np.triu((won != 0) | (won.T != 0) | (tied != 0), 1))
        parts.append((i + span.start, j + span.start, won[i, j], won[j, i], tied[i, j]))
        ptr.append(ptr[-1] + len(i))
    first, second, up, down, even = (np.concatenate([part[c] for part in parts]) for c in range(5))
    return np.array(ptr, np.int64), DuelRows(first.astype(np.int32), second.astype(np.int32), up, down, even)


def count_duels(ballots: Ballots) -> tuple[Int64s, DuelRows]:
    """Return the comparisons of ballots, first < second: all pairs except ties in the last tier of an open ballot."""
    indptr, tier, slot = ballots.indptr, ballots.tier, ballots.entry_slot
    ballot = segment_of(indptr)
    # (ahead, behind) runs through all pairs of entries of every ballot
    n_later = indptr[ballot + 1] - np.arange(len(ballot)) - 1
    ahead = np.repeat(np.arange(len(ballot)), n_later)
    behind = ahead + 1 + np.arange(len(ahead)) - np.repeat(np.cumsum(n_later) - n_later, n_later)
    is_tie, owner = tier[ahead] == tier[behind], ballot[ahead]
    is_free = is_tie & (ballots.is_open[owner] != 0) & (tier[ahead] == tier[indptr[owner + 1] - 1])
    ahead, behind, is_tie, weight = ahead[~is_free], behind[~is_free], is_tie[~is_free], ballots.weight[owner[~is_free]]
    better, worse = slot[ahead], slot[behind]
    won, lost = weight * (~is_tie & (better < worse)), weight * (~is_tie & (better > worse))
    first, second = np.minimum(better, worse), np.maximum(better, worse)
    rows = group_duels(first, second, won, lost, weight * is_tie, int(ballots.slot_ptr[-1]))
    return np.searchsorted(rows.first, ballots.slot_ptr).astype(np.int64), rows


def count_votes(item: Int32s, tier: Int32s, weight: Floats, n_items: int) -> tuple[Int64s, DuelRows]:
    """Return the comparisons of ballots of two items each; an empty ``weight`` means weight 1 for every vote."""
    n, flat = len(item), item.reshape(-1).astype(np.int64)
    indptr, nobody = np.arange(0, 2 * n + 1, 2), np.zeros(n, np.uint8)
    slot_ptr, weight = np.array([0, n_items]), weight if len(weight) else np.ones(n)
    return count_duels(Ballots(slot_ptr, np.zeros(n, np.int32), indptr, flat, tier.reshape(-1), weight, nobody))


def duel_sums(
    first: Int32s, second: Int32s, won: Floats, lost: Floats, tied: Floats, n_slots: int
) -> tuple[Floats, Floats, Floats]:
    """Return, by row, the number of comparisons; by slot, that number and the wins (ties half) minus half of it."""
    total, surplus = won + lost + tied, (won - lost) / 2
    met = np.bincount(first, total, n_slots) + np.bincount(second, total, n_slots)
    balance = np.bincount(first, surplus, n_slots) - np.bincount(second, surplus, n_slots)
    return total, met.astype(np.float64), balance.astype(np.float64)


def level_counts(ballots: Ballots, level: Floats) -> Floats:
    """Return flat matrices: (i, j) sums weight x (level_i - level_j) over the ballots with i in a better tier."""
    size, ballot = np.diff(ballots.slot_ptr), segment_of(ballots.indptr)
    ptr, instance, weight = pointers(size**2), ballots.instance_of_ballot[ballot], ballots.weight[ballot]
    place = ballots.entry_slot - ballots.slot_ptr[instance]
    row = ptr[instance] + place * size[instance]
    wins = np.zeros(ptr[-1])
    for better, worse in preference_steps(ballots.indptr, ballots.tier):
        np.add.at(wins, row[better] + place[worse], weight[better] * (level[better] - level[worse]))
    return wins


def group_duels(first: Int64s, second: Int64s, won: Floats, lost: Floats, tied: Floats, n_slots: int) -> DuelRows:
    """Return one row for every distinct (first, second), counts added up, sorted by first and second."""
    pair, group = np.unique(first * n_slots + second, return_inverse=True)
    counts = [np.asarray(np.bincount(group, column, len(pair)), np.float64) for column in (won, lost, tied)]
    return DuelRows((pair // n_slots).astype(np.int32), (pair % n_slots).astype(np.int32), *counts)
