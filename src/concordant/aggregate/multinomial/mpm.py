"""Multinomial preference model: one consensus distribution over all pairwise preferences.

Every preference in the data is a draw of a pair "i above j" from one distribution,

    P(i above j) = exp(theta (s_i - s_j) / (g_i + g_j)) / sum_{k != l} exp(theta (s_k - s_l) / (g_k + g_l))

An agent that ranks an item 2nd and another 200th draws that pair 198 times, so strong preferences count more and an
item's score grows with the evidence for it: a film loved by eight people does not outrank one loved by hundreds. Unlike
Bradley-Terry, an undefeated item keeps a finite score.

- scores s: always learnt. With equal variances their order is exactly the order of the adherence-weighted net wins (the
  log-likelihood is s·d minus a symmetric convex function of s), so the ranking itself needs no optimisation.
- variances g (``variances="learnt"``): the uncertainty of each item's score; their mean is the uncertainty of the whole
  ranking. ``"support"`` derives them from the number of preferences, ``with_variances`` sets them. ``caution`` ranks by
  s - caution * g, which prefers items that are certainly good.
- adherence theta in [0, 1]: the agreement of each agent with the consensus; an outlier with 0 is ignored, the most
  adherent agent has 1. ``adherence=True`` learns it from the preferences alone: by default (``adherence_prior="auto"``)
  as the correlation of the agent's levels with the consensus, with a prior among agents whose strength maximises the
  marginal likelihood, so the adherence of agents with few answers is shrunk towards the average; with
  ``adherence_prior="none"`` by joint maximum likelihood with the scores from several starts, as published. An agent
  without a strict preference has no adherence and is not in ``ranking.agents``; a notice names it. ``fit(prefs,
  labels)`` takes adherence from labelled instances: the mean agreement of the agent with the labels, rescaled to [0, 1]
  (``normalise``). ``dawid-skene`` estimates the reliability of agents that assign items to categories.

Confidence intervals use a sandwich estimator clustered by ballot: every ballot is one observation, however many pairs
it gives. They are available if variances are equal and all agents of an instance have the same adherence.

``prior`` is the precision of a Gaussian prior on the scores and on log g around log(1/2), relative to the total count
of the instance. It keeps scores finite if all preferences are for items of one group over items of another (a notice
says so), and without it learnt variances overfit small instances.

Cost: linear in the ballots and O(items) per step and distinct theta; learnt variances O(items²) per step and distinct
theta. Reference: M. Volkovs and R. Zemel, A flexible generative model for preference aggregation, WWW 2012.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from concordant import kernels, views
from concordant.aggregate import options
from concordant.aggregate.multinomial._notices import notices
from concordant.ballots.segments import sum_by
from concordant.errors import InputError, NeedError
from concordant.labels import Labels
from concordant.method import NEEDS, Method, Outcome
from concordant.models.adherence import adherence_of, has_preference
from concordant.models.fitted_multinomial import MPMModel
from concordant.models.multinomial_errors import MPMErrors
from concordant.models.notices import unknown_agents
from concordant.models.observations.preference_counts import Corpus, count
from concordant.models.solve.multinomial import Ask, Part, Solution, Solver, largest_of, learn_adherence
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE, Ranking, snap
from concordant.results.explanation import Reason
from concordant.support.state import ByLabel, optional
from concordant.types import Floats, Int64s

TIE_OF_FITTED = 1e-8  # fitted scores this close, relative to the largest, are one score


VARIANCES = (1e-9, 1e9)  # of items, smallest and largest


@dataclass(frozen=True, kw_only=True)
class MPM(Method):
    """Maximum a posteriori scores of a multinomial model of pairwise preferences weighted by strength."""

    usual_name = "Multinomial preference model"
    likelihood_of = "preferences, each drawn from all pairs of items"
    silence = "they are not compared, but remain in the normaliser"
    waives = {"condorcet_consistency": "a few strong preferences can outweigh a majority"}
    aliases = {
        "mpm-variances": {"variances": "learnt"},
        "multinomial-preference-model": {},
        "theta-mpm": {"adherence": True},
    }
    learns = {
        "theta": optional(ByLabel(low=0, high=1)),
        "variance": optional(ByLabel(low=VARIANCES[0], high=VARIANCES[1])),
    }

    counts: str = options.counts()
    variances: str = param("equal", "variances of the items' scores", choices=("equal", "learnt", "support"))
    adherence: bool = param(False, "estimate each agent's adherence to the consensus")
    adherence_prior: str = param(
        "auto",
        "prior on adherence: strength chosen by marginal likelihood (auto), or no prior, as published (none)",
        choices=("auto", "none"),
    )
    normalise: bool = param(True, "rescale the estimated adherence to [0, 1]")
    prior: float = param(0.1, "precision of the prior, relative to the total count", low=0.0)
    level: float = options.level()
    caution: float = param(0.0, "multiple of its variance subtracted from an item's score", low=0.0)

    def fit(self, prefs: Preferences, labels: Labels) -> Self:
        """Return a copy with adherences set to each agent's agreement with the labels of these instances."""
        if prefs.agents is None or prefs.agent is None:
            raise NeedError(f"{self.name} cannot learn adherence from this data: " + NEEDS["agents"] + ".")
        theta = agreement(prefs, labels)
        if self.normalise:
            low, high = theta.min(), theta.max()
            theta = (theta - low) / (high - low) if high > low else np.ones(len(theta))
        return self.with_learnt(theta=dict(zip(prefs.agents.labels, theta.tolist(), strict=True)))

    def with_variances(self, variance: Mapping[str, float]) -> Self:
        """Return a copy with these fixed variances; other items get 1/2."""
        bad = next((item for item, value in variance.items() if not (np.isfinite(value) and value > 0)), None)
        if bad is not None:
            raise InputError(f"The variance of {bad!r} must be a positive number, got {variance[bad]!r}.")
        return self.with_learnt(variance=dict(variance))

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the scores with variances, adherences, fit and warnings."""
        solver = self.solver_of(prefs)
        if self.adherence and "theta" not in self.learnt:
            return self._learnt_outcome(solver, prefs)
        theta = self.starting_adherences(prefs)
        solution = solver.solve(theta if prefs.agent is None else theta[prefs.agent])
        by_agent = None
        if prefs.agents is not None and "theta" in self.learnt:
            by_agent = dict(zip(prefs.agents.labels, theta.tolist(), strict=True))
        outcome = self.outcome_of(solver, solution, by_agent)
        known = self.learnt.get("theta")
        strangers = () if known is None else unknown_agents(prefs, known)
        return replace(outcome, warnings=(*outcome.warnings, *strangers))

    def _learnt_outcome(self, solver: Solver, prefs: Preferences) -> Outcome:
        """Return the outcome with adherences learnt from all ballots."""
        if prefs.agent is None or prefs.agents is None:
            raise NeedError(f"{self.name} cannot learn adherence from this data: " + NEEDS["agents"] + ".")
        part = Part(solver, prefs.agent, len(prefs.agents))
        theta, has_converged = self.learn_adherences(prefs, part.ask)
        return self.outcome_of(solver, part.solution(theta), self.by_agent(prefs, theta), has_converged)

    def learn_adherences(self, prefs: Preferences, ask: Ask) -> tuple[Floats, bool]:
        """Return the adherence of every agent, with mean square 1, and whether the search converged.

        ``ask`` calls a method of ``Part`` for all parts of the preferences.
        """
        known = self.starting_adherences(prefs)
        if self.adherence_prior == "none":
            return learn_adherence(ask, known)
        adherence = adherence_of(count(prefs, self.counts), known)
        return adherence.theta, adherence.has_converged

    def by_agent(self, prefs: Preferences, theta: Floats) -> dict[str, float]:
        """Return learnt adherences by name, scaled to a maximum of 1; agents without preferences are left out."""
        assert prefs.agents is not None
        assert prefs.agent is not None
        has_any = has_preference(count(prefs, self.counts), prefs.agent, len(theta))
        scaled = (theta / largest_of(theta)).tolist()
        return {label: scaled[n] for n, label in enumerate(prefs.agents.labels) if has_any[n]}

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the lead, the net wins that determine the order, and the agents that decide between the first two."""
        from concordant.aggregate.multinomial._net_wins import net_wins_reasons
        from concordant.narrative.sentences import Scene

        theta = np.ones(prefs.n_ballots)
        if ranking.agents is not None and prefs.agents is not None:
            theta = np.array([ranking.agents.get(agent, 0.0) for agent in prefs.agents.labels])[prefs.agent]
        decides = self.variances == "equal" and "variance" not in self.learnt and not self.caution
        net_wins = net_wins_reasons(Scene(prefs, ranking), count(prefs, self.counts), theta, decides)
        return [*super().reasons(prefs, ranking), *net_wins]

    def solver_of(self, prefs: Preferences) -> Solver:
        """Return the solver for these preferences."""
        corpus = count(prefs, self.counts)
        return Solver(corpus, self.prior, self.variances, self._given_variance(corpus))

    def ranks_apart(self, prefs: Preferences) -> bool:
        """Return whether instances can be ranked separately: not if adherences are learnt from all of them."""
        return not self.adherence or "theta" in self.learnt

    def outcome_of(
        self, solver: Solver, solution: Solution, by_agent: dict[str, float] | None, has_converged: bool = True
    ) -> Outcome:
        """Return the outcome of a fit: scores, variances, adherences, fit statistics and warnings."""
        corpus, prefs = solver.corpus, solver.corpus.prefs
        score = arrange(corpus, solution)
        variance = np.full(prefs.n_slots, 0.5) if solution.variance is None else solution.variance
        details: dict[str, Floats] = {} if solution.variance is None else {"variance": variance}
        cautious = score - self.caution * variance if self.caution else score
        return Outcome(
            score=cautious,
            agents=by_agent,
            fit={
                "log_likelihood": solution.log_likelihood(corpus),
                "average_variance": float(variance.mean()),
                "gradient": float(solution.gradient.max(initial=0.0)),
            },
            warnings=notices(corpus, solution, by_agent, has_converged),
            uncertainty=MPMErrors(corpus, solution, solver.prior_by_instance, cautious, self.level, details),
            model=MPMModel.of(prefs, score, prefs=prefs, variance=variance, counts=self.counts, theta=by_agent),
            beside=details,
        )

    def starting_adherences(self, prefs: Preferences) -> Floats:
        """Return the learnt adherence of every agent (of every ballot without agents); 1 if none was learnt."""
        known = self.learnt.get("theta")
        if prefs.agents is None or known is None:
            return np.ones(prefs.n_ballots if prefs.agents is None else len(prefs.agents))
        usual = sum(known.values()) / max(len(known), 1)  # what to expect of an agent never seen before
        return np.array([known.get(label, usual) for label in prefs.agents.labels], np.float64)

    def _given_variance(self, corpus: Corpus) -> Floats | None:
        """Return the fixed variances by slot, given or by support; None if they are learnt."""
        prefs = corpus.prefs
        by_label: dict[str, Any] | None = self.learnt.get("variance")
        if by_label is not None:
            by_item = np.array([by_label.get(label, 0.5) for label in prefs.items.labels], np.float64)
            return np.asarray(by_item[prefs.slot_item])
        return _variance_of_support(corpus) if self.variances == "support" else None


def _variance_of_support(corpus: Corpus) -> Floats:
    """Return 1 / sqrt(1 + weight of the ballots that rank the slot), scaled to a geometric mean of 1/2 by instance."""
    logs = -np.log1p(views.ranked_weight(corpus.prefs)) / 2
    instance, size = corpus.instance_of_slot, np.diff(corpus.prefs.slot_ptr)
    mean = (sum_by(instance, logs, len(size)) / np.maximum(size, 1))[instance]
    return np.asarray(np.exp(logs - mean) / 2)


def agreement(prefs: Preferences, labels: Labels) -> Floats:
    """Return the agreement of each agent with the labels: the mean over instances of 1 - Kendall distance.

    The distance is the share of discordant pairs (ties half) among the pairs with different labels that the agent
    ranked. Instances without such a pair do not count for the agent; an agent without any gets the mean of the others.
    """
    assert prefs.agents is not None
    assert prefs.agent is not None
    label = labels.for_items(views.entry_instances(prefs), prefs.instances, prefs.items, prefs.item)
    concordant, discordant, tied = kernels.label_agreement(prefs.indptr, prefs.tier, label)
    n = len(prefs.agents)
    # Several ballots of one agent in one instance are one statement: add their pairs before dividing.
    key, key_of_ballot = np.unique(
        prefs.agent * np.int64(prefs.n_instances) + prefs.instance_of_ballot, return_inverse=True
    )
    agreeing = sum_by(key_of_ballot, prefs.weight * (concordant + tied / 2), len(key))
    all_pairs = sum_by(key_of_ballot, prefs.weight * (concordant + discordant + tied), len(key))
    has_pairs = all_pairs > 0
    agent = key[has_pairs] // prefs.n_instances
    n_counted = np.bincount(agent, minlength=n)
    mean = sum_by(agent, agreeing[has_pairs] / all_pairs[has_pairs], n) / np.maximum(n_counted, 1)
    if not n_counted.any():
        raise InputError("No agent ranks two items with different labels: adherence cannot be learnt from this data.")
    return np.where(n_counted > 0, mean, mean[n_counted > 0].mean())


def arrange(corpus: Corpus, solution: Solution) -> Floats:
    """Return the scores with exact ties and, where variances are equal, in the exact order of the net wins.

    Rounding may swap or separate scores of nearly equal net wins: scores are sorted into the order of the net wins, and
    those of equal net wins are averaged.
    """
    instance, ptr = corpus.instance_of_slot, corpus.prefs.slot_ptr
    n_instances = len(ptr) - 1
    if solution.variance is not None:
        largest = np.zeros(n_instances)
        np.maximum.at(largest, instance, np.abs(solution.score))
        return snap(solution.score, instance, largest * (TIE_OF_FITTED / TIE_TOLERANCE))
    net = snap(corpus.net_wins(solution.theta), instance, np.ones(n_instances))
    order = np.lexsort((net, instance))
    sorted_score = solution.score[np.lexsort((solution.score, instance))]
    group, size = _equal_runs(net[order], instance[order])
    mean = sum_by(group, sorted_score, len(size)) / size
    score = np.empty_like(solution.score)
    score[order] = np.where(np.abs(mean) > TIE_TOLERANCE * np.abs(mean).max(initial=0.0), mean, 0.0)[group]
    return score


def _equal_runs(values: Floats, instance: Int64s) -> tuple[Int64s, Int64s]:
    """Number the runs of equal values within an instance; return the run of every value and the size of every run."""
    starts = np.ones(len(values), bool)
    starts[1:] = (np.diff(values) != 0) | (np.diff(instance) != 0)
    run = np.cumsum(starts) - 1
    return run, np.bincount(run)
