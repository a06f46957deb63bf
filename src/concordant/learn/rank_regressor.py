"""Rank regression: least squares on pairwise score differences.

The mean of (1 - (f_i - f_j))^2 over the pairs i over j of every query is minimised. Use it as a fast baseline: one
evaluation costs O(n) per query of n rows, plus the products with X. Reference: T. Tran, D. Phung, S. Venkatesh,
Modelling human preferences for ranking and collaborative filtering, 2013, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from concordant.learn._gradient import RidgeRanker
from concordant.losses.rank_regress import RankRegressLoss


@dataclass(eq=False, repr=False)
class RankRegressor(RidgeRanker):
    """Least squares on pairwise differences."""

    aliases: ClassVar = ("rank-regress",)

    def _loss(self) -> RankRegressLoss:
        return RankRegressLoss()
