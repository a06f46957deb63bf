"""Preferences as counts in NumPy (twin of counts.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.bundles import Ballots
from concordant.kernels.layouts import begins_tier, pair_steps, pointers, segment_of
from concordant.types import Bytes, Floats, Int32s, Int64s

__all__ = ["ballot_gains", "label_agreement", "link_slots", "net_pairs", "preference_counts"]

WINS, LOSES = 1, 2


def preference_counts(indptr: Int64s, level: Floats, draws: bool, binary: bool) -> tuple[Floats, Floats, Bytes]:
    """Count what each ballot prefers: (net wins per entry, total count per ballot, role per entry).

    The count of a pair is the difference of the levels (higher is better) or, if ``binary``, 1. The role has bit 1
    for an item that wins somewhere in the ballot and bit 2 for one that loses. Equal items give no counts; with
    ``draws``, a ballot of two equal items is half a win each way.
    """
    n = len(level)
    net, role, total = np.zeros(n), np.zeros(n, np.uint8), np.zeros(len(indptr) - 1)
    size = np.diff(indptr)
    owner = segment_of(indptr)
    order = np.lexsort((-level, owner))
    ordered = level[order]
    filled = size > 0
    first, last = indptr[:-1][filled], indptr[1:][filled] - 1
    best, worst = (np.repeat(ordered[ends], size[filled]) for ends in (first, last))
    above = ordered - worst
    position = np.arange(n) - np.repeat(indptr[:-1], size)
    m = np.repeat(size, size)
    role[order] = WINS * (above > 0) + LOSES * (ordered < best)
    is_draw = (size == 2) & draws
    is_draw[filled] &= ordered[first] == ordered[last]
    role[np.repeat(is_draw, size)] = WINS | LOSES
    starts = begins_tier(indptr, ordered)
    group = np.cumsum(starts) - 1
    start_of = np.flatnonzero(starts)
    stop_of = np.append(start_of[1:], n)
    offset = np.repeat(indptr[:-1], size)
    if binary:
        wins = m - (stop_of[group] - offset) if n else m
        net[order] = wins - (start_of[group] - offset) if n else 0.0
        np.add.at(total, owner, wins)
    else:
        sums = np.bincount(owner, weights=above, minlength=len(size))
        net[order] = m * above - np.repeat(sums, size)
        np.add.at(total, owner, above * (m - 1.0 - 2 * position))
        net[order] = np.where(np.repeat(ordered[first] == ordered[last], size[filled]), 0.0, net[order])
    total[is_draw] = 1.0
    return net, total, role


def net_pairs(ballots: Ballots, level: Floats, binary: bool) -> tuple[Int64s, Floats]:
    """Add up, for every pair i < j of each instance, how much more the ballots prefer i: (ptr, net by pair).

    Pairs of an instance stand row by row: (0,1) (0,2) … (1,2) ….
    """
    size, ballot = np.diff(ballots.slot_ptr), segment_of(ballots.indptr)
    ptr, instance, weight = pointers(size * (size - 1) // 2), ballots.instance_of_ballot[ballot], ballots.weight[ballot]
    place = ballots.entry_slot - ballots.slot_ptr[instance]
    row = ptr[instance] + place * (2 * size[instance] - place - 1) // 2 - place - 1
    net = np.zeros(ptr[-1])
    for one, other in pair_steps(ballots.indptr):
        upper, lower = np.where(place[one] < place[other], [one, other], [other, one])
        count = level[upper] - level[lower]
        np.add.at(net, row[upper] + place[lower], weight[one] * (np.sign(count) if binary else count))
    return ptr, net


def ballot_gains(
    indptr: Int64s, entry_slot: Int64s, level: Floats, score: Floats, variance: Floats, binary: bool
) -> Floats:
    """Add up, for each ballot, count * (s_i - s_j) / (g_i + g_j) over the pairs it prefers."""
    gain, ballot = np.zeros(len(indptr) - 1), segment_of(indptr)
    score, variance = score[entry_slot], variance[entry_slot]
    for one, other in pair_steps(indptr):
        count = level[one] - level[other]
        between = (score[one] - score[other]) / (variance[one] + variance[other])
        np.add.at(gain, ballot[one], (np.sign(count) if binary else count) * between)
    return gain


def link_slots(indptr: Int64s, entry_slot: Int64s, slots: int) -> Int64s:
    """Return, for every slot, the least slot it is linked with by ballots that name both, directly or in a chain."""
    least = np.arange(slots, dtype=np.int64)
    filled = np.diff(indptr) > 0
    if not filled.any():
        return least
    starts, size = indptr[:-1][filled], np.diff(indptr)[filled]
    while True:
        before = least.copy()
        of_ballot = np.minimum.reduceat(least[entry_slot], starts)
        np.minimum.at(least, entry_slot, np.repeat(of_ballot, size))
        least = least[least]
        if np.array_equal(before, least):
            return least


def label_agreement(indptr: Int64s, tier: Int32s, label: Floats) -> tuple[Int64s, Int64s, Int64s]:
    """Count the pairs with different labels that each ballot orders alike, the other way, or ties.

    An item whose label is NaN takes no part.
    """
    counts, ballot = np.zeros((3, len(indptr) - 1), np.int64), segment_of(indptr)
    for better, worse in pair_steps(indptr):
        lead = np.sign(label[better] - label[worse])  # NaN is none of the three
        tied = (tier[better] == tier[worse]) & (np.abs(lead) == 1)
        for row, pairs in enumerate(((lead > 0) & ~tied, (lead < 0) & ~tied, tied)):
            np.add.at(counts[row], ballot[better], pairs)
    return counts[0], counts[1], counts[2]
