"""GLAD: the ability of every agent and the ease of every item, by maximum a posteriori with exact gradients.

An answer of agent a to item i is correct with probability logistic(ability_a · ease_i), where the ease is positive, and
all wrong answers are equally likely. Abilities and log-eases have Gaussian priors with mean 1 and standard deviation 1.
The classes are summed out, and the gradient of the marginal likelihood is that of the expected complete one (Fisher's
identity), so no separate maximisation steps are needed.

Reference: J. Whitehill et al., Whose vote should count more: optimal integration of labels from labelers of unknown
expertise, NIPS 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from concordant import kernels
from concordant.models.annotators.answers import Answers
from concordant.models.annotators.thresholds import logistic
from concordant.types import Floats

PRIOR_MEAN = 1.0  # of abilities and of log-eases
MAX_EASE = 20.0  # of a log-ease, in absolute value
SHARE_PRIOR = 1.0  # pseudo-items per class

Function = Callable[[Floats], tuple[float, Floats]]
Minimise = Callable[[Function, Floats], tuple[Floats, bool]]


class Abilities(NamedTuple):
    """Fitted abilities, log-eases and class shares, with the class probabilities by slot."""

    ability: Floats
    log_ease: Floats
    shares: Floats
    chance: Floats
    log_likelihood: float
    objective: float
    has_converged: bool


class Terms(NamedTuple):
    """The penalised log-likelihood with its gradient, the class probabilities, and the log-likelihood alone."""

    value: float
    gradient: Floats
    chance: Floats
    log_likelihood: float


def objective(answers: Answers, point: Floats, estimates_shares: bool = True) -> Terms:
    """Return the penalised log-likelihood at abilities, log-eases and, last, logits of the class shares."""
    a, k = answers.n_agents, answers.n_classes
    log_ease, log_share = np.clip(point[a:-k], -MAX_EASE, MAX_EASE), log_softmax(point[-k:])
    chance, by_agent, by_item, alone = kernels.ability_posterior(answers.bundle(), point[:a], log_ease, log_share)
    away, share = point[:-k] - PRIOR_MEAN, np.exp(log_share)
    by_share = chance.sum(axis=0) + SHARE_PRIOR - (len(chance) + k * SHARE_PRIOR) * share
    value = alone - float(away @ away) / 2
    if estimates_shares:
        value += SHARE_PRIOR * float(log_share.sum())
    gradient = np.concatenate([by_agent - away[:a], by_item - away[a:], by_share * estimates_shares])
    return Terms(value, gradient, chance, alone)


def log_softmax(x: Floats) -> Floats:
    """Return the logarithms of the probabilities with these logits."""
    return np.asarray(x - np.logaddexp.reduce(x))


def fit(answers: Answers, minimise: Minimise, *, estimates_shares: bool = True) -> Abilities:
    """Fit by ``minimise`` (function, start) -> (point, has converged); class shares are equal unless estimated."""
    a, k = answers.n_agents, answers.n_classes

    def loss(at: Floats) -> tuple[float, Floats]:
        terms = objective(answers, at, estimates_shares)
        return -terms.value, -terms.gradient

    start = np.concatenate([np.full(a + answers.n_slots, PRIOR_MEAN), np.zeros(k)])
    point, has_converged = minimise(loss, start)
    terms = objective(answers, point, estimates_shares)
    log_ease, shares = np.clip(point[a:-k], -MAX_EASE, MAX_EASE), np.exp(log_softmax(point[-k:]))
    return Abilities(point[:a], log_ease, shares, terms.chance, terms.log_likelihood, terms.value, has_converged)


def confusions(ability: Floats, ease: float, n_classes: int) -> Floats:
    """Return the confusion matrices of these abilities on items of an ease: agent x class x answer."""
    right = logistic(ability * ease)[:, None, None]
    wrong = (1 - right) / max(n_classes - 1, 1)
    return np.asarray(wrong + (right - wrong) * np.eye(n_classes))
