"""The hinge loss of pairs, RankSVM's: max(0, 1 - d) for every pair i over j, d = f_i - f_j.

A pair stops to matter once it is right by a margin of 1. Convex but not smooth: the gradient is a subgradient, which
takes a pair exactly at the margin for one that costs nothing. O(n log n) per query of n objects, for any number of
labels: a pair costs something where f_j > f_i - 1, so a gradient is a matter of counting, and one walk along the sorted
scores counts for all objects (see margins.cpp).

Reference: T. Joachims, A support vector method for multivariate performance measures, ICML 2005 (the counting).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from concordant.losses._pairwise import PairLoss
from concordant.types import Floats


@dataclass(frozen=True)
class HingeLoss(PairLoss):
    """Hinge loss over pairs with different labels."""

    name: ClassVar[str] = "hinge"
    is_smooth: ClassVar[bool] = False

    def of_margin(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return max(0, 1 - d) and its slope."""
        excess = 1 - margin
        return np.maximum(excess, 0.0), -(excess > 0).astype(np.float64)
