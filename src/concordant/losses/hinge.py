"""Hinge pair loss (RankSVM): max(0, 1 - d) for every pair i over j, d = f_i - f_j.

A pair with a margin of at least 1 has no loss. Convex but not smooth: the gradient is a subgradient, which is 0 for a
pair exactly at the margin. O(n log n) per query of n objects, for any number of labels: a pair has a loss if f_j > f_i
- 1, so the gradient is a count of such pairs, and one pass over the sorted scores counts them for all objects (see
margins.cpp).

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
        """Return max(0, 1 - d) and its derivative."""
        excess = 1 - margin
        return np.maximum(excess, 0.0), -(excess > 0).astype(np.float64)
