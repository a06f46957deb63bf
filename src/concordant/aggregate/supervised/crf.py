"""Conditional random field: the probability of an order depends on weighted potentials of the agents' lists.

For agent k and candidate i of a query there are three potentials: whether k ranked i at all (unary), the strength of
k's preferences for i over the others, and the strength of its preferences against i (pairwise; ``counts="log"``:
differences of log ranks over the log of the largest rank). Each has a separate weight for every agent:

    f_i = sum over k of  unranked_k [k does not rank i] + won_k mean_j Y_k(i, j) - lost_k mean_j Y_k(j, i)

An order that puts candidate d at rank i has the score

    sum over i of f_d / log2(i + 1)

and its probability is proportional to the exponential of this. Pairwise potentials run over all other candidates,
whatever their ranks, so the most likely order sorts by decreasing f.

Weights are learnt by maximising the expected NDCG of an order drawn from the model on labelled instances, with Adam and
one query per step; the weights with the best NDCG@10 on the validation instances are kept. Sums over all orders are
exact for up to ``largest`` candidates; larger queries are sampled to this size at each step.

Use it to fuse the lists of the same agents if relevance judgements are known for some queries. ``ranking.agents`` has
the pairwise weight of each agent; ``learnt`` has all weights, including those of unranked candidates.

Cost: linear in the lists to rank; training takes 2^largest x ``largest`` per query and pass. Reference: M. Volkovs and
R. Zemel, CRF framework for supervised preference aggregation, CIKM 2013; the same, New learning methods for supervised
and unsupervised preference aggregation, JMLR 2014. These papers divide by the square of the number of candidates
instead of taking the mean over j.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from concordant.aggregate.common import snap_scores
from concordant.aggregate.supervised._base import Labelled, SupervisedMethod
from concordant.aggregate.supervised._potentials import KINDS, potentials
from concordant.aggregate.supervised._watching import Best, informative_slots, quality
from concordant.ballots.segments import is_new
from concordant.errors import InputError, arg
from concordant.losses.expected_ndcg import MAX_OBJECTS, ExpectedNdcgLoss
from concordant.losses.queries import Queries
from concordant.method import Outcome
from concordant.models.observations.preference_counts import COUNTS
from concordant.params import param
from concordant.preferences import Preferences
from concordant.scorers.linear import Linear
from concordant.solvers.objective import Objective
from concordant.solvers.stochastic import minimise_stochastic
from concordant.support import memory
from concordant.support.state import ByLabel
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class CRF(SupervisedMethod):
    """Conditional random field over rankings, trained to maximise expected NDCG."""

    usual_name = "Conditional random field"
    silence = "each agent has a learnt weight for candidates that it does not rank"
    learns = {**SupervisedMethod.learns, **dict.fromkeys(KINDS, ByLabel(of="agents"))}

    counts: str = param("log", "weight of a ballot's preference between two items", choices=COUNTS)
    cutoff: int | None = param(5, "rank cutoff of the expected gain; all ranks if not given", low=1)
    largest: int = param(
        10,
        "maximum number of candidates whose orders are enumerated; larger sets are subsampled to this size",
        low=2,
        high=MAX_OBJECTS,
    )
    passes: int = param(80, "number of passes over the training instances", low=1)
    learning_rate: float = param(0.03, "learning rate", low=0.0)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the sum of the weighted potentials of every slot; ``agents`` holds the pairwise weights of each
        agent.
        """
        weights = np.array([[self.learnt[kind][agent] for agent in self.known_agents] for kind in KINDS])
        potential = potentials(prefs, self.counts, self.known_agents)
        pairwise = weights[1:].sum(axis=0)  # all kinds but the first, "unranked"
        trust = dict(zip(self.known_agents, pairwise.tolist(), strict=True))
        score = snap_scores(prefs, potential.score(prefs.n_slots, weights))
        return Outcome(score, agents=trust, warnings=self.unknown_agents(prefs))

    def _learn(self, train: Labelled, valid: Labelled | None) -> Mapping[str, Mapping[str, float]]:
        """Learn the weights by stochastic minimisation of the expected NDCG loss, on columns scaled to unit
        variance.
        """
        assert train.prefs.agents is not None
        agents = tuple(train.prefs.agents.labels)
        rows = informative_slots(train)
        if not len(rows):
            raise InputError("There is nothing to learn: no instance has candidates with different labels.")
        X = self._table(train, agents)
        scale = _scale(X, len(agents))
        queries = Queries.from_rows(train.label[rows], np.cumsum(is_new(train.query[rows])) - 1)
        loss = ExpectedNdcgLoss(self.cutoff, self.largest, self.seed).fitted_to(queries)
        objective = Objective(Linear(X.shape[1]), loss, X[rows] / scale, queries, queries_per_block=1)
        best = Best(None)
        if valid is not None:
            validation_table = self._table(valid, agents) / scale
            best = Best(lambda point: quality(validation_table @ point, valid))
        last = minimise_stochastic(
            objective,
            np.zeros(X.shape[1]),
            learning_rate=self.learning_rate,
            passes=self.passes,
            rng=np.random.default_rng(self.seed),
            watch=best,
            average=True,
        )
        point = last.point if best.point is None else best.point
        if not np.isfinite(point).all():
            raise InputError("crf diverged (its weights are not finite): lower " + arg("learning_rate") + ".")
        weights = (point / scale).reshape(len(KINDS), -1)
        return {kind: dict(zip(agents, row.tolist(), strict=True)) for kind, row in zip(KINDS, weights, strict=True)}

    def _table(self, data: Labelled, agents: tuple[str, ...]) -> Floats:
        """Return all potentials of every slot as a matrix (slots x (kind, agent))."""
        n = data.prefs.n_slots
        memory.require(
            16.0 * n * len(KINDS) * len(agents),
            f"Potentials of {len(agents):,} agents for {n:,} candidates",
            "select fewer agents or instances to learn from",
        )
        return potentials(data.prefs, self.counts, agents).to_matrix(n, len(agents))


def _scale(X: Floats, n_agents: int) -> Floats:
    """Return the divisor of every column: the square root of the mean variance of the columns of its kind."""
    variance = X.var(axis=0).reshape(len(KINDS), n_agents).mean(axis=1)
    return np.repeat(np.sqrt(np.where(variance > 0, variance, 1.0)), n_agents)
