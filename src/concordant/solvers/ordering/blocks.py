"""Blocks of candidates that can be ordered on their own.

Let an item lead to another unless putting the other first is the cheapest that can happen to the pair. If the items
fall into parts so that no lead goes back from a later part to an earlier one, some optimal ranking keeps the parts in
that order: moving the parts apart makes every pair between them as cheap as can be and leaves the others alone. The
finest such parts are the strongly connected components of the leads (the extended Condorcet criterion). With ties
allowed "the cheapest" ranges over three possibilities, so a pair is only split if its majority exceeds its ties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.gather import segment_index
from concordant.solvers.ordering.costs import PairCosts
from concordant.types import Floats, Int64s


@dataclass(frozen=True)
class Blocks:
    """Blocks of all instances one after the other, each a small problem with its own square matrices."""

    costs: PairCosts
    ptr: Int64s
    slot: Int64s
    """The slots of the blocks, in an order blocks may keep; inside a block by net wins."""
    before: Floats
    tied: Floats

    @property
    def size(self) -> Int64s:
        """How many items stand in each block."""
        return np.diff(self.ptr)

    def matrices(self, block: int) -> tuple[Floats, Floats]:
        """Return the costs of one block as square matrices: (before, tied)."""
        start, m = int((self.size[:block] ** 2).sum()), int(self.size[block])
        return tuple(flat[start : start + m * m].reshape(m, m) for flat in (self.before, self.tied))  # type: ignore[return-value]

    def select(self, wanted: Int64s) -> tuple[Int64s, Floats, Floats]:
        """Return pointers and matrices of some blocks."""
        size = self.size
        ptr = np.concatenate([[0], np.cumsum(size[wanted])]).astype(np.int64)
        keep = np.zeros(len(size), bool)
        keep[wanted] = True
        pairs = np.repeat(keep, size**2)
        return ptr, self.before[pairs], self.tied[pairs]

    def join(self, tier: Int64s) -> Int64s:
        """Return the tier of every slot from tiers inside blocks (numbered from 0 in each)."""
        block = segment_index(self.ptr)
        count = np.zeros(len(self.ptr) - 1, np.int64)
        np.maximum.at(count, block, tier + 1)
        joined = np.empty_like(tier)
        joined[self.slot] = tier + (np.cumsum(count) - count)[block]
        return np.asarray(joined - np.repeat(self._first_tier(joined), np.diff(self.costs.slot_ptr)))

    def _first_tier(self, joined: Int64s) -> Int64s:
        starts = self.costs.slot_ptr[:-1]
        least = np.zeros(len(starts), np.int64)
        filled = np.diff(self.costs.slot_ptr) > 0
        least[filled] = np.minimum.reduceat(joined, starts[filled]) if filled.any() else 0
        return least


def split(costs: PairCosts, allow_ties: bool, start: Int64s | None = None) -> Blocks:
    """Split every instance into its blocks; ``start`` (orders) settles what the costs leave open."""
    begin = (costs.start if start is None else start) + costs.first_slot
    tied = costs.tied if allow_ties else np.zeros(0)
    slot, ptr = kernels.split_blocks(costs.slot_ptr, costs.before, tied, begin)
    instance = segment_index(costs.slot_ptr)[slot]
    size = np.diff(ptr)
    width = np.repeat(size, size)
    row = np.repeat(np.arange(len(slot)), width)
    column = np.arange(len(row)) - np.repeat(np.cumsum(width) - width, width) + np.repeat(ptr[:-1], size**2)
    candidates = np.diff(costs.slot_ptr)[instance]
    local = slot - costs.first_slot[slot]
    at = costs.matrix_start[instance[row]] + local[row] * candidates[row] + local[column]
    return Blocks(costs, ptr, slot, costs.before[at], costs.tied[at])


def places(ptr: Int64s, order: Int64s) -> Int64s:
    """Turn orders inside blocks into the place of every item of the blocks."""
    first = np.repeat(ptr[:-1], np.diff(ptr))
    place = np.empty_like(order)
    place[order + first] = np.arange(len(order)) - first
    return place
