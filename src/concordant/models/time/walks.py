"""Scores that wander: one per item and period it played in, tied over time by a random walk.

The unknowns are *nodes*, one per candidate and period it was compared in, sorted by candidate, then time. The objective

    sum over duels of log P(winner beats loser)  -  prior / 2 * sum of (first score)²
                                                 -  sum of (step)² / (2 drift² * time passed) over all steps

is concave. Minus its second derivatives are A = T - W: T is tridiagonal (the walks, and the diagonal of the duels), W
links the two nodes of every duel. All walks together are one tridiagonal system, factorised in linear time, and T is so
close to A that conjugate gradients on T⁻¹A take about ten products for a Newton step: a fit costs little more than some
dozen passes over the duels, whatever their number.

Variances. Given all other scores, those of a candidate have the covariance of its block of T⁻¹, which is known exactly;
what the doubt about opponents adds is the variance of the conditional mean, which is taken from draws of the whole
posterior (few suffice, as it is a small part). Small problems are inverted as they are.

Strengths by evidence. By Fisher's identity the chance of the data, all scores averaged out, is highest where

    drift² = mean of (step² + its posterior variance) / time passed    and
    1 / prior = mean of (first score² + its posterior variance),

the posterior taken as normal around its maximum (Laplace). Both are found together. A vague belief (first scores spread
by about one, over the whole time scores move by about one, each give or take a decade of variance) decides where the
data do not, and hardly matters elsewhere. Reference: D. MacKay, Bayesian interpolation, 1992.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from concordant import kernels
from concordant.ballots.segments import is_new
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


@dataclass(frozen=True)
class Nodes:
    """What was compared when: node k is a candidate (slot) in a period that ends at ``time``, with duels between them.

    ``gap`` is the time since the node before of the same candidate, 0 where there is none.
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
        """Gather comparisons of slots, each in a period; ``end`` is the time of every period, ascending."""
        n_periods = len(end)
        key, place = np.unique(np.concatenate([ahead, behind]) * n_periods + np.tile(period, 2), return_inverse=True)
        better, worse = place.reshape(2, -1)
        up = np.where(is_tie, weight / 2, weight)
        flip = better > worse
        won, lost = np.where(flip, weight - up, up), np.where(flip, up, weight - up)
        low, high = np.where(flip, worse, better), np.where(flip, better, worse)
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
    """The objective of all walks under strengths, at the point last evaluated: value, gradient, Newton steps, draws."""

    def __init__(self, nodes: Nodes, drift: float, prior: float) -> None:
        self.nodes, self.drift, self.prior = nodes, drift, prior
        variance = np.maximum(drift**2 * nodes.gap, MIN_STEP)
        self.link = np.where(nodes.is_first, 0.0, 1 / variance)
        self.is_settled = False
        self.walks = self.link + np.append(self.link[1:], 0.0) + prior * nodes.is_first
        self.evaluate(np.zeros(len(nodes)))

    # ---- at a point ----
    def evaluate(self, score: Floats) -> float:
        """Move to a point and return the objective there."""
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
        """Prepare solutions with the second derivatives at the point."""
        from scipy.linalg import lapack

        nodes, n = self.nodes, len(self.nodes)
        self.curve = nodes.total * self.chance * (1 - self.chance)
        met = np.bincount(nodes.first, self.curve, n) + np.bincount(nodes.second, self.curve, n)
        self.diagonal = self.walks + met
        self.pivot, self.lower, _ = lapack.dpttrf(self.diagonal, -self.link[1:] if n > 1 else np.zeros(1))

    def product(self, x: Floats) -> Floats:
        """Return minus the second derivatives times a vector."""
        duels = kernels.laplacian_product(self.nodes.first, self.nodes.second, self.curve, x[:, None])[:, 0]
        return np.asarray(duels + self._times_walks(x))

    def precondition(self, x: Floats) -> Floats:
        """Return T⁻¹ times a vector."""
        from scipy.linalg import lapack

        return np.asarray(lapack.dpttrs(self.pivot, self.lower, x)[0])

    def solve(self, right: Floats, accuracy: float) -> Floats:
        """Return A⁻¹ times a vector by conjugate gradients; what is left is small in the norm of the preconditioner."""
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
        out: Floats = self.walks * x
        if len(x) > 1:
            out[1:] -= self.link[1:] * x[:-1]
            out[:-1] -= self.link[1:] * x[1:]
        return out

    def _by_node(self, by_row: Floats) -> Floats:
        n = len(self.nodes)
        return np.asarray(np.bincount(self.nodes.first, by_row, n) - np.bincount(self.nodes.second, by_row, n))

    # ---- the optimum ----
    def maximise(self, start: Floats | None = None, small_step: float = SMALL_STEP) -> Walk:
        """Go to the maximum by Newton's method, and prepare solutions there."""
        value = self.evaluate(np.zeros(len(self.nodes)) if start is None else start)
        if not len(self.nodes):
            self.is_settled, self.pivot = True, np.empty(0)
            return self
        for self.steps in range(1, MAX_STEPS):
            self.factorise()
            gradient = self.gradient()
            reach = float(np.abs(self.precondition(gradient)).max(initial=0.0))
            step = self.solve(gradient, float(np.clip(reach, 1e-8, 0.1)))
            here, size = self.score, float(np.abs(step).max(initial=0.0))
            for halvings in range(40):
                there = self.evaluate(here + 0.5**halvings * step)
                if there >= value - 1e-9 * (1 + abs(value)):
                    break
            value = there
            self.is_settled = size < small_step and halvings == 0
            if self.is_settled:
                break
        self.factorise()
        return self

    # ---- uncertainty ----
    def own_variances(self) -> tuple[Floats, Floats]:
        """Return every node's variance given all other candidates, and its covariance with the node before it."""
        from scipy.linalg import lapack

        n = len(self.nodes)
        if not n:
            return np.empty(0), np.empty(0)
        off = -self.link[1:] if n > 1 else np.zeros(1)
        back = lapack.dpttrf(self.diagonal[::-1], off[::-1])[0][::-1]
        variance = 1 / (self.pivot + back - self.diagonal)
        before = np.zeros(n)
        before[1:] = -self.lower[: n - 1] * variance[1:]
        return variance, before

    def conditional_means(self, n: int, seed: int = 0) -> tuple[Floats, Floats]:
        """Draw n times from the posterior around its mode; return the draws, and their means given all others.

        A draw solves A x = r for pushes r whose covariance is A; T x - r is what the others add.
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
        """Return the posterior variance of every node, and its covariance with the node before it (0 for the first)."""
        if not len(self.nodes):
            return self.own_variances()
        if len(self.nodes) <= LARGEST_DENSE:
            whole = self.covariance()
            before = np.append(0.0, np.diagonal(whole, 1))
            return np.diagonal(whole).copy(), np.where(self.nodes.is_first, 0.0, before)
        variance, before = self.own_variances()
        _, mean = self.conditional_means(draws)
        variance += (mean**2).mean(axis=0)
        before[1:] += (mean[:, 1:] * mean[:, :-1]).mean(axis=0)
        return variance, np.where(self.nodes.is_first, 0.0, before)

    def covariance(self) -> Floats:
        """Return the whole inverse of A, of few nodes."""
        return np.asarray(np.linalg.inv(self._whole()))

    def root(self) -> Floats:
        """Return a matrix whose product with its transpose is the inverse of A, of few nodes."""
        return np.asarray(np.linalg.inv(np.linalg.cholesky(self._whole())).T)

    def _whole(self) -> Floats:
        if not len(self.nodes):
            return np.zeros((0, 0))
        whole = kernels.laplacian(self.nodes.first, self.nodes.second, self.curve, len(self.nodes))
        return np.asarray(whole + np.diag(self.walks) - np.diag(self.link[1:], 1) - np.diag(self.link[1:], -1))


def _dot(one: Floats, other: Floats) -> float:
    """Return an inner product in one thread: on vectors like these a library's threads mostly wait for each other."""
    return float(np.einsum("i,i->", one, other))


def fitted(nodes: Nodes, drift: float | None, prior: float | None, start: Floats | None = None) -> Walk:
    """Fit the scores; a strength that is None is chosen by evidence, and has three digits.

    Newton's method on the two conditions of the docstring above, in the logarithms of drift² and prior: begun with the
    slopes that MacKay's iteration assumes, which Broyden's updates improve.
    """
    if not len(nodes) or (drift is not None and prior is not None):
        return Walk(nodes, 1.0 if drift is None else drift, 1.0 if prior is None else prior).maximise(start)
    span = float(nodes.time.max() - nodes.time.min())
    span = span if span > SHORTEST else 1.0
    centre = np.array([-log(span), 0.0])
    free = np.array([drift is None, prior is None])
    here = np.where(free, centre, 0.0)
    inverse, before = np.eye(2), None
    for _ in range(MAX_TRIALS):
        tried = _strengths(here, drift, prior)
        walk = Walk(nodes, *tried).maximise(start, ROUGH_STEP)
        start, wanted = walk.score, free * _slopes(walk, here - centre)
        if before is not None:
            moved, change = here - before[0], wanted - before[1]
            seen = inverse @ change
            scale = float(moved @ seen)
            if abs(scale) > 1e-3 * float(moved @ moved):
                inverse = inverse - np.outer(moved + seen, moved @ inverse) / scale
        if np.abs(wanted).max() < CLOSE:
            break
        step = inverse @ wanted
        if float(step @ wanted) <= 0:  # the slopes learnt mislead: begin anew
            inverse, step = np.eye(2), wanted
        before = here, wanted
        here = here + step * min(1.0, FURTHEST / float(np.abs(step).max()))
    rounded = tuple(float(f"{one:.3g}") for one in _strengths(here, drift, prior))
    return Walk(nodes, *rounded).maximise(start)


def _strengths(logs: Floats, drift: float | None, prior: float | None) -> tuple[float, float]:
    """Return drift and prior from the logarithms of drift² and prior, unless they are given."""
    return float(np.exp(logs[0] / 2)) if drift is None else drift, float(np.exp(logs[1])) if prior is None else prior


def _slopes(walk: Walk, off_centre: Floats) -> Floats:
    """Return the slopes of the log-evidence in the logarithms of drift² and prior, over how curved it is, roughly."""
    nodes, score = walk.nodes, walk.score
    variance, before = walk.variances(PROBES)
    first = nodes.is_first
    late = np.flatnonzero(~first)
    per_time = np.maximum(nodes.gap[late], MIN_STEP / walk.drift**2) * walk.drift**2
    squares = float(((score[late] - score[late - 1]) ** 2 / per_time).sum())
    doubts = float(((variance[late] + variance[late - 1] - 2 * before[late]) / per_time).sum())
    of_steps = squares - max(len(late) - doubts, 0.0), max(len(late) - doubts, 0.0)
    known = max(float(first.sum()) - walk.prior * float(variance[first].sum()), 0.0)
    of_first = known - walk.prior * float((score[first] ** 2).sum()), known
    slope, curve = (np.array(pair) / 2 for pair in zip(of_steps, of_first, strict=True))
    return np.asarray((slope - off_centre / DECADE**2) / (curve + 1 / DECADE**2))
