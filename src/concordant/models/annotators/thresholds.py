"""Annotators of ordered classes: a cumulative logit model with a slope and thresholds per agent.

An agent shown an item of class k (0 … K - 1) answers at most l with probability logistic(c_l - s v_k), where v_k = k -
(K - 1) / 2 is the place of the class: the agent's thresholds c say how it uses the scale, and its slope s how well it
sees the classes (0: not at all). With K parameters per agent instead of K (K - 1), confusions of neighbouring classes
are learnt from few answers. The thresholds are a first one and the logarithms of the steps to the next ones; all
parameters have Gaussian priors that are common to all agents, with means and variances from the data (empirical Bayes
with the Laplace approximation).

The maximisation step is one step of Fisher scoring per agent, halved where it would lower the objective.

Reference: F. Samejima, Estimation of latent ability using a response pattern of graded scores, Psychometrika, 1969.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from concordant.models.annotators.codings import SHARE_PRIOR, TINY
from concordant.types import Floats

USUAL_SLOPE = 2.0
MIN_SPREAD = 0.1  # standard deviation of a parameter among agents
HALVINGS = 8
MAX_CELLS = 4_000_000  # of the derivatives that are held at once
BOUND = 20.0  # of a parameter


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Slope, first threshold and log-steps of every agent, then the log-shares of the classes, in one vector."""

    n_agents: int
    n: int
    """The number of classes."""
    priors: tuple[Floats, ...] = ()
    """Means and standard deviations of the parameters among agents."""

    @property
    def _prior(self) -> tuple[Floats, Floats]:
        """The means and standard deviations in use."""
        if self.priors:
            return self.priors[0], self.priors[1]
        step = np.full(self.n, np.log(USUAL_SLOPE))
        step[0], step[1] = USUAL_SLOPE, -USUAL_SLOPE * (self.n - 2) / 2
        return step, np.ones(self.n)

    def _split(self, psi: Floats) -> tuple[Floats, Floats]:
        """Return the parameters by agent, and the shares."""
        size = self.n_agents * self.n
        logs = psi[size:]
        share = np.exp(logs - logs.max(initial=-1e9))
        return np.clip(psi[:size].reshape(self.n_agents, self.n), -BOUND, BOUND), share / share.sum()

    def start(self, counts: Floats, classes: Floats) -> Floats:
        """Return first parameters: those of the average agent, and a few steps towards the counts."""
        psi = np.concatenate([np.tile(self._prior[0], self.n_agents), np.zeros(self.n)])
        for _ in range(5):
            psi = self.update(psi, counts, classes)
        return psi

    def update(self, psi: Floats, counts: Floats, classes: Floats) -> Floats:
        """Return the next parameters."""
        u, _ = self._split(psi)
        part = max(MAX_CELLS // self.n**3, 1)
        parts = [self._scored(u[k : k + part], counts[k : k + part])[0] for k in range(0, self.n_agents, part)]
        share = classes + SHARE_PRIOR
        return np.concatenate([*(one.ravel() for one in parts), np.log(share / share.sum())])

    def _scored(self, u: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """Return the parameters after a step of Fisher scoring, and their approximate posterior variances."""
        mean, spread = self._prior
        by_class = counts.transpose(0, 2, 1)
        p, slope = derivatives(u)
        gradient = np.einsum("akl,aklu->au", by_class / p, slope) - (u - mean) / spread**2
        weight = by_class.sum(axis=2)[:, :, None] / p
        information = np.einsum("aklu,akl,aklw->auw", slope, weight, slope, optimize=True) + np.diag(spread**-2.0)
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        before, length = self._value(u, by_class), np.ones(len(u))
        for _ in range(HALVINGS):
            tried = np.clip(u + length[:, None] * step, -BOUND, BOUND)
            is_lower = self._value(tried, by_class) < before
            if not is_lower.any():
                break
            length = np.where(is_lower, length / 2, length)
        else:
            tried = np.where(is_lower[:, None], u, tried)
        return tried, np.linalg.inv(information).diagonal(axis1=1, axis2=2)

    def _value(self, u: Floats, by_class: Floats) -> Floats:
        """Return the expected log-likelihood with the prior, by agent."""
        mean, spread = self._prior
        of_answers = (by_class * np.log(chances(u))).sum(axis=(1, 2))
        return np.asarray(of_answers - (((u - mean) / spread) ** 2).sum(axis=1) / 2)

    def table(self, psi: Floats) -> Floats:
        """Return the log-probabilities of answers: agent x answer x class."""
        return np.ascontiguousarray(np.log(self.confusions(psi)).transpose(0, 2, 1))

    def log_share(self, psi: Floats) -> Floats:
        """Return the log-shares of the classes."""
        return np.log(self.shares(psi))

    def shares(self, psi: Floats) -> Floats:
        """Return the class shares."""
        return np.maximum(self._split(psi)[1], TINY)

    def confusions(self, psi: Floats) -> Floats:
        """Return the confusion matrices: agent x class x answer."""
        return chances(self._split(psi)[0])

    def penalty(self, psi: Floats) -> float:
        """Return the logarithm of the priors, up to a constant."""
        mean, spread = self._prior
        of_agents = (((self._split(psi)[0] - mean) / spread) ** 2).sum() / 2
        return float(SHARE_PRIOR * self.log_share(psi).sum() - of_agents)

    def with_priors(self, psi: Floats, counts: Floats) -> Self:
        """Return the coding with the means and variances of the agents' parameters."""
        u, _ = self._split(psi)
        part = max(MAX_CELLS // self.n**3, 1)
        variance = np.concatenate(
            [self._scored(u[k : k + part], counts[k : k + part])[1] for k in range(0, self.n_agents, part)]
        )
        mean = u.mean(axis=0)
        spread = np.sqrt(((u - mean) ** 2 + variance).mean(axis=0))
        return replace(self, priors=(mean, np.maximum(spread, MIN_SPREAD)))


def limits(u: Floats) -> Floats:
    """Return the thresholds less the slope times the place of the class: agent x class x threshold."""
    n = u.shape[1]
    steps = np.concatenate([u[:, 1:2], np.exp(u[:, 2:])], axis=1)
    place = np.arange(n) - (n - 1) / 2
    return np.asarray(np.cumsum(steps, axis=1)[:, None, :] - u[:, :1, None] * place[:, None])


def logistic(x: Floats) -> Floats:
    """Return the logistic function."""
    return np.asarray(0.5 * (1 + np.tanh(x / 2)))


def chances(u: Floats) -> Floats:
    """Return P(answer | class): agent x class x answer."""
    below = np.pad(logistic(limits(u)), ((0, 0), (0, 0), (1, 1)), constant_values=((0, 0), (0, 0), (0, 1)))
    p = np.maximum(np.diff(below, axis=2), TINY)
    return np.asarray(p / p.sum(axis=2, keepdims=True))


def derivatives(u: Floats) -> tuple[Floats, Floats]:
    """Return P(answer | class), and its derivatives by the agent's parameters along a last axis."""
    agents, n = u.shape
    below = logistic(limits(u))
    density = np.pad(below * (1 - below), ((0, 0), (0, 0), (1, 1)))  # at the ends of the scale: 0
    place = (np.arange(n) - (n - 1) / 2)[:, None]
    by_limit = np.zeros((agents, n, n, n + 1))  # answer l has the limits l and l + 1
    answer = np.arange(n)
    by_limit[:, :, answer, answer + 1] = density[:, :, 1:]
    by_limit[:, :, answer, answer] -= density[:, :, :-1]
    slope = np.empty((agents, n, n, n))
    slope[..., 0] = -place * np.diff(density, axis=2)
    from_here = np.cumsum(by_limit[..., n - 1 : 0 : -1], axis=-1)[..., ::-1]  # a step moves all later thresholds
    slope[..., 1] = from_here[..., 0]
    slope[..., 2:] = from_here[..., 1:] * np.exp(u[:, None, None, 2:])
    return chances(u), slope
