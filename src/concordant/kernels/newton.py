"""Newton's method for penalised likelihoods of scores, in NumPy, for the NumPy references and for large instances.

``maximise`` works on a row of parameters per instance, all of one size: many small instances together, or one large
instance. An objective combines a likelihood, a prior, and a rule that turns a gradient into a step. newton.hpp is the
compiled version for many small instances.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np

from concordant.kernels.bundles import Belief, Fitted, WarmStart
from concordant.types import Bools, Floats, Int32s, Int64s

MAX_NEWTON = 500
TIGHT = 1e-13  # gradient relative to all observations, where rounding allows no more


class Likelihood(Protocol):
    """A log-likelihood of scores (m of them) and further parameters, a row per instance.

    It is invariant to adding a constant to all scores.
    """

    m: int
    size: int
    total: Floats
    """The weight of the observations of every instance."""
    is_concave: bool

    def start(self) -> Floats:
        """Return a starting point."""

    def extras(self) -> dict[str, int]:
        """Return the columns of the additional parameters (position bias, tie)."""

    def evaluate(self, point: Floats) -> Floats:
        """Return the value of every instance, and store the terms for the derivatives."""

    def gradient(self) -> Floats:
        """Return the gradient at the point last evaluated."""

    def hessian(self, is_exact: bool) -> Floats:
        """Return the negative Hessian there: exact, or a positive semi-definite bound."""


class Prior:
    """A Gaussian prior on scores, or a Gamma prior on worths (``ridge`` pseudo-choices of each item from all).

    Additional parameters have a Gaussian prior.
    """

    def __init__(self, belief: Belief, m: int) -> None:
        """Set the strengths by instance; ``m`` is the number of scores."""
        self.strength, self.extra = belief.ridge[:, None], belief.ridge_extra[:, None]
        self.is_gamma, self.m = belief.is_gamma, m

    def value(self, point: Floats) -> Floats:
        """Return the log-density of the prior, up to a constant."""
        score, extra = point[:, : self.m], point[:, self.m :]
        on_scores = self.relative(score) if self.is_gamma else -0.5 * score**2
        return np.asarray((self.strength * on_scores).sum(axis=1) - (0.5 * self.extra * extra**2).sum(axis=1))

    def gradient(self, point: Floats) -> Floats:
        """Return the gradient of the log-density."""
        score = point[:, : self.m]
        on_scores = 1 - np.exp(self.relative(score)) if self.is_gamma else -score
        return np.concatenate([self.strength * on_scores, -self.extra * point[:, self.m :]], axis=1)

    def add_hessian(self, point: Floats, hessian: Floats) -> None:
        """Add the negative Hessian of the log-density to ``hessian``."""
        on_scores, extras = np.arange(self.m), np.arange(self.m, point.shape[1])
        hessian[:, extras, extras] += self.extra
        if self.is_gamma:
            worth = np.exp(self.relative(point[:, : self.m]))
            pull = self.strength * worth
            hessian[:, : self.m, : self.m] -= pull[:, :, None] * worth[:, None, :] / self.m
            hessian[:, on_scores, on_scores] += pull
        else:
            hessian[:, on_scores, on_scores] += self.strength

    @property
    def along(self) -> Floats:
        """Curvature of the prior along the direction of equal scores, per instance."""
        return np.zeros(len(self.strength)) if self.is_gamma else self.strength[:, 0]

    def relative(self, score: Floats) -> Floats:
        """Return scores minus the logarithm of the mean worth."""
        if not score.shape[1]:
            return score
        top = score.max(axis=1, keepdims=True)
        return np.asarray(score - top - np.log(np.exp(score - top).mean(axis=1, keepdims=True)))


class Objective:
    """Log-likelihood plus log-prior, with Newton steps by the dense Hessian."""

    def __init__(self, likelihood: Likelihood, prior: Prior) -> None:
        self.likelihood, self.prior, self.m = likelihood, prior, likelihood.m

    def evaluate(self, point: Floats) -> Floats:
        """Return the value at a point; derivatives are those at the point last evaluated."""
        self.point, self.log_likelihood = point, self.likelihood.evaluate(point)
        self.log_prior = self.prior.value(point)
        return self.log_likelihood + self.log_prior

    def gradient(self) -> Floats:
        """Return the gradient there."""
        return self.likelihood.gradient() + self.prior.gradient(self.point)

    def step(self, gradient: Floats) -> tuple[Floats, Bools]:
        """Return the Newton step, and for every instance whether it uses the exact Hessian."""
        hessian, is_exact = self.definite()
        return np.asarray(np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0], np.float64), is_exact

    def definite(self) -> tuple[Floats, Bools]:
        """Return the negative Hessian, made positive definite if necessary, and whether it was definite."""
        hessian = self.hessian(True)
        is_exact = is_definite(hessian)
        if not is_exact.all() and not self.likelihood.is_concave:
            hessian = np.where(is_exact[:, None, None], hessian, self.hessian(False))
        diagonal, lift = np.arange(hessian.shape[1]), 1e-10
        while not (definite := is_definite(hessian)).all() and lift < 1e6:
            hessian[:, diagonal, diagonal] += np.where(definite, 0.0, lift * self.along)[:, None]
            lift *= 10
        return hessian, is_exact

    def hessian(self, is_exact: bool) -> Floats:
        """Return the negative Hessian, with curvature added along the direction of equal scores, where it has none."""
        hessian, m = self.likelihood.hessian(is_exact), self.m
        self.prior.add_hessian(self.point, hessian)
        trace = hessian[:, np.arange(m), np.arange(m)].sum(axis=1)
        level = np.where(trace > 0, trace / max(m, 1) ** 2, 1.0)
        hessian[:, :m, :m] += level[:, None, None]
        self.along = level * max(m, 1) + self.prior.along
        return hessian


def is_definite(hessian: Floats) -> Bools:
    """Return, for every matrix, whether it is positive definite."""
    try:
        root = np.linalg.cholesky(hessian)
    except np.linalg.LinAlgError:
        if len(hessian) == 1:
            return np.zeros(1, bool)
        return np.concatenate([is_definite(half) for half in np.array_split(hessian, 2)])
    diagonal = np.arange(hessian.shape[1])
    return np.asarray((root[:, diagonal, diagonal] ** 2 > TIGHT * hessian[:, diagonal, diagonal]).all(axis=1))


class Optimum(NamedTuple):
    """The result of a maximisation by instance: the point, the largest absolute derivative and the number of steps."""

    point: Floats
    slack: Floats
    iterations: Int32s


def maximise(objective: Objective, point: Floats, small_step: float) -> Optimum:
    """Maximise all instances at once; each stops when its step is small or its gradient is at rounding level."""
    m, scale = objective.m, objective.likelihood.total + objective.prior.strength[:, 0]
    value = objective.evaluate(point)
    gradient = objective.gradient()
    is_active, iterations = np.ones(len(point), bool), np.zeros(len(point), np.int32)
    for _ in range(MAX_NEWTON):
        largest_slope = np.abs(gradient).max(axis=1, initial=0.0)
        is_active = is_active & (largest_slope > TIGHT * scale)
        if not is_active.any():
            break
        iterations += is_active
        step, is_exact = objective.step(gradient)
        rise, share = (step * gradient).sum(axis=1), is_active.astype(np.float64)
        is_rounding = rise <= 1e-12 * (np.abs(value) + 1e-3 * scale)
        for _ in range(60):
            trial = np.where(is_active[:, None], point + share[:, None] * step, point)
            trial[:, :m] -= np.where(is_active[:, None], trial[:, :m].mean(axis=1, keepdims=True), 0.0)
            trial_value = objective.evaluate(trial)
            needed = value + 1e-4 * share * rise - 1e-12 * (1 + np.abs(value))
            is_too_far = is_active & ~is_rounding & ~(trial_value >= needed)
            if not is_too_far.any():
                break
            share[is_too_far] /= 2
        point, value, gradient = trial, trial_value, objective.gradient()
        longest = np.abs(step).max(axis=1, initial=0.0)
        has_converged = (is_exact & (share == 1.0) & (longest < small_step)) | (
            longest <= 1e-14 * (1 + np.abs(point).max())
        )
        is_active &= ~has_converged & ~(is_rounding & (np.abs(gradient).max(axis=1) > largest_slope / 2))
    return Optimum(point, np.abs(gradient).max(axis=1, initial=0.0), iterations)


# ---- many instances ----
def fit_all(
    slot_ptr: Int64s,
    batches: Iterable[tuple[Int64s, Likelihood]],
    belief: Belief,
    warm_start: WarmStart,
    small_step: float,
    with_errors: bool,
) -> Fitted:
    """Fit batches of instances (their numbers, and their likelihood), each batch of one size."""
    n, size = len(slot_ptr) - 1, np.diff(slot_ptr)
    cell_ptr = np.concatenate([[0], np.cumsum(size**2)])
    covariance = np.zeros(int(cell_ptr[-1]) if with_errors else 0)
    out = Fitted(
        score=np.zeros(int(slot_ptr[-1])),
        advantage=np.zeros(n),
        tie=np.zeros(n),
        value=np.zeros(n),
        log_prior=np.zeros(n),
        log_det=np.zeros(n),
        slack=np.zeros(n),
        iterations=np.zeros(n, np.int32),
        is_definite=np.ones(n, np.uint8),
        covariance=covariance,
        extra_variance=np.zeros((n, 2)),
    )
    for instances, likelihood in batches:
        m = likelihood.m
        slots = slot_ptr[instances][:, None] + np.arange(m)
        prior = Prior(Belief(belief.ridge[instances], belief.ridge_extra[instances], belief.is_gamma), m)
        point = likelihood.start()
        columns = likelihood.extras()
        if len(warm_start.start):
            point[:, :m] = warm_start.start[slots]
            for name, column in columns.items():
                point[:, column] = getattr(warm_start, f"start_{name}")[instances]
        objective = Objective(likelihood, prior)
        optimum = maximise(objective, point, small_step)
        out.score[slots] = optimum.point[:, :m]
        for name, column in columns.items():
            getattr(out, name)[instances] = optimum.point[:, column]
        out.value[instances], out.log_prior[instances] = objective.log_likelihood, objective.log_prior
        out.slack[instances], out.iterations[instances] = optimum.slack, optimum.iterations
        hessian, is_exact = objective.definite()
        out.is_definite[instances] = is_exact
        out.log_det[instances] = np.linalg.slogdet(hessian)[1] - np.log(objective.along)
        if with_errors:
            inverse = np.linalg.inv(hessian)
            centred = inverse[:, :m, :m] - (1 / (m * objective.along))[:, None, None]
            covariance[cell_ptr[instances][:, None] + np.arange(m * m)] = centred.reshape(len(instances), -1)
            for name, column in columns.items():
                out.extra_variance[instances, int(name == "tie")] = inverse[:, column, column]
    return out
