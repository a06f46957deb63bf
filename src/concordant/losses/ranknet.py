"""The logistic pair loss of RankNet: log(1 + e^-d) for every pair i over j, d = f_i - f_j.

It is minus the log-likelihood of P(i over j) = 1 / (1 + e^-d). Smooth, convex, and mild with outliers: a badly
inverted pair costs about -d. O(n^2) time and O(n) memory per query of n objects, without an exponential per pair (see
logistic.cpp).

Reference: C. Burges et al., Learning to rank using gradient descent, ICML 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from concordant import kernels
from concordant.losses._pairwise import PairLoss, chances_without_ties, sigmoid
from concordant.losses.base import NOTHING, Evaluation
from concordant.losses.queries import Queries
from concordant.types import Floats


@dataclass(frozen=True)
class RankNetLoss(PairLoss):
    """Logistic loss of the pairs with different labels."""

    name: ClassVar[str] = "ranknet"

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss and its gradient per position."""
        value, gradient, _ = kernels.logistic_terms(scores, queries.ptr, queries.tier, queries.weight, 0.0, False)
        return Evaluation(value, gradient)

    def hessian_product(self, scores: Floats, queries: Queries, direction: Floats) -> Floats:
        """Return the Hessian times ``direction``, per position."""
        return kernels.logistic_hessian_product(scores, queries.ptr, queries.tier, queries.weight, direction)

    def of_margin(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return log(1 + e^-d) and its slope."""
        return np.logaddexp(0.0, -margin), -sigmoid(-margin)

    def probabilities(self, margin: Floats, own: Floats = NOTHING) -> Floats:
        """Return the chances to win, tie (none) and lose at a margin: n x 3."""
        return chances_without_ties(margin)
