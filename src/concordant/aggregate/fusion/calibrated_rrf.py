"""Calibrated reciprocal rank fusion: lists are weighted by their support from the other lists. Needs no labels.

Reciprocal rank fusion (``rrf``) trusts the order and the selection of every list equally. If the same agents answer
many instances, the lists themselves show which of them can be trusted. Let x = 1 / (k + rank) for an item of a list, mu
the mean of x over the list, and the *support* of an item the weight of the lists of other agents that contain it:

- order: a is the correlation of x and support over the items of the agent's lists, within instances, pooled over all of
  them; the weight of the agent's order is b = max(a, 0) / the largest a of all agents;
- selection: m is the correlation between listing an item and its support, over all candidates, pooled in the same way;
  the weight of the agent's vote is c = max(0, 1 + 3 min(m, 0)), so agents who list what others do not lose weight;
- the score of an item is the sum of c mu + b (x - mu) over the lists that contain it.

Support separates good lists from bad ones better than agreement between orders, which penalises a good list that is
independent of the others. The method needs lists that differ in their items, and several instances by the same agents.
An agent with fewer than ``least`` instances, or whose items all have the same support, counts as in ``rrf`` (b = c =
1), and a notice names it; the same applies to all agents if no order is confirmed or the agents are unknown.
Differences from ``rrf`` in NDCG@5 and MAP, in points: MQ2007-agg +1.1 and +0.9 (p < 0.0001), MQ2008-agg +0.4 and +0.2,
17 runs of the TREC 2003 robust track +0.1 and 0.0 (the last four not significant): a method to try, not a default.

Instances are not ranked independently, because the other instances calibrate the lists.

Cost: linear in the entries. Reference: this package; for RRF: Cormack, Clarke and Büttcher, SIGIR 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate.fusion.rrf import reciprocal_ranks
from concordant.ballots.segments import sum_by
from concordant.method import Method, Outcome
from concordant.models.notices import named
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.results.explanation import Reason
from concordant.types import Bools, Floats, Int64s

SHUN = 3.0  # how fast a vote is lost to lists that name what others do not: gone at a correlation of -1/3
AGENTS = 10  # that an explanation lists
FLAT = 1e-9  # a spread this small, relative to the sums it is left from, is rounding
UNKNOWN = "the agents of the lists are unknown, so all lists get the same weights as in rrf"


@dataclass(frozen=True, kw_only=True)
class CalibratedRRF(Method):
    """Reciprocal rank fusion with lists weighted by their support from the other lists."""

    usual_name = "Calibrated reciprocal rank fusion"
    silence = "the list does not contribute to their score"
    waives = {
        "condorcet_consistency": "a high rank on one list can outweigh a majority at lower ranks",
        "instances_are_independent": "the support of an agent's lists is estimated from all instances",
    }

    k: float = param(60.0, "rank constant; larger values give lower ranks more weight", low=0.0)
    least: int = param(
        20, "minimum number of instances to calibrate an agent; with fewer, it is weighted as in rrf", low=1
    )

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the fused score of every slot and, as the agents' weights, the weights of their orders."""
        gain, is_listed = reciprocal_ranks(prefs, self.k, self.name), views.is_named(prefs)
        ballot, slot, gain = views.ballot_of_entry(prefs)[is_listed], prefs.entry_slot[is_listed], gain[is_listed]
        mean = _mean_by(ballot, gain, prefs.n_ballots)[ballot]
        order, vote = np.ones(prefs.n_ballots), np.ones(prefs.n_ballots)
        by_agent: dict[str, float] | None = None
        notices: tuple[Notice, ...] = (Notice("not-calibrated", UNKNOWN),)
        if prefs.agents is not None and prefs.agent is not None:
            entries = _Entries(prefs, ballot, slot)
            order_weight, vote_weight, notices = _trust(entries, gain, self.least)
            order, vote = order_weight[prefs.agent], vote_weight[prefs.agent]
            by_agent = dict(zip(prefs.agents.labels, order_weight.tolist(), strict=True))
        fused = prefs.weight[ballot] * (vote[ballot] * mean + order[ballot] * (gain - mean))
        return Outcome(sum_by(slot, fused, prefs.n_slots), agents=by_agent, warnings=notices)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the lead, and list the weight of the order of each agent's lists."""
        lead = super().reasons(prefs, ranking)
        if not ranking.agents or prefs.agents is None:
            return lead
        ranked = sorted(
            ((ranking.agents.get(agent, 1.0), agent) for agent in prefs.agents.labels), key=lambda row: -row[0]
        )
        rows = [[agent, f"{weight:.3f}"] for weight, agent in ranked[:AGENTS]]
        sentences = [
            f"The order of a list is weighted by how far other lists support its top items ({len(ranked):,} agents):"
        ]
        return [
            *lead,
            Reason("Weights of the lists", sentences, ["agent", "weight of its order"], rows, frozenset({1})),
        ]


class _Entries:
    """The listed items: a row per entry; a cell per agent and slot, with the weight that the agent gives it in
    ``own``.
    """

    def __init__(self, prefs: Preferences, ballot: Int64s, slot: Int64s) -> None:
        assert prefs.agent is not None
        assert prefs.agents is not None
        self.prefs, self.ballot, self.slot = prefs, ballot, slot
        self.n_agents = len(prefs.agents)
        self.agent = prefs.agent.astype(np.int64)
        self.weight = prefs.weight[ballot]
        self.meeting = np.unique(self.agent * prefs.n_instances + prefs.instance_of_ballot)  # agents x instances
        self.cell, self.own = np.arange(len(slot)), self.weight
        self.cell_slot, self.cell_agent = slot, self.agent[ballot]
        if len(self.meeting) < prefs.n_ballots:  # an agent with several ballots in an instance
            key = self.cell_agent * prefs.n_slots + slot
            distinct, first, self.cell = np.unique(key, return_index=True, return_inverse=True)
            self.own = sum_by(self.cell, self.weight, len(distinct))
            self.cell_slot, self.cell_agent = slot[first], self.cell_agent[first]
        self.by_slot = sum_by(slot, self.weight, prefs.n_slots)
        self.support = self.by_slot[self.cell_slot] - self.own

    def order_confirmed(self, gain: Floats) -> tuple[Floats, Bools]:
        """Return the correlation a of every agent, and whether there is enough variation to compute it.

        a is the correlation, within the agent's lists, of the gain of an item with the weight that other agents give
        it.
        """
        support = self.support[self.cell]
        n = self.prefs.n_ballots
        gain = gain - _mean_by(self.ballot, gain, n)[self.ballot]
        centred_support = support - _mean_by(self.ballot, support, n)[self.ballot]
        agent = self.agent[self.ballot]
        products = [
            sum_by(agent, self.weight * values, self.n_agents)
            for values in (gain * centred_support, gain**2, centred_support**2)
        ]
        sizes = [sum_by(agent, self.weight * values**2, self.n_agents) for values in (gain, support)]
        return _correlation(*products, *sizes)

    def choice_confirmed(self) -> Floats:
        """Return the correlation m of every agent, 0 if there is no variation.

        m is the correlation, over all candidates of the instances it has ballots in, of the agent's weight with that of
        others.
        """
        prefs = self.prefs
        instance = views.instance_of_slot(prefs)
        agent, q = np.divmod(self.meeting, prefs.n_instances)
        meeting_of_cell = np.searchsorted(self.meeting, self.cell_agent * prefs.n_instances + instance[self.cell_slot])
        total, square = (sum_by(instance, values, prefs.n_instances) for values in (self.by_slot, self.by_slot**2))
        own, own_square, product = (
            sum_by(meeting_of_cell, values, len(agent))
            for values in (self.own, self.own**2, self.own * self.by_slot[self.cell_slot])
        )
        size = np.maximum(np.diff(prefs.slot_ptr)[q], 1)
        others, others_square = total[q] - own, square[q] - 2 * product + own_square
        terms = (
            product - own_square - own * others / size,
            own_square - own**2 / size,
            others_square - others**2 / size,
        )
        products = [sum_by(agent, values, self.n_agents) for values in terms]
        sizes = [sum_by(agent, values, self.n_agents) for values in (own_square, others_square)]
        return _correlation(*products, *sizes)[0]


def _trust(entries: _Entries, gain: Floats, min_instances: int) -> tuple[Floats, Floats, tuple[Notice, ...]]:
    """Return b (weight of the order) and c (weight of the vote) by agent, and notices about uncalibrated agents."""
    prefs = entries.prefs
    has_enough = np.bincount(entries.meeting // prefs.n_instances, minlength=entries.n_agents) >= min_instances
    a, is_calibrated = entries.order_confirmed(gain)
    is_calibrated &= has_enough
    largest = float(a[is_calibrated].max(initial=0.0))
    if largest <= 0:
        is_calibrated[:] = False
    b = np.where(is_calibrated, np.maximum(a, 0.0) / (largest or 1.0), 1.0)
    c = np.where(is_calibrated, np.maximum(0.0, 1.0 + SHUN * np.minimum(entries.choice_confirmed(), 0.0)), 1.0)
    return b, c, _notices(prefs, is_calibrated, has_enough, min_instances)


def _notices(prefs: Preferences, is_calibrated: Bools, has_enough: Bools, min_instances: int) -> tuple[Notice, ...]:
    """Return a notice that names the agents that are not calibrated, and why."""
    assert prefs.agents is not None
    if is_calibrated.all():
        return ()
    shown = named(prefs.agents.take(np.flatnonzero(~is_calibrated)), 3)
    if not is_calibrated.any() and has_enough.any():
        why = "no agent's order is supported by the other lists"
    elif has_enough[~is_calibrated].any():
        why = f"they have fewer than {min_instances} instances, or all their items have the same support"
    else:
        why = f"they have fewer than {min_instances} instances"
    return (Notice("not-calibrated", f"{why}, so the lists of {shown} get the same weights as in rrf"),)


def _mean_by(group: Int64s, values: Floats, n: int) -> Floats:
    """Return the mean of the values of each of n groups, 0 for empty ones."""
    return np.asarray(sum_by(group, values, n) / np.maximum(np.bincount(group, minlength=n), 1))


def _correlation(
    product: Floats, first: Floats, second: Floats, first_size: Floats, second_size: Floats
) -> tuple[Floats, Bools]:
    """Return correlations from centred sums of products and squares, and whether the variation suffices.

    A correlation is 0 if the variation is within rounding error of the uncentred sums of squares (the sizes).
    """
    is_spread = (first > FLAT * first_size) & (second > FLAT * second_size)
    denominator = np.sqrt(np.where(is_spread, first * second, 1.0))
    return np.where(is_spread, product / denominator, 0.0), is_spread
