"""Time-varying scores: one per item and period it played in, with a Gaussian random walk over time as the prior.

The unknowns are *nodes*, one per candidate and period it was compared in, sorted by candidate, then time. The objective

    sum over comparisons of log P(winner beats loser)  -  prior / 2 * sum of (first score)²
                                                 -  sum of (step)² / (2 drift² * time passed) over all steps

is concave. Its negative Hessian is A = T - W: T is tridiagonal (the walks, and the diagonal of the comparisons), W
links the two nodes of every comparison. All walks together are one tridiagonal system, factorised in linear time, and T
is so good a preconditioner that a Newton step takes about ten conjugate gradient iterations: a fit costs a few dozen
passes over the comparisons, whatever their number.

Variances. Given the scores of all other candidates, those of a candidate have the covariance of its block of T⁻¹, which
is known exactly. The uncertainty of the opponents adds the variance of the conditional mean, which is estimated from
draws of the joint posterior (few suffice, because it is small). Small problems are inverted directly.

Empirical Bayes. By Fisher's identity the marginal likelihood is highest where

    drift² = mean of (step² + its posterior variance) / time passed    and
    1 / prior = mean of (first score² + its posterior variance),

with the normal (Laplace) approximation of the posterior. Both equations are solved together. A vague hyperprior (first
scores have a variance of about one, and so do movements over the whole time, each within a factor of ten) decides where
the data do not, and has little influence elsewhere. Reference: D. MacKay, Bayesian interpolation, 1992.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from concordant import kernels
from concordant.ballots.segments import is_new
from concordant.support import progress
from concordant.support.brief import Brief
from concordant.types import Bools, Floats, Int32s, Int64s

SMALL_STEP = 1e-6  # after a full Newton step this small the error is far smaller
ROUGH_STEP = 1e-2  # where only the strengths are sought, or scores are refitted later
MIN_STEP = 1e-9  # variance of a step below which two nodes would be numerically one
SHORTEST = 1e-100  # span of time below which no time is taken to pass
LARGEST_DENSE = 600  # nodes up to which variances come from the whole inverse
DRAWS = 16  # of the posterior, for variances
PROBES = 2  # of them, for the strengths: what they add to sums over all nodes is small
MAX_STEPS = 60
MAX_TRIALS = 25  # of strengths
CLOSE = 0.01  # change of the logarithms of drift² and prior at which they are settled
FURTHEST = 1.5  # change of these logarithms at once
DECADE = log(10.0)


@dataclass(frozen=True, repr=False)
class Nodes(Brief):
    """Nodes and the comparisons between them: node k is a candidate (slot) in a period that ends at ``time``.

    ``gap`` is the time since the candidate's previous node, 0 for its first node.
    """

    slot: Int64s
    time: Floats
    gap: Floats
    first: Int32s
    second: Int32s
    won: Floats
    total: Floats

    @classmethod
    def of(cls, ahead: Int64s, behind: Int64s, is_tie: Bools, weight: Floats, period: Int64s, end: Floats) -> Nodes:
        """Group comparisons of slots, each in a period, into nodes and pairwise counts; ``end`` has the period ends."""
        n_periods = len(end)
        key, node = np.unique(np.concatenate([ahead, behind]) * n_periods + np.tile(period, 2), return_inverse=True)
        node_ahead, node_behind = node.reshape(2, -1)
        won_ahead = np.where(is_tie, weight / 2, weight)
        flip = node_ahead > node_behind
        won, lost = np.where(flip, weight - won_ahead, won_ahead), np.where(flip, won_ahead, weight - won_ahead)
        low, high = np.where(flip, node_behind, node_ahead), np.where(flip, node_ahead, node_behind)
        rows = kernels.group_duels(low, high, won, lost, np.zeros(len(won)), len(key))
        slot, time = key // n_periods, end[key % n_periods]
        gap = np.diff(time, prepend=0.0)
        gap[is_new(slot)] = 0.0
        return cls(slot, time, gap, rows.first, rows.second, rows.won, rows.won + rows.lost)

    def __len__(self) -> int:
        return len(self.slot)

    @cached_property
    def is_first(self) -> Bools:
        """Whether a node is the first of its candidate."""
        return is_new(self.slot)

    @property
    def is_last(self) -> Bools:
        """Whether a node is the last of its candidate."""
        return np.append(self.is_first[1:], True) if len(self) else self.is_first


class Walk:
    """The objective for given drift and prior, at the point last evaluated: value, gradient, Newton steps, draws."""

    def __init__(self, nodes: Nodes, drift: float, prior: float) -> None:
        self.nodes, self.drift, self.prior = nodes, drift, prior
        variance = np.maximum(drift**2 * nodes.gap, MIN_STEP)
        self.link = np.where(nodes.is_first, 0.0, 1 / variance)
        self.is_settled = False
        self.walks = self.link + np.append(self.link[1:], 0.0) + prior * nodes.is_first
        self.evaluate(np.zeros(len(nodes)))

    # ---- at a point ----
    def evaluate(self, score: Floats) -> float:
        """Move to a point; return log-likelihood - scoreᵀ W score / 2, where W is the precision of the walks."""
        nodes = self.nodes
        lead = score[nodes.first] - score[nodes.second]
        small = np.exp(-np.abs(lead))
        self.chance = np.where(lead >= 0, 1.0, small) / (1 + small)
        self.score = score
        self.log_likelihood = _dot(nodes.won, lead) - _dot(nodes.total, np.maximum(lead, 0.0) + np.log1p(small))
        return self.log_likelihood - 0.5 * _dot(score, self._times_walks(score))

    def gradient(self) -> Floats:
        """Return the gradient at the point."""
        nodes = self.nodes
        return self._by_node(nodes.won - nodes.total * self.chance) - self._times_walks(self.score)

    def factorise(self) -> None:
        """Compute the curvatures at the point and factorise T, the tridiagonal part of the negative Hessian A."""
        from scipy.linalg import lapack

        nodes, n = self.nodes, len(self.nodes)
        self.curve = nodes.total * self.chance * (1 - self.chance)
        met = np.bincount(nodes.first, self.curve, n) + np.bincount(nodes.second, self.curve, n)
        self.diagonal = self.walks + met
        self.pivot, self.lower, _ = lapack.dpttrf(self.diagonal, -self.link[1:] if n > 1 else np.zeros(1))

    def product(self, x: Floats) -> Floats:
        """Return the negative Hessian times a vector."""
        duels = kernels.laplacian_product(self.nodes.first, self.nodes.second, self.curve, x[:, None])[:, 0]
        return np.asarray(duels + self._times_walks(x))

    def precondition(self, x: Floats) -> Floats:
        """Return T⁻¹ times a vector."""
        from scipy.linalg import lapack

        return np.asarray(lapack.dpttrs(self.pivot, self.lower, x)[0])

    def solve(self, right: Floats, accuracy: float) -> Floats:
        """Return A⁻¹ times a vector by conjugate gradients preconditioned by T, to this accuracy in the norm of T⁻¹."""
        x, r = np.zeros_like(right), right.copy()
        z = self.precondition(r)
        p, rz = z, _dot(r, z)
        goal = accuracy**2 * rz
        for _ in range(1_000):
            if rz <= goal:
                break
            ap = self.product(p)
            alpha = rz / _dot(p, ap)
            x += alpha * p
            r -= alpha * ap
            z = self.precondition(r)
            rz, before = _dot(r, z), rz
            p = z + rz / before * p
        return x

    def _times_walks(self, x: Floats) -> Floats:
        """Return W x, where W is the tridiagonal precision of the walks."""
        out: Floats = self.walks * x
        if len(x) > 1:
            out[1:] -= self.link[1:] * x[:-1]
            out[:-1] -= self.link[1:] * x[1:]
        return out

    def _by_node(self, by_row: Floats) -> Floats:
        """Return, by node, the sum of a value over comparisons with the node first minus the sum with it second."""
        n = len(self.nodes)
        return np.asarray(np.bincount(self.nodes.first, by_row, n) - np.bincount(self.nodes.second, by_row, n))

    # ---- the optimum ----
    def maximise(self, start: Floats | None = None, small_step: float = SMALL_STEP) -> Walk:
        """Go to the maximum by Newton's method with step halving, and factorise there."""
        value = self.evaluate(np.zeros(len(self.nodes)) if start is None else start)
        if not len(self.nodes):
            self.is_settled, self.pivot = True, np.empty(0)
            return self
        for self.steps in progress.iterations(range(1, MAX_STEPS), "maximising the likelihood"):
            self.factorise()
            gradient = self.gradient()
            rough_step = float(np.abs(self.precondition(gradient)).max(initial=0.0))
            step = self.solve(gradient, float(np.clip(rough_step, 1e-8, 0.1)))
            start_of_step, step_size = self.score, float(np.abs(step).max(initial=0.0))
            for halvings in range(40):
                new_value = self.evaluate(start_of_step + 0.5**halvings * step)
                if new_value >= value - 1e-9 * (1 + abs(value)):
                    break
            value = new_value
            self.is_settled = step_size < small_step and halvings == 0
            if self.is_settled:
                break
        self.factorise()
        return self

    # ---- uncertainty ----
    def own_variances(self) -> tuple[Floats, Floats]:
        """Return each node's variance given all other candidates' scores, and its covariance with the previous node.

        The covariance is 0 for a candidate's first node. They are the diagonal and sub-diagonal of T⁻¹: with the pivots
        f of the forward and b of the backward factorisation, (T⁻¹)_kk = 1 / (f_k + b_k - T_kk).
        """
        from scipy.linalg import lapack

        n = len(self.nodes)
        if not n:
            return np.empty(0), np.empty(0)
        off_diagonal = -self.link[1:] if n > 1 else np.zeros(1)
        pivot_from_back = lapack.dpttrf(self.diagonal[::-1], off_diagonal[::-1])[0][::-1]
        variance = 1 / (self.pivot + pivot_from_back - self.diagonal)
        covariance = np.zeros(n)
        covariance[1:] = -self.lower[: n - 1] * variance[1:]
        return variance, covariance

    def conditional_means(self, n: int, seed: int = 0) -> tuple[Floats, Floats]:
        """Draw n times from the Laplace approximation; return the draws, and their means given the other candidates.

        A draw x solves A x = r for a random r whose covariance is A; x - T⁻¹ r is its mean given the other candidates.
        """
        nodes, rng = self.nodes, np.random.default_rng(seed)
        drawn, mean = np.empty((n, len(nodes))), np.empty((n, len(nodes)))
        for k in range(n):
            right = self._by_node(np.sqrt(self.curve) * rng.standard_normal(len(self.curve)))
            push = np.sqrt(np.where(nodes.is_first, self.prior, self.link)) * rng.standard_normal(len(nodes))
            right += push
            right[:-1] -= np.where(nodes.is_first[1:], 0.0, push[1:])
            drawn[k] = self.solve(right, 1e-3)
            mean[k] = drawn[k] - self.precondition(right)
        return drawn, mean

    def variances(self, draws: int = DRAWS) -> tuple[Floats, Floats]:
        """Return the posterior variance of every node, and its covariance with the previous node (0 for the first).

        Exact for few nodes; otherwise the conditional variance plus the variance of the conditional mean over draws.
        """
        if not len(self.nodes):
            return self.own_variances()
        if len(self.nodes) <= LARGEST_DENSE:
            inverse = self.covariance()
            covariance = np.append(0.0, np.diagonal(inverse, 1))
            return np.diagonal(inverse).copy(), np.where(self.nodes.is_first, 0.0, covariance)
        variance, covariance = self.own_variances()
        _, mean = self.conditional_means(draws)
        variance += (mean**2).mean(axis=0)
        covariance[1:] += (mean[:, 1:] * mean[:, :-1]).mean(axis=0)
        return variance, np.where(self.nodes.is_first, 0.0, covariance)

    def covariance(self) -> Floats:
        """Return the full inverse of A (for few nodes)."""
        return np.asarray(np.linalg.inv(self._whole()))

    def root(self) -> Floats:
        """Return a matrix R with R Rᵀ = A⁻¹ (for few nodes)."""
        return np.asarray(np.linalg.inv(np.linalg.cholesky(self._whole())).T)

    def _whole(self) -> Floats:
        """Return A as a dense matrix: the Laplacian of the comparisons plus the tridiagonal precision of the walks."""
        if not len(self.nodes):
            return np.zeros((0, 0))
        whole = kernels.laplacian(self.nodes.first, self.nodes.second, self.curve, len(self.nodes))
        return np.asarray(whole + np.diag(self.walks) - np.diag(self.link[1:], 1) - np.diag(self.link[1:], -1))


def _dot(a: Floats, b: Floats) -> float:
    """Return an inner product computed in one thread: vectors are too short for BLAS threads to help."""
    return float(np.einsum("i,i->", a, b))


def fitted(nodes: Nodes, drift: float | None, prior: float | None, start: Floats | None = None) -> Walk:
    """Fit the scores; a strength (drift, prior) that is None is chosen by marginal likelihood, to three digits.

    A quasi-Newton method solves the two equations of the module docstring for the logarithms of drift² and prior: the
    initial Jacobian is that of MacKay's iteration, improved by Broyden updates.
    """
    if not len(nodes) or (drift is not None and prior is not None):
        return Walk(nodes, 1.0 if drift is None else drift, 1.0 if prior is None else prior).maximise(start)
    span = float(nodes.time.max() - nodes.time.min())
    span = span if span > SHORTEST else 1.0
    centre = np.array([-log(span), 0.0])
    free = np.array([drift is None, prior is None])
    logs = np.where(free, centre, 0.0)
    inverse, previous = np.eye(2), None
    for _ in progress.iterations(range(MAX_TRIALS), "choosing drift and prior"):
        tried = _strengths(logs, drift, prior)
        walk = Walk(nodes, *tried).maximise(start, ROUGH_STEP)
        start, residual = walk.score, free * _slopes(walk, logs - centre)
        if previous is not None:
            log_step, residual_change = logs - previous[0], residual - previous[1]
            predicted = inverse @ residual_change
            scale = float(log_step @ predicted)
            if abs(scale) > 1e-3 * float(log_step @ log_step):
                inverse = inverse - np.outer(log_step + predicted, log_step @ inverse) / scale
        if np.abs(residual).max() < CLOSE:
            break
        step = inverse @ residual
        if float(step @ residual) <= 0:  # the slopes learnt mislead: begin anew
            inverse, step = np.eye(2), residual
        previous = logs, residual
        logs = logs + step * min(1.0, FURTHEST / float(np.abs(step).max()))
    rounded = tuple(float(f"{strength:.3g}") for strength in _strengths(logs, drift, prior))
    return Walk(nodes, *rounded).maximise(start)


def _strengths(logs: Floats, drift: float | None, prior: float | None) -> tuple[float, float]:
    """Return drift and prior from the logarithms of drift² and prior; given values are returned unchanged."""
    return float(np.exp(logs[0] / 2)) if drift is None else drift, float(np.exp(logs[1])) if prior is None else prior


def _slopes(walk: Walk, off_centre: Floats) -> Floats:
    """Return the derivatives of the log-evidence in log drift² and log prior, divided by its approximate curvature.

    ``off_centre`` are these logarithms minus the mean of their hyperprior.
    """
    nodes, score = walk.nodes, walk.score
    variance, covariance = walk.variances(PROBES)
    first = nodes.is_first
    has_step = np.flatnonzero(~first)
    step_variance = np.maximum(nodes.gap[has_step], MIN_STEP / walk.drift**2) * walk.drift**2
    squares = float(((score[has_step] - score[has_step - 1]) ** 2 / step_variance).sum())
    undetermined = float(
        ((variance[has_step] + variance[has_step - 1] - 2 * covariance[has_step]) / step_variance).sum()
    )
    of_steps = squares - max(len(has_step) - undetermined, 0.0), max(len(has_step) - undetermined, 0.0)
    determined = max(float(first.sum()) - walk.prior * float(variance[first].sum()), 0.0)
    of_first = determined - walk.prior * float((score[first] ** 2).sum()), determined
    slope, curve = (np.array(pair) / 2 for pair in zip(of_steps, of_first, strict=True))
    return np.asarray((slope - off_centre / DECADE**2) / (curve + 1 / DECADE**2))
