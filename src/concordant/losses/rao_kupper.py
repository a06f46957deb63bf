"""Rao and Kupper's model of pairs with ties, with d = f_i - f_j and a learnt threshold theta = 1 + e^alpha.

    P(i over j) = 1 / (1 + theta e^-d)     P(j over i) = 1 / (1 + theta e^d)     P(tie): the rest

Objects whose scores differ by less than about log theta tend to tie. The loss is the negative log-likelihood of all
pairs of a query, where pairs with equal labels are ties. With c = log theta, P(tie) = (theta^2 - 1) P(i over j) P(j
over i): up to a factor, a tie counts as "each over the other", so the logistic function log(1 + e^(c - d)) is enough
for all pairs. The loss is convex in the scores and c, but not in alpha; every stationary point is still a minimum.
O(n^2) time and O(n) memory per query of n objects, without an exponential per pair (see logistic.cpp).

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
