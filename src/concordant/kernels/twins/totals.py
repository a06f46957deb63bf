"""What rankings cost, in NumPy (twin of totals.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.twins.search import blocks_of
from concordant.types import Floats, Int32s, Int64s

__all__ = ["ballot_totals", "ranking_totals"]


def ranking_totals(ptr: Int64s, before: Floats, tied: Floats, tier: Int64s) -> Floats:
    """Return what each ranking (a row of tiers) costs in each problem: rankings x problems."""
    totals = np.zeros((len(tier), len(ptr) - 1))
    for q, (span, (cost, tie)) in enumerate(blocks_of(ptr, before, tied)):
        upper = np.triu_indices(span.stop - span.start, 1)
        for r, row in enumerate(tier):
            one, other = row[span][upper[0]], row[span][upper[1]]
            below = np.where(one > other, cost.T[upper], tie[upper])
            totals[r, q] = np.where(one < other, cost[upper], below).sum()
    return totals


def ballot_totals(
    slot_ptr: Int64s,
    instance_of_ballot: Int32s,
    indptr: Int64s,
    entry_slot: Int64s,
    tier: Int32s,
    before: Floats,
    tied: Floats,
) -> Floats:
    """Return what every ballot costs as the consensus of its instance; what it leaves out is one last tier."""
    totals = np.zeros(len(indptr) - 1)
    for q, (span, (cost, tie)) in enumerate(blocks_of(slot_ptr, before, tied)):
        ptr = np.array([0, span.stop - span.start])
        for ballot in np.flatnonzero(instance_of_ballot == q).tolist():
            place = np.full(ptr[1], np.iinfo(np.int64).max)
            entries = slice(indptr[ballot], indptr[ballot + 1])
            place[entry_slot[entries] - span.start] = tier[entries]
            totals[ballot] = ranking_totals(ptr, cost.reshape(-1), tie.reshape(-1), place[None, :])[0, 0]
    return totals
