"""Preference counts of ballots (NumPy reference of counts.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.bundles import Ballots
from concordant.kernels.layouts import begins_tier, pair_steps, pointers, segment_of
from concordant.types import Bytes, Floats, Int32s, Int64s

__all__ = ["ballot_gains", "label_agreement", "link_slots", "net_pairs", "preference_counts"]

WINS, LOSES = 1, 2


def preference_counts(indptr: Int64s, level: Floats, draws: bool, binary: bool) -> tuple[Floats, Floats, Bytes]:
    """Count the preferences of each ballot: (net wins per entry, total count per ballot, role per entry).

    The count of a pair is the difference of the levels (higher is better) or, if ``binary``, 1. The role has bit 1
    for an item that wins somewhere in the ballot and bit 2 for one that loses. Tied items add no counts; with
    ``draws``, a ballot of two equal items is half a win each way. Entries are sorted best first.
    """
    n = len(level)
    net, role, total = np.zeros(n), np.zeros(n, np.uint8), np.zeros(len(indptr) - 1)
    size = np.diff(indptr)
    ballot = segment_of(indptr)
    order = np.lexsort((-level, ballot))  # the entries of every ballot, best first
    sorted_level = level[order]
    filled = size > 0
    first, last = indptr[:-1][filled], indptr[1:][filled] - 1
    best, worst = (np.repeat(sorted_level[ends], size[filled]) for ends in (first, last))
    above = sorted_level - worst  # how far above the ballot's last entry
    position = np.arange(n) - np.repeat(indptr[:-1], size)
    m = np.repeat(size, size)
    role[order] = WINS * (above > 0) + LOSES * (sorted_level < best)
    is_draw = (size == 2) & draws
    is_draw[filled] &= sorted_level[first] == sorted_level[last]
    role[np.repeat(is_draw, size)] = WINS | LOSES
    starts = begins_tier(indptr, sorted_level)
    tier = np.cumsum(starts) - 1
    tier_start = np.flatnonzero(starts)
    tier_stop = np.append(tier_start[1:], n)
    offset = np.repeat(indptr[:-1], size)
    if binary:
        wins = m - (tier_stop[tier] - offset) if n else m
        net[order] = wins - (tier_start[tier] - offset) if n else 0.0
        np.add.at(total, ballot, wins)
    else:
        # net of i: the sum over j of level_i - level_j = m above_i - sum of above; total: the sum over pairs
        sums = np.bincount(ballot, weights=above, minlength=len(size))
        net[order] = m * above - np.repeat(sums, size)
        np.add.at(total, ballot, above * (m - 1.0 - 2 * position))
        # a ballot whose items are all equal prefers nothing, whatever rounding says
        net[order] = np.where(np.repeat(sorted_level[first] == sorted_level[last], size[filled]), 0.0, net[order])
    total[is_draw] = 1.0
    return net, total, role


def net_pairs(ballots: Ballots, level: Floats, binary: bool) -> tuple[Int64s, Floats]:
    """Sum the net preference for i over j for every pair i < j of each instance: (ptr, net by pair).

    Pairs of an instance are stored row by row: (0,1) (0,2) … (1,2) ….
    """
    size, ballot = np.diff(ballots.slot_ptr), segment_of(ballots.indptr)
    ptr, instance, weight = pointers(size * (size - 1) // 2), ballots.instance_of_ballot[ballot], ballots.weight[ballot]
    place = ballots.entry_slot - ballots.slot_ptr[instance]
    # pair (i, j) has index row + j, with row = i (2m - i - 1) / 2 - i - 1 past the pairs of earlier instances
    row = ptr[instance] + place * (2 * size[instance] - place - 1) // 2 - place - 1
    net = np.zeros(ptr[-1])
    for entry, later_entry in pair_steps(ballots.indptr):
        upper, lower = np.where(place[entry] < place[later_entry], [entry, later_entry], [later_entry, entry])
        count = level[upper] - level[lower]
        np.add.at(net, row[upper] + place[lower], weight[entry] * (np.sign(count) if binary else count))
    return ptr, net


def ballot_gains(
    indptr: Int64s, entry_slot: Int64s, level: Floats, score: Floats, variance: Floats, binary: bool
) -> Floats:
    """Sum, for each ballot, count * (s_i - s_j) / (g_i + g_j) over its pairs: scores s, variances g."""
    gain, ballot = np.zeros(len(indptr) - 1), segment_of(indptr)
    score, variance = score[entry_slot], variance[entry_slot]
    for entry, later_entry in pair_steps(indptr):
        count = level[entry] - level[later_entry]
        scaled_lead = (score[entry] - score[later_entry]) / (variance[entry] + variance[later_entry])
        np.add.at(gain, ballot[entry], (np.sign(count) if binary else count) * scaled_lead)
    return gain


def link_slots(indptr: Int64s, entry_slot: Int64s, slots: int) -> Int64s:
    """Return, for every slot, the lowest slot of its connected component; ballots connect the slots that they name."""
    lowest = np.arange(slots, dtype=np.int64)
    filled = np.diff(indptr) > 0
    if not filled.any():
        return lowest
    starts, size = indptr[:-1][filled], np.diff(indptr)[filled]
    while True:
        before = lowest.copy()
        of_ballot = np.minimum.reduceat(lowest[entry_slot], starts)
        np.minimum.at(lowest, entry_slot, np.repeat(of_ballot, size))
        lowest = lowest[lowest]
        if np.array_equal(before, lowest):
            return lowest


def label_agreement(indptr: Int64s, tier: Int32s, label: Floats) -> tuple[Int64s, Int64s, Int64s]:
    """Return, for each ballot, the numbers of pairs with different labels that are concordant, discordant and tied.

    Items whose label is NaN are left out.
    """
    counts, ballot = np.zeros((3, len(indptr) - 1), np.int64), segment_of(indptr)
    for better, worse in pair_steps(indptr):
        lead = np.sign(label[better] - label[worse])  # NaN is none of the three
        tied = (tier[better] == tier[worse]) & (np.abs(lead) == 1)
        for row, pairs in enumerate(((lead > 0) & ~tied, (lead < 0) & ~tied, tied)):
            np.add.at(counts[row], ballot[better], pairs)
    return counts[0], counts[1], counts[2]
