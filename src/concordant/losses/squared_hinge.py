"""Squared hinge pair loss: max(0, 1 - d)^2 for every pair i over j, d = f_i - f_j.

The smooth variant of RankSVM's loss, suitable for Newton's method: its (generalised) second derivative is 2 for every
pair within the margin and 0 for the others. O(n log n) per query of n objects, like the hinge loss.

Reference: O. Chapelle, S. Keerthi, Efficient algorithms for ranking with SVMs, Information Retrieval 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from concordant.losses._pairwise import PairLoss
from concordant.types import Floats


@dataclass(frozen=True)
class SquaredHingeLoss(PairLoss):
    """Squared hinge loss over pairs with different labels."""

    name: ClassVar[str] = "squared-hinge"

    def of_margin(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return max(0, 1 - d)^2 and its derivative."""
        excess = np.maximum(1 - margin, 0.0)
        return excess * excess, -2 * excess
