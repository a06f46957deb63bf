"""Multinomial preference models (NumPy reference of multinomial.cpp)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from concordant.kernels.bundles import Adherences, MPMFit, MPMWarmStart
from concordant.types import Floats, Int64s

__all__ = ["fit_mpm_scores", "fit_mpm_variances"]


MAX_ITERATIONS = 200
LOG_HALF = float(np.log(0.5))  # the prior draws log-variances there


class _Problem(Protocol):
    scale: float
    log_z: Floats
    slope: Floats

    def value(self, u: Floats) -> tuple[float, Floats]: ...
    def multiply(self, v: Floats) -> Floats: ...


class _ScoreProblem:
    """The negative log-likelihood per unit count of one instance with equal variances, plus the prior.

    Z = sum over i != j of e^(theta (s_i - s_j)) = A C - m, with A and C the sums of e^(theta s) and e^(-theta s).
    """

    def __init__(self, net: Floats, theta: Floats, share: Floats, prior: float) -> None:
        self.net, self.theta, self.share, self.prior = net, theta, share, prior
        self.scale = float(np.sqrt(net @ net))

    def value(self, s: Floats) -> tuple[float, Floats]:
        """Return value and gradient at scores s; keep terms for ``multiply``. All sums are scaled to avoid overflow."""
        theta, high, low = self.theta[:, None], s.max(), s.min()
        self.up, self.down = np.exp(theta * (s - high)), np.exp(theta * (low - s))
        self.A, self.C = self.up.sum(1), self.down.sum(1)
        self.Z = self.A * self.C - len(s) * np.exp(self.theta * (low - high))
        self.log_z = self.theta * (high - low) + np.log(self.Z)
        self.slope = (self.C * (self.up @ s) - self.A * (self.down @ s)) / self.Z
        up_rate, down_rate = self.C / self.Z * self.share * self.theta, self.A / self.Z * self.share * self.theta
        self.diagonal = self.prior + (up_rate * self.theta) @ self.up + (down_rate * self.theta) @ self.down
        gradient = self.prior * s - self.net + up_rate @ self.up - down_rate @ self.down
        return float(self.prior / 2 * (s @ s) - self.net @ s + self.share @ self.log_z), gradient

    def multiply(self, v: Floats) -> Floats:
        """Return the Hessian at the last point times v."""
        up_v, down_v = self.up @ v, self.down @ v
        mean = (self.C * up_v - self.A * down_v) / self.Z
        factor = self.share * self.theta**2 / self.Z
        of_up, of_down = factor * (down_v + mean * self.C), factor * (up_v - mean * self.A)
        return np.asarray(self.diagonal * v - of_up @ self.up - of_down @ self.down)


class _VarianceProblem:
    """The same objective over u = (scores s, log-variances log g), with x = (s_i - s_j) / (g_i + g_j) by pair."""

    def __init__(
        self, net: Floats, m: int, theta: Floats, share: Floats, prior: float, centre: float, is_learning: bool
    ) -> None:
        """Prepare the pairs i < j of m items; ``centre`` is the prior mean of log-variances."""
        self.m, self.net, self.theta, self.share, self.prior = m, net, theta, share, prior
        self.centre, self.is_learning = centre, is_learning
        self.i, self.j = np.triu_indices(m, 1)
        self.set_pairs(np.concatenate([np.zeros(m), np.full(m, centre)]))
        at_start = self.scatter(net)[:m]
        self.scale = float(np.sqrt(at_start @ at_start))

    def set_pairs(self, u: Floats) -> None:
        """Compute variances g, h = 1 / (g_i + g_j) and x of all pairs."""
        self.g = np.exp(u[self.m :])
        self.h = 1.0 / (self.g[self.i] + self.g[self.j])
        self.x = (u[self.i] - u[self.j]) * self.h

    def scatter(self, y: Floats) -> Floats:
        """Multiply by the transposed Jacobian of x."""
        to_score, to_log = y * self.h, y * self.x * self.h
        scores = self.sum_by(self.i, to_score) - self.sum_by(self.j, to_score)
        logs = -self.g * (self.sum_by(self.i, to_log) + self.sum_by(self.j, to_log))
        return np.concatenate([scores, logs * self.is_learning])

    def sum_by(self, index: Int64s, values: Floats) -> Floats:
        return np.bincount(index, weights=values, minlength=self.m)  # type: ignore[return-value]

    def value(self, u: Floats) -> tuple[float, Floats]:
        """Return value and gradient at u; keep terms for ``multiply``.

        By pair, ``slack`` is the derivative of the loss in x and ``even`` the diagonal part of the second derivative;
        the remaining part has low rank: ``low_rank`` holds the gradient of log Z of every adherence group.
        """
        self.set_pairs(u)
        largest = float(np.abs(self.x).max(initial=0.0))
        self.even, self.slack = np.zeros(len(self.x)), -self.net
        self.log_z, self.slope = np.empty(len(self.theta)), np.empty(len(self.theta))
        self.low_rank = np.empty((len(self.theta), 2 * self.m))
        for k, theta in enumerate(self.theta.tolist()):
            shift = theta * largest if theta * largest >= 300 else 0.0
            up, down = np.exp(theta * self.x - shift), np.exp(-theta * self.x - shift)
            Z = float(up.sum() + down.sum())
            self.log_z[k], self.slope[k] = shift + np.log(Z), self.x @ (up - down) / Z
            self.slack = self.slack + self.share[k] * theta / Z * (up - down)
            self.even = self.even + self.share[k] * theta * theta / Z * (up + down)
            self.low_rank[k] = self.scatter(up - down) * theta / Z
        from_prior = np.where(np.arange(2 * self.m) < self.m, u, (u - self.centre) * self.is_learning)
        curvature = self.slack * self.x * self.h
        self.bend = self.sum_by(self.i, curvature) + self.sum_by(self.j, curvature)
        result = -self.net @ self.x + self.share @ self.log_z + self.prior / 2 * (from_prior @ from_prior)
        return float(result), self.scatter(self.slack) + self.prior * from_prior

    def multiply(self, v: Floats) -> Floats:
        """Return the Hessian at the last point times v, by the chain rule through x and h of every pair."""
        m, gv = self.m, self.g * v[self.m :]
        variance_change = gv[self.i] + gv[self.j]
        x_change = self.h * (v[self.i] - v[self.j]) - self.x * self.h * variance_change
        h_change = -(self.h**2) * variance_change
        slope_change = self.even * x_change
        to_score = slope_change * self.h + self.slack * h_change
        to_log = slope_change * self.x * self.h + self.slack * (x_change * self.h + self.x * h_change)
        scores = self.sum_by(self.i, to_score) - self.sum_by(self.j, to_score) + self.prior * v[:m]
        both = self.sum_by(self.i, to_log) + self.sum_by(self.j, to_log)
        logs = (self.prior * v[m:] - self.g * (both + self.bend * v[m:])) * self.is_learning
        return np.concatenate([scores, logs]) - (self.share * (self.low_rank @ v)) @ self.low_rank


def _step_within(problem: _Problem, gradient: Floats, radius: float, accuracy: float) -> tuple[Floats, float]:
    """Minimise the quadratic model approximately in the trust region (Steihaug): (step, predicted decrease)."""
    step, hessian_step, residual = np.zeros_like(gradient), np.zeros_like(gradient), -gradient
    direction = residual
    rr = float(residual @ residual)
    goal = accuracy * accuracy * rr  # rr, dd, sd, ss: inner products of residual r, direction d and step s
    for _ in range(min(len(gradient) + 10, 500)):
        if rr <= goal:
            break
        product = problem.multiply(direction)
        curvature, dd = float(direction @ product), float(direction @ direction)
        sd, ss = float(step @ direction), float(step @ step)
        length = rr / curvature if curvature > 0 else 0.0
        is_out = curvature <= 1e-14 * dd or ss + length * (2 * sd + length * dd) >= radius * radius
        if is_out:
            length = (-sd + np.sqrt(sd * sd + dd * max(radius * radius - ss, 0.0))) / dd
        step, hessian_step = step + length * direction, hessian_step + length * product
        if is_out:
            break
        residual = residual - length * product
        next_rr = float(residual @ residual)
        direction = residual + next_rr / rr * direction
        rr = next_rr
    return step, float(-gradient @ step - step @ hessian_step / 2)


def _minimise(problem: _Problem, u: Floats, tolerance: float) -> tuple[Floats, float, int]:
    """Run the trust-region Newton method: (optimum, relative gradient norm, iterations)."""
    scale = max(problem.scale, 1e-300)
    value, gradient = problem.value(u)
    radius, k = float(np.sqrt(len(u))), 0
    norm = float(np.sqrt(gradient @ gradient))
    while k < MAX_ITERATIONS and norm > tolerance * scale:
        step, promised = _step_within(problem, gradient, radius, min(0.1, norm / scale))
        next_value, next_gradient = problem.value(u + step)
        # Near the optimum the values differ by rounding only: judge by both with the same slack.
        rounding = 1e-15 * max(abs(value), 1.0)
        ratio = (value - next_value + rounding) / (promised + rounding)
        length = float(np.sqrt(step @ step))
        if not ratio > 0.25:
            radius = 0.25 * length
        elif ratio > 0.75 and length > 0.8 * radius:
            radius *= 2
        if ratio > 1e-4:
            u, value, gradient = u + step, next_value, next_gradient
        else:
            value, gradient = problem.value(u)
            if length < 1e-13:
                break
        norm = float(np.sqrt(gradient @ gradient))
        k += 1
    return u, norm / scale, k


def fit_mpm_scores(
    slot_ptr: Int64s, net: Floats, groups: Adherences, prior: Floats, start: Floats, tolerance: float
) -> MPMFit:
    """Fit the scores of every instance with equal variances.

    ``net`` holds the net wins per slot, weighted by adherence, over the total count of the instance.
    """

    def problem(q: int, slots: slice, theta: Floats, share: Floats) -> _Problem:
        return _ScoreProblem(net[slots], theta, share, float(prior[q]))

    return _fit(slot_ptr, groups, MPMWarmStart(start, np.empty(0)), problem, tolerance)


def fit_mpm_variances(
    slot_ptr: Int64s,
    pair_ptr: Int64s,
    net: Floats,
    groups: Adherences,
    prior: Floats,
    warm_start: MPMWarmStart,
    is_learning: bool,
    tolerance: float,
) -> MPMFit:
    """Fit scores and, if learning, log-variances of every instance; ``net`` is by pair (see ``net_pairs``)."""

    def problem(q: int, slots: slice, theta: Floats, share: Floats) -> _Problem:
        pairs, m = net[pair_ptr[q] : pair_ptr[q + 1]], slots.stop - slots.start
        return _VarianceProblem(pairs, int(m), theta, share, float(prior[q]), LOG_HALF, is_learning)

    return _fit(slot_ptr, groups, warm_start, problem, tolerance)


def _fit(
    slot_ptr: Int64s,
    groups: Adherences,
    warm_start: MPMWarmStart,
    problem_of: Callable[[int, slice, Floats, Floats], _Problem],
    tolerance: float,
) -> MPMFit:
    """Fit every instance with at least two candidates and some counts, one after the other."""
    n, n_groups = len(slot_ptr) - 1, len(groups.theta)
    by_group, counts = (np.zeros(n_groups), np.zeros(n_groups)), (np.zeros(n), np.zeros(n, np.int64))
    out = MPMFit(warm_start.start.copy(), warm_start.start_log.copy(), *by_group, *counts)
    for q in range(n):
        slots = slice(slot_ptr[q], slot_ptr[q + 1])
        of_group, m = slice(groups.group_ptr[q], groups.group_ptr[q + 1]), slots.stop - slots.start
        if m < 2 or of_group.start == of_group.stop:
            continue
        problem = problem_of(q, slots, groups.theta[of_group], groups.share[of_group])
        u = np.concatenate([warm_start.start[slots], warm_start.start_log[slots]])
        u, out.gradient[q], out.iterations[q] = _minimise(problem, u, tolerance)
        out.score[slots] = u[:m]
        if len(warm_start.start_log):
            out.log_variance[slots] = u[m:]
        out.log_z[of_group], out.slope[of_group] = problem.log_z, problem.slope
    return out
