"""Gradients of voters as sparse rows: joined entries, sums of outer products (NumPy reference of gradients.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.types import Floats, Int64s

__all__ = ["join_entries", "outer_products"]

CELLS_AT_ONCE = 1_000_000


def join_entries(row: Int64s, slot: Int64s, value: Floats, n_rows: int, n_slots: int) -> tuple[Int64s, Int64s, Floats]:
    """Return entries sorted by row as (pointer, slot, value); entries of the same row and slot are added up.

    Within a row, slots are in the order of their first entries.
    """
    cell, first, joined = np.unique(row * n_slots + slot, return_index=True, return_inverse=True)
    order = np.lexsort((first, cell // n_slots))
    ptr = np.searchsorted(cell // n_slots, np.arange(n_rows + 1))
    total = np.bincount(joined.reshape(-1), value, len(cell)).astype(np.float64)
    return ptr.astype(np.int64), (cell % n_slots)[order], total[order]


def outer_products(ptr: Int64s, slot: Int64s, value: Floats, n_slots: int) -> Floats:
    """Return the sum over rows of the outer product of each row with itself; a row names a slot at most once."""
    total = np.zeros((n_slots, n_slots))
    n_rows, at_once = len(ptr) - 1, max(1, CELLS_AT_ONCE // max(n_slots, 1))
    for start in range(0, n_rows, at_once):
        stop = min(start + at_once, n_rows)
        entries = slice(int(ptr[start]), int(ptr[stop]))
        rows = np.zeros((stop - start, n_slots))
        rows[np.repeat(np.arange(stop - start), np.diff(ptr[start : stop + 1])), slot[entries]] = value[entries]
        total += rows.T @ rows
    return total
