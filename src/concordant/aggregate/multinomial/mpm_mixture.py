"""Mixture of multinomial preference models: several types of agents, each with separate scores.

Every agent belongs to one of K types. Type k has share p_k and scores s_k, and an agent of that type draws preferences
from the multinomial model with those scores. Expectation-maximisation alternates between the membership probabilities
of the agents and the scores of the types. K is given (``components``) or chosen by the Bayesian information criterion.
The ranking is by the mean of the types' scores, weighted by their shares; ``ranking.model`` has the types (``types``),
the membership probabilities of each agent (``responsibilities``) and personal rankings (``for_agent``). Use it if
agents disagree because their tastes differ, not because some of them are careless.

The preferences within a ballot are not independent: m items give m (m - 1) / 2 pairs, but only m - 1 of them are
independent. ``evidence="items"`` scales the counts of an agent to that number; ``"counts"`` uses all counts, which
makes all memberships certain. A new type is initialised from one of the agents that the current types fit worst.

Cost: per step linear in the ballots times K. Reference: proposed as future work by M. Volkovs and R. Zemel, A flexible
generative model for preference aggregation, WWW 2012; A. Dempster, N. Laird and D. Rubin, Maximum likelihood from
incomplete data via the EM algorithm, JRSS B, 1977.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import kernels, views
from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.ballots.segments import sum_by
from concordant.errors import InputError, arg
from concordant.kernels.bundles import Adherences
from concordant.method import Method, Outcome
from concordant.models.fitted import FittedModel
from concordant.models.fitted_multinomial import MPMModel
from concordant.models.observations.preference_counts import Corpus, agent_of_ballot, count
from concordant.models.solve.multinomial import MIN_PRIOR, TOLERANCE
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE, Notice, Ranking
from concordant.support import progress
from concordant.types import Floats, Int64s

NAME = "mpm-mixture"
MAX_STEPS = 100
STEP_TOLERANCE = 1e-7
ROUGH = 1e-5  # how exactly scores are fitted before the memberships settle
TIE_OF_FITTED = 1e-6  # scores of a mixture this close, relative to the largest, are one score


@dataclass(frozen=True, kw_only=True)
class MPMMixture(Method):
    """Mean scores of a mixture of multinomial preference models, one for each type of agent."""

    usual_name = "mixture of multinomial preference models"
    likelihood_of = "preferences, each drawn from all pairs of items, agent by agent"
    silence = "they are not compared, but remain in the normaliser"
    waives = {
        "condorcet_consistency": "a few strong preferences can outweigh a majority",
        "instances_are_independent": "the types of the agents are estimated from all instances",
    }

    counts: str = options.counts()
    components: int | None = param(None, "number of mixture components; chosen by BIC if not given", low=1, high=1000)
    most_components: int = param(5, "maximum number of components that BIC may choose", low=1, high=1000)
    starts: int = param(2, "number of poorly fitted agents tried as the start of a new component", low=1, high=1000)
    evidence: str = param(
        "items",
        "number of independent preferences per agent: the number of ranked items minus one per ballot (items), or all "
        "pairwise counts (counts)",
        choices=("items", "counts"),
    )
    prior: float = param(0.1, "precision of the prior, relative to the evidence of a component", low=0.0)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the mean scores, with the mixture as the model."""
        data = _Data(count(prefs, self.counts), self.evidence, max(self.prior, MIN_PRIOR))
        mixture = best = data.start()
        while mixture.n_types < min(self.components or self.most_components, data.n_voter_types):
            mixture = data.grow(mixture, self.starts)
            if self.components is None and data.bic(mixture) >= data.bic(best) - 1e-6:
                break
            best = mixture
        warnings: tuple[Notice, ...] = ()
        if self.components is not None and best.n_types < self.components:
            text = f"only {data.n_voter_types} agents have different preferences, so there are {best.n_types} types"
            warnings = (Notice("too-few-agents", text),)
        model = _model(data, best, self.counts)
        return Outcome(
            score=model.score,
            fit={"log_likelihood": best.log_likelihood, "bic": data.bic(best), "types": float(best.n_types)},
            warnings=warnings,
            model=model,
        )


@dataclass(frozen=True, eq=False, repr=False)
class MixtureModel(FittedModel):
    """Types of agents, the most common first: shares, scores (type x slot) and responsibilities (agent x type)."""

    prefs: Preferences
    shares: Floats
    scores: Floats
    responsibilities: Floats
    log_z: Floats
    """type x instance"""
    counts: str
    evidence: str

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents."""
        return () if self.prefs.agents is None else tuple(self.prefs.agents.labels)

    @cached_property
    def types(self) -> list[Ranking]:
        """The ranking of each type."""
        return [self._ranking(score) for score in self.scores]

    def for_agent(self, agent: object) -> Ranking:
        """Return the personal ranking of one agent: the types' scores weighted by its membership probabilities."""
        if self.prefs.agents is None:
            raise InputError("The preferences have no agent for each ballot: build them with " + arg("agent") + ".")
        return self._ranking(self.responsibilities[self.prefs.agents.code(agent, "agent")] @ self.scores)

    def chances(self, first: Int64s, second: Int64s) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities that a random agent prefers the first slot of each pair, prefers the second, and
        ties.
        """
        by_type = np.stack([model.chances(first, second) for model in self._models])
        p_first, p_second, p_tie = np.tensordot(self.shares, by_type, axes=1)
        return p_first, p_second, p_tie

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other agents' preferences; unknown candidates are ignored."""
        prefs, slot = self.known_part(prefs)
        data = _Data(count(prefs, self.counts), self.evidence, prior=0.0)
        log_z = self.log_z[:, self.instances_of(prefs, slot)]
        return data.expect(self.shares, self.scores[:, slot], log_z).log_likelihood

    def drawn(self, n: int, slots: Int64s, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
        """Draw n preferences, each from an agent of a random type."""
        kind = rng.choice(len(self.shares), n, p=self.shares / self.shares.sum())
        rows = np.empty((n, 2), np.int64)
        for k, model in enumerate(self._models):
            rows[kind == k] = model.drawn(int((kind == k).sum()), slots, rng)[0]
        return rows, np.tile([0, 1], (n, 1))

    @cached_property
    def _models(self) -> list[MPMModel]:
        """The multinomial preference model of each type."""
        half = np.full(self.prefs.n_slots, 0.5)
        return [
            MPMModel.of(self.prefs, score, prefs=self.prefs, variance=half, counts=self.counts) for score in self.scores
        ]

    def _ranking(self, score: Floats) -> Ranking:
        """Return the ranking by these scores."""
        prefs = self.prefs
        slots, instances = (prefs.slot_ptr, prefs.slot_item), prefs.instances
        return Ranking(prefs.items, *slots, score, instances=instances, method=NAME, library=prefs.library)


def _model(data: _Data, mixture: _Mixture, counts: str) -> MixtureModel:
    """Return the mixture as a fitted model, types sorted by share, largest first."""
    prefs, order = data.corpus.prefs, np.argsort(-mixture.shares, kind="stable")
    shares, scores = mixture.shares[order], mixture.scores[order]
    return MixtureModel.of(
        prefs,
        snap_scores(prefs, shares @ scores, TIE_OF_FITTED),
        prefs=prefs,
        shares=shares,
        scores=scores,
        responsibilities=mixture.responsibility[:, order],
        log_z=mixture.log_z[order],
        counts=counts,
        evidence=data.evidence,
    )


@dataclass(frozen=True, eq=False)
class _Mixture:
    """The current state of expectation-maximisation."""

    shares: Floats
    scores: Floats
    """type x slot"""
    responsibility: Floats
    """agent x type"""
    by_type: Floats
    """log-likelihood of every agent under every type"""
    log_z: Floats
    """type x instance"""
    log_likelihood: float
    objective: float

    @property
    def n_types(self) -> int:
        return len(self.shares)


@dataclass(frozen=True, eq=False)
class _Data:
    """The counts of every agent, scaled to their evidence."""

    corpus: Corpus
    evidence: str
    prior: float

    @cached_property
    def agent(self) -> Int64s:
        return agent_of_ballot(self.corpus.prefs).astype(np.int64)

    @cached_property
    def n_agents(self) -> int:
        prefs = self.corpus.prefs
        return prefs.n_ballots if prefs.agents is None else len(prefs.agents)

    @cached_property
    def times(self) -> Floats:
        """The weight of each agent: the ballot weight for unnamed agents, 1 for named ones."""
        prefs = self.corpus.prefs
        return prefs.weight if prefs.agents is None else np.ones(self.n_agents)

    @cached_property
    def factor(self) -> Floats:
        """The scale factor of the counts of each ballot.

        With ``evidence="items"`` an agent's counts are scaled to the number of items it ranks, minus one per ballot.
        """
        prefs = self.corpus.prefs
        weight = np.ones(prefs.n_ballots) if prefs.agents is None else prefs.weight
        if self.evidence == "counts":
            return weight
        n_independent = np.where(self.corpus.total > 0, np.diff(prefs.indptr) - 1.0, 0.0)
        total = sum_by(self.agent, weight * self.corpus.total, self.n_agents)
        scale = sum_by(self.agent, weight * n_independent, self.n_agents) / np.where(total > 0, total, 1.0)
        return np.asarray(weight * scale[self.agent])

    @cached_property
    def amount(self) -> Floats:
        """The evidence of every ballot."""
        return np.asarray(self.factor * self.corpus.total)

    @cached_property
    def amount_by_agent(self) -> Floats:
        return sum_by(self.agent, self.amount, self.n_agents)

    @cached_property
    def voter_type(self) -> Int64s:
        """An integer per agent: equal for agents with the same preferences, -1 for agents without preferences."""
        prefs = self.corpus.prefs
        direction = np.sin(1.0 + np.arange(prefs.n_slots))  # any fixed direction tells different net wins apart
        projection = sum_by(
            views.ballot_of_entry(prefs), self.corpus.net * direction[prefs.entry_slot], prefs.n_ballots
        )
        projection_of_agent = np.round(sum_by(self.agent, self.factor * projection, self.n_agents), 9)
        pairs = np.stack([projection_of_agent, np.round(self.amount_by_agent, 9)], 1)
        voter_type = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
        return np.where(self.amount_by_agent > 0, voter_type, -1)

    @cached_property
    def n_voter_types(self) -> int:
        return max(len(np.unique(self.voter_type[self.voter_type >= 0])), 1)

    def start(self) -> _Mixture:
        """Return the mixture of one type."""
        return self.improve(np.ones((self.n_agents, 1)))

    def grow(self, mixture: _Mixture, starts: int) -> _Mixture:
        """Return the best mixture with one more type, initialised from up to ``starts`` poorly fitted agents."""
        amount = self.amount_by_agent
        explained = (mixture.by_type + np.log(mixture.shares)).max(axis=1) / np.where(amount > 0, amount, 1.0)
        explained = np.where(amount > 0, np.round(explained, 9), np.inf)
        tries: list[_Mixture] = []
        tried: set[int] = set()
        for agent in np.argsort(explained, kind="stable").tolist():
            voter_type = int(self.voter_type[agent])
            if len(tries) == starts or voter_type < 0:
                break
            if voter_type in tried:
                continue
            tried.add(voter_type)
            is_same = self.voter_type == voter_type
            responsibility = np.column_stack([mixture.responsibility, np.zeros(self.n_agents)])
            responsibility[is_same] = 0.0
            responsibility[is_same, -1] = 1.0
            tries.append(self.improve(responsibility))
        return max(tries, key=lambda mixture: round(mixture.objective, 9))

    def improve(self, responsibility: Floats) -> _Mixture:
        """Run expectation-maximisation from these memberships (agent x type) until convergence."""
        scores = np.zeros((responsibility.shape[1], self.corpus.prefs.n_slots))
        # A type that starts from a single agent must be able to win others over: equal shares at first.
        shares = np.full(len(scores), 1.0 / len(scores))
        state = self.expect(shares, *self.fit_scores(responsibility, scores, ROUGH))
        is_settled = False
        for step in progress.iterations(range(MAX_STEPS + 1), "expectation-maximisation"):
            previous, is_last = state, is_settled or step == MAX_STEPS
            shares = self.times @ state.responsibility / self.times.sum()
            fitted = self.fit_scores(state.responsibility, state.scores, TOLERANCE if is_last else ROUGH)
            state = self.expect(shares, *fitted)
            if is_last:
                break
            is_settled = state.objective - previous.objective <= STEP_TOLERANCE * abs(state.objective)
        return state

    def fit_scores(self, responsibility: Floats, start: Floats, tolerance: float) -> tuple[Floats, Floats]:
        """Fit the scores of every type to the agents weighted by their memberships: (scores, log Z), a row per type."""
        prefs, n_types = self.corpus.prefs, responsibility.shape[1]
        sizes, n, n_instances = np.diff(prefs.indptr), prefs.n_slots, prefs.n_instances
        weight_of_type = (responsibility * self.times[:, None])[self.agent] * self.factor[:, None]
        amounts = np.stack(
            [
                sum_by(prefs.instance_of_ballot, column, n_instances)
                for column in (weight_of_type * self.corpus.total[:, None]).T
            ]
        )
        divisor = np.where(amounts > 0, amounts, 1.0)
        net = np.concatenate(
            [
                sum_by(
                    prefs.entry_slot,
                    self.corpus.net * np.repeat(weight_of_type[:, k] / divisor[k][prefs.instance_of_ballot], sizes),
                    n,
                )
                for k in range(n_types)
            ]
        )
        net[np.abs(net) <= TIE_TOLERANCE] = 0.0  # wins and losses that cancel, up to rounding
        has_counts = (amounts > 0).ravel()
        n_groups = int(has_counts.sum())
        slot_ptr = np.concatenate([[0], np.cumsum(np.tile(np.diff(prefs.slot_ptr), n_types))]).astype(np.int64)
        group_ptr = np.concatenate([[0], np.cumsum(has_counts)]).astype(np.int64)
        prior = np.ascontiguousarray((self.penalty(n_types) / divisor).ravel())
        ones = np.ones(n_groups)
        fitted = kernels.fit_mpm_scores(
            slot_ptr, net, Adherences(group_ptr, ones, ones), prior, start.ravel(), tolerance
        )
        log_z = np.zeros(len(has_counts))
        log_z[has_counts] = fitted.log_z
        return fitted.score.reshape(n_types, n), log_z.reshape(n_types, n_instances)

    def penalty(self, n_types: int) -> Floats:
        """Return the precision of the prior for each instance: the same for every type."""
        prefs = self.corpus.prefs
        amount = sum_by(prefs.instance_of_ballot, self.times[self.agent] * self.amount, prefs.n_instances)
        return np.asarray(self.prior * amount / n_types)

    def expect(self, shares: Floats, scores: Floats, log_z: Floats) -> _Mixture:
        """E-step: return the mixture with every agent's membership of each type, given shares, scores and log Z."""
        prefs = self.corpus.prefs
        by_type = np.empty((self.n_agents, len(shares)))
        for k, score in enumerate(scores):
            gain = self.corpus.gains(score, None) - self.corpus.total * log_z[k][prefs.instance_of_ballot]
            by_type[:, k] = sum_by(self.agent, self.factor * gain, self.n_agents)
        joint = by_type + np.log(np.maximum(shares, 1e-300))
        total = np.logaddexp.reduce(joint, axis=1)
        log_likelihood = float(self.times @ total)
        penalty = self.penalty(len(shares))[self.corpus.instance_of_slot]
        objective = log_likelihood - float((penalty * scores**2).sum()) / 2
        # Rounded, so that steps of the algorithm do not magnify the last digits of one machine's sums.
        responsibility = np.round(np.exp(joint - total[:, None]), 10)
        return _Mixture(shares, scores, responsibility, by_type, log_z, log_likelihood, objective)

    def bic(self, mixture: _Mixture) -> float:
        """Return the Bayesian information criterion: lower is better."""
        size = np.diff(self.corpus.prefs.slot_ptr)
        n_parameters = mixture.n_types * int(np.maximum(size - 1, 0).sum()) + mixture.n_types - 1
        return -2 * mixture.log_likelihood + n_parameters * float(np.log(max(self.times.sum(), 1.0)))
