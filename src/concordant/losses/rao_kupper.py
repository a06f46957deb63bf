"""Rao and Kupper's model of pairs with ties, d = f_i - f_j and theta = 1 + e^alpha a threshold learnt with the scores.

    P(i over j) = 1 / (1 + theta e^-d)     P(j over i) = 1 / (1 + theta e^d)     P(tie): what is left

Objects closer than log theta are hard to tell apart, so they tie. The loss is minus the log-likelihood of all pairs of
a query, pairs of equal labels being ties. With c = log theta, P(tie) = (theta^2 - 1) P(i over j) P(j over i): a tie is
"each over the other" but for a factor, so that one logistic function log(1 + e^(c - d)) serves all pairs. Convex in the
scores and c; not in alpha, though every stationary point is a minimum. O(n^2) time and O(n) memory per query of n
objects, without an exponential per pair (see logistic.cpp).

Reference: P. Rao, L. Kupper, Ties in paired-comparison experiments: a generalization of the Bradley-Terry model, JASA
1967.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from concordant.kernels.codes import Duel
from concordant.losses.duels import DuelLoss


@dataclass(frozen=True)
class RaoKupperLoss(DuelLoss):
    """Negative log-likelihood of pairs and ties under Rao and Kupper's model."""

    name: ClassVar[str] = "rao-kupper"
    model: ClassVar[Duel] = Duel.RAO_KUPPER
    is_convex: ClassVar[bool] = False
