"""ULARA: a weighted mean of ranks, with agents weighted by their agreement with the mean rank, without labels.

With r_k(x) the rank that agent k gives item x, and mu(x) the mean rank of x over the lists that contain it, the
disagreement of agent k is delta_k = mean of (r_k(x) - mu(x))² over all items, of all instances, that at least
``support`` lists contain. For an agent that does not list x, the rank is the one after the end of its list (its
length + 1). Weights lie on the simplex (non-negative, sum 1) and minimise sum_k w_k delta_k, starting from equal
weights, by one gradient step; ``rate`` is the step size (learning rate):

    exponentiated   w_k proportional to exp(-rate delta_k / mean delta)
    additive        the projection onto the simplex of (1 - rate (delta_k / mean delta - 1)) / number of agents

The score of an item is candidates + 1 minus its weighted mean rank, sum_k w_k r_k(x).

Conventions: the gradient does not depend on the weights, so the published exponentiated updates, one per item, add up
to this single step in any order of the items. The additive update is the step for all items together. The objective is
linear, so the step is not repeated until convergence: all weight would go to one agent. Ranks are divided by the number
of candidates of their instance and delta by its mean over agents, which makes ``rate`` independent of the size of the
data. If agents are unknown, each ballot counts as a separate agent.

Use it if the same agents rank many instances and most of them are informative; an agent that is good but unlike the
others loses weight. Cost: linear in the entries. Reference: A. Klementiev, D. Roth and K. Small, An unsupervised
learning algorithm for rank aggregation, ECML 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate.common import snap_scores
from concordant.aggregate.explain.agents import weights_reason
from concordant.ballots.segments import sum_by
from concordant.method import Method, Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.results.explanation import Reason
from concordant.types import Bools, Floats, Int64s

TIE = 1e-9  # mean ranks this close, relative to the largest, are equal
ROUNDING = 1e-12  # disagreement this small is rounding
UNWEIGHTED = "no item is on enough lists to compare them, or the lists do not disagree, so all agents get equal weights"


@dataclass(frozen=True, kw_only=True)
class Ulara(Method):
    """Weighted mean rank, with agent weights that fall with the squared distance from the mean rank."""

    usual_name = "ULARA"
    silence = "they get the rank after the last one of the list (its length + 1)"
    waives = {
        "condorcet_consistency": "a mean of ranks can outweigh majorities, as with every positional rule",
        "instances_are_independent": "the weights of the agents are estimated from all instances together",
    }
    aliases = {"ulara-additive": {"update": "additive"}}

    update: str = param(
        "exponentiated",
        "update rule of the weights: exponentiated gradient or additive gradient step",
        choices=("exponentiated", "additive"),
    )
    rate: float = param(1.0, "learning rate (step size); 0 gives equal weights", low=0.0, high=1e3)
    support: int = param(2, "minimum number of lists that contain an item for it to affect the weights", low=1)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return candidates + 1 - the weighted mean rank of every slot, and the weights of the agents."""
        lists = _Lists.of(prefs)
        agent = np.arange(prefs.n_ballots) if prefs.agent is None else prefs.agent.astype(np.int64)
        n_agents = prefs.n_ballots if prefs.agents is None else len(prefs.agents)
        delta, share = lists.disagreement(agent, n_agents, self.support)
        if prefs.agents is None:
            share = share * prefs.weight
        weight, notices = self._weights(delta, share)
        score = lists.mean_ranks(prefs.weight * weight[agent])
        by_agent = None
        if prefs.agents is not None:
            by_agent = dict(zip(prefs.agents.labels, weight.tolist(), strict=True))
        return Outcome(snap_scores(prefs, score, TIE), agents=by_agent, warnings=notices)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the lead, and list the weights of the agents."""
        sentence = "The weight of an agent falls with the squared distance of its ranks from the mean ranks."
        return [*super().reasons(prefs, ranking), *weights_reason(prefs, ranking, sentence, "weight")]

    def _weights(self, delta: Floats, share: Floats) -> tuple[Floats, tuple[Notice, ...]]:
        """Return the weights of the agents (sum 1); ``share`` is the multiplicity of each, 0 if delta is unknown."""
        is_known = share > 0
        mean = float(share @ delta) / float(share.sum()) if is_known.any() else 0.0
        if mean <= ROUNDING:
            return np.full(len(delta), 1 / max(len(delta), 1)), (Notice("unweighted", UNWEIGHTED),)
        excess = np.where(is_known, delta / mean - 1, 0.0)
        if self.update == "exponentiated":
            weight = np.exp(-self.rate * (excess - excess.min()))
            return np.asarray(weight / weight.sum()), ()
        return _on_simplex(-self.rate * excess, np.where(is_known, share, 1.0)), ()


@dataclass(frozen=True)
class _Lists:
    """The ranks that lists give to items: a row per explicitly ranked entry."""

    prefs: Preferences
    ballot: Int64s
    slot: Int64s
    rank: Floats
    behind: Floats
    """By ballot: the rank assigned to an item that it does not list."""

    @classmethod
    def of(cls, prefs: Preferences) -> _Lists:
        is_named = views.is_named(prefs)
        ballot = views.ballot_of_entry(prefs)[is_named]
        behind = np.asarray(np.bincount(ballot, minlength=prefs.n_ballots) + 1.0, np.float64)
        return cls(prefs, ballot, prefs.entry_slot[is_named], views.positions(prefs)[is_named], behind)

    def disagreement(self, agent: Int64s, n_agents: int, support: int) -> tuple[Floats, Floats]:
        """Return delta of every agent, and 1 for agents with an item to compare, else 0."""
        prefs, weight = self.prefs, self.prefs.weight[self.ballot]
        n_lists = sum_by(self.slot, weight, prefs.n_slots)
        mean = sum_by(self.slot, weight * self.rank, prefs.n_slots) / np.where(n_lists > 0, n_lists, 1.0)
        counts = n_lists >= support * (1 - 1e-9)
        total = sum_by(agent, prefs.weight * self._squares(mean, counts), n_agents)
        instance = prefs.instance_of_ballot
        compared = np.bincount(views.instance_of_slot(prefs)[counts], minlength=prefs.n_instances)[instance]
        items = sum_by(agent, prefs.weight * compared, n_agents)
        return np.maximum(total, 0.0) / np.where(items > 0, items, 1.0), (items > 0).astype(np.float64)

    def _squares(self, mean: Floats, counts: Bools) -> Floats:
        """Return, by ballot, the sum of (rank - mean rank)² over the items that count.

        Ranks are divided by the number of candidates.
        """
        prefs, instance = self.prefs, self.prefs.instance_of_ballot
        of_slot, n = views.instance_of_slot(prefs), prefs.n_instances
        zero, one, two = (sum_by(of_slot, counts * mean**power, n)[instance] for power in (0, 1, 2))
        if_unnamed = zero * self.behind**2 - 2 * self.behind * one + two
        at = mean[self.slot]
        change = counts[self.slot] * ((self.rank - at) ** 2 - (self.behind[self.ballot] - at) ** 2)
        size = np.maximum(np.diff(prefs.slot_ptr), 1)[instance]
        return np.asarray((if_unnamed + sum_by(self.ballot, change, prefs.n_ballots)) / size**2)

    def mean_ranks(self, weight: Floats) -> Floats:
        """Return candidates + 1 - the mean rank of every slot under these weights of the ballots."""
        prefs, instance = self.prefs, self.prefs.instance_of_ballot
        of_slot, n = views.instance_of_slot(prefs), prefs.n_instances
        total, unnamed = (sum_by(instance, values, n)[of_slot] for values in (weight, weight * self.behind))
        change = weight[self.ballot] * (self.rank - self.behind[self.ballot])
        mean = (unnamed + sum_by(self.slot, change, prefs.n_slots)) / np.where(total > 0, total, 1.0)
        return np.where(total > 0, np.diff(prefs.slot_ptr)[of_slot] + 1 - mean, 0.0)


def _on_simplex(step: Floats, copies: Floats) -> Floats:
    """Return the projection of (1 + step) / n onto the simplex, where entry k occurs ``copies[k]`` times, n in all.

    It is max(0, 1 + step - shift) / n with the shift that makes the sum 1; the entry of one copy is returned.
    """
    order = np.argsort(-step, kind="stable")
    count, total = np.cumsum(copies[order]), np.cumsum(copies[order] * (1 + step[order]))
    n = float(count[-1])
    shift = (total - n) / count
    last = int(np.flatnonzero(1 + step[order] - shift > 0)[-1])
    return np.asarray(np.maximum(0.0, 1 + step - shift[last]) / n)
