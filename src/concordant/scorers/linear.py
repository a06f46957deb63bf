"""A linear scorer: score = x'w, for dense or sparse rows.

Products keep the type of X: a float64 vector against a float32 matrix would make NumPy copy the matrix.
"""

from __future__ import annotations

import numpy as np

from concordant.scorers.base import Matrix, Scorer
from concordant.types import Floats


class Linear(Scorer):
    """Score rows by the inner product with a weight vector."""

    def scores(self, X: Matrix, theta: Floats) -> Floats:
        """Return X w."""
        return np.asarray(X @ theta.astype(X.dtype, copy=False)).astype(np.float64, copy=False)

    def backward(self, X: Matrix, theta: Floats, kept: None, gradient: Floats) -> Floats:
        """Return X' g."""
        return np.asarray(X.T @ gradient.astype(X.dtype, copy=False)).astype(np.float64, copy=False)

    def in_raw_units(self, theta: Floats, mean: Floats, deviation: Floats) -> Floats:
        """Return w / deviation; scores change by the constant mean'w / deviation."""
        return np.asarray(theta / deviation)
