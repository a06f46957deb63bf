"""Base class of pairwise losses: a function of the margin d = f_i - f_j of a pair "i over j"."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from concordant import kernels
from concordant.losses.base import NOTHING, Evaluation, Loss
from concordant.losses.queries import Pairs, Queries
from concordant.types import Floats


class PairLoss(Loss):
    """A loss over pairs with different labels; its kernels have its name as prefix."""

    unit: ClassVar[str] = "pair"

    @abstractmethod
    def of_margin(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return the loss of pairs with these margins, and its derivative."""

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss and its gradient per position, by the kernel ``<name>_terms``."""
        terms = getattr(kernels, f"{self.name.replace('-', '_')}_terms")
        return Evaluation(*terms(scores, *queries.layout))

    def hessian_product(self, scores: Floats, queries: Queries, direction: Floats) -> Floats:
        """Return the (generalised) Hessian times ``direction``, per position."""
        if not self.is_smooth:
            return super().hessian_product(scores, queries, direction)
        product = getattr(kernels, f"{self.name.replace('-', '_')}_hessian_product")
        return np.asarray(product(scores, *queries.layout, direction))

    def evaluate_pairs(self, scores: Floats, pairs: Pairs, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss of explicit pairs and its gradient per row."""
        pairs.refuse_ties(self.name)
        value, slope = self.of_margin(scores[pairs.better] - scores[pairs.worse])
        slope *= pairs.weight
        return Evaluation(float(pairs.weight @ value), pairs.by_row(slope, len(scores)))
