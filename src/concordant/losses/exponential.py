"""Exponential pair loss (RankBoost): e^-d for every pair i over j, d = f_i - f_j.

It is an upper bound on the number of discordant pairs and is sensitive to outliers. O(n) per query of n objects: e^-d
is the product of e^-f_i and e^f_j, so the sum over pairs is a sum of products of cumulative sums over tiers. If the
scores of a query span more than 600, its pairs are enumerated; beyond a margin of -600 the loss continues along its
tangent, so that it never overflows.

Reference: Y. Freund, R. Iyer, R. Schapire, Y. Singer, An efficient boosting algorithm for combining preferences, JMLR
2003.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from concordant.losses._pairwise import PairLoss
from concordant.types import Floats

_WIDEST = 600.0


@dataclass(frozen=True)
class ExponentialLoss(PairLoss):
    """Exponential loss over pairs with different labels."""

    name: ClassVar[str] = "exponential"

    def of_margin(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return e^-d and its derivative; beyond -d = 600 the loss continues along its tangent."""
        bounded = np.minimum(-margin, _WIDEST)
        power = np.exp(bounded)
        return power * (1 - margin - bounded), -power
