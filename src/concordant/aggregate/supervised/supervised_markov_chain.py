"""Supervised Markov chain: a Markov chain over the agents' lists, with agent weights learnt from labelled pairs.

From candidate i the chain picks agent k with probability w_k and moves to a candidate that k prefers; the score of a
candidate is its stationary probability (see ``markov-chain``, in which all agents have the same probability):

    mc2   to a candidate drawn uniformly from those that the list of k ranks at or above i
    mc3   picks a candidate of the list of k, and moves there if the list ranks it above i

If k does not rank i, ``missing="last"`` treats i as ranked below the list, so the chain moves to any candidate of it;
with ``"ignore"`` it stays.

The weights are learnt from labelled pairs: candidates with a higher label should have a higher score. Liu et al.
maximise the number of satisfied constraints, relaxed to a semidefinite programme over a bound on the stationary
distribution. Here the stationary distribution x is exact and the objective is smooth: the mean over instances of the
mean over pairs (i above j) of

    log(1 + x_j / x_i)

plus ``prior`` / 2 times the sum of the squared logits of the weights (w = softmax). The gradient takes one additional
linear system of the same size. L-BFGS starts from equal weights, the unsupervised chain, and keeps the iterate with the
best NDCG@10 on the validation instances, if there are any. The problem is not convex, so the minimum is local.

Use it if the agents' lists overlap and few labels are available: there is a single parameter per agent.

Cost: a dense linear system of the candidates per instance and step, and all pairs of the lists in memory. Reference:
Y.-T. Liu, T.-Y. Liu, T. Qin, Z.-M. Ma, H. Li, Supervised rank aggregation, WWW 2007.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from concordant.aggregate.common import snap_scores
from concordant.aggregate.matrices import TIE_OF_SOLVED
from concordant.aggregate.supervised._base import TRUST, Labelled, SupervisedMethod
from concordant.aggregate.supervised._chains import VARIANTS, Chain
from concordant.aggregate.supervised._watching import Best, quality
from concordant.ballots.segments import is_new
from concordant.errors import InputError
from concordant.losses.queries import Queries
from concordant.losses.ranknet import RankNetLoss
from concordant.method import Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.solvers.lbfgs import minimise
from concordant.support.state import ByLabel
from concordant.types import Floats, Int64s

TOLERANCE = 1e-5


@dataclass(frozen=True, kw_only=True)
class SupervisedMarkovChain(SupervisedMethod):
    """Stationary distribution of a Markov chain over agents' lists, with agent weights learnt from labels."""

    usual_name = "Supervised Markov chain"
    matrices = 14
    waives = {"anonymity": TRUST, "condorcet_consistency": TRUST}
    learns = {**SupervisedMethod.learns, "weight": ByLabel(of="agents", low=0, high=1)}

    variant: str = param("mc3", "transition rule on an agent's list", choices=VARIANTS)
    missing: str = param("last", "treatment of candidates that an agent does not rank", choices=("last", "ignore"))
    teleport: float = param(0.05, "probability of a jump to a random item", low=1e-6, high=1.0)
    prior: float = param(0.001, "strength of the regularisation towards equal weights", low=0.0)
    max_iter: int = param(50, "maximum number of iterations", low=1)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the stationary distribution over the candidates of every instance."""
        weight = np.array([self.learnt["weight"][agent] for agent in self.known_agents])
        score = self._chain(prefs, self.known_agents).stationary(weight)
        return Outcome(
            snap_scores(prefs, score, TIE_OF_SOLVED),
            agents=dict(self.learnt["weight"]),
            warnings=self.unknown_agents(prefs),
        )

    def check_learnt(self) -> None:
        """Reject weights that do not sum to 1: such a chain may lack a stationary distribution."""
        if abs(sum(self.learnt["weight"].values()) - 1) > 1e-6:
            raise ValueError(f"the weights of {self.name} do not sum to 1")

    def _chain(self, prefs: Preferences, agents: tuple[str, ...]) -> Chain:
        return Chain(prefs, agents, self.variant, self.missing, self.teleport)

    def _learn(self, train: Labelled, valid: Labelled | None) -> Mapping[str, Mapping[str, float]]:
        """Learn the agents' weights (a softmax) by minimising the pairwise loss plus prior / 2 times the squared
        logits.
        """
        assert train.prefs.agents is not None
        agents = tuple(train.prefs.agents.labels)
        constraints = Constraints.of(self._chain(train.prefs, agents), train)

        def objective(log_weight: Floats) -> tuple[float, Floats]:
            value, gradient = constraints.evaluate(log_weight)
            return value + self.prior / 2 * float(log_weight @ log_weight), gradient + self.prior * log_weight

        start = np.zeros(len(agents))
        best = Best(None)
        if valid is not None:
            validation_chain = self._chain(valid.prefs, agents)
            best = Best(lambda point: quality(validation_chain.stationary(softmax(point)), valid))
            best(0, start, np.inf)
        last = minimise(objective, start, tolerance=TOLERANCE, max_iterations=self.max_iter, watch=best)
        weight = softmax(last.point if best.point is None else best.point)
        return {"weight": dict(zip(agents, weight.tolist(), strict=True))}


def softmax(x: Floats) -> Floats:
    """Return exp(x) / sum(exp(x))."""
    exponential = np.exp(x - x.max(initial=-np.inf))
    return np.asarray(exponential / exponential.sum())


@dataclass(frozen=True)
class Constraints:
    """Labelled pairs of candidates, and the chains whose stationary distributions should satisfy them."""

    chain: Chain
    row: Int64s
    queries: Queries

    @classmethod
    def of(cls, chain: Chain, data: Labelled) -> Constraints:
        """Return the pairs with different labels of every instance; all instances have the same total weight."""
        row = np.flatnonzero(data.is_known)
        queries = Queries.from_rows(data.label[row], np.cumsum(is_new(data.query[row])) - 1)
        if not queries.pairs.any():
            raise InputError("There is nothing to learn: no instance has candidates with different labels.")
        n_counted = max(int((queries.pairs > 0).sum()), 1)
        return cls(chain, row, queries.weighted(1 / np.maximum(queries.pairs, 1.0) / n_counted))

    def evaluate(self, log_weight: Floats) -> tuple[float, Floats]:
        """Return the mean logistic loss of the pairs, and its gradient in the logits of the weights (chain rule)."""
        weight = softmax(log_weight)
        solved = self.chain.solved(weight)
        x = np.maximum(solved.stationary, 1e-300)
        slot = self.row[self.queries.row]
        value, by_position, _ = RankNetLoss().evaluate(np.log(x[slot]), self.queries)
        by_slot = np.zeros(len(x))
        by_slot[slot] = by_position / x[slot]
        slope = solved.slope(by_slot)
        return value, weight * (slope - weight @ slope)
