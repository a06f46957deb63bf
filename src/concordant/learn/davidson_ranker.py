"""Davidson's model of pairwise comparisons with ties.

With u = exp(f) and a tie parameter nu = exp(beta), learnt with the weights: P(i over j) is proportional to u_i, P(tie)
to nu sqrt(u_i u_j). Pairs of rows with equal labels are observations of ties. Use it when ties are informative, and
when their probability matters. One evaluation costs O(n^2) per query of n rows. Reference: R. Davidson, On extending
the Bradley-Terry model to accommodate ties in paired comparison experiments, JASA 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from concordant.learn._gradient import PairProbabilities
from concordant.losses.davidson import DavidsonLoss


@dataclass(eq=False, repr=False)
class DavidsonRanker(PairProbabilities):
    """Pairwise model in which equal labels are ties (Davidson)."""

    aliases: ClassVar = ("pair-ties-d",)

    def _loss(self) -> DavidsonLoss:
        return DavidsonLoss()
