"""Base class of losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from concordant.errors import NeedError, arg
from concordant.losses.queries import Pairs, Queries
from concordant.params import document
from concordant.types import AnyArray, Floats, Int64s

NOTHING: Floats = np.zeros(0)


class Evaluation(NamedTuple):
    """A loss at given scores: value, gradient per position (or row), and gradient for the parameters of the loss."""

    value: float
    gradient: Floats
    own: Floats = NOTHING


class Step(NamedTuple):
    """A step of plain stochastic gradient descent: theta <- (1 - decay) theta - rate gradient."""

    rate: float
    decay: float


class Loss(ABC):
    """A function of scores, summed over queries with their weights. Subclasses are frozen dataclasses of settings.

    ``own`` are the parameters of the loss that are learnt with the scores (such as a tie parameter).
    """

    name: ClassVar[str]
    unit: ClassVar[str] = "query"  # what a mean is taken over: "query", "pair", or "pair or tie"
    is_convex: ClassVar[bool] = True
    is_smooth: ClassVar[bool] = True
    is_exact: ClassVar[bool] = True  # False: the gradient is estimated, or belongs to no function; no line searches
    own_start: ClassVar[tuple[float, ...]] = ()

    def __init_subclass__(cls) -> None:
        document(cls)

    @abstractmethod
    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the weighted sum of the queries' losses at ``scores`` (per position) with its gradients."""

    def hessian_product(self, scores: Floats, queries: Queries, direction: Floats) -> Floats:
        """Return the Hessian at ``scores`` times ``direction``, per position."""
        raise NeedError(f"The {self.name} loss has no Hessian: use " + arg("solver", "lbfgs") + " instead.")

    def evaluate_pairs(self, scores: Floats, pairs: Pairs, own: Floats = NOTHING) -> Evaluation:
        """Return the weighted sum of the losses of explicit pairs; scores and gradient are per row."""
        raise NeedError(f"The {self.name} loss is listwise: give labels (y) and queries instead of pairs.")

    def descend(
        self, X: AnyArray, queries: Queries, visits: Int64s, theta: Floats, step: Step
    ) -> tuple[Floats, float] | None:
        """Take a step per query visited, with scores X theta: (theta, summed loss); None if there is no kernel."""
        return None

    def probabilities(self, margin: Floats, own: Floats = NOTHING) -> Floats:
        """Return the probabilities of a win, a tie and a loss at margins d = f_i - f_j: n x 3."""
        raise NeedError(f"The {self.name} loss does not define probabilities: use DavidsonRanker or RankNet.")

    def fitted_to(self, queries: Queries) -> Loss:
        """Return the loss with settings taken from all of the data, because later calls may see only parts of it."""
        return self

    def units(self, queries: Queries) -> Floats:
        """Return the number of units (see ``unit``) of every query: the mean loss divides by their weighted sum."""
        if self.unit == "query":
            return np.ones(len(queries))
        return queries.pairs + queries.tied_pairs if self.unit == "pair or tie" else queries.pairs
