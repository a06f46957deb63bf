"""Base class of scorers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from concordant.types import Floats

Matrix = Any  # a dense array or a SciPy sparse CSR matrix, float32 or float64


class Scorer(ABC):
    """A function f(x; theta) of rows of features."""

    is_linear: ClassVar[bool] = True  # in the parameters, so that scores at a direction are the change along it

    def __init__(self, size: int) -> None:
        self.size = size  # the number of parameters

    def start(self, rng: np.random.Generator) -> Floats:
        """Return the initial parameters."""
        return np.zeros(self.size)

    @abstractmethod
    def scores(self, X: Matrix, theta: Floats) -> Floats:
        """Return the score of every row."""

    def forward(self, X: Matrix, theta: Floats) -> tuple[Floats, Any]:
        """Return the scores, and intermediate results that ``backward`` needs."""
        return self.scores(X, theta), None

    @abstractmethod
    def backward(self, X: Matrix, theta: Floats, kept: Any, gradient: Floats) -> Floats:
        """Backpropagate: return the gradient with respect to the parameters, given the ``gradient`` for the scores."""

    def penalised(self) -> Floats:
        """Return 1 for every parameter with a ridge penalty, 0 for the others (biases)."""
        return np.ones(self.size)

    def in_raw_units(self, theta: Floats, mean: Floats, deviation: Floats) -> Floats:
        """Return the parameters for raw features, from those for (x - mean) / deviation.

        Scores may change by a constant.
        """
        return theta
