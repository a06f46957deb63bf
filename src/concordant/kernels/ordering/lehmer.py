"""Lehmer codes (NumPy reference of lehmer.cpp)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from concordant.kernels.bundles import Ballots
from concordant.kernels.layouts import tier_tables
from concordant.types import Floats, Int32s, Int64s

__all__ = ["lehmer_consensus", "lehmer_decode", "lehmer_encode", "lehmer_votes", "pick_codes"]

VOTE_TOLERANCE = 1e-9  # shares of a vote are fractions: sums of them carry rounding errors


def lehmer_votes(ballots: Ballots, place: Int32s, ignores_missing: bool) -> Floats:
    """Sum the votes for every value of every Lehmer coordinate, in the order of the reference (``place`` of each slot).

    Coordinate x has values 0 … x. A ballot spreads its weight evenly over the values it allows: ties allow more than
    one, and so do items it leaves out (which are ranked last, or ignored). Chunks of ballots can be counted separately
    and their votes added.
    """
    parts = [np.zeros(0)]
    for slots, own_ballots, tier in tier_tables(ballots):
        tier = tier[:, np.argsort(place[slots])]
        is_named = np.isfinite(tier)
        for x in range(tier.shape[1]):
            own_tier, earlier = tier[:, x : x + 1], tier[:, :x]
            lowest, highest = (earlier > own_tier).sum(axis=1), (earlier >= own_tier).sum(axis=1)
            votes = ballots.weight[own_ballots]
            if ignores_missing:
                votes = votes * is_named[:, x]
                lowest = np.where(is_named[:, x], lowest - (~is_named[:, :x]).sum(axis=1), lowest)
            share = votes / (highest - lowest + 1)
            change = np.bincount(lowest, share, x + 2) - np.bincount(highest + 1, share, x + 2)
            parts.append(np.cumsum(change)[: x + 1])
    return np.concatenate(parts)


def pick_codes(ptr: Int64s, votes: Floats, is_median: bool) -> Int64s:
    """Return, for every coordinate, the value with the most votes (the smallest of several), or the lower median."""
    codes, offset = [], 0
    for m in np.diff(ptr).tolist():
        for x in range(m):
            own_votes = votes[offset : offset + x + 1]
            slack = VOTE_TOLERANCE * own_votes.sum()
            is_candidate = (
                np.cumsum(own_votes) >= own_votes.sum() / 2 - slack
                if is_median
                else own_votes >= own_votes.max() - slack
            )
            codes.append(int(np.argmax(is_candidate)))
            offset += x + 1
    return np.array(codes, np.int64)


def lehmer_consensus(
    ballots: Ballots,
    place: Int32s,
    ignores_missing: bool,
    is_median: bool,
    max_values: int,  # noqa: ARG001  (bounds the memory of the compiled kernel)
) -> Int64s:
    """Return the mode or median of every coordinate over all ballots, in the order of the reference."""
    return pick_codes(ballots.slot_ptr, lehmer_votes(ballots, place, ignores_missing), is_median)


def lehmer_encode(order: Int32s) -> Int32s:
    """Return the Lehmer code of every row (items best first): how many lower-numbered items are behind each item."""
    n, m = order.shape
    position = np.empty((n, m), np.int32)
    np.put_along_axis(position, order.astype(np.int64), np.arange(m, dtype=np.int32)[None, :], axis=1)
    code = np.empty((n, m), np.int32)
    for x in range(m):
        code[:, x] = (position[:, :x] > position[:, x : x + 1]).sum(axis=1)
    return code


def lehmer_decode(ptr: Int64s, code: Int64s) -> Int64s:
    """Return the items best first for the codes of every problem: item x is inserted before code(x) earlier items."""
    orders = []
    for start, stop in pairwise(ptr.tolist()):
        order: list[int] = []
        for x, value in enumerate(code[start:stop].tolist()):
            order.insert(x - value, x)
        orders.append(np.array(order, np.int64))
    return np.concatenate([np.zeros(0, np.int64), *orders])
