"""A linear scorer: score = x'w, on dense or sparse rows.

Products keep the type of X: a float64 vector against a float32 matrix would make NumPy copy the matrix.
"""

from __future__ import annotations

import numpy as np

from concordant.scorers.base import Matrix, Scorer
from concordant.types import Floats


class Linear(Scorer):
    """Score rows by the inner product with a weight vector."""

    def __init__(self, n_features: int) -> None:
        self.size = n_features

    def start(self, rng: np.random.Generator) -> Floats:
        """Begin with zero weights."""
        return np.zeros(self.size)

    def scores(self, X: Matrix, theta: Floats) -> Floats:
        """Return X w."""
        return np.asarray(X @ theta.astype(X.dtype, copy=False)).astype(np.float64, copy=False)

    def forward(self, X: Matrix, theta: Floats) -> tuple[Floats, None]:
        """Return X w."""
        return self.scores(X, theta), None

    def backward(self, X: Matrix, theta: Floats, kept: None, gradient: Floats) -> Floats:
        """Return X' g."""
        return np.asarray(X.T @ gradient.astype(X.dtype, copy=False)).astype(np.float64, copy=False)
