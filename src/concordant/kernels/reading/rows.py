"""Convert rows to ballots, ballots to slots, and scores to ranks (NumPy reference of rows.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.layouts import begins_tier, by_appearance, find_rows, pointers, segment_of
from concordant.types import Floats, Int32s, Int64s

__all__ = ["assign_slots", "find_repeated", "find_slots", "group_rows", "order_segments", "tier_positions"]


def group_rows(instance: Int32s, agent: Int32s, values: Floats) -> tuple[Int64s, Int64s, Int32s]:
    """Group rows into ballots: (order, indptr, tier).

    An empty instance or agent column means there is only one. Rows with equal (instance, agent) form a ballot; ballots
    are in order of first appearance, the rows of a ballot by ascending value, ties in input order. ``order`` is empty
    if the rows are in that order already.
    """
    keys = np.zeros(len(values), np.int64)
    for column in (instance, agent):
        if len(column):
            keys = (keys << 32) + column
    group, _ = by_appearance(keys)
    indptr = pointers(np.bincount(group))
    order = np.lexsort((values, group)).astype(np.int64)
    level: Int64s = np.cumsum(begins_tier(indptr, values[order]))
    tier = (level - level[indptr[group[order]]]).astype(np.int32)
    if np.array_equal(order, np.arange(len(order))):
        order = np.empty(0, np.int64)
    return order, indptr, tier


def assign_slots(
    instance_of_ballot: Int32s, indptr: Int64s, item: Int32s, n_instances: int, n_items: int
) -> tuple[Int64s, Int32s, Int64s]:
    """Return the candidates of every instance in order of first appearance (slot_ptr, slot_item), and entry slots."""
    instance = np.repeat(instance_of_ballot, np.diff(indptr)).astype(np.int64)
    key = instance * max(n_items, 1) + item
    distinct, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    owner = distinct // max(n_items, 1)
    order = np.lexsort((first, owner))
    slot_of = np.empty(len(distinct), np.int64)
    slot_of[order] = np.arange(len(distinct))
    slot_item = (distinct[order] % max(n_items, 1)).astype(np.int32)
    slot_ptr = np.searchsorted(owner[order], np.arange(n_instances + 1)).astype(np.int64)
    return slot_ptr, slot_item, slot_of[inverse.reshape(-1)]


def find_slots(
    slot_ptr: Int64s, slot_item: Int32s, instance_of_ballot: Int32s, indptr: Int64s, item: Int32s, n_items: int
) -> Int64s:
    """Return the slot of every entry among known candidates, -1 if an item is not a candidate of its instance."""
    instance = np.repeat(instance_of_ballot, np.diff(indptr)).astype(np.int64)
    return find_rows(segment_of(slot_ptr) * n_items + slot_item, instance * n_items + item)


def find_repeated(indptr: Int64s, item: Int32s, n_items: int) -> tuple[int, int]:
    """Return the first ballot that names an item twice and the entry that repeats it, or (-1, -1)."""
    ballot = segment_of(indptr)
    key = ballot * max(n_items, 1) + item
    order = np.argsort(key, kind="stable")
    repeated = order[1:][key[order][1:] == key[order][:-1]]
    if not len(repeated):
        return -1, -1
    entry = int(repeated.min())
    return int(ballot[entry]), entry


def tier_positions(indptr: Int64s, tier: Int32s, mean: bool) -> Floats:
    """Return for every entry 1 + the number of items in better tiers, or the mean position of its tier."""
    first = np.flatnonzero(begins_tier(indptr, tier))
    last = np.append(first[1:], len(tier))
    start_of_ballot = indptr[segment_of(indptr)[first]]
    best = (first - start_of_ballot + 1).astype(np.float64)
    position = (best + (last - start_of_ballot)) / 2 if mean else best
    return np.repeat(position, last - first)


def order_segments(score: Floats, ptr: Int64s, tolerance: float) -> tuple[Int64s, Int32s]:
    """Return slots best first within each segment and their ranks (1, 2, 2, 4 …), in that order.

    Adjacent scores that differ by at most ``tolerance`` (relative) are tied and stay in slot order.
    """
    segment = segment_of(ptr)
    order = np.lexsort((-score, segment)).astype(np.int64)
    sorted_score = score[order]
    new_tier = begins_tier(ptr, segment)
    gap = np.abs(np.diff(sorted_score))
    scale = np.maximum(np.abs(sorted_score[1:]), np.abs(sorted_score[:-1]))
    new_tier[1:] |= ~((gap <= tolerance * scale) | (gap == 0))
    tier = np.cumsum(new_tier)
    order = order[np.lexsort((order, tier))]
    start_of_tier = np.flatnonzero(new_tier)
    rank = start_of_tier[tier - 1] - ptr[segment] + 1
    return order, rank.astype(np.int32)
