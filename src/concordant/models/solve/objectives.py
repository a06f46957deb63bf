"""The objective of one large instance, and the fit that maximises it.

The objective is the log-likelihood plus the log-prior. ``Matrix`` uses dense Cholesky factors (LAPACK); ``Products``
uses conjugate gradients on the observations and never builds a dense matrix. Scores are centred. The covariance is that
of centred scores: the inverse of the negative Hessian, with the direction of equal scores projected out. Without a
dense matrix the inverse is not available. Its diagonal is estimated from draws of the normal distribution with that
precision (perturb the observations, then solve). Rao-Blackwellisation reduces the error: the variance of a score given
all others is known exactly, so only the variance of its conditional mean comes from the draws. The log-determinant for
the choice of a prior comes from stochastic Lanczos quadrature with fixed probe vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from concordant.errors import InputError
from concordant.kernels.bundles import WarmStart
from concordant.kernels.newton import Objective, Optimum
from concordant.models.likelihoods.observed import DuelLikelihood, LargeLikelihood, Observed
from concordant.models.likelihoods.priors import LargePrior, Prior
from concordant.models.observations.designs import DesignLikelihood, draws_noise
from concordant.models.solve.costs import N_DRAWS
from concordant.models.solve.factors import factor_of, inverted, log_determinant, quadrature, solved
from concordant.support.brief import Brief
from concordant.types import Bools, Bytes, Floats, Int32s, Int64s

CELLS_AT_ONCE = 8_000_000  # of items x columns in one solution of linear systems
QUADRATURE = 1e-7  # change of the mean logarithm of eigenvalues at which it is known well enough


@dataclass(frozen=True, repr=False)
class Fit(Brief):
    """Fitted instances: centred scores, consecutive covariance blocks (None if not requested or too large).

    ``variance`` is by slot; ``draws`` are centred deviations of the scores, one column per draw, if there is no
    covariance. By instance: ``value`` is the log-likelihood, ``log_prior`` the log-density of the prior up to a
    constant, ``log_det`` the log-determinant of the negative Hessian (without the direction of equal scores),
    ``slack`` the largest absolute derivative at the end, ``is_definite`` whether the Hessian is definite, so that
    standard errors exist.
    """

    instances: Int64s
    slots: Int64s
    observed: Observed
    prior: Prior
    strategy: str
    """The strategy for standard errors."""
    score: Floats
    advantage: Floats
    tie: Floats
    value: Floats
    log_prior: Floats
    log_det: Floats
    slack: Floats
    iterations: Int32s
    is_definite: Bytes | Bools
    covariance: Floats | None = None
    variance: Floats = field(default_factory=lambda: np.empty(0))
    extra_variance: Floats = field(default_factory=lambda: np.zeros((1, 2)))
    coefficient: Floats = field(default_factory=lambda: np.zeros((1, 0)))
    """The coefficients of covariates in standard units: a row for the single instance."""
    coefficient_covariance: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    draws: Floats | None = None
    ends: tuple[Floats, Floats] | None = None
    """The ends of the score intervals, if they were bootstrapped."""

    @cached_property
    def slot_ptr(self) -> Int64s:
        """The slots of every instance of this fit."""
        return self.observed.slot_ptr

    @property
    def warm_start(self) -> WarmStart:
        """This fit as the warm start of another."""
        return WarmStart(self.score, self.advantage, self.tie)

    @property
    def blocks(self) -> Iterator[tuple[int, slice, Floats]]:
        """Iterate over the instances: (number, slice of slots, covariance of their scores)."""
        assert self.covariance is not None
        start = 0
        for q, (a, b) in enumerate(zip(self.slot_ptr[:-1].tolist(), self.slot_ptr[1:].tolist(), strict=True)):
            m = b - a
            yield q, slice(a, b), self.covariance[start : start + m * m].reshape(m, m)
            start += m * m

    def block(self, q: int) -> Floats:
        """Return the covariance of instance q, cut from the flat array of all blocks."""
        assert self.covariance is not None
        size = np.diff(self.slot_ptr)
        start, m = int((size[:q] ** 2).sum()), int(size[q])
        return self.covariance[start : start + m * m].reshape(m, m)

    def objective(self, q: int) -> Large:
        """Return the objective of instance q, evaluated at its optimum."""
        instance = np.array([q])
        observed = self.observed if len(self.instances) == 1 else self.observed.restrict(instance)[0]
        span = slice(int(self.slot_ptr[q]), int(self.slot_ptr[q + 1]))
        prior = self.prior.of(instance, np.arange(span.start, span.stop))
        objective = LARGE.get(self.strategy, Matrix).of(observed, prior)
        likelihood = objective.likelihood
        point = np.zeros((1, likelihood.size))
        point[0, : likelihood.m] = self.score[span]
        for name, place in likelihood.extras().items():
            point[0, place] = getattr(self, name)[q]
        point[0, likelihood.size - likelihood.n_coefficients :] = self.coefficient[0]
        objective.evaluate(point)
        return objective

    def times_inverse(self, columns: Floats) -> Floats:
        """Return the covariance of centred scores times columns, for a fit of a single instance."""
        if self.covariance is not None:
            return self.block(0) @ columns
        return self.objective(0).times_inverse(columns)


class Large(Objective):
    """The objective of one large instance."""

    likelihood: LargeLikelihood
    prior: LargePrior

    def __init__(self, likelihood: LargeLikelihood, prior: LargePrior) -> None:
        super().__init__(likelihood, prior)
        self.is_exact = np.ones(1, bool)

    @classmethod
    def of(cls, observed: Observed, prior: Prior) -> Self:
        """Return the objective of a single instance."""
        likelihood = observed.alone()
        return cls(likelihood, prior.alone(likelihood.m, observed.n_extra, likelihood.n_coefficients))

    def fitted(self, optimum: Optimum, what: tuple[Int64s, Int64s, Observed, Prior, str], log_det: float) -> Fit:
        """Return the fit that ended at this optimum; ``what`` are the first fields of ``Fit``."""
        places = self.likelihood.extras()
        advantage, tie = (
            optimum.point[:, places[name]] if name in places else np.zeros(1) for name in ("advantage", "tie")
        )
        instances, slots, observed, prior, strategy = what
        return Fit(
            instances,
            slots,
            observed,
            prior,
            strategy,
            score=optimum.point[0, : self.m],
            advantage=advantage,
            tie=tie,
            value=self.log_likelihood,
            log_prior=self.log_prior,
            log_det=np.array([log_det]),
            slack=optimum.slack,
            iterations=optimum.iterations,
            is_definite=self.is_exact,
            coefficient=optimum.point[:, self.likelihood.size - self.likelihood.n_coefficients :],
        )

    def log_det(self) -> float:
        """Return the log-determinant of the negative Hessian, without the direction of equal scores."""
        raise NotImplementedError

    def times_inverse(self, columns: Floats) -> Floats:
        """Return the covariance of centred scores times columns."""
        raise NotImplementedError

    def with_errors(self, fitted: Fit, less: Floats | None = None, of_prior: float = 1.0) -> Fit:
        """Return the fit with its covariance, or with variances and draws."""
        raise NotImplementedError

    def among_others(self, less: Floats | None = None) -> Floats:
        """Return the covariance of the parameters other than scores: extras, then coefficients."""
        columns = self._of_others()
        taken = 0.0 if less is None or not columns.size else columns.T @ self._times(less, columns)
        return np.asarray(columns[self.m :] - taken)

    def _of_others(self) -> Floats:
        """Return the columns of the inverse that belong to the parameters other than scores."""
        unit = np.zeros((self.likelihood.size, self.likelihood.size - self.m))
        unit[self.m :] = np.eye(unit.shape[1])
        return self.inverse(unit) if unit.shape[1] else unit

    def _times(self, curve: Floats, columns: Floats) -> Floats:
        """Multiply columns by the negative Hessian, with the curvature of each pair replaced."""
        assert isinstance(self.likelihood, DuelLikelihood | DesignLikelihood)
        changed = self.likelihood.with_curve(curve)
        side, corner = changed.border(is_exact=True)
        of_scores, of_others = np.ascontiguousarray(columns[: self.m]), columns[self.m :]
        return np.concatenate([changed.product(of_scores) + side @ of_others, side.T @ of_scores + corner @ of_others])

    def corrected_covariance(self, block: Floats, less: Floats, pull: Floats) -> tuple[Floats, Floats, Floats]:
        """Return A - A (L(less) + pull) A for the scores, where ``block`` is A; the variances of extras; of
        coefficients.

        L(less) is the Laplacian with a weight ``less`` per pair, ``pull`` a diagonal.
        """
        other_columns = self._of_others()
        other_columns[: self.m] -= other_columns[: self.m].mean(axis=0)
        rows = np.concatenate([block, other_columns[: self.m].T])
        among = other_columns[self.m :] - other_columns.T @ self._times(less, other_columns)
        return block - rows.T @ self._times(less, rows) - (pull * block) @ block, *self._apart(among)

    def _apart(self, covariance: Floats) -> tuple[Floats, Floats]:
        """Split the covariance of the other parameters: the variances (advantage, tie), and the coefficients'
        covariance.
        """
        extra, first_coefficient = np.zeros(2), len(covariance) - self.likelihood.n_coefficients
        for name, place in self.likelihood.extras().items():
            extra[int(name == "tie")] = covariance[place - self.m, place - self.m]
        return extra, covariance[first_coefficient:, first_coefficient:]

    def inverse(self, columns: Floats) -> Floats:
        """Return the inverse of the negative Hessian times columns, to high precision."""
        raise NotImplementedError

    def _filled(self, columns: Floats) -> Floats:
        """Append rows of zeros for the other parameters."""
        return np.concatenate([columns, np.zeros((self.likelihood.size - self.m, columns.shape[1]))])


class Matrix(Large):
    """The objective with a dense Hessian."""

    factor: Floats | None = None

    def step(self, gradient: Floats) -> tuple[Floats, Bools]:
        """Return the Newton step, and whether it uses the exact Hessian."""
        return solved(self._factored(), gradient[0])[None], self.is_exact

    def _factored(self) -> Floats:
        """Factorise the negative Hessian.

        If it is not positive definite, use the negative Hessian of a lower bound instead, then add increasing
        multiples of the identity.
        """
        added = 0.0
        for tries in range(14):
            self.is_exact = np.array([tries == 0])
            hessian = self.hessian(tries == 0)[0]
            if tries > 1:
                added = max(10 * added, 1e-14 * float(np.trace(hessian)))
                hessian[np.diag_indices(len(hessian))] += added
            self.factor = factor_of(hessian)
            if self.factor is not None:
                return self.factor
        raise InputError(
            "The model cannot be fitted to these comparisons (its Hessian is singular): use a prior, or a stronger one."
        )

    def inverse(self, columns: Floats) -> Floats:
        """Return the inverse of the negative Hessian times columns."""
        return solved(self._factored(), columns)

    def log_det(self) -> float:
        """Return the log-determinant from the Cholesky factor of the last step: accurate to the size of that step."""
        if self.factor is None or not self.is_exact.all():
            self._factored()
        assert self.factor is not None
        return log_determinant(self.factor) - float(np.log(self.along[0]))

    def times_inverse(self, columns: Floats) -> Floats:
        """Return the covariance of centred scores times columns."""
        solution = solved(self._factored(), self._filled(columns))[: self.m]
        return np.asarray(solution - solution.mean(axis=0))

    def with_errors(self, fitted: Fit, less: Floats | None = None, of_prior: float = 1.0) -> Fit:
        """Return the fit with its covariance: the inverse of the negative Hessian, for centred scores."""
        m, n = self.m, self.likelihood.size
        inverse = inverted(self._factored())
        extra, of_coefficients = self._apart(inverse[m:, m:])
        of_scores = inverse[:m, :m] if n > m else inverse
        of_scores -= 1 / (max(m, 1) * self.along[0])
        covariance = np.ascontiguousarray(of_scores).reshape(-1)
        variance = np.maximum(covariance[:: m + 1], 0.0)
        return replace(
            fitted,
            covariance=covariance,
            variance=variance,
            extra_variance=extra[None],
            coefficient_covariance=of_coefficients,
            is_definite=self.is_exact,
        )


def _dots(one: Floats, other: Floats) -> Floats:
    """Return the inner products of the columns of two matrices."""
    return np.asarray(np.einsum("ij,ij->j", one, other))


class Products(Large):
    """The objective evaluated with Hessian-vector products only."""

    def evaluate(self, point: Floats) -> Floats:
        """Return the value at a point; derivatives are those at the point last evaluated."""
        self._diagonal: Floats | None = None
        return super().evaluate(point)

    def step(self, gradient: Floats) -> tuple[Floats, Bools]:
        """Return a Newton step by conjugate gradients.

        A Newton step of length s has an error of about s², so a relative accuracy of s is enough.
        """
        self._prepare(is_exact=False)
        accuracy = float(np.clip(np.abs(gradient[0] / self.diagonal).max(), 1e-8, 0.1))
        self.is_exact = np.ones(1, bool)
        return self.solve(gradient.T, accuracy).T, self.is_exact

    def _prepare(self, is_exact: bool) -> None:
        """Store the diagonal, the border of the other parameters and the weight ``level`` of equal scores."""
        self.side, self.corner = self.likelihood.border(is_exact)
        self.corner = self.corner + self.prior.among_others(len(self.corner))
        of_scores = self.likelihood.diagonal() + self.prior.diagonal(self.point)
        self._diagonal = np.concatenate([of_scores, np.diag(self.corner)])
        self.level = float(of_scores.mean())

    @property
    def diagonal(self) -> Floats:
        """The diagonal of the negative Hessian, used as preconditioner; after ``step`` that of a bound."""
        if self._diagonal is None:
            self._prepare(is_exact=True)
        assert self._diagonal is not None
        return self._diagonal

    def __call__(self, x: Floats) -> Floats:
        """Multiply columns by the negative Hessian, with ``level`` added in the direction of equal scores."""
        m = self.m
        of_scores = np.ascontiguousarray(x[:m])
        out = self.likelihood.product(of_scores)
        out += self.prior.product(self.point, of_scores)
        out += self.level * of_scores.mean(axis=0)
        if len(x) == m:
            return out
        out += self.side @ x[m:]
        return np.concatenate([out, self.side.T @ of_scores + self.corner @ x[m:]])

    def solve(self, right: Floats, accuracy: float) -> Floats:
        """Solve for columns, as many at once as the cache and memory hold."""
        at_once = max(1, CELLS_AT_ONCE // max(len(right), 1))
        if right.shape[1] <= at_once:
            return self._solve(right, accuracy)
        x = np.empty_like(right)
        for start in range(0, right.shape[1], at_once):
            columns = slice(start, start + at_once)
            x[:, columns] = self._solve(np.ascontiguousarray(right[:, columns]), accuracy)
        return x

    def _solve(self, right: Floats, accuracy: float) -> Floats:
        """Solve for columns by conjugate gradients with a diagonal preconditioner.

        The residual must also be small in the norm of the preconditioner: if an item's curvature is tiny, a small
        residual corresponds to a large step. A direction of negative curvature ends the iteration (``is_exact`` is then
        False): the solution so far, or the preconditioned gradient, is still an ascent direction.
        """
        diagonal = self.diagonal[:, None]
        x, r = np.zeros_like(right), right.copy()
        z = r / diagonal
        p, rz, work = z.copy(), _dots(r, z), np.empty_like(r)
        goal, goal_rz = accuracy**2 * _dots(right, right), accuracy**2 * rz
        for _ in range(5000):
            if ((_dots(r, r) <= goal) & (rz <= goal_rz)).all():
                break
            ap = self(p)
            curvature = _dots(p, ap)
            self.is_exact &= bool((curvature > 0).all())
            if not (curvature > 0).any():
                return np.where(x.any(axis=0), x, z)
            alpha = np.where(curvature > 0, rz / np.where(curvature > 0, curvature, 1.0), 0.0)
            x += np.multiply(p, alpha, out=work)
            r -= np.multiply(ap, alpha, out=work)
            np.divide(r, diagonal, out=z)
            rz, before = _dots(r, z), rz
            p *= rz / np.maximum(before, 1e-300)
            p += z
        return x

    def inverse(self, columns: Floats) -> Floats:
        """Return the inverse of the negative Hessian times columns, to high precision."""
        self._prepare(is_exact=True)
        return self.solve(columns, 1e-8)

    def log_det(self) -> float:
        """Estimate the log-determinant by stochastic Lanczos quadrature.

        For the matrix scaled to a unit diagonal, Lanczos steps from random sign vectors give the nodes and weights of a
        quadrature for the logarithm. The signs are the same in every call, so that estimates can be compared.
        """
        self._prepare(is_exact=True)
        n, root = len(self.diagonal), np.sqrt(self.diagonal)[:, None]
        probes, length = self.likelihood.probes
        vector = np.random.default_rng(0).choice([-1.0, 1.0], (probes, n)).T / np.sqrt(n)
        previous, alpha, beta = np.zeros((n, probes)), np.zeros((length, probes)), np.zeros((length, probes))
        mean_log, last_mean_log = 0.0, np.inf
        for k in range(length):
            next_vector = self(vector / root) / root - (beta[k - 1] if k else 0.0) * previous
            alpha[k] = (next_vector * vector).sum(axis=0)
            next_vector -= alpha[k] * vector
            beta[k] = np.linalg.norm(next_vector, axis=0)
            previous, vector = vector, next_vector / np.maximum(beta[k], 1e-300)
            if k % 3 == 2 or k == length - 1:
                mean_log, last_mean_log = quadrature(alpha[: k + 1], beta[: k + 1]), mean_log
                if abs(mean_log - last_mean_log) <= QUADRATURE:
                    break
        return n * mean_log + 2 * float(np.log(root).sum()) - float(np.log(self.level + self.prior.along[0]))

    def times_inverse(self, columns: Floats) -> Floats:
        """Return the covariance of centred scores times columns."""
        self._prepare(is_exact=True)
        solution = self.solve(self._filled(columns), 1e-4)[: self.m]
        return np.asarray(solution - solution.mean(axis=0))

    def with_errors(self, fitted: Fit, less: Floats | None = None, of_prior: float = 1.0) -> Fit:
        """Return the fit with estimated variances, and the draws behind them."""
        if not draws_noise(self.likelihood):  # choices have no draws of their own
            dense = Matrix(self.likelihood, self.prior)
            dense.evaluate(self.point)
            return dense.with_errors(fitted)
        self._prepare(is_exact=True)
        variance, draws = self._marginal_variances(less, of_prior)
        extra, of_coefficients = self._apart(self.among_others(less))
        return replace(
            fitted, variance=variance, draws=draws, extra_variance=extra[None], coefficient_covariance=of_coefficients
        )

    def _marginal_variances(self, less: Floats | None, of_prior: float) -> tuple[Floats, Floats]:
        """Estimate the variance of every centred score, and return the draws behind it.

        A variance is the one given all other parameters (1 / diagonal) plus the variance of the conditional mean over
        the draws. With ``less`` the draws vary less than the negative Hessian implies; the two terms are then
        independent only if the same share is removed everywhere.
        """
        m, rng = self.m, np.random.default_rng(0)
        assert isinstance(self.likelihood, DuelLikelihood | DesignLikelihood)
        likelihood = self.likelihood if less is None else self.likelihood.with_curve(self.likelihood.curve - less)
        noise = likelihood.noise(rng) + np.sqrt(of_prior) * self.prior.noise(self.point, rng, N_DRAWS)
        noise += np.sqrt(self.level / m) * rng.standard_normal(N_DRAWS)
        right = self._filled(noise)
        drawn = self.solve(right, 1e-4)[:m]
        diagonal = self.diagonal[:m, None] + self.level / m
        conditional = drawn - right[:m] / diagonal
        reduction = (
            self.likelihood.diagonal() - likelihood.diagonal() + (1 - of_prior) * self.prior.diagonal(self.point)
        )
        variance = (1 - reduction / diagonal[:, 0]) / diagonal[:, 0] + (conditional**2).mean(axis=1)
        # All scores up by the same is no uncertainty: its share is known exactly.
        variance -= 1 / (m * (self.level + self.prior.along[0]))
        return variance, drawn - drawn.mean(axis=0)


LARGE: dict[str, type[Large]] = {"matrix": Matrix, "products": Products}
