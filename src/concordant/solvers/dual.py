"""Dual coordinate descent for ranking support vector machines, for few pairs or with a kernel.

    primal   min_w  |w|^2 / 2 + sum_p cap_p max(0, 1 - w'(x_i - x_j))            pair p: row i over row j
    dual     max_a  sum_p a_p - |sum_p a_p (x_i - x_j)|^2 / 2,   0 <= a_p <= cap_p,   w = sum_p a_p (x_i - x_j)

One multiplier at a time is set to its optimum, in random order. Only inner products of rows appear, so a kernel can
replace them: the inner product of two differences is k(i, r) - k(i, s) - k(j, r) + k(j, s). Between rounds the duality
gap is computed from scratch, which also prevents rounding errors from accumulating, and pairs at a bound are left out
of the next round (shrinking).

A step costs O(F) with features, O(n) with a kernel (and O(1) if the multiplier does not change); memory is O(pairs),
plus n x n inner products with a kernel. For many pairs use the bundle method, whose cost does not depend on their
number.

Reference: C. Hsieh et al., A dual coordinate descent method for large-scale linear SVM, ICML 2008.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from concordant import kernels
from concordant.errors import InputError, arg
from concordant.losses.queries import Pairs
from concordant.scorers.base import Matrix
from concordant.solvers.bundle import Bounded
from concordant.solvers.lbfgs import Watch
from concordant.support import progress
from concordant.types import AnyArray, Floats, Int64s

SWEEPS = 10  # most visits of every moving pair between two looks at the gap,
MAX_STEPS = 5_000_000  # or fewer, to bound the memory of the order of visits
MAX_ROWS = 20_000  # 3 GB of inner products


def minimise_dual(
    space: Space,
    pairs: Pairs,
    *,
    alpha: float,
    tolerance: float,
    max_iterations: int,
    rng: np.random.Generator,
    watch: Watch,
) -> Bounded:
    """Minimise mean hinge loss + alpha/2 |w|^2 until the duality gap is below ``tolerance`` relative to the value.

    Pair weights are divided by their sum. The point is in terms of ``space``: weights of features, or
    coefficients of rows.
    """
    total = float(pairs.weight.sum()) or 1.0
    cap = pairs.weight / (alpha * total)
    multiplier = np.zeros(len(pairs))
    for iteration in progress.iterations(range(max_iterations + 1), "optimising"):
        point, scores, square = space.at(pairs.by_row(multiplier, space.n_rows))
        slack = 1 - (scores[pairs.better] - scores[pairs.worse])
        primal = square / 2 + float(cap @ np.maximum(slack, 0))
        gap = max(primal - (float(multiplier.sum()) - square / 2), 0.0)
        outcome = Bounded(point, alpha * primal, iteration, gap <= tolerance * primal, alpha * gap)
        should_continue = iteration == 0 or watch(iteration, point, outcome.value)
        if outcome.is_converged or iteration == max_iterations:
            break
        if not should_continue:
            return replace(outcome, is_converged=True)
        moving = _moving(multiplier, cap, slack)
        if not len(moving):  # all multipliers are where they should be; what is left of the gap is rounding
            return replace(outcome, is_converged=True)
        sweeps = max(1, min(1 + iteration, SWEEPS, MAX_STEPS // len(moving)))
        order = np.concatenate([rng.permutation(moving) for _ in range(sweeps)])
        multiplier = space.descend(pairs, cap, order, multiplier, point, scores)
    return outcome


class Space(ABC):
    """The representation of rows: their features, or their inner products."""

    n_rows: int

    @abstractmethod
    def at(self, coefficient: Floats) -> tuple[Floats, Floats, float]:
        """Return w = sum of coefficients times rows (in this representation), the scores of all rows, and |w|²."""

    @abstractmethod
    def descend(
        self, pairs: Pairs, cap: Floats, order: Int64s, multiplier: Floats, point: Floats, scores: Floats
    ) -> Floats:
        """Return the multipliers after a coordinate step on each pair of ``order``."""


class FeatureSpace(Space):
    """Dense rows of features; a point is a weight per feature."""

    def __init__(self, X: AnyArray) -> None:
        self.X, self.n_rows = np.ascontiguousarray(X), len(X)

    def at(self, coefficient: Floats) -> tuple[Floats, Floats, float]:
        """Return w = X'c, the scores X w, and |w|²."""
        weight = (self.X.T @ coefficient.astype(self.X.dtype)).astype(np.float64, copy=False)
        scores = (self.X @ weight.astype(self.X.dtype)).astype(np.float64, copy=False)
        return weight, scores, float(weight @ weight)

    def descend(
        self, pairs: Pairs, cap: Floats, order: Int64s, multiplier: Floats, point: Floats, scores: Floats
    ) -> Floats:
        """Take coordinate steps, updating the weights of features after each."""
        return kernels.pair_descent_linear(self.X, pairs.better, pairs.worse, cap, order, multiplier, point)[0]


class KernelSpace(Space):
    """Inner products of all rows; a point is a coefficient per row."""

    def __init__(self, gram: Floats) -> None:
        self.gram, self.n_rows = np.ascontiguousarray(gram, np.float64), len(gram)

    @classmethod
    def of_rows(cls, X: Matrix) -> KernelSpace:
        """Return the space of the inner products of rows of features (a linear kernel)."""
        if X.shape[0] > MAX_ROWS:
            raise InputError(
                f"The dual solver needs the inner products of all {X.shape[0]:,} sparse rows: use "
                + arg("solver", "bundle")
                + " instead."
            )
        gram: Any = X @ X.T
        return cls(gram if isinstance(gram, np.ndarray) else gram.toarray())

    def at(self, coefficient: Floats) -> tuple[Floats, Floats, float]:
        """Return c, K c and c'Kc."""
        scores = self.gram @ coefficient
        return coefficient, scores, float(coefficient @ scores)

    def descend(
        self, pairs: Pairs, cap: Floats, order: Int64s, multiplier: Floats, point: Floats, scores: Floats
    ) -> Floats:
        """Take coordinate steps, updating the scores of rows after each."""
        return kernels.pair_descent_gram(self.gram, pairs.better, pairs.worse, cap, order, multiplier, scores)[0]


def _moving(multiplier: Floats, cap: Floats, slack: Floats) -> Int64s:
    """Return the pairs to visit next: all except those at a bound with a gradient that clearly keeps them there.

    Clearly means by more than the largest projected gradient of any pair.
    """
    projected = np.where(
        multiplier <= 0, np.maximum(slack, 0), np.where(multiplier >= cap, np.minimum(slack, 0), slack)
    )
    largest = float(np.abs(projected).max())
    at_rest = ((multiplier <= 0) & (slack < -largest)) | ((multiplier >= cap) & (slack > largest))
    return np.flatnonzero(~at_rest)
