"""LambdaRank: pairwise logistic loss weighted by the change of a metric when two documents swap places.

Each pair in the gradient of RankNet's loss is weighted by the change of NDCG (or ERR, or average precision) if the two
rows swapped places in the current order. This is not the gradient of any function, so the solver is stochastic (adam);
pass ``valid`` to keep the best iteration. Use it when the top of the list matters most. One pass costs O(n^2) per query
of n rows. Reference: C. Burges, From RankNet to LambdaRank to LambdaMART, 2010.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.learn._gradient import RidgeRanker
from concordant.losses.lambdarank import LambdaRankLoss
from concordant.params import param


@dataclass(eq=False, repr=False)
class LambdaRank(RidgeRanker):
    """Pairwise logistic loss, weighted by the change in a metric (LambdaRank)."""

    target: str = param("ndcg", "metric whose change weights the pairs", choices=("ndcg", "err", "ap"))
    cutoff: int | None = param(None, "rank cutoff of the metric; all ranks if not given", low=1)

    def _loss(self) -> LambdaRankLoss:
        return LambdaRankLoss(target=self.target, cutoff=self.cutoff)
