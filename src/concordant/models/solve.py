"""Fitting score models to duels: three ways to the same optimum, chosen by the size of an instance.

- up to 128 candidates: Newton's method in a kernel, all instances in one call
- up to 4,000 where many of them met (1,000 where few did): Newton's method with dense Cholesky factors (LAPACK)
- above: Newton's method with conjugate gradients on the rows themselves; nothing dense is ever built

The objective is the log-likelihood of the duels minus a penalty, concave in the scores. Scores are centred. The
covariance is that of centred scores: the inverse of the exact Hessian of the objective with the direction "all scores
up by the same" taken out. Without a matrix the inverse is out of reach; its diagonal is estimated from draws of
the normal distribution with that precision (perturb each row, solve), made precise by conditioning: the variance of
a score given all the others is known exactly, only that of its conditional mean is left to the draws. Its
log-determinant, which the choice of a prior needs, comes from stochastic Lanczos quadrature with fixed probes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from concordant import kernels, memory
from concordant.errors import InputError
from concordant.models.duels import Duels
from concordant.models.problem import Penalty, Problem, climb
from concordant.types import Floats, Int32s, Int64s

SMALL, DENSE = 128, 4000
LEAST_SPARSE, FEW_ROWS = 1000, 1 / 16  # above so many candidates rows that fill less of a matrix go without one
MATRICES = 9  # held at once by the dense solver
MAX_NEWTON = 100
SMALL_STEP = 1e-6  # after a full step this small the error is about its square
N_DRAWS = 64
N_PROBES, N_LANCZOS = 12, 30


@dataclass(frozen=True)
class Part:
    """Fitted instances: scores centred, covariance blocks one after the other (None when too large).

    ``variance`` is by slot; ``draws`` are centred deviations of the scores, one column each, where there is no
    covariance. By instance: ``value`` is the log-likelihood, ``log_prior`` that of the prior up to its constant,
    ``log_det`` that of the negative Hessian (without the direction "all scores up by the same").
    """

    instances: Int64s
    slots: Int64s
    duels: Duels
    penalty: Penalty
    model: int
    way: str
    """How it was solved: batch (many small instances in a kernel), matrix or products (of second derivatives)."""
    score: Floats
    advantage: Floats
    tie: Floats
    extra_variance: Floats
    covariance: Floats | None
    variance: Floats
    value: Floats
    log_prior: Floats
    log_det: Floats
    slack: Floats
    iterations: Int32s
    draws: Floats | None = None
    ends: tuple[Floats, Floats] | None = None
    """Ends of the score intervals, where they were resampled."""

    def block(self, q: int) -> Floats:
        """Return the covariance of one instance."""
        assert self.covariance is not None
        size = np.diff(self.duels.slot_ptr)
        start, m = int((size[:q] ** 2).sum()), int(size[q])
        return self.covariance[start : start + m * m].reshape(m, m)

    @property
    def raw_score(self) -> Floats:
        """Scores before they were centred: only the Gamma prior has a view on their level, a mean worth of one."""
        if not self.penalty.is_gamma:
            return self.score
        size = np.diff(self.duels.slot_ptr)
        owner = np.repeat(np.arange(len(size)), size)
        worth = np.bincount(owner, np.exp(np.clip(self.score, -300.0, 300.0)), len(size)) / np.maximum(size, 1)
        return self.score - np.log(worth[owner])

    def problem(self, q: int, span: slice) -> tuple[Problem, Floats]:
        """Return one instance, whose slots here are these, and the point its fit ended at."""
        own = self.duels if len(self.instances) == 1 else self.duels.restrict(np.array([q]))[0]
        found = Problem(own, self.model, self.penalty.of(np.array([q]), self.slots[span]))
        extras = [self.advantage[q : q + 1]] * found.has_order + [self.tie[q : q + 1]] * found.has_tie
        return found, np.concatenate([self.raw_score[span], *extras])

    def times_inverse(self, columns: Floats) -> Floats:
        """Return the covariance of centred scores times columns, of a part with a single instance."""
        if self.covariance is not None:
            return self.block(0) @ columns
        problem, point = self.problem(0, slice(0, len(self.score)))
        right = np.concatenate([columns, np.zeros((problem.size - problem.m, columns.shape[1]))])
        found = Curvature(problem, point, problem.terms(point), is_exact=True).solve(right, 1e-4)[: problem.m]
        return np.asarray(found - found.mean(axis=0))

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


def fit(
    duels: Duels,
    model: int,
    penalty: Penalty,
    start: list[Part] | None = None,
    small_step: float = SMALL_STEP,
    way: str | None = None,
) -> list[Part]:
    """Fit a model to the duels of all instances; parts differ in how they were solved.

    ``start`` is an earlier fit of the same duels to begin with; a search ends with a step below ``small_step``; ``way``
    (batch, matrix, products) is chosen by size unless it is given.
    """
    size = np.diff(duels.slot_ptr)
    is_small = size <= (SMALL if penalty.basis is None else 0)
    if way is not None:
        is_small[:] = way == "batch"
    small, large = np.flatnonzero(is_small), np.flatnonzero(~is_small)
    parts = [_fit_small(duels, model, penalty, small, False)] if len(small) else []
    for k, q in enumerate(large.tolist(), start=len(parts)):
        own, slots = (duels, np.arange(duels.n_slots)) if len(size) == 1 else duels.restrict(np.array([q]))
        problem = Problem(own, model, penalty.of(np.array([q]), slots), None if start is None else start[k])
        solve = _fit_sparse if (way or way_of(own)) == "products" else _fit_dense
        parts.append(solve(problem, np.array([q]), slots, small_step))
    return parts


def with_errors(part: Part) -> Part:
    """Return a fit with the covariance of its scores, or where that is too large their variances and draws."""
    if part.way == "batch":
        own = np.arange(len(part.instances))
        found = _fit_small(part.duels, part.model, part.penalty, own, True)
        return replace(part, covariance=found.covariance, variance=found.variance, extra_variance=found.extra_variance)
    problem, point = part.problem(0, slice(0, len(part.score)))
    terms = problem.terms(point)
    if part.way == "products":
        curvature = Curvature(problem, point, terms, is_exact=True)
        variance, draws = curvature.marginal_variances()
        return replace(part, variance=variance, draws=draws, extra_variance=curvature.extra_variances())
    covariance, variance, extra = _dense_errors(problem, _factor(problem.hessian(point, terms, is_exact=True)))
    return replace(part, covariance=covariance, variance=variance, extra_variance=extra)


def way_of(duels: Duels) -> str:
    """Say whether a single instance is better fitted with a matrix of second derivatives or with products alone."""
    m = duels.n_slots
    is_large = m > DENSE or not memory.fits(8 * MATRICES * float(m) ** 2)
    return "products" if is_large or (m > LEAST_SPARSE and len(duels.first) < FEW_ROWS * m**2) else "matrix"


def _fit_small(duels: Duels, model: int, penalty: Penalty, instances: Int64s, with_errors: bool = True) -> Part:
    if len(instances) == len(duels.slot_ptr) - 1:
        own, slots = duels, np.arange(duels.n_slots)
    else:
        own, slots = duels.restrict(instances)
    here = penalty.of(instances, slots)
    score, advantage, tie, covariance, extra_variance, value, slack, log_det, iterations = kernels.fit_duels(
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
        with_errors,
    )
    size = np.diff(own.slot_ptr)
    owner = np.repeat(np.arange(len(size)), size)
    variance = np.zeros(len(score))
    if with_errors:
        start = np.concatenate([[0], np.cumsum(size**2)])[:-1][owner]
        place = np.arange(len(score)) - own.slot_ptr[:-1][owner]
        variance = np.maximum(covariance[start + place * (size[owner] + 1)], 0.0)
    on_scores = np.bincount(owner, here.log_density(score, here.ridge[owner]), len(size))
    centre = (np.bincount(owner, score, len(size)) / np.maximum(size, 1))[owner]
    return Part(
        instances,
        slots,
        own,
        here,
        model,
        "batch",
        score - centre,
        advantage,
        tie,
        extra_variance,
        covariance if with_errors else None,
        variance,
        value,
        on_scores - 0.5 * here.ridge_extra * (advantage**2 + tie**2),
        log_det,
        slack,
        iterations,
    )


def _fit_dense(problem: Problem, instances: Int64s, slots: Int64s, small_step: float = SMALL_STEP) -> Part:
    from scipy.linalg import lapack

    point = problem.start()
    terms = problem.terms(point)
    iteration, factor = 0, np.empty((0, 0))
    while iteration < MAX_NEWTON:
        iteration += 1
        gradient = problem.gradient(point, terms)
        factor = _factor(problem.hessian(point, terms))
        step, _ = lapack.dpotrs(factor, gradient)
        point, terms, share = climb(problem, point, terms, step, gradient)
        if share == 1.0 and np.abs(step).max() < small_step:
            break
    # The factor of the last step is that of the optimum up to the step's length, unless it left something out.
    if terms[7] > 0:
        factor = _factor(problem.hessian(point, terms, is_exact=True))
    log_det = 2 * float(np.log(np.diag(factor)).sum()) - np.log(problem.along)
    return _part(problem, instances, slots, point, terms, log_det, iteration, "matrix")


def _dense_errors(problem: Problem, factor: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the covariance of centred scores, its diagonal, and the variances of the other parameters."""
    from scipy.linalg import lapack

    m, n = problem.m, problem.size
    extra_variance = np.zeros((1, 2))
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
    return covariance, np.maximum(covariance[:: m + 1], 0.0), extra_variance


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


def _fit_sparse(problem: Problem, instances: Int64s, slots: Int64s, small_step: float = SMALL_STEP) -> Part:
    point = problem.start()
    terms = problem.terms(point)
    first_norm, iteration = None, 0
    while iteration < MAX_NEWTON:
        iteration += 1
        gradient = problem.gradient(point, terms)
        norm = float(np.linalg.norm(gradient))
        first_norm = first_norm or norm
        curvature = Curvature(problem, point, terms)
        accuracy = max(min(0.1, (norm / first_norm) ** 0.5), 1e-3) if first_norm else 0.1
        step = curvature.solve(gradient[:, None], accuracy)[:, 0]
        point, terms, share = climb(problem, point, terms, step, gradient)
        if share == 1.0 and np.abs(step).max() < small_step:
            break
    log_det = Curvature(problem, point, terms, is_exact=True).log_det()
    return _part(problem, instances, slots, point, terms, log_det, iteration, "products")


class Curvature:
    """The negative Hessian as an operator: rows of the duels, the prior, and the border of other parameters."""

    def __init__(self, problem: Problem, point: Floats, terms: Any, is_exact: bool = False) -> None:
        self.problem, self.curve = problem, terms[3]
        self.side, self.corner = problem.border(terms, is_exact)
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

    def log_det(self) -> float:
        """Estimate the log-determinant without the direction "all scores up by the same".

        Lanczos steps from random signs give, for the matrix scaled to a diagonal of ones, weights and nodes of the
        integral of the logarithm. The signs are the same at every call, so that estimates compare.
        """
        n, root = len(self.diagonal), np.sqrt(self.diagonal)[:, None]
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (n, N_PROBES))
        before, here = np.zeros((n, N_PROBES)), signs / np.sqrt(n)
        alpha, beta = np.zeros((N_LANCZOS, N_PROBES)), np.zeros((N_LANCZOS, N_PROBES))
        for k in range(N_LANCZOS):
            following = self(here / root) / root - (beta[k - 1] if k else 0.0) * before
            alpha[k] = (following * here).sum(axis=0)
            following -= alpha[k] * here
            beta[k] = np.linalg.norm(following, axis=0)
            before, here = here, following / np.maximum(beta[k], 1e-300)
        total = 0.0
        for a, b in zip(alpha.T, beta.T, strict=True):
            steps = int(np.argmax(b < 1e-10)) + 1 if (b < 1e-10).any() else N_LANCZOS
            nodes, vectors = np.linalg.eigh(
                np.diag(a[:steps]) + np.diag(b[: steps - 1], 1) + np.diag(b[: steps - 1], -1)
            )
            total += n * float(vectors[0] ** 2 @ np.log(np.maximum(nodes, 1e-300)))
        penalty = self.problem.penalty
        along = 1.0 if penalty.is_gamma else self.level + float(penalty.ridge[0])
        return total / N_PROBES + 2 * float(np.log(root).sum()) - float(np.log(along))

    def extra_variances(self) -> Floats:
        """Return the variances of the advantage of being first and of the tie parameter."""
        k, out = len(self.corner), np.zeros((1, 2))
        if k:
            unit = np.zeros((len(self.diagonal), k))
            unit[-k:] = np.eye(k)
            out[0, int(not self.problem.has_order) :][:k] = np.diag(self.solve(unit, 1e-8)[-k:])
        return out

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
    log_det: float,
    iteration: int,
    way: str,
) -> Part:
    advantage, tie = problem.extras(point)
    score = point[: problem.m]
    return Part(
        instances,
        slots,
        problem.duels,
        problem.penalty,
        problem.model,
        way,
        score - score.mean(),
        np.array([advantage]),
        np.array([tie]),
        np.zeros((1, 2)),
        None,
        np.zeros(problem.m),
        np.array([float(terms[0])]),
        np.array([problem.log_prior(point)]),
        np.array([log_det]),
        np.array([float(np.abs(problem.gradient(point, terms)).max())]),
        np.array([iteration], np.int32),
    )
