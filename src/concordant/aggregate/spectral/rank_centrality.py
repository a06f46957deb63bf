"""Rank centrality: the stationary distribution of a random walk from losers to winners.

From item i the walk picks an opponent j it was compared with and moves there with probability equal to j's share of
wins against i (ties half). The stationary probability is large for items that beat items with a large probability.
If the comparisons follow a Bradley-Terry model, it converges to the worths, although no likelihood is maximised. The
score is the logarithm of the stationary probability. ``prior`` adds this many pseudo-wins to both sides of every
compared pair, so that an undefeated item is not absorbing. Use it as a fast, robust alternative to Bradley-Terry on
dense comparisons.

Cost: the pairwise counts, then one linear system per instance; large systems take about ten matrix-vector products,
over a list of the compared pairs if there are few.
Reference: S. Negahban, S. Oh, D. Shah, Rank centrality: ranking from pairwise comparisons, Operations Research, 2017.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate.common import snap_scores
from concordant.aggregate.matrices import (
    TIE_OF_SOLVED,
    comparable_groups,
    group_notices,
    sharing,
    stacks,
    times_compared,
)
from concordant.aggregate.spectral._sparse_walk import SparseWalk
from concordant.aggregate.spectral._steps import WORTH_STEPS, solve_by_steps
from concordant.method import Method, Outcome
from concordant.models.observations.duels import Counting, has_few_pairs
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats, Int32s


@dataclass(frozen=True, kw_only=True)
class RankCentrality(Method):
    """Log stationary distribution of a random walk from losers to winners."""

    matrices = 13
    by_parts = True
    silence = "they are not compared"
    waives = {"condorcet_consistency": "the size of majorities counts, not only their direction"}

    prior: float = param(1.0, "pseudo-wins added to both sides of every compared pair", low=1e-6, high=1e9)

    @property
    def log_odds(self) -> float | None:
        """Score difference that multiplies the odds of a win by e if comparisons follow a Bradley-Terry model."""
        return 1.0

    def scores(self, prefs: Preferences) -> Outcome:
        """Return log(stationary probability x number of candidates) of every slot."""
        group = comparable_groups(prefs)
        times_uniform = self._of_pairs(prefs, group) if _is_sparse(prefs) else self._of_matrices(prefs, group)
        score = np.log(np.maximum(times_uniform, 1e-300))
        return Outcome(snap_scores(prefs, score, TIE_OF_SOLVED), warnings=group_notices(prefs, group))

    def _of_pairs(self, prefs: Preferences, group: Int32s) -> Floats:
        """Return the stationary probabilities in one instance times its number of candidates, from a list of pairs."""
        return SparseWalk.of(Counting().duels(prefs), self.prior, group).time_spent() * prefs.n_slots

    def _of_matrices(self, prefs: Preferences, group: Int32s) -> Floats:
        """Return the stationary probabilities times the number of candidates, from matrices of all pairs."""
        matrices = views.win_matrices(prefs, "ignore")
        support = matrices.wins + matrices.ties / 2
        compared = times_compared(prefs, matrices)
        times_uniform = np.zeros(prefs.n_slots)
        for stack in stacks(prefs.slot_ptr):
            wins, total = stack.take(support), stack.take(compared)
            m = stack.size
            # Move from row to column with the column's share of wins, over the largest number of opponents.
            share_lost = (total - wins + self.prior) / (total + 2 * self.prior)
            move = np.where(total > 0, share_lost, 0.0)
            opponents = (total > 0).sum(axis=2).max(axis=1)
            move /= np.maximum(opponents, 1)[:, None, None]
            times_uniform[stack.slots] = _time_spent(move, group[stack.slots]) * m
        return times_uniform

    def _scores_within_memory(self, prefs: Preferences) -> Floats | Outcome:
        """Rank without matrices where few pairs are compared."""
        return self.scores(prefs) if _is_sparse(prefs) else super()._scores_within_memory(prefs)


def _is_sparse(prefs: Preferences) -> bool:
    """Return whether there is a single large instance in which few pairs are compared."""
    return prefs.n_instances == 1 and prefs.n_slots >= WORTH_STEPS and has_few_pairs(prefs)


def _time_spent(move: Floats, group: Int32s) -> Floats:
    """Return the stationary distributions of stacked walks; a connected group has probability proportional to
    its size.
    """
    n, m, _ = move.shape
    leaving, uniform = move.sum(axis=2), np.full((n, m), 1.0 / m)
    if n == 1 and m >= WORTH_STEPS:
        stationary = solve_by_steps(
            lambda x: leaving[0] * x - x @ move[0] + _mean_of(group[0], x)[group[0]],
            uniform[0],
            leaving[0] + 1.0 / np.bincount(group[0])[group[0]],
        )
        if stationary is not None:
            return stationary[None, :]
    flow = -move.transpose(0, 2, 1)
    flow[:, np.arange(m), np.arange(m)] += leaving
    return np.asarray(np.linalg.solve(flow + sharing(group), uniform[:, :, None])[:, :, 0])


def _mean_of(group: Int32s, values: Floats) -> Floats:
    return np.asarray(np.bincount(group, values) / np.maximum(np.bincount(group), 1))
