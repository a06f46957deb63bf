"""Lehmer codes in NumPy (twin of lehmer.cpp)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from concordant.types import Floats, Int32s, Int64s

__all__ = ["lehmer_consensus", "lehmer_decode", "lehmer_encode", "lehmer_votes", "pick_codes"]

VOTE_TOLERANCE = 1e-9  # shares of a vote are fractions: sums of them carry rounding errors


def lehmer_votes(
    slot_ptr: Int64s,
    instance_of_ballot: Int32s,
    indptr: Int64s,
    entry_slot: Int64s,
    tier: Int32s,
    weight: Floats,
    place: Int32s,
    ignores_missing: bool,
) -> Floats:
    """Add up the votes for every value of every coordinate, in the order of the reference (``place`` of each slot).

    Coordinate x has values 0 … x. A ballot spreads its weight evenly over the values it allows: ties allow more than
    one, and so do items it leaves out (which stand last, or are ignored). Chunks of ballots can be counted apart and
    their votes added.
    """
    parts = []
    for q, (start, stop) in enumerate(pairwise(slot_ptr.tolist())):
        m = stop - start
        ballots = np.flatnonzero(instance_of_ballot == q)
        level = np.full((len(ballots), m), np.iinfo(np.int64).max)  # columns in reference order
        for row, ballot in enumerate(ballots.tolist()):
            span = slice(indptr[ballot], indptr[ballot + 1])
            level[row, place[entry_slot[span]]] = tier[span]
        is_named = level < np.iinfo(np.int64).max
        for x in range(m):
            earlier, own = level[:, :x], level[:, x : x + 1]
            worse, tied = earlier > own, earlier == own
            least, most = worse.sum(axis=1), (worse | tied).sum(axis=1)
            votes = weight[ballots]
            if ignores_missing:
                votes = votes * is_named[:, x]
                absent = (~is_named[:, :x]).sum(axis=1)
                least, most = least - absent * is_named[:, x], np.maximum(most, least)
            share = votes / (most - least + 1)
            change = np.bincount(least, share, x + 2) - np.bincount(most + 1, share, x + 2)
            parts.append(np.cumsum(change)[: x + 1])
    return np.concatenate([np.zeros(0), *parts])


def pick_codes(ptr: Int64s, votes: Floats, is_median: bool) -> Int64s:
    """Return, of every coordinate, the least value with the most votes or the least that half do not exceed."""
    codes, at = [], 0
    for m in np.diff(ptr).tolist():
        for x in range(m):
            own = votes[at : at + x + 1]
            slack = VOTE_TOLERANCE * own.sum()
            reached = np.cumsum(own) >= own.sum() / 2 - slack if is_median else own >= own.max() - slack
            codes.append(int(np.argmax(reached)))
            at += x + 1
    return np.array(codes, np.int64)


def lehmer_consensus(
    slot_ptr: Int64s,
    instance_of_ballot: Int32s,
    indptr: Int64s,
    entry_slot: Int64s,
    tier: Int32s,
    weight: Floats,
    place: Int32s,
    ignores_missing: bool,
    is_median: bool,
    most_values: int,  # noqa: ARG001  (bounds the memory of the compiled kernel)
) -> Int64s:
    """Return the mode or median of every coordinate over all ballots, in the order of the reference."""
    votes = lehmer_votes(slot_ptr, instance_of_ballot, indptr, entry_slot, tier, weight, place, ignores_missing)
    return pick_codes(slot_ptr, votes, is_median)


def lehmer_encode(order: Int32s) -> Int32s:
    """Return the code of every row (items best first): how many items numbered lower stand behind each item."""
    n, m = order.shape
    position = np.empty((n, m), np.int32)
    np.put_along_axis(position, order.astype(np.int64), np.arange(m, dtype=np.int32)[None, :], axis=1)
    code = np.empty((n, m), np.int32)
    for x in range(m):
        code[:, x] = (position[:, :x] > position[:, x : x + 1]).sum(axis=1)
    return code


def lehmer_decode(ptr: Int64s, code: Int64s) -> Int64s:
    """Return the items best first, for the codes of every problem: item x goes in front of code(x) earlier ones."""
    orders = []
    for start, stop in pairwise(ptr.tolist()):
        own: list[int] = []
        for x, value in enumerate(code[start:stop].tolist()):
            own.insert(x - value, x)
        orders.append(np.array(own, np.int64))
    return np.concatenate([np.zeros(0, np.int64), *orders])
