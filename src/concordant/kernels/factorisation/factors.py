"""Leading singular vectors of pairwise preference matrices by power iteration (NumPy reference of factors.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.bundles import PairLists
from concordant.kernels.layouts import segment_of
from concordant.types import Bools, Floats, Int64s

__all__ = ["pair_factors"]


def pair_factors(lists: PairLists, is_binary: bool, tolerance: float, max_steps: int) -> tuple[Floats, Floats, Floats]:
    """Return the non-negative leading singular vectors by slot, left and right, and the singular value by group.

    The matrix of a group is the weighted sum of those of its ballots: Y(i, j) = level_j - level_i, or 1 with
    ``is_binary``, if j is ranked behind i. Power iteration ends when no entry changes by more than ``tolerance``.
    """
    matrix = _Matrices(lists, is_binary)
    group, n = segment_of(lists.slot_ptr), len(lists.slot_ptr) - 1
    left = np.ones(len(group))
    right, _ = _normalised(matrix.transposed(left), group, n)
    strength, is_open = np.zeros(n), np.ones(n, bool)
    for _ in range(max_steps):
        u, length = _normalised(matrix.times(right), group, n)
        v, value = _normalised(matrix.transposed(u), group, n)
        change = np.zeros(n)
        np.maximum.at(change, group, np.abs(v - right))
        moves = is_open[group]
        left, right = np.where(moves, u, left), np.where(moves, v, right)
        strength = np.where(is_open, value, strength)
        is_open &= (length > 0) & (change > tolerance)
        if not is_open.any():
            break
    has_value = strength[group] > 0
    return np.where(has_value, left, 0.0), np.where(has_value, right, 0.0), strength


class _Matrices:
    """Products of all groups' matrices with vectors over all slots."""

    def __init__(self, lists: PairLists, is_binary: bool) -> None:
        """Store, by entry, the spans of its ballot and tier, and the level difference from the previous entry."""
        self.slot, self.n_slots = lists.slot, int(lists.slot_ptr[-1])
        ballot = segment_of(lists.indptr)
        self.weight = lists.weight[ballot]
        self.first, self.end = lists.indptr[:-1][ballot], lists.indptr[1:][ballot]
        step = np.where(np.arange(len(ballot)) > self.first, np.diff(lists.level, prepend=0.0), 0.0)
        self.step = step
        self.is_binary = is_binary
        self.tier_first, self.tier_end = _tiers(self.first, step)

    def times(self, x: Floats) -> Floats:
        """Return Y x by slot."""
        running = np.concatenate([[0.0], np.cumsum(x[self.slot])])
        if self.is_binary:
            return self._gathered(running[self.end] - running[self.tier_end])
        # level_j - level_i is a sum of steps: each step counts all x at its entry or behind it.
        stepped = np.concatenate([[0.0], np.cumsum(self.step * (running[self.end] - running[:-1]))])
        return self._gathered(stepped[self.end] - stepped[1:])

    def transposed(self, x: Floats) -> Floats:
        """Return Y' x by slot."""
        running = np.concatenate([[0.0], np.cumsum(x[self.slot])])
        if self.is_binary:
            return self._gathered(running[self.tier_first] - running[self.first])
        stepped = np.concatenate([[0.0], np.cumsum(self.step * (running[:-1] - running[self.first]))])
        return self._gathered(stepped[1:] - stepped[self.first])

    def _gathered(self, by_entry: Floats) -> Floats:
        """Sum values of entries, times the weight of their ballot, by slot."""
        return np.bincount(self.slot, self.weight * by_entry, minlength=self.n_slots).astype(np.float64, copy=False)


def _tiers(first: Int64s, step: Floats) -> tuple[Int64s, Int64s]:
    """Return where the tier of every entry starts and ends, as entries."""
    entry = np.arange(len(step))
    begins: Bools = (entry == first) | (step > 0)
    start = np.flatnonzero(begins)
    tier = np.cumsum(begins) - 1
    return start[tier], np.append(start[1:], len(step))[tier]


def _normalised(x: Floats, group: Int64s, n: int) -> tuple[Floats, Floats]:
    """Divide the part of every group by its Euclidean norm; return the norms as well."""
    length = np.sqrt(np.bincount(group, x * x, minlength=n))
    return np.divide(x, length[group], out=np.zeros(len(x)), where=length[group] > 0), length
