"""Preferences as counts in NumPy (twin of counts.cpp)."""

from __future__ import annotations

import numpy as np

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
    owner = np.repeat(np.arange(len(size)), size)
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
    starts = np.ones(n, bool)
    starts[1:] = (ordered[1:] != ordered[:-1]) | (owner[1:] != owner[:-1])
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


def net_pairs(
    slot_ptr: Int64s,
    instance_of_ballot: Int32s,
    indptr: Int64s,
    entry_slot: Int64s,
    level: Floats,
    factor: Floats,
    binary: bool,
) -> tuple[Int64s, Floats]:
    """Add up, for every pair i < j of each instance, how much more the ballots prefer i: (ptr, net by pair).

    Ballot b counts ``factor[b]`` times. Pairs of an instance stand row by row: (0,1) (0,2) … (1,2) ….
    """
    size = np.diff(slot_ptr)
    ptr = np.concatenate([[0], np.cumsum(size * (size - 1) // 2)]).astype(np.int64)
    net = np.zeros(ptr[-1])
    for b in np.flatnonzero(factor).tolist():
        q = int(instance_of_ballot[b])
        m, span = int(size[q]), slice(indptr[b], indptr[b + 1])
        order = np.argsort(entry_slot[span])
        slot, own = (entry_slot[span] - slot_ptr[q])[order], level[span][order]
        i, j = np.triu_indices(len(slot), 1)
        difference = own[i] - own[j]
        place = ptr[q] + slot[i] * (2 * m - slot[i] - 1) // 2 + slot[j] - slot[i] - 1
        net[place] += factor[b] * (np.sign(difference) if binary else difference)
    return ptr, net


def ballot_gains(
    indptr: Int64s, entry_slot: Int64s, level: Floats, score: Floats, variance: Floats, binary: bool
) -> Floats:
    """Add up, for each ballot, count * (s_i - s_j) / (g_i + g_j) over the pairs it prefers."""
    gain = np.zeros(len(indptr) - 1)
    for b in range(len(gain)):
        slot, own = entry_slot[indptr[b] : indptr[b + 1]], level[indptr[b] : indptr[b + 1]]
        i, j = np.triu_indices(len(slot), 1)
        count = own[i] - own[j]
        between = (score[slot[i]] - score[slot[j]]) / (variance[slot[i]] + variance[slot[j]])
        gain[b] = (np.sign(count) if binary else count) @ between
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
    counts = np.zeros((3, len(indptr) - 1), np.int64)
    for b in range(len(indptr) - 1):
        span = slice(indptr[b], indptr[b + 1])
        is_known = ~np.isnan(label[span])
        own, place = label[span][is_known], tier[span][is_known].astype(np.int64)
        level = np.unique(own, return_inverse=True)[1]
        for k in range(int(level.max(initial=-1)) + 1):
            worse, better = np.sort(place[level < k]), place[level == k]
            at_most = np.searchsorted(worse, better, "right").sum()
            less = np.searchsorted(worse, better, "left").sum()
            counts[:, b] += len(worse) * len(better) - at_most, less, at_most - less
    return counts[0], counts[1], counts[2]
