"""Decompose an instance into blocks of candidates that can be ordered separately.

Draw an edge from one item to another unless ranking the other first is the cheapest option for the pair. If the items
can be partitioned so that no edge leads from a later part to an earlier one, some optimal ranking keeps the parts in
that order: separating the parts gives every pair between them its lowest cost and leaves the other pairs unchanged. The
finest such partition is given by the strongly connected components (the extended Condorcet criterion). With ties
allowed a pair has three options, so it is only split if its majority exceeds its ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import kernels
from concordant.ballots.segments import max_by, number_inside, pointer, segment_index
from concordant.solvers.ordering.costs import PairCosts
from concordant.types import Floats, Int64s


@dataclass(frozen=True)
class Blocks(PairCosts):
    """The blocks of all instances, each a small problem with its own square matrices."""

    costs: PairCosts
    """The costs of the whole instances."""
    allow_ties: bool
    slot: Int64s
    """The slots of the blocks, in an optimal order of blocks; within a block by net wins."""

    @property
    def ptr(self) -> Int64s:
        """The start of every block's items."""
        return self.slot_ptr

    @cached_property
    def size(self) -> Int64s:
        """The number of items in each block."""
        return np.diff(self.ptr)

    @cached_property
    def instance(self) -> Int64s:
        """The instance of each block, ascending."""
        return segment_index(self.costs.slot_ptr)[self.slot[self.ptr[:-1]]]

    @cached_property
    def start(self) -> Int64s:
        """The initial order within every block, by net wins: 0, 1, 2, …"""
        return number_inside(self.ptr)

    def slots(self, block: int) -> Int64s:
        """Return the slots of one block."""
        return self.slot[self.ptr[block] : self.ptr[block + 1]]

    def select(self, chosen: Int64s) -> tuple[Int64s, Floats, Floats]:
        """Return pointers and flat matrices (before, tied) of some blocks."""
        pairs = np.repeat(np.isin(np.arange(len(self.size)), chosen), self.size**2)
        return pointer(self.size[chosen]), self.before[pairs], self.tied[pairs]

    def join(self, tier: Int64s) -> Int64s:
        """Return the tier of every slot in its instance from tiers within blocks (numbered from 0 in each)."""
        block = segment_index(self.ptr)
        count = max_by(block, tier + 1, len(self.size)).astype(np.int64)
        earlier = np.cumsum(count) - count  # number of tiers in all earlier blocks
        first = np.searchsorted(self.instance, self.instance)
        joined = np.empty_like(tier)
        joined[self.slot] = tier + (earlier - earlier[first])[block]
        return joined


def split(costs: PairCosts, allow_ties: bool, start: Int64s | None = None) -> Blocks:
    """Split every instance into its blocks; ``start`` (orders) breaks ties in the order of blocks."""
    initial = (costs.start if start is None else start) + costs.first_slot
    tied = costs.tied if allow_ties else np.zeros(0)
    slot, ptr = kernels.split_blocks(costs.slot_ptr, costs.before, tied, initial)
    before, tied_inside = (
        kernels.take_blocks(costs.slot_ptr, matrix, slot, ptr) for matrix in (costs.before, costs.tied)
    )
    unit = costs.unit[segment_index(costs.slot_ptr)[slot[ptr[:-1]]]]
    return Blocks(ptr, before, tied_inside, unit, costs, allow_ties, slot)
