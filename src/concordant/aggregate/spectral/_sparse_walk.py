"""Stationary distribution of the walk of rank centrality where few pairs are compared, without a matrix of all pairs.

The walk is stored as a list of moves, so memory and the cost of a step grow with the number of compared pairs. The
distribution is found by GMRES; if that converges too slowly (long chains of items), by sparse elimination: the
probability of one item per connected group is fixed, the others follow from the balance of the walk, and each group is
scaled to its share of the items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate.spectral._steps import MAX_STEPS, solve_by_steps
from concordant.ballots.segments import sum_by
from concordant.models.observations.duels import Duels
from concordant.types import Bools, Floats, Int32s, Int64s

MAX_SPARSE_STEPS = 300
RARE = 1e-12  # jumps, relative to other moves
CELLS_OF_STEPS = 10_000_000  # 80 MB


@dataclass(frozen=True)
class SparseWalk:
    """The moves of a walk over the candidates of one instance: from, to and probability of each."""

    start: Int64s
    end: Int64s
    probability: Floats
    group: Int32s

    @classmethod
    def of(cls, duels: Duels, prior: float, group: Int32s) -> SparseWalk:
        """Return the walk that moves from an item to an opponent with the opponent's share of wins."""
        first, second = duels.first.astype(np.int64), duels.second.astype(np.int64)
        opponents = np.bincount(first, minlength=duels.n_slots) + np.bincount(second, minlength=duels.n_slots)
        scale = (duels.total + 2 * prior) * max(int(opponents.max(initial=0)), 1)
        half_tied = duels.tied / 2 + prior
        lost, won = (duels.lost + half_tied) / scale, (duels.won + half_tied) / scale
        start, end = np.concatenate([first, second]), np.concatenate([second, first])
        return cls(start, end, np.concatenate([lost, won]), group)

    @property
    def size(self) -> int:
        """The number of items."""
        return len(self.group)

    def time_spent(self) -> Floats:
        """Return the stationary distribution; a connected group has probability proportional to its size."""
        leaving = sum_by(self.start, self.probability, self.size)
        members = np.bincount(self.group)

        def multiply(x: Floats) -> Floats:
            arriving = sum_by(self.end, self.probability * x[self.start], self.size)
            return np.asarray(leaving * x - arriving + (np.bincount(self.group, x) / members)[self.group])

        max_steps = max(MAX_STEPS, min(MAX_SPARSE_STEPS, CELLS_OF_STEPS // self.size))
        uniform = np.full(self.size, 1.0 / self.size)
        by_steps = solve_by_steps(multiply, uniform, leaving + 1.0 / members[self.group], max_steps)
        return self._eliminated(leaving) if by_steps is None else by_steps

    def _eliminated(self, leaving: Floats) -> Floats:
        """Solve the balance of the walk by sparse elimination.

        If the probabilities differ by so many orders of magnitude that this fails, rare jumps to random items keep them
        apart from 0.
        """
        most_met = np.lexsort((-np.bincount(self.start, minlength=self.size), self.group))
        fixed = most_met[np.unique(self.group[most_met], return_index=True)[1]]
        is_free = np.ones(self.size, bool)
        is_free[fixed] = False
        entering = ~is_free[self.start]
        time = np.ones(self.size)
        arriving = sum_by(self.end[entering], self.probability[entering], self.size)[is_free]
        found = self._balanced(leaving, is_free, arriving)
        if found is None:
            jump = RARE * float(leaving.mean())
            found = self._balanced(leaving + jump, np.ones(self.size, bool), np.full(self.size, jump / self.size))
            assert found is not None
            return found
        time[is_free] = found
        share = np.bincount(self.group) / self.size / np.bincount(self.group, time)
        return np.asarray(time * share[self.group])

    def _balanced(self, leaving: Floats, is_free: Bools, arriving: Floats) -> Floats | None:
        """Return the times of the free items that balance what leaves and arrives; None if they cannot be found.

        Few pairs are compared, so the elimination starts with the items that have the fewest opponents. The matrix
        needs no pivots: its columns are diagonally dominant.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.linalg import splu

        number, n = np.cumsum(is_free) - 1, int(is_free.sum())
        inner = is_free[self.start] & is_free[self.end]
        diagonal = np.arange(n)
        entries = np.concatenate([-self.probability[inner], leaving[is_free]])
        row = np.concatenate([number[self.end[inner]], diagonal])
        column = np.concatenate([number[self.start[inner]], diagonal])
        balance = coo_array((entries, (row, column)), shape=(n, n)).tocsc()
        try:
            factors = splu(balance, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:  # exactly singular
            return None
        found = factors.solve(arriving)
        return found if np.isfinite(found).all() and (found >= 0).all() else None
