"""Rank centrality: the stationary distribution of a random walk from losers to winners.

From item i the walk picks an opponent j it was compared with and moves there with probability equal to j's share of
wins against i (ties half). The stationary probability is large for items that beat items with a large probability.
If the comparisons follow a Bradley-Terry model, it converges to the worths, although no likelihood is maximised. The
score is the logarithm of the stationary probability. ``prior`` adds this many pseudo-wins to both sides of every
compared pair, so that an undefeated item is not absorbing. Use it as a fast, robust alternative to Bradley-Terry on
dense comparisons.

Cost: the pairwise counts, then one linear system per instance; large systems take about ten matrix-vector products.
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
from concordant.aggregate.spectral._steps import WORTH_STEPS, solve_by_steps
from concordant.method import Method, Outcome
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
        matrices = views.win_matrices(prefs, "ignore")
        support = matrices.wins + matrices.ties / 2
        compared = times_compared(prefs, matrices)
        group = comparable_groups(prefs)
        score = np.zeros(prefs.n_slots)
        for stack in stacks(prefs.slot_ptr):
            wins, total = stack.take(support), stack.take(compared)
            m = stack.size
            # Move from row to column with the column's share of wins, over the largest number of opponents.
            share_lost = (total - wins + self.prior) / (total + 2 * self.prior)
            move = np.where(total > 0, share_lost, 0.0)
            opponents = (total > 0).sum(axis=2).max(axis=1)
            move /= np.maximum(opponents, 1)[:, None, None]
            score[stack.slots] = np.log(np.maximum(_time_spent(move, group[stack.slots]), 1e-300) * m)
        return Outcome(snap_scores(prefs, score, TIE_OF_SOLVED), warnings=group_notices(prefs, group))


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
