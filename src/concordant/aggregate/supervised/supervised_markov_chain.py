"""Supervised Markov chain: a surfer follows agents as often as labelled pairs show that they deserve it.

From candidate i a surfer picks agent k with probability w_k and moves to a candidate that k prefers; how much of his
time he spends at a candidate in the long run is its score (see ``markov-chain``, where all agents are picked alike):

    mc2   evenly to one of the candidates that the list of k has at or before i
    mc3   picks a candidate of the list of k, and goes there if the list has it before i

Of an i that k does not rank, ``missing="last"`` says that it stands behind the list, so that k sends the surfer to any
candidate of it; with ``"ignore"`` he stays.

The weights are learnt from labelled pairs: candidates with a higher label should have a higher score. Liu et al. ask
for weights whose chains satisfy as many of these constraints as possible, which they relax to a semidefinite programme
over a bound of the stationary distribution. Here the stationary distribution x is exact, and what is minimised is
smooth: the mean over instances of the mean over pairs (i above j) of log(1 + x_j / x_i), plus ``prior`` / 2 times the
squares of the logarithms of the weights (w = softmax). Its gradient comes from one more linear system of the
same size, and L-BFGS follows it from equal weights, the unsupervised chain, to where the validation instances, if
there are any, have their best NDCG@10. The minimum is a local one, the problem not being convex.

Use it where the agents' lists overlap and few labels are at hand: there is a single number per agent to learn.

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
        """Reject weights that are not shares: such a chain may lack a stationary distribution."""
        if abs(sum(self.learnt["weight"].values()) - 1) > 1e-6:
            raise ValueError(f"the weights of {self.name} do not add up to 1")

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
        """Take the pairs with different labels of every instance; all instances have the same total weight."""
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
