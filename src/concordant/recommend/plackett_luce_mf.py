"""Plackett-Luce matrix factorisation: hidden factors that explain the order in which an agent put items.

f(u, i) = c_i + p_u · q_i, and the ranking of an agent has the likelihood of choosing its items one by one, each with
chances in proportion to exp(f) among those that remain. Ratings are sorted first, which breaks ties by the order of
the data: the tie-blind sibling of ordered-partition-mf, there for comparison and for data without ties (rankings).

Cost: as ordered-partition-mf. Reference: Y. Shi, M. Larson and A. Hanjalic, List-wise learning to rank with matrix
factorization for collaborative filtering, RecSys 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from concordant.recommend._factors import AlternatingRecommender
from concordant.recommend._losses import Loss, RatingLoss
from concordant.recommend._observed import Observed


@dataclass(frozen=True, kw_only=True)
class PlackettLuceMF(AlternatingRecommender):
    """Hidden factors that explain the order in which an agent put items, blind to ties."""

    aliases: ClassVar = {"list-rank": {}, "listrank-mf": {}}

    @property
    def _has_noise(self) -> bool:
        return False

    @property
    def _centre(self) -> Callable[[Observed], float]:
        return lambda _: 0.0

    def _loss(self, noise: float) -> Loss:
        return RatingLoss(squared=0.0, listwise=1.0, is_strict=True, name=self.name)
