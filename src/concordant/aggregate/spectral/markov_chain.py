"""Markov chains MC1-MC4: the stationary distribution of a chain that moves to preferred items.

The score is the stationary probability of each item. The transition from item i is:

- ``mc1``: to an item drawn uniformly from the multiset of all items that ballots with i rank at or above i
- ``mc2``: picks a ballot that ranks i, then uniformly an item that it ranks at or above i
- ``mc3``: picks a ballot that ranks i and one of its items; moves if the ballot ranks that item above i
- ``mc4``: picks any item; moves if most ballots that rank both rank it above i (the best known; close to Copeland)

With probability ``teleport`` the chain jumps to a random item, so that an undefeated item is not absorbing. Ties count
half. The chains were designed for metasearch: they need no common items across ballots and are robust to a few bad
lists.

Cost: the pairwise counts, then one linear system per instance; large systems take about ten matrix-vector products.
Reference: C. Dwork, R. Kumar, M. Naor, D. Sivakumar, Rank aggregation methods for the web, WWW 2001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate.common import snap_scores
from concordant.aggregate.majorities import majorities
from concordant.aggregate.matrices import TIE_OF_SOLVED, comparable_groups, group_notices, stacks
from concordant.aggregate.spectral._steps import WORTH_STEPS, solve_by_steps
from concordant.ballots.segments import pointer, sum_by
from concordant.method import Method, Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats

VARIANTS = ("mc1", "mc2", "mc3", "mc4")


@dataclass(frozen=True, kw_only=True)
class MarkovChain(Method):
    """Stationary distribution of a Markov chain that moves to preferred items."""

    usual_name = "Markov chain"
    matrices = 14
    by_parts = True
    silence = "the ballot gives no transitions from or to them"
    waives = {"condorcet_consistency": "random jumps can outweigh close majorities"}
    aliases = {variant: {"variant": variant} for variant in VARIANTS}

    variant: str = param("mc4", "transition rule", choices=VARIANTS)
    teleport: float = param(0.05, "probability of a jump to a random item", low=1e-6, high=1.0)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the stationary distribution over the candidates of every instance."""
        move = _moves(prefs, self.variant)
        score = np.zeros(prefs.n_slots)
        for stack in stacks(prefs.slot_ptr):
            m = stack.size
            step = stack.take(move)
            diagonal = np.arange(m)
            step[:, diagonal, diagonal] = 0.0
            step[:, diagonal, diagonal] = 1.0 - step.sum(axis=2)
            score[stack.slots] = _time_spent(step, self.teleport)
        notices = group_notices(prefs, comparable_groups(prefs))
        return Outcome(snap_scores(prefs, score, TIE_OF_SOLVED), warnings=notices)


def _time_spent(step: Floats, teleport: float) -> Floats:
    """Return the stationary distributions of stacked chains (transition matrices ``step``) with teleportation."""
    n, m, _ = step.shape
    if n == 1 and m >= WORTH_STEPS:
        transition, follow = step[0], 1 - teleport
        stationary = solve_by_steps(
            lambda x: x - follow * (x @ transition), np.full(m, teleport / m), 1 - follow * np.diag(transition)
        )
        if stationary is not None:
            return stationary[None, :]
    flow = np.eye(m) - (1 - teleport) * step.transpose(0, 2, 1)
    return np.asarray(np.linalg.solve(flow, np.full((n, m, 1), teleport / m))[:, :, 0])


def _moves(prefs: Preferences, variant: str) -> Floats:
    """Return the transition probabilities from row to column without teleportation, as flat matrices of all
    instances.
    """
    size = np.diff(prefs.slot_ptr)
    row_size = np.repeat(size, size)
    if variant == "mc4":
        majority = majorities(prefs, "ignore")
        return np.where(majority.margin < 0, np.repeat(1.0 / row_size, row_size), 0.0)
    named = views.ranked_weight(prefs)
    total = np.where(named > 0, named, 1.0)
    amount = views.weight_of_entry(prefs)
    if variant == "mc2":
        amount = amount / (_count_better(prefs) + 1)
    elif variant == "mc3":
        amount = amount / np.repeat(np.diff(prefs.indptr), np.diff(prefs.indptr))
    move = _spread(prefs, amount)
    if variant == "mc1" and len(move):
        total = total + np.add.reduceat(move, np.cumsum(row_size) - row_size)
    return np.asarray(move / np.repeat(total, row_size))


def _count_better(prefs: Preferences) -> Floats:
    """Return, for every entry, the number of items that its ballot ranks above it; ties count half."""
    groups = views.tiers(prefs)
    before = groups.ptr[:-1] - prefs.indptr[groups.ballot]
    tied = np.where(groups.is_open, 0, groups.size - 1)
    return np.asarray((before + tied / 2)[groups.of_entry])


def _spread(prefs: Preferences, amount: Floats) -> Floats:
    """Add every entry's amount to the cells (its item, each item its ballot ranks above it), ties half; flat
    matrices.
    """
    size, instance = np.diff(prefs.slot_ptr), views.entry_instances(prefs)
    start = pointer(size**2)
    total = np.zeros(int(start[-1]))
    for first, second, is_tie in views.pairs_of_entries(prefs):
        q = instance[first]
        ahead, behind = (prefs.entry_slot[entry] - prefs.slot_ptr[q] for entry in (first, second))
        total += sum_by(start[q] + behind * size[q] + ahead, amount[second] * np.where(is_tie, 0.5, 1.0), len(total))
        if is_tie.any():
            cell_of_tie = start[q] + ahead * size[q] + behind
            total += sum_by(cell_of_tie[is_tie], amount[first][is_tie] / 2, len(total))
    return total
