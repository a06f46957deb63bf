"""Rows to ballots, ballots to slots, scores to order in NumPy (twin of rows.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.types import AnyArray, Floats, Int32s, Int64s

__all__ = ["assign_slots", "find_repeated", "find_slots", "group_rows", "order_segments", "tier_positions"]


def group_rows(instance: Int32s, agent: Int32s, values: Floats) -> tuple[Int64s, Int64s, Int32s]:
    """Group rows into ballots: (order, indptr, tier).

    An empty instance or agent column means there is only one. Equal (instance, agent) come together in order of first
    appearance, the rows of a ballot by value (ascending), ties in input order. ``order`` is empty when the rows
    already stand that way.
    """
    keys = np.zeros(len(values), np.int64)
    for column in (instance, agent):
        if len(column):
            keys = (keys << 32) + column
    _, first, inverse, sizes = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    by_appearance = np.argsort(first, kind="stable")
    group_of = np.empty(len(first), np.int64)
    group_of[by_appearance] = np.arange(len(first))
    group = group_of[inverse.reshape(-1)]
    indptr = np.concatenate([[0], np.cumsum(sizes[by_appearance])]).astype(np.int64)
    order = np.lexsort((values, group)).astype(np.int64)
    sorted_values = values[order]
    changes = np.empty(len(keys), np.int64)
    changes[:1] = 0
    changes[1:] = sorted_values[1:] != sorted_values[:-1]
    level = np.cumsum(changes)
    tier = (level - np.repeat(level[indptr[:-1]], np.diff(indptr))).astype(np.int32)
    if np.array_equal(order, np.arange(len(order))):
        order = np.empty(0, np.int64)
    return order, indptr, tier


def assign_slots(
    instance_of_ballot: Int32s, indptr: Int64s, item: Int32s, n_instances: int, n_items: int
) -> tuple[Int64s, Int32s, Int64s]:
    """Return the candidates of every instance in order of first appearance (slot_ptr, slot_item), entry slots."""
    instance = np.repeat(instance_of_ballot, np.diff(indptr)).astype(np.int64)
    key = instance * max(n_items, 1) + item
    found, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    owner = found // max(n_items, 1)
    order = np.lexsort((first, owner))
    slot_of = np.empty(len(found), np.int64)
    slot_of[order] = np.arange(len(found))
    slot_item = (found[order] % max(n_items, 1)).astype(np.int32)
    slot_ptr = np.searchsorted(owner[order], np.arange(n_instances + 1)).astype(np.int64)
    return slot_ptr, slot_item, slot_of[inverse.reshape(-1)]


def find_slots(
    slot_ptr: Int64s, slot_item: Int32s, instance_of_ballot: Int32s, indptr: Int64s, item: Int32s, n_items: int
) -> Int64s:
    """Return the slot of every entry among given candidates, -1 where an item is no candidate of its instance."""
    owner = np.repeat(np.arange(len(slot_ptr) - 1), np.diff(slot_ptr))
    keys = owner * n_items + slot_item
    order = np.argsort(keys, kind="stable")
    wanted = np.repeat(instance_of_ballot, np.diff(indptr)).astype(np.int64) * n_items + item
    if not len(keys):
        return np.full(len(item), -1, np.int64)
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    slot = order[at]
    return np.where(keys[slot] == wanted, slot, -1).astype(np.int64)


def find_repeated(indptr: Int64s, item: Int32s, n_items: int) -> tuple[int, int]:
    """Return the first ballot that names an item twice and the entry that repeats it, or (-1, -1)."""
    ballot = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    key = ballot * max(n_items, 1) + item
    order = np.argsort(key, kind="stable")
    repeated = order[1:][key[order][1:] == key[order][:-1]]
    if not len(repeated):
        return -1, -1
    entry = int(repeated.min())
    return int(ballot[entry]), entry


def tier_positions(indptr: Int64s, tier: Int32s, mean: bool) -> Floats:
    """Return for every entry 1 + the number of items in better tiers, or the mean position of its tier."""
    sizes = np.diff(indptr)
    starts = _starts(len(tier), indptr)
    starts[1:] |= tier[1:] != tier[:-1]
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(tier))
    start_of_ballot = np.repeat(indptr[:-1], sizes)[first] if len(first) else first
    best = (first - start_of_ballot + 1).astype(np.float64)
    here = (best + (last - start_of_ballot)) / 2 if mean else best
    return np.repeat(here, last - first)


def order_segments(score: Floats, ptr: Int64s, tolerance: float) -> tuple[Int64s, Int32s]:
    """Return slots best first inside each segment and their ranks (1, 2, 2, 4 …), aligned to the order.

    Neighbours within ``tolerance`` (relative) are tied and stand in slot order.
    """
    n = len(score)
    segment = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    order = np.lexsort((-score, segment)).astype(np.int64)
    sorted_score = score[order]
    new_tier = _starts(n, ptr)
    gap = np.abs(np.diff(sorted_score))
    scale = np.maximum(np.abs(sorted_score[1:]), np.abs(sorted_score[:-1]))
    new_tier[1:] |= ~((gap <= tolerance * scale) | (gap == 0))
    tier = np.cumsum(new_tier)
    order = order[np.lexsort((order, tier))]
    start_of_tier = np.flatnonzero(new_tier)
    rank = start_of_tier[tier - 1] - ptr[segment] + 1
    return order, rank.astype(np.int32)


def _starts(n: int, ptr: Int64s) -> AnyArray:
    starts = np.zeros(n, bool)
    starts[ptr[:-1][np.diff(ptr) > 0]] = True
    return starts
