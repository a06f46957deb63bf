"""Comparison counts and summed preferences of pairs (NumPy reference of comparisons.cpp)."""

from __future__ import annotations

from concordant.kernels.bundles import Ballots
from concordant.kernels.counting.pairs import pair_counts, transpose_matrices
from concordant.kernels.counting.tallies import level_counts
from concordant.types import Floats

__all__ = ["pair_preferences"]


def pair_preferences(ballots: Ballots, level: Floats) -> tuple[Floats, Floats]:
    """Return flat matrices: the weight of ballots that compare row and column, and their summed preference for row.

    A ballot that puts the two into different tiers prefers one by the difference of their levels, times its weight.
    """
    _, wins, ties = pair_counts(ballots, 0)
    support = level_counts(ballots, level)
    slot_ptr = ballots.slot_ptr
    return wins + transpose_matrices(slot_ptr, wins) + ties, support - transpose_matrices(slot_ptr, support)
