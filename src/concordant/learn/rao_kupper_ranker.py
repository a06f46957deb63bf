"""Rao and Kupper's model of pairwise comparisons with ties.

With u = exp(f) and a threshold theta = 1 + exp(alpha), learnt with the weights: P(i over j) = u_i / (u_i + theta u_j),
and the remaining probability is that of a tie: differences below a threshold are not noticed. Use it when ties mean
"too close to call". One evaluation costs O(n^2) per query of n rows. Reference: P. Rao, L. Kupper, Ties in
paired-comparison experiments: a generalization of the Bradley-Terry model, JASA 1967.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from concordant.learn._gradient import PairProbabilities
from concordant.losses.rao_kupper import RaoKupperLoss


@dataclass(eq=False, repr=False)
class RaoKupperRanker(PairProbabilities):
    """Pairwise model in which close scores are ties (Rao and Kupper)."""

    aliases: ClassVar = ("pair-ties-rk",)

    def _loss(self) -> RaoKupperLoss:
        return RaoKupperLoss()
