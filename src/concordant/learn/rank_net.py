"""RankNet: logistic model of pairwise preferences.

P(i over j) = 1 / (1 + exp(f_j - f_i)); the mean of -log P over the pairs of a query with different labels is minimised.
The model is linear by default, or a neural network with ``hidden``. Use it when the probability that one object beats
another matters. One evaluation costs O(n^2) per query of n rows, plus the products with X. Reference: C. Burges et al.,
Learning to rank using gradient descent, ICML 2005.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.learn._gradient import PairProbabilities
from concordant.losses.ranknet import RankNetLoss


@dataclass(eq=False, repr=False)
class RankNet(PairProbabilities):
    """Pairwise logistic loss (RankNet)."""

    def _loss(self) -> RankNetLoss:
        return RankNetLoss()
