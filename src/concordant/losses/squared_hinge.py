"""The squared hinge loss of pairs: max(0, 1 - d)^2 for every pair i over j, d = f_i - f_j.

The smooth sibling of RankSVM's loss, made for Newton's method: its (generalised) second derivative is 2 for every pair
inside the margin and 0 for the others. O(n log n) per query of n objects, like the hinge loss.

Reference: O. Chapelle, S. Keerthi, Efficient algorithms for ranking with SVMs, Information Retrieval 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from concordant import kernels
from concordant.losses._pairwise import PairLoss
from concordant.losses.base import NOTHING, Evaluation
from concordant.losses.queries import Queries
from concordant.types import Floats


@dataclass(frozen=True)
class SquaredHingeLoss(PairLoss):
    """Squared hinge loss of the pairs with different labels."""

    name: ClassVar[str] = "squared-hinge"

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss and its gradient per position."""
        return Evaluation(*kernels.squared_hinge_terms(scores, queries.ptr, queries.tier, queries.weight))

    def hessian_product(self, scores: Floats, queries: Queries, direction: Floats) -> Floats:
        """Return the generalised Hessian times ``direction``, per position."""
        return kernels.squared_hinge_hessian_product(scores, queries.ptr, queries.tier, queries.weight, direction)

    def of_margin(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return max(0, 1 - d)^2 and its slope."""
        excess = np.maximum(1 - margin, 0.0)
        return excess * excess, -2 * excess
