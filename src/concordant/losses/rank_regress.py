"""Rank regression loss: (1 - d)^2 for every pair i over j, d = f_i - f_j.

Least squares on differences: every preferred object should score one more than the other, so pairs with a margin above
1 are penalised as well. O(n) per query of n objects: the sums over all worse (better) objects are cumulative sums over
tiers.

Reference: T. Truyen, D. Phung, S. Venkatesh, Probabilistic models over ordered partitions with applications in document
ranking and collaborative filtering, SDM 2011, where it is a baseline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from concordant import kernels
from concordant.losses._pairwise import PairLoss
from concordant.losses.base import NOTHING, Evaluation
from concordant.losses.queries import Queries
from concordant.types import Floats


@dataclass(frozen=True)
class RankRegressLoss(PairLoss):
    """Squared difference between the margins of pairs and 1."""

    name: ClassVar[str] = "rank-regress"

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss and its gradient per position."""
        return Evaluation(*kernels.regress_terms(scores, *queries.layout, 1.0))

    def hessian_product(self, scores: Floats, queries: Queries, direction: Floats) -> Floats:
        """Return the Hessian times ``direction``, per position.

        The loss is quadratic: its Hessian product is the gradient with margin 0.
        """
        return kernels.regress_terms(direction, *queries.layout, 0.0)[1]

    def of_margin(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return (1 - d)^2 and its derivative."""
        excess = 1 - margin
        return excess * excess, -2 * excess
