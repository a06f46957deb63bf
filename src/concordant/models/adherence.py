"""How closely each agent follows the consensus: a one-factor model with an empirical Bayes prior on the loadings.

An agent's standardised levels z are its loading times the item scores plus noise:

    z = loading (s - level) + noise,    s ~ N(0, 1),    loading ~ N(mean, spread²),    noise ~ N(0, psi of the agent)

To second order this is the likelihood of the multinomial preference model given which items the agent compared: unlike
the joint likelihood it does not depend on how often an item was shown, and a single agent with many answers does not
dominate the consensus. Expectation-maximisation (variational) alternates between scores, loadings and noise; mean
and spread of the loadings maximise the marginal likelihood (empirical Bayes), so the loading of an agent with few
answers stays near the average. The adherence is the correlation of the agent's levels with the scores, loading /
sqrt(loading² + psi), at least 0; it is not defined for an agent without any preference.

Ranks are centred within each ballot. Ratings are centred partly by ballot and partly by agent: the share of the ballot
is the shrinkage factor of a random effect per ballot, whose variance comes from a one-way analysis of variance.

Cost: linear in the entries per iteration, with about 50 to 500 iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from concordant.ballots.segments import sum_by
from concordant.models.observations.preference_counts import Corpus
from concordant.support import progress
from concordant.types import AnyArray, Bools, Floats, Int64s

MAX_STEPS = 1000
CONVERGED = 1e-5  # change of a loading
MIN_NOISE = 0.01  # of an agent's variance
MIN_SPREAD = 1e-6
USUAL_ENTRIES = 4.0  # entries with the noise of all agents that are added to each agent's own
NOBODY = 1e-3  # correlations all below this: no two agents agree


class Adherence(NamedTuple):
    """The adherence of every agent (0 if not defined), with a count-weighted mean square of 1, and the fitted prior."""

    theta: Floats
    has_converged: bool
    mean: float
    """The average loading."""
    spread: float
    """The standard deviation of the loadings among agents."""


def has_preference(corpus: Corpus, agent: AnyArray, n_agents: int) -> Bools:
    """Return, for every agent, whether it prefers at least one item to another."""
    prefs = corpus.prefs
    net = np.abs(corpus.net) * np.repeat(prefs.weight, np.diff(prefs.indptr))
    return sum_by(np.repeat(agent, np.diff(prefs.indptr)), net > 0, n_agents) > 0


def adherence_of(corpus: Corpus, start: Floats) -> Adherence:
    """Estimate the adherence of every agent by expectation-maximisation, starting from ``known``."""
    levels = _Levels.of(corpus, len(start))
    beliefs = levels.start(start)
    for _ in progress.iterations(range(MAX_STEPS), "expectation-maximisation"):
        previous, beliefs = beliefs, levels.step(beliefs)
        if np.abs(beliefs.loading - previous.loading).max(initial=0.0) < CONVERGED:
            return levels.adherence(beliefs, True)
    return levels.adherence(beliefs, False)


class _Beliefs(NamedTuple):
    """The posterior moments of the agents' loadings, and the scores estimated from them."""

    loading: Floats
    square: Floats
    """The posterior second moment of the loading."""
    noise: Floats
    mean: float
    variance: float
    score: Floats


@dataclass(frozen=True, eq=False)
class _Levels:
    """The levels of all entries of agents with at least one preference, in units of each agent's spread."""

    z: Floats
    agent: Int64s
    ballot: Int64s
    slot: Int64s
    weight: Floats
    speaks: Bools
    shrinkage: Floats
    """The shrinkage factor of each ballot's level, from 0 (the agent's level) to 1 (its own level)."""
    n_slots: int
    total: Floats
    """The total count of every agent."""

    @classmethod
    def of(cls, corpus: Corpus, n_agents: int) -> _Levels:
        """Collect the levels of all entries: ratings unchanged, otherwise net wins per item, standardised by agent."""
        prefs = corpus.prefs
        assert prefs.agent is not None
        size = np.diff(prefs.indptr)
        ballot = np.repeat(np.arange(prefs.n_ballots), size)
        speaks = has_preference(corpus, prefs.agent, n_agents)
        shares_level = prefs.value is not None and prefs.scale == "rating"
        keep = np.flatnonzero(speaks[prefs.agent[ballot]] & (shares_level | (corpus.total[ballot] > 0)))
        agent, ballot, weight = prefs.agent[ballot[keep]].astype(np.int64), ballot[keep], prefs.weight[ballot[keep]]
        z = corpus.level[keep] if shares_level else corpus.net[keep] / size[ballot]
        z = _standardised(z, weight, agent, n_agents)
        shrinkage = _shrinkage(z, agent, ballot, prefs.n_ballots) if shares_level else np.ones(prefs.n_ballots)
        total = sum_by(prefs.agent, corpus.weighted_total, n_agents)
        return cls(z, agent, ballot, prefs.entry_slot[keep], weight, speaks, shrinkage, prefs.n_slots, total)

    # ---- levels ----
    @cached_property
    def size(self) -> Floats:
        """The number of entries of every ballot, at least 1."""
        return np.maximum(np.bincount(self.ballot, minlength=len(self.shrinkage)), 1).astype(np.float64)

    @cached_property
    def own(self) -> Floats:
        """By entry: the weight of the agent's level in its centring (1 - shrinkage of its ballot)."""
        return np.asarray(1.0 - self.shrinkage[self.ballot])

    @cached_property
    def own_total(self) -> Floats:
        """The sum of ``own`` by agent."""
        return np.maximum(self.by_agent(self.own), 1e-12)

    def centred(self, values: Floats) -> Floats:
        """Subtract shrinkage times the mean of the ballot, and (1 - shrinkage) times the mean of the agent."""
        by_ballot = self.shrinkage * sum_by(self.ballot, values, len(self.shrinkage)) / self.size
        by_agent = self.by_agent(self.own * values) / self.own_total
        return np.asarray(values - by_ballot[self.ballot] - self.own * by_agent[self.agent])

    @cached_property
    def left(self) -> Floats:
        """By entry: the share of its variance that remains after centring."""
        by_ballot = (self.shrinkage / self.size)[self.ballot]
        return np.asarray(1.0 - by_ballot - self.weight * self.own**2 / self.own_total[self.agent])

    def by_agent(self, values: Floats) -> Floats:
        """Return the weighted sum of the values of every agent's entries."""
        return sum_by(self.agent, self.weight * values, len(self.speaks))

    @cached_property
    def entries(self) -> Floats:
        """The weight of the entries of every agent."""
        return self.by_agent(np.ones(len(self.z)))

    # ---- expectation-maximisation ----
    def start(self, known: Floats) -> _Beliefs:
        """Return the initial moments."""
        loading = np.where(self.speaks, np.clip(known / 2, 0.05, 0.95), 0.0)
        return _Beliefs(loading, loading**2, np.full(len(known), 0.75), 0.5, 0.25, np.zeros(self.n_slots))

    def step(self, old: _Beliefs) -> _Beliefs:
        """Run one iteration of expectation-maximisation for the model z = loading * score + noise.

        Scores are updated given the loadings, then loadings, noise and their prior (mean, variance) given the scores.
        """
        loading_per_noise, square_per_noise = old.loading / old.noise, old.square / old.noise
        precision = 1.0 + sum_by(self.slot, self.weight * square_per_noise[self.agent], self.n_slots)
        residual = self.z - old.loading[self.agent] * old.score[self.slot]
        target = self.z - residual + self.centred(residual)
        score = sum_by(self.slot, self.weight * loading_per_noise[self.agent] * target, self.n_slots) / precision
        of_entry = score[self.slot]
        centred_score = self.centred(of_entry)
        products = self.by_agent(self.z * centred_score)
        squares = self.by_agent(of_entry * centred_score + self.left / precision[self.slot])
        loading_precision = squares / old.noise + 1.0 / old.variance
        loading = np.where(self.speaks, (products / old.noise + old.mean / old.variance) / loading_precision, 0.0)
        loading_variance = np.where(self.speaks, 1.0 / loading_precision, 0.0)
        square = loading**2 + loading_variance
        noise = self._noise(loading * products, square * squares)
        n_agents = max(int(self.speaks.sum()), 1)
        mean = float(loading.sum()) / n_agents
        variance = max(float(((loading - mean) ** 2 + loading_variance)[self.speaks].sum()) / n_agents, MIN_SPREAD)
        # The scale that the scores now have goes to the loadings (parameter expansion: far fewer steps).
        unit = float(np.sqrt((score**2 + 1.0 / precision)[self.is_shown].mean())) if len(self.z) else 1.0
        return _Beliefs(loading * unit, square * unit**2, noise, mean * unit, variance * unit**2, score / unit)

    @cached_property
    def is_shown(self) -> Bools:
        """Whether each slot has an entry."""
        return np.bincount(self.slot, minlength=self.n_slots) > 0

    @cached_property
    def z_squares(self) -> Floats:
        """By agent: the weighted sum of z times centred z."""
        return self.by_agent(self.z * self.centred(self.z))

    def _noise(self, explained: Floats, squares: Floats) -> Floats:
        """Return every agent's noise variance, shrunk towards the pooled variance if the agent has few entries."""
        residual = np.maximum(self.z_squares - 2 * explained + squares, 0.0)
        mean_residual = float(residual.sum()) / max(float(self.entries.sum()), 1e-300)
        return np.maximum((residual + USUAL_ENTRIES * mean_residual) / (self.entries + USUAL_ENTRIES), MIN_NOISE)

    def adherence(self, beliefs: _Beliefs, has_converged: bool) -> Adherence:
        """Return the adherences: correlations of the agents with the scores, scaled to a mean square of 1 by count."""
        correlation = np.maximum(beliefs.loading / np.sqrt(beliefs.square + beliefs.noise), 0.0)
        if correlation.max(initial=0.0) < NOBODY:
            correlation = self.speaks.astype(np.float64)
        mean_square = float(self.total @ correlation**2) / max(float(self.total.sum()), 1e-300)
        theta = correlation / max(np.sqrt(mean_square), 1e-12)
        return Adherence(theta, has_converged, beliefs.mean, float(np.sqrt(beliefs.variance)))


def _standardised(z: Floats, weight: Floats, agent: Int64s, n: int) -> Floats:
    """Centre the levels of every agent and divide them by their standard deviation."""
    largest = np.zeros(n)
    np.maximum.at(largest, agent, np.abs(z))
    z = z / np.where(largest > 0, largest, 1.0)[agent]  # squares of huge values overflow
    count = np.maximum(sum_by(agent, weight, n), 1e-300)
    z = z - (sum_by(agent, weight * z, n) / count)[agent]
    deviation = np.sqrt(sum_by(agent, weight * z * z, n) / count)
    return np.asarray(z / np.where(deviation > 0, deviation, 1.0)[agent])


def _shrinkage(z: Floats, agent: Int64s, ballot: Int64s, n_ballots: int) -> Floats:
    """Return the shrinkage factor m v / (m v + w) of every ballot with m entries, by one-way analysis of variance.

    v is the variance between ballots of the same agent, w the variance within ballots, both pooled over agents.
    """
    size = np.bincount(ballot, minlength=n_ballots).astype(np.float64)
    sums = sum_by(ballot, z, n_ballots)
    filled = np.flatnonzero(size)
    agent_of_ballot = np.zeros(n_ballots, np.int64)
    agent_of_ballot[ballot] = agent
    n_agents = int(agent.max(initial=0)) + 1
    size_of_agent = sum_by(agent_of_ballot[filled], size[filled], n_agents)
    between = float((sums[filled] ** 2 / size[filled]).sum())
    free_between = len(filled) - int((size_of_agent > 0).sum())
    free_within = len(z) - len(filled)
    if free_between == 0 or free_within == 0:
        return np.zeros(n_ballots)
    within = max(float(z @ z) - between, 0.0) / free_within
    squares = sum_by(agent_of_ballot[filled], size[filled] ** 2, n_agents) / np.maximum(size_of_agent, 1.0)
    typical_size = max((len(z) - float(squares.sum())) / free_between, 1e-12)
    variance = max(between / free_between - within, 0.0) / typical_size
    return np.asarray(size * variance / np.maximum(size * variance + within, 1e-12))
