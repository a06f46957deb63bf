"""Logistic pair loss (RankNet): log(1 + e^-d) for every pair i over j, d = f_i - f_j.

It is the negative log-likelihood of P(i over j) = 1 / (1 + e^-d). Smooth, convex, and robust to outliers: a strongly
discordant pair costs about -d. O(n^2) time and O(n) memory per query of n objects, without an exponential per pair (see
logistic.cpp).

Reference: C. Burges et al., Learning to rank using gradient descent, ICML 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from concordant import kernels
from concordant.kernels.codes import Duel
from concordant.losses.duels import DuelLoss
from concordant.losses.queries import Queries
from concordant.types import Floats


@dataclass(frozen=True)
class RankNetLoss(DuelLoss):
    """Logistic loss over pairs with different labels."""

    name: ClassVar[str] = "ranknet"
    unit: ClassVar[str] = "pair"
    own_start: ClassVar[tuple[float, ...]] = ()
    model: ClassVar[Duel] = Duel.BRADLEY_TERRY

    def hessian_product(self, scores: Floats, queries: Queries, direction: Floats) -> Floats:
        """Return the Hessian times ``direction``, per position."""
        return kernels.logistic_hessian_product(scores, *queries.layout, direction)
