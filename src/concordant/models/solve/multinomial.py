"""Fit multinomial preference models to many instances at once.

Objective of an instance: the negative log-likelihood per unit of its total count, plus prior / 2 times the squares of
the scores and of the log-variances around log(1/2).

The likelihood depends only on products of adherence and scores, so large adherences would evade a prior on the scores.
Adherences are therefore learnt with a count-weighted mean square of 1, and reported with a maximum of 1. They minimise
the profile of the objective (minimised over scores) by a quasi-Newton method: by the envelope theorem the gradient of
the profile needs no derivative of the scores. The profile has several local minima (agents may form camps), so the
search starts from equal adherences, from each agent's agreement with the others, and from the agreement with single
agents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np

from concordant import kernels
from concordant.ballots.segments import sum_by
from concordant.kernels.bundles import Adherences, MPMFit, MPMWarmStart
from concordant.models.observations.preference_counts import Corpus, Groups
from concordant.support import progress
from concordant.support.brief import Brief
from concordant.types import Floats, Int32s, Int64s

TOLERANCE = 1e-10
HALF = float(np.log(0.5))
MIN_PRIOR = 1e-3  # where the likelihood alone has no maximum
ROUGH = 1e-7  # how exactly scores are fitted while adherences are learnt
FIRST_STEPS = 10  # evaluations for every start, of which the best one goes on
SEEDS = 8  # agents whose likes are tried as a start, those who say most
MIN_STEPS = 40
MAX_WORK = 2e8  # about as many slots x adherences are gone through while adherences are learnt
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Brief):
    """Scores and variances of every slot, and the log-likelihood of the counts."""

    score: Floats
    variance: Floats | None
    """None if all variances are 1/2."""
    theta: Floats
    """The adherence of every ballot."""
    groups: Groups
    log_z: Floats
    slope: Floats
    gradient: Floats
    iterations: Int64s

    def log_likelihood(self, corpus: Corpus) -> float:
        """Return the log-likelihood of all counts, without the multinomial coefficients."""
        return float((self.gains(corpus) - self.losses(corpus, self.log_z)).sum())

    def gains(self, corpus: Corpus) -> Floats:
        """Return, per ballot, weight * theta * sum of count * x."""
        return np.asarray(corpus.prefs.weight * self.theta * corpus.gains(self.score, self.variance))

    def losses(self, corpus: Corpus, by_group: Floats) -> Floats:
        """Return, per ballot, its weighted total count times a value of its group."""
        return np.asarray(corpus.weighted_total * np.append(by_group, 0.0)[self.groups.of_ballot])


@dataclass(repr=False)
class Solver(Brief):
    """Fit one corpus repeatedly, with a warm start from the last solution."""

    corpus: Corpus
    prior: float
    variances: str
    given: Floats | None = None
    """Fixed variances by slot, if they are not learnt."""
    log_variance: Floats | None = field(default=None, init=False)
    score: Floats | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        at_least = np.where(self.corpus.is_separated, max(self.prior, MIN_PRIOR), self.prior)
        self.prior_by_instance = np.ascontiguousarray(at_least, np.float64)

    def solve(self, theta: Floats, tolerance: float = TOLERANCE) -> Solution:
        """Fit scores (and variances) for these adherences, one per ballot, with a warm start from the last solution."""
        prefs = self.corpus.prefs
        net, groups = self.corpus.net_wins(theta), self.corpus.groups(theta)
        if self.score is None:
            self.score = self._start(net, groups)
        adherences, prior = Adherences(groups.ptr, groups.theta, groups.share), self.prior_by_instance
        if self.variances == "equal" and self.given is None:
            fit = kernels.fit_mpm_scores(prefs.slot_ptr, net, adherences, prior, self.score, tolerance)
            self.score = fit.score
            return self._solution(fit, fit.score, None, theta, groups)
        if self.log_variance is None:
            self.log_variance = np.full(len(net), HALF) if self.given is None else np.log(self.given)
            self.score = kernels.fit_mpm_scores(prefs.slot_ptr, net, adherences, prior, self.score, 1e-2).score
        pair_ptr, pairs = self.corpus.net_pairs(theta)
        is_learning = self.variances == "learnt" and self.given is None
        warm_start = MPMWarmStart(self.score, self.log_variance)
        fit = kernels.fit_mpm_variances(
            prefs.slot_ptr, pair_ptr, pairs, adherences, prior, warm_start, is_learning, tolerance
        )
        self.score, self.log_variance = score, log_variance = fit.score, fit.log_variance
        if is_learning and self.prior == 0:
            score, log_variance = self._rescaled(score, log_variance)
        variance = np.exp(log_variance) if self.given is None else self.given
        return self._solution(fit, score, variance, theta, groups)

    def _solution(self, fit: MPMFit, score: Floats, variance: Floats | None, theta: Floats, groups: Groups) -> Solution:
        """Return a kernel's fit as a solution with centred scores."""
        ends = (fit.log_z, fit.slope, fit.gradient, fit.iterations)
        return Solution(self._centred(score), variance, theta, groups, *ends)

    def _start(self, net: Floats, groups: Groups) -> Floats:
        """Return the Newton step from equal scores, scaled down if its largest component in an instance exceeds 3."""
        size = np.diff(self.corpus.prefs.slot_ptr)
        instance = np.repeat(np.arange(len(size)), np.diff(groups.ptr))
        curvature = sum_by(instance, groups.share * groups.theta**2, len(size)) * 2 / np.maximum(size - 1, 1)
        step = net / np.maximum(curvature + self.prior_by_instance, 1e-12)[self.corpus.instance_of_slot]
        largest = np.zeros(len(size))
        np.maximum.at(largest, self.corpus.instance_of_slot, np.abs(step))
        return np.asarray(step / np.maximum(largest / 3, 1.0)[self.corpus.instance_of_slot])

    def _mean(self, values: Floats) -> Floats:
        """Return, for every slot, the mean of the values of its instance."""
        instance, size = self.corpus.instance_of_slot, np.diff(self.corpus.prefs.slot_ptr)
        return np.asarray((sum_by(instance, values, len(size)) / np.maximum(size, 1))[instance])

    def _centred(self, score: Floats) -> Floats:
        return np.asarray(score - self._mean(score))

    def _rescaled(self, score: Floats, log_variance: Floats) -> tuple[Floats, Floats]:
        """Rescale scores and variances so that the geometric mean of the variances is 1/2; their scale is free."""
        excess = self._mean(log_variance) - HALF
        return np.asarray(score * np.exp(-excess)), np.asarray(log_variance - excess)

    def objective(self, solution: Solution) -> float:
        """Return the objective that is minimised, summed over instances in proportion to their counts."""
        corpus = self.corpus
        squares = solution.score**2
        if self.variances == "learnt" and self.given is None and solution.variance is not None:
            squares = squares + (np.log(solution.variance) - HALF) ** 2
        weight = (self.prior_by_instance * corpus.total_by_instance)[corpus.instance_of_slot]
        return (float((weight * squares).sum()) / 2 - solution.log_likelihood(corpus)) / self._scale()

    def _scale(self) -> float:
        return max(float(self.corpus.total_by_instance.sum()), 1e-300)

    def slopes(self, solution: Solution, agent: Int32s, n_agents: int) -> Floats:
        """Return the gradient of the profiled objective in the agents' adherences."""
        corpus = self.corpus
        gain = corpus.prefs.weight * corpus.gains(solution.score, solution.variance)
        return -sum_by(agent, gain - solution.losses(corpus, solution.slope), n_agents) / self._scale()

    def learn_adherence(self, agent: Int32s, known: Floats) -> tuple[Floats, Solution, bool]:
        """Learn the adherence of every agent, scaled to a largest of 1: (theta by agent, solution, whether it
        converged).

        ``known`` are additional starting values, besides those from the agreement of the agents with each other.
        """
        part = Part(self, agent, len(known))
        theta, has_converged = learn_adherence(part.ask, known)
        return theta / largest_of(theta), part.solution(theta), has_converged


@dataclass(eq=False, repr=False)
class Part(Brief):
    """Some instances of the data from which adherences are learnt; results are summed over the parts.

    ``agent`` is the agent of every ballot, with the same numbering in all parts.
    """

    solver: Solver
    agent: Int32s
    n_agents: int

    def ask(self, question: Callable[Concatenate[Part, P], T], *args: P.args, **kwargs: P.kwargs) -> list[T]:
        """Call a method of ``Part`` for this part, if it is the only one."""
        return [question(self, *args, **kwargs)]

    def totals(self) -> Floats:
        """Return the total count of every agent."""
        return sum_by(self.agent, self.solver.corpus.weighted_total, self.n_agents)

    def profile(self, theta: Floats) -> tuple[float, Floats]:
        """Return the objective minimised over scores for these adherences, and its gradient in them, both times the
        counts.
        """
        solution = self.solver.solve(theta[self.agent], ROUGH)
        scale = self.solver._scale()
        value, slope = self.solver.objective(solution), self.solver.slopes(solution, self.agent, self.n_agents)
        return value * scale, slope * scale

    def solution(self, theta: Floats) -> Solution:
        """Return the fit for these adherences, rescaled so that the largest adherence is 1."""
        solution, largest = self.solver.solve(theta[self.agent]), largest_of(theta)
        groups = replace(solution.groups, theta=solution.groups.theta / largest)
        return replace(solution, score=solution.score * largest, theta=solution.theta / largest, groups=groups)

    def cost(self) -> Floats:
        """Return the numbers of distinct adherences, slots and instances, from which the cost of an evaluation
        follows.
        """
        prefs = self.solver.corpus.prefs
        n_groups = len(self.solver.corpus.groups(self.agent.astype(np.float64)).theta)
        return np.array([n_groups, prefs.n_slots, prefs.n_instances], np.float64)

    def largest_net(self) -> float:
        """Return the largest absolute weighted net win of an entry."""
        return float(np.abs(self._own).max(initial=0.0))

    def agreements(self, unit: float, single: int | None) -> Floats:
        """Return, by agent, the sums of net * others, net² and others² over entries (3 x agents).

        ``net`` are the agent's net wins in units of ``unit``, ``others`` those of all others (or of a ``single`` agent)
        for the same slot.
        """
        net, slot = self._own / unit, self.solver.corpus.prefs.entry_slot
        agent_of_entry = self.agent[self._ballot]
        is_counted = np.ones(len(net), bool) if single is None else agent_of_entry == single
        others = sum_by(slot, np.where(is_counted, net, 0.0), self.solver.corpus.prefs.n_slots)[slot]
        others = others - net if single is None else others
        pairs = ((net, others), (net, net), (others, others))
        return np.stack([sum_by(agent_of_entry, x * y, self.n_agents) for x, y in pairs])

    @property
    def _ballot(self) -> Int64s:
        prefs = self.solver.corpus.prefs
        return np.repeat(np.arange(prefs.n_ballots), np.diff(prefs.indptr))

    @property
    def _own(self) -> Floats:
        return self.solver.corpus.net * self.solver.corpus.prefs.weight[self._ballot]


class Ask(Protocol):
    """Calls a method of ``Part`` for all parts, in this process or others, and returns the results in order."""

    def __call__(self, question: Callable[Concatenate[Part, P], T], *args: P.args, **kwargs: P.kwargs) -> list[T]:
        """Call ``question(part, *args)`` for every part."""


def learn_adherence(ask: Ask, known: Floats) -> tuple[Floats, bool]:
    """Learn the adherence of every agent from all parts: (theta by agent with mean square 1, whether it converged).

    L-BFGS-B on the profile: a few steps from each of several starting points, then the best one continues.
    """
    from scipy.optimize import minimize

    totals = np.sum(ask(Part.totals), axis=0)
    scale = max(float(totals.sum()), 1e-300)
    share = totals / scale

    def profile(theta: Floats) -> tuple[float, Floats]:
        size = _size(theta, share)
        step()
        answers = ask(Part.profile, theta / size)
        slope = np.sum([slope for _, slope in answers], axis=0) / scale
        return sum(value for value, _ in answers) / scale, (slope - (slope @ theta) / size**2 * share * theta) / size

    def descend(start: Floats, steps: int) -> Any:
        options = {"maxfun": steps, "maxiter": steps, "ftol": 1e-13, "gtol": 1e-9}
        bounds = [(0.0, None)] * len(start)
        return minimize(profile, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)

    steps = _affordable_steps(np.sum(ask(Part.cost), axis=0))
    starts = [known, *_agreements(ask, share, SEEDS if steps > 2 * MIN_STEPS else 0)]
    with progress.stage("learning adherences", FIRST_STEPS * len(starts) + steps) as step:
        attempts = [descend(start, FIRST_STEPS) for start in starts if share @ start > 0] or [descend(known + 1.0, 1)]
        best = descend(min(attempts, key=lambda result: round(float(result.fun), 9)).x, steps)
    return best.x / _size(best.x, share), bool(best.nfev < steps)


def _affordable_steps(cost: Floats) -> int:
    """Return how many evaluations the search for adherences may take, given the cost of one."""
    n_groups, n_slots, n_instances = cost.tolist()
    return int(np.clip(MAX_WORK / max(n_groups * n_slots / max(n_instances, 1.0), 1.0), MIN_STEPS, 400))


def largest_of(theta: Floats) -> float:
    """Return the largest adherence."""
    return max(float(theta.max(initial=0.0)), 1e-300)


def _size(theta: Floats, share: Floats) -> float:
    """Return the root mean square of the adherences, weighted by ``share`` of the counts."""
    return max(float(np.sqrt(share @ theta**2)), 1e-12)


def _agreements(ask: Ask, share: Floats, seeds: int) -> list[Floats]:
    """Return the cosine between each agent's net wins and those of all others, then of each of the most active agents.

    Each is an array by agent with values from 0 to 1.
    """
    unit = max(*ask(Part.largest_net), 1e-300)

    def cosine(single: int | None) -> Floats:
        product, own_square, other_square = np.sum(ask(Part.agreements, unit, single), axis=0)
        return np.asarray(np.maximum(product, 0.0) / np.sqrt(np.maximum(own_square * other_square, 1e-300)))

    return [cosine(None), *(cosine(single) for single in np.argsort(-share, kind="stable")[:seeds].tolist())]
