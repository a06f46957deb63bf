"""Davidson's model of pairs with ties, with d = f_i - f_j and the weight of ties nu = e^beta learnt with the scores.

    P(i over j) : P(j over i) : P(tie) = e^(d/2) : e^(-d/2) : nu

The loss is the negative log-likelihood of all pairs of a query, where pairs with equal labels are ties. It is jointly
convex in the scores and beta. Use it where equal labels mean "equally good" rather than "not compared". O(n^2) time and
O(n) memory per query of n objects, without an exponential per pair (see logistic.cpp).

Reference: R. Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison experiments, JASA
1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from concordant.kernels.codes import Duel
from concordant.losses.duels import DuelLoss


@dataclass(frozen=True)
class DavidsonLoss(DuelLoss):
    """Negative log-likelihood of pairs and ties under Davidson's model."""

    name: ClassVar[str] = "davidson"
    model: ClassVar[Duel] = Duel.DAVIDSON
