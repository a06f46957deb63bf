"""Expectation-maximisation with squared extrapolation, for all models of annotators with confusion matrices.

A model is a vector of parameters and three functions of it: a table of log P(answer | class) by agent, the log-shares
of the classes, and the next parameters given the expected counts. The expectation step is the same for all. Every third
step extrapolates the last two (SQUAREM, scheme S3): with r the first step and v the change between both steps, the next
point is psi + 2 a r + a² v with a = |r| / |v|. An extrapolation that lowers the objective is taken back, so the
objective never falls. Priors that depend on the data are set in rounds, each at the optimum of the last one.

Reference: R. Varadhan and C. Roland, Simple and globally convergent methods for accelerating the convergence of any EM
algorithm, Scandinavian Journal of Statistics, 2008.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from concordant.models.annotators.answers import Answers
from concordant.support import progress
from concordant.types import Floats

MAX_CYCLES = 500
MAX_ROUNDS = 15
CONVERGED = 1e-6  # change of a probability
ROUGHLY = 1e-3  # the same, while priors change
SETTLED = 0.02  # relative change of the parameters of priors
PLAIN_STEPS = 2  # before the first extrapolation


class Coding(Protocol):
    """How parameters make the confusion matrices of all agents; tables are agent x answer x class."""

    @property
    def priors(self) -> tuple[Floats, ...]:
        """The parameters of the priors."""

    def start(self, counts: Floats, classes: Floats) -> Floats:
        """Return first parameters for these expected counts and class totals."""

    def update(self, psi: Floats, counts: Floats, classes: Floats) -> Floats:
        """Return the next parameters."""

    def table(self, psi: Floats) -> Floats:
        """Return the log-probabilities of answers."""

    def log_share(self, psi: Floats) -> Floats:
        """Return the log-shares of the classes."""

    def penalty(self, psi: Floats) -> float:
        """Return the logarithm of the priors."""

    def with_priors(self, psi: Floats, counts: Floats) -> Self:
        """Return the coding with priors that fit the expected counts."""


class Fit(NamedTuple):
    """Fitted parameters, and what follows from them."""

    coding: Any
    psi: Floats
    chance: Floats
    """slot x class"""
    counts: Floats
    """agent x answer x class"""
    log_likelihood: float
    objective: float
    has_converged: bool
    steps: int


def fit(answers: Answers, coding: Coding, chance: Floats, tolerance: float = CONVERGED) -> Fit:
    """Fit priors and parameters, starting from class probabilities by slot."""
    psi = coding.start(expected_counts(answers, chance), _classes(answers, chance))
    steps, has_settled = 0, False
    for _ in progress.iterations(range(MAX_ROUNDS), "expectation-maximisation"):
        found = climb(answers, coding, psi, tolerance if has_settled else ROUGHLY)
        steps, psi = steps + found.steps, found.psi
        if has_settled:
            break
        before, coding = coding.priors, coding.with_priors(psi, found.counts)
        has_settled = len(before) > 0 and all(
            bool((np.abs(new - old) <= SETTLED * new.max()).all())
            for new, old in zip(coding.priors, before, strict=True)
        )
    else:
        found = climb(answers, coding, psi, tolerance)
    return found._replace(steps=steps)


def climb(answers: Answers, coding: Coding, psi: Floats, tolerance: float) -> Fit:
    """Maximise the penalised likelihood for fixed priors."""

    class Step(NamedTuple):
        psi: Floats
        chance: Floats
        counts: Floats
        log_likelihood: float
        objective: float

    def step(psi: Floats) -> Step:
        """Return the next parameters, and all that holds at these."""
        chance, counts, value = answers.posterior(coding.table(psi), coding.log_share(psi))
        return Step(
            coding.update(psi, counts, _classes(answers, chance)), chance, counts, value, value + coding.penalty(psi)
        )

    steps, limit = 0, 4.0
    for cycle in range(MAX_CYCLES):
        one = step(psi)
        two = step(one.psi)
        steps += 2
        if np.abs(two.chance - one.chance).max(initial=0.0) < tolerance:
            return Fit(coding, one.psi, *two[1:], True, steps)
        r, v = one.psi - psi, two.psi - 2 * one.psi + psi
        length = float(np.sqrt(v @ v))
        stretch = min(float(np.sqrt(r @ r)) / length, limit) if length > 0 and cycle >= PLAIN_STEPS else 1.0
        tried = psi + 2 * stretch * r + stretch * stretch * v
        psi = two.psi
        if stretch > 1.0:
            three = step(tried)
            steps += 1
            if three.objective >= two.objective:
                psi, limit = three.psi, 4 * limit if stretch == limit else limit
    return Fit(coding, one.psi, *two[1:], False, steps)


def _classes(answers: Answers, chance: Floats) -> Floats:
    """Return the expected number of slots with answers (or a known class) of each class."""
    return np.asarray(((np.diff(answers.ptr) > 0) | (answers.known >= 0)) @ chance)


def expected_counts(answers: Answers, chance: Floats) -> Floats:
    """Return the expected counts by agent, answer and class, given the class probabilities by slot."""
    k, n = answers.n_classes, answers.n_agents
    row, slot = answers.agent * k + answers.answer, answers.slot
    columns = [np.bincount(row, answers.weight * chance[slot, c], n * k) for c in range(k)]
    return np.asarray(np.stack(columns, axis=1).reshape(n, k, k), np.float64)
