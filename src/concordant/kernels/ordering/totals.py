"""Total costs of rankings (NumPy reference of totals.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.bundles import Ballots
from concordant.kernels.layouts import blocks_of, tier_tables
from concordant.types import AnyArray, Floats, Int64s

__all__ = ["ballot_totals", "ranking_totals"]


def ranking_totals(ptr: Int64s, before: Floats, tied: Floats, tier: Int64s) -> Floats:
    """Return the cost of each ranking (a row of tiers) in each problem: rankings x problems."""
    totals = np.zeros((len(tier), len(ptr) - 1))
    for q, (span, (cost, tie)) in enumerate(blocks_of(ptr, before, tied)):
        totals[:, q] = _totals(tier[:, span], cost, tie)
    return totals


def ballot_totals(ballots: Ballots, before: Floats, tied: Floats) -> Floats:
    """Return the cost of every ballot as the consensus of its instance; missing items are tied last."""
    totals = np.zeros(len(ballots.weight))
    blocks = blocks_of(ballots.slot_ptr, before, tied)
    for (_, (cost, tie)), (_, own_ballots, tier) in zip(blocks, tier_tables(ballots), strict=True):
        totals[own_ballots] = _totals(tier, cost, tie)
    return totals


def _totals(tier: AnyArray, cost: Floats, tie: Floats) -> Floats:
    """Return the cost of each ranking (rows of tiers): the sum over pairs of the cost of their order or tie."""
    totals = np.zeros(len(tier))
    for i in range(tier.shape[1] - 1):
        tier_i, rest = tier[:, i : i + 1], tier[:, i + 1 :]
        behind = np.where(tier_i > rest, cost[i + 1 :, i], tie[i, i + 1 :])
        totals += np.where(tier_i < rest, cost[i, i + 1 :], behind).sum(axis=1)
    return totals
