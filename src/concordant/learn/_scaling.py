"""Standardisation of features during fitting; learnt weights are converted back to the units of the features.

Linear models and the first layer of a network absorb the scaling into their weights, so ``coef_`` is in the units of
the features and the scaling need not be stored. Sparse features are scaled but not centred, and remain sparse: losses
that compare rows of a query do not change when a constant is added to all scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from concordant.scorers.base import Matrix
from concordant.support.state import SMALLEST, Kind, floats, optional
from concordant.types import Floats

DOC = "standardise features to mean 0 and variance 1 over the training rows (sparse: variance 1)"
CONSTANT = 1e-12  # deviation over the largest value, below which a feature is constant


LEARNS: Mapping[str, Kind] = {
    "feature_mean_": optional(floats("n_features_in_")),
    "feature_scale_": optional(floats("n_features_in_", low=SMALLEST)),
}
"""Learnt attributes of a learner that stores the scaling."""


class Moments(NamedTuple):
    """Total weight of rows and, for every feature, mean, centred sum of squares and largest absolute value.

    The squares are those of the features divided by their largest value.
    """

    weight: float
    mean: Floats
    squares: Floats
    largest: Floats
    is_sparse: bool

    @classmethod
    def of(cls, X: Matrix, weight: Floats | None = None) -> Moments:
        """Return the moments of rows, weighted by ``weight``."""
        by_row = np.ones(X.shape[0]) if weight is None else weight
        total = float(by_row.sum())
        if not isinstance(X, np.ndarray):
            return cls._of_sparse(X, by_row, total)
        largest = np.abs(X).max(axis=0, initial=0.0).astype(np.float64)
        unit = np.where(largest > 0, largest, 1.0)
        mean = by_row @ (X / unit) / max(total, 1e-300)
        squares = by_row @ (X / unit - mean) ** 2
        return cls(total, mean * unit, squares, largest, False)

    @classmethod
    def _of_sparse(cls, X: Matrix, by_row: Floats, total: float) -> Moments:
        """Return the moments of sparse rows without making them dense."""
        largest = np.asarray(abs(X).max(axis=0).todense(), np.float64).reshape(-1)
        relative = X.multiply(1.0 / np.where(largest > 0, largest, 1.0)).tocsr()
        mean = np.asarray(relative.T @ by_row).reshape(-1) / max(total, 1e-300)
        squares = np.asarray(relative.multiply(relative).T @ by_row).reshape(-1) - total * mean**2
        return cls(total, mean * np.where(largest > 0, largest, 1.0), np.maximum(squares, 0.0), largest, True)

    @classmethod
    def joined(cls, parts: Iterable[Moments]) -> Moments:
        """Return the combined moments of all parts (Chan's formula for the squares)."""
        parts = list(parts)
        weight = sum(part.weight for part in parts)
        largest = np.max([part.largest for part in parts], axis=0)
        unit = np.where(largest > 0, largest, 1.0)
        mean = np.sum([part.weight * (part.mean / unit) for part in parts], axis=0) / max(weight, 1e-300)
        squares = np.sum(
            [
                part.squares * (part.largest / unit) ** 2 + part.weight * (part.mean / unit - mean) ** 2
                for part in parts
            ],
            axis=0,
        )
        return cls(weight, mean * unit, squares, largest, any(part.is_sparse for part in parts))


class Scaling(NamedTuple):
    """Shift and scale of every feature."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, X: Matrix, weight: Floats | None = None) -> Scaling:
        """Return the scaling of these rows."""
        return cls.from_moments(Moments.of(X, weight))

    @classmethod
    def from_moments(cls, moments: Moments) -> Scaling:
        """Return the scaling of rows with these moments; constant features are divided by 1."""
        relative = np.sqrt(moments.squares / max(moments.weight, 1e-300))
        deviation = np.where(relative > CONSTANT, relative * moments.largest, 1.0)
        return cls(np.zeros_like(moments.mean) if moments.is_sparse else moments.mean, deviation)

    def apply(self, X: Matrix) -> Matrix:
        """Return the scaled features, in their own floating-point type."""
        if isinstance(X, np.ndarray):
            scaled = X - self.mean.astype(X.dtype)
            scaled /= self.deviation.astype(X.dtype)
            return scaled
        scaled = X.multiply((1.0 / self.deviation).astype(X.dtype)).tocsr()
        return scaled if not self.mean.any() else np.asarray(scaled.todense() - (self.mean / self.deviation))


def scaled(learner: Any, X: Matrix) -> Matrix:
    """Scale rows as in training, if the learner stores the scaling."""
    if not hasattr(learner, "feature_scale_"):
        return X
    return Scaling(learner.feature_mean_, learner.feature_scale_).apply(X)


def keep(learner: Any, scaling: Scaling) -> None:
    """Store the scaling in a learner."""
    learner.feature_mean_, learner.feature_scale_ = scaling


def forget(learner: Any) -> None:
    """Delete the scaling from a learner whose weights have absorbed it."""
    if hasattr(learner, "feature_scale_"):
        del learner.feature_mean_, learner.feature_scale_
