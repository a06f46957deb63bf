"""Fitting score models to duels: three ways to the same optimum, chosen by the size of an instance.

- up to 128 candidates: Newton's method in a kernel, all instances in one call
- up to 4,000: Newton's method with dense Cholesky factors (LAPACK)
- above: Newton's method with conjugate gradients on the rows themselves; nothing dense is ever built

The objective is the log-likelihood of the duels minus a penalty, concave in the scores. Scores are centred. The
covariance is that of centred scores: the inverse of the exact Hessian of the objective with the direction "all scores
up by the same" taken out. Above 4,000 candidates the inverse is out of reach; its diagonal is estimated from draws of
the normal distribution with that precision (perturb each row, solve), made precise by conditioning: the variance of
a score given all the others is known exactly, only that of its conditional mean is left to the draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from concordant import kernels
from concordant.aggregate.pairwise._duels import Duels
from concordant.errors import InputError
from concordant.types import Floats, Int32s, Int64s

BRADLEY_TERRY, THURSTONE, DAVIDSON, RAO_KUPPER = range(4)
SMALL, DENSE = 128, 4000
MAX_NEWTON = 100
SMALL_STEP = 1e-6  # after a full step this small the error is about its square
N_DRAWS = 32


@dataclass(frozen=True)
class Penalty:
    """The prior: precision of the scores by instance, of the other parameters, and its kind.

    ``basis`` (orthonormal columns per slot) spans what covariates explain: no penalty there.
    """

    ridge: Floats
    ridge_extra: Floats
    is_gamma: bool = False
    basis: Floats | None = None
    shrink: Floats | None = None

    def of(self, instances: Int64s, slots: Int64s) -> Penalty:
        """Return the prior of some instances."""
        basis = None if self.basis is None else self.basis[slots]
        return Penalty(self.ridge[instances], self.ridge_extra[instances], self.is_gamma, basis, self.shrink)

    def apply(self, score: Floats) -> Floats:
        """Return the Gaussian prior's precision matrix times the scores (a vector or columns)."""
        out = score
        if self.basis is not None and self.shrink is not None:
            inner = self.basis.T @ score
            out = score - self.basis @ (self.shrink[:, None] * inner if inner.ndim == 2 else self.shrink * inner)
        return np.asarray(self.ridge[0] * out)


@dataclass(frozen=True)
class Part:
    """Fitted instances: scores centred, covariance blocks one after the other (None when too large).

    ``variance`` is by slot; ``draws`` are centred deviations of the scores, one column each, where there is no
    covariance.
    """

    instances: Int64s
    slots: Int64s
    duels: Duels
    penalty: Penalty
    model: int
    score: Floats
    advantage: Floats
    tie: Floats
    extra_variance: Floats
    covariance: Floats | None
    variance: Floats
    value: Floats
    slack: Floats
    iterations: Int32s
    draws: Floats | None = None

    @property
    def blocks(self) -> Iterator[tuple[int, slice, Floats]]:
        """Walk the instances: (number, slots, covariance)."""
        assert self.covariance is not None
        start = 0
        for q, (a, b) in enumerate(
            zip(self.duels.slot_ptr[:-1].tolist(), self.duels.slot_ptr[1:].tolist(), strict=True)
        ):
            m = b - a
            yield q, slice(a, b), self.covariance[start : start + m * m].reshape(m, m)
            start += m * m


def fit(duels: Duels, model: int, penalty: Penalty, with_errors: bool = True) -> list[Part]:
    """Fit a model to the duels of all instances; parts differ in how they were solved."""
    size = np.diff(duels.slot_ptr)
    largest_small = SMALL if penalty.basis is None else 0
    small = np.flatnonzero(size <= largest_small)
    parts = []
    if len(small):
        parts.append(_fit_small(duels, model, penalty, small))
    for q in np.flatnonzero(size > largest_small).tolist():
        own, slots = (duels, np.arange(duels.n_slots)) if len(size) == 1 else duels.restrict(np.array([q]))
        problem = Problem(own, model, penalty.of(np.array([q]), slots))
        solve = _fit_dense if size[q] <= DENSE else _fit_sparse
        parts.append(solve(problem, np.array([q]), slots, with_errors))
    return parts


def _fit_small(duels: Duels, model: int, penalty: Penalty, instances: Int64s) -> Part:
    if len(instances) == len(duels.slot_ptr) - 1:
        own, slots = duels, np.arange(duels.n_slots)
    else:
        own, slots = duels.restrict(instances)
    here = penalty.of(instances, slots)
    score, advantage, tie, covariance, extra_variance, value, slack, iterations = kernels.fit_duels(
        own.slot_ptr,
        own.ptr,
        own.first,
        own.second,
        own.won,
        own.lost,
        own.tied,
        own.order,
        model,
        here.is_gamma,
        here.ridge,
        here.ridge_extra,
    )
    size = np.diff(own.slot_ptr)
    start = np.repeat(np.concatenate([[0], np.cumsum(size**2)])[:-1], size)
    place = np.arange(len(score)) - np.repeat(own.slot_ptr[:-1], size)
    variance = covariance[start + place * (np.repeat(size, size) + 1)]
    centre = np.repeat(np.bincount(np.repeat(np.arange(len(size)), size), score, len(size)) / np.maximum(size, 1), size)
    return Part(
        instances,
        slots,
        own,
        here,
        model,
        score - centre,
        advantage,
        tie,
        extra_variance,
        covariance,
        np.maximum(variance, 0.0),
        value,
        slack,
        iterations,
    )


class Problem:
    """One instance: value, gradient and curvature of the objective at a point (scores, advantage, tie parameter)."""

    def __init__(self, duels: Duels, model: int, penalty: Penalty) -> None:
        self.duels, self.model, self.penalty = duels, model, penalty
        self.m = duels.n_slots
        self.has_order, self.has_tie = len(duels.order) > 0, model >= DAVIDSON
        self.size = self.m + self.has_order + self.has_tie

    def start(self) -> Floats:
        """Return log odds of winning, a good way to the optimum already."""
        d, m = self.duels, self.m
        won = np.bincount(d.first, d.won + d.tied / 2, m) + np.bincount(d.second, d.lost + d.tied / 2, m)
        lost = np.bincount(d.first, d.lost + d.tied / 2, m) + np.bincount(d.second, d.won + d.tied / 2, m)
        point = np.zeros(self.size)
        odds = np.log((won + 1) / (lost + 1)) * (0.6 if self.model == THURSTONE else 1.0)
        point[:m] = odds - odds.mean()
        if self.has_tie:
            share = np.clip(d.tied.sum() / max(d.total.sum(), 1e-300), 1e-3, 1 - 1e-3)
            point[-1] = np.clip(np.log(2 * share / (1 - share)), -5, 5)
        return point

    def terms(self, point: Floats) -> Any:
        """Return the sums of the likelihood at a point (see the kernel ``duel_terms``)."""
        d = self.duels
        score = np.ascontiguousarray(point[: self.m])
        advantage, tie = self.extras(point)
        return kernels.duel_terms(d.first, d.second, d.won, d.lost, d.tied, d.order, score, advantage, tie, self.model)

    def extras(self, point: Floats) -> tuple[float, float]:
        """Return the advantage of being shown first and the tie parameter."""
        return float(point[self.m]) if self.has_order else 0.0, float(point[-1]) if self.has_tie else 0.0

    def objective(self, point: Floats, terms: Any) -> float:
        """Return the log-likelihood minus the penalty."""
        s, extra = point[: self.m], point[self.m :]
        ridge = float(self.penalty.ridge[0])
        if self.penalty.is_gamma:
            on_scores = ridge * float((s - np.exp(np.minimum(s, 700.0)) + 1).sum())
        else:
            on_scores = -0.5 * float(s @ self.penalty.apply(s))
        return float(terms[0]) + on_scores - 0.5 * float(self.penalty.ridge_extra[0]) * float(extra @ extra)

    def gradient(self, point: Floats, terms: Any) -> Floats:
        """Return the gradient of the objective."""
        s = point[: self.m]
        out = np.empty(self.size)
        ridge = float(self.penalty.ridge[0])
        out[: self.m] = terms[1] + (ridge * (1 - np.exp(s)) if self.penalty.is_gamma else -self.penalty.apply(s))
        if self.has_order:
            out[self.m] = self.duels.order @ terms[2]
        if self.has_tie:
            out[-1] = terms[5]
        out[self.m :] -= self.penalty.ridge_extra[0] * point[self.m :]
        return out

    def border(self, terms: Any) -> tuple[Floats, Floats]:
        """Return the negative second derivatives between scores and the other parameters, and among those."""
        d, columns = self.duels, []
        k = self.size - self.m
        corner = np.diag(np.full(k, float(self.penalty.ridge_extra[0])))
        if self.has_order:
            columns.append(self._by_slot(d.order * terms[3]))
            corner[0, 0] += d.order**2 @ terms[3]
        if self.has_tie:
            columns.append(self._by_slot(terms[4]))
            corner[-1, -1] += terms[6]
        if self.has_order and self.has_tie:
            corner[0, 1] += d.order @ terms[4]
            corner[1, 0] = corner[0, 1]
        return (np.stack(columns, 1) if columns else np.zeros((self.m, 0))), corner

    def diagonal(self, point: Floats, terms: Any) -> Floats:
        """Return the diagonal the prior adds to the curvature of the scores, and that of the likelihood."""
        d, m = self.duels, self.m
        ridge = float(self.penalty.ridge[0])
        own = np.bincount(d.first, terms[3], m) + np.bincount(d.second, terms[3], m)
        return np.asarray(own + (ridge * np.exp(point[:m]) if self.penalty.is_gamma else ridge))

    def hessian(self, point: Floats, terms: Any) -> Floats:
        """Return the negative Hessian, dense, made definite along the direction of all ones."""
        d, m, n = self.duels, self.m, self.size
        own = kernels.laplacian(d.first, d.second, terms[3], m)
        level = float(np.trace(own)) / m**2
        ridge = float(self.penalty.ridge[0])
        if self.penalty.is_gamma:
            own[np.diag_indices(m)] += ridge * np.exp(point[:m])
        else:
            own += level if level > 0 else 1.0
            own[np.diag_indices(m)] += ridge
            if self.penalty.basis is not None and self.penalty.shrink is not None:
                own -= ridge * (self.penalty.basis * self.penalty.shrink) @ self.penalty.basis.T
        if n == m:
            return own
        whole = np.empty((n, n))
        whole[:m, :m] = own
        whole[:m, m:], whole[m:, m:] = self.border(terms)
        whole[m:, :m] = whole[:m, m:].T
        return whole

    def _by_slot(self, by_row: Floats) -> Floats:
        d = self.duels
        return np.asarray(np.bincount(d.first, by_row, self.m) - np.bincount(d.second, by_row, self.m))


def climb(problem: Problem, point: Floats, terms: Any, step: Floats, gradient: Floats) -> tuple[Floats, Any, float]:
    """Go along a step, halved until the objective rises enough: (point, terms there, share of the step)."""
    here, rise, share = problem.objective(point, terms), float(step @ gradient), 1.0
    for _ in range(60):
        trial = point + share * step
        if not problem.penalty.is_gamma:
            trial[: problem.m] -= trial[: problem.m].mean()
        there = problem.terms(trial)
        if problem.objective(trial, there) >= here + 1e-4 * share * rise - 1e-12 * (1 + abs(here)):
            break
        share /= 2
    return trial, there, share


def _fit_dense(problem: Problem, instances: Int64s, slots: Int64s, with_errors: bool) -> Part:
    from scipy.linalg import lapack

    m, n = problem.m, problem.size
    point = problem.start()
    terms = problem.terms(point)
    iteration, factor = 0, np.empty((0, 0))
    while iteration < MAX_NEWTON:
        iteration += 1
        gradient = problem.gradient(point, terms)
        factor = _factor(problem.hessian(point, terms))
        step, _ = lapack.dpotrs(factor, gradient)
        point, terms, share = climb(problem, point, terms, step, gradient)
        if share == 1.0 and np.abs(step).max() < SMALL_STEP:
            break
    covariance, variance, extra_variance = None, np.zeros(m), np.zeros((1, 2))
    if with_errors:
        # The factor of the last step is that of the optimum up to the step's length, one millionth.
        inverse, _ = lapack.dpotri(factor, overwrite_c=1)
        whole = inverse.T  # Fortran's upper triangle is our lower one
        upper = np.triu_indices(n, 1) if n <= 64 else None
        if upper is not None:
            whole[upper] = whole.T[upper]
        else:
            whole = np.tril(whole) + np.tril(whole, -1).T
        if problem.has_order:
            extra_variance[0, 0] = whole[m, m]
        if problem.has_tie:
            extra_variance[0, 1] = whole[-1, -1]
        own = whole[:m, :m] if n > m else whole
        mean = own.mean(axis=1)
        own -= mean[:, None]
        own -= mean[None, :] - mean.mean()
        covariance = np.ascontiguousarray(own).reshape(-1)
        variance = np.maximum(covariance[:: m + 1], 0.0)
    return _part(problem, instances, slots, point, terms, covariance, variance, extra_variance, iteration, None)


def _factor(hessian: Floats) -> Floats:
    """Return the Cholesky factor; a matrix that rounding made indefinite gets a little more on its diagonal."""
    from scipy.linalg import lapack

    more = 1e-14 * float(np.trace(hessian))
    for _ in range(12):
        factor, failed = lapack.dpotrf(hessian.T, lower=0)
        if not failed:
            return np.asarray(factor)
        hessian[np.diag_indices(len(hessian))] += more
        more *= 10
    raise InputError("These comparisons cannot be fitted: give the model a prior, or a larger one.")


def _fit_sparse(problem: Problem, instances: Int64s, slots: Int64s, with_errors: bool) -> Part:
    point = problem.start()
    terms = problem.terms(point)
    first_norm, iteration = None, 0
    while iteration < MAX_NEWTON:
        iteration += 1
        gradient = problem.gradient(point, terms)
        norm = float(np.linalg.norm(gradient))
        first_norm = first_norm or norm
        curvature = Curvature(problem, point, terms)
        accuracy = max(min(0.1, (norm / first_norm) ** 0.5), 1e-3)
        step = curvature.solve(gradient[:, None], accuracy)[:, 0]
        point, terms, share = climb(problem, point, terms, step, gradient)
        if share == 1.0 and np.abs(step).max() < SMALL_STEP:
            break
    extra_variance, variance, draws = np.zeros((1, 2)), np.zeros(problem.m), None
    if with_errors:
        curvature = Curvature(problem, point, terms)
        variance, draws = curvature.marginal_variances()
        corner = curvature.corner
        if len(corner):
            extra = np.diag(np.linalg.inv(corner))
            extra_variance[0, int(not problem.has_order) :][: len(extra)] = extra
    return _part(problem, instances, slots, point, terms, None, variance, extra_variance, iteration, draws)


class Curvature:
    """The negative Hessian as an operator: rows of the duels, the prior, and the border of other parameters."""

    def __init__(self, problem: Problem, point: Floats, terms: Any) -> None:
        self.problem, self.curve = problem, terms[3]
        self.side, self.corner = problem.border(terms)
        m = problem.m
        self.diagonal = np.concatenate([problem.diagonal(point, terms), np.diag(self.corner)])
        self.worth = np.exp(point[:m])
        self.level = float(self.diagonal[:m].mean())

    def __call__(self, x: Floats) -> Floats:
        """Apply it to columns."""
        p, d = self.problem, self.problem.duels
        m = p.m
        own = np.ascontiguousarray(x[:m])
        out = np.empty_like(x)
        out[:m] = kernels.laplacian_product(d.first, d.second, self.curve, own) + self.side @ x[m:]
        if p.penalty.is_gamma:
            out[:m] += p.penalty.ridge[0] * self.worth[:, None] * own
        else:
            out[:m] += p.penalty.apply(own) + self.level * own.mean(axis=0)
        out[m:] = self.side.T @ own + self.corner @ x[m:]
        return out

    def solve(self, right: Floats, accuracy: float) -> Floats:
        """Solve for columns by conjugate gradients with a diagonal preconditioner."""
        x, r = np.zeros_like(right), right.copy()
        z = r / self.diagonal[:, None]
        p, rz = z.copy(), (r * z).sum(axis=0)
        goal = accuracy * np.linalg.norm(right, axis=0)
        for _ in range(5000):
            if (np.linalg.norm(r, axis=0) <= goal).all():
                break
            ap = self(p)
            alpha = rz / np.maximum((p * ap).sum(axis=0), 1e-300)
            x += alpha * p
            r -= alpha * ap
            z = r / self.diagonal[:, None]
            rz, before = (r * z).sum(axis=0), rz
            p = z + rz / np.maximum(before, 1e-300) * p
        return x

    def marginal_variances(self) -> tuple[Floats, Floats]:
        """Estimate the variance of every centred score, and return the draws behind it."""
        p, d = self.problem, self.problem.duels
        m, rng = p.m, np.random.default_rng(0)
        noise = np.sqrt(self.curve)[:, None] * rng.standard_normal((len(d.first), N_DRAWS))
        own = np.empty((m, N_DRAWS))
        for c in range(N_DRAWS):
            own[:, c] = np.bincount(d.first, noise[:, c], m) - np.bincount(d.second, noise[:, c], m)
        prior = p.penalty.ridge[0] * (self.worth if p.penalty.is_gamma else np.ones(m))
        own += np.sqrt(prior)[:, None] * rng.standard_normal((m, N_DRAWS))
        level = 0.0 if p.penalty.is_gamma else self.level / m
        own += np.sqrt(level) * rng.standard_normal(N_DRAWS)
        right = np.concatenate([own, np.zeros((len(self.corner), N_DRAWS))])
        drawn = self.solve(right, 1e-4)[:m]
        diagonal = self.diagonal[:m, None] + level
        conditional = drawn - right[:m] / diagonal
        variance = 1 / diagonal[:, 0] + (conditional**2).mean(axis=1)
        if level > 0:  # all scores up by the same is no uncertainty: its share is known exactly
            variance -= 1 / (m * (self.level + float(p.penalty.ridge[0])))
        return variance, drawn - drawn.mean(axis=0)


def _part(
    problem: Problem,
    instances: Int64s,
    slots: Int64s,
    point: Floats,
    terms: Any,
    covariance: Floats | None,
    variance: Floats,
    extra_variance: Floats,
    iteration: int,
    draws: Floats | None,
) -> Part:
    advantage, tie = problem.extras(point)
    score = point[: problem.m]
    return Part(
        instances,
        slots,
        problem.duels,
        problem.penalty,
        problem.model,
        score - score.mean(),
        np.array([advantage]),
        np.array([tie]),
        extra_variance,
        covariance,
        variance,
        np.array([float(terms[0])]),
        np.array([float(np.abs(problem.gradient(point, terms)).max())]),
        np.array([iteration], np.int32),
        draws,
    )
