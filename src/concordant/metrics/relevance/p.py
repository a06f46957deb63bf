"""Precision at a cutoff."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.kernels.codes import Measure
from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import BinaryMetric, CutMetric
from concordant.types import Floats


@dataclass(frozen=True)
class P(CutMetric, BinaryMetric):
    """Share of relevant documents in the top T; without T, in the whole list."""

    aliases = ("precision", "set-p")
    measure = Measure.PRECISION

    def averaged(self, lists: Lists) -> Floats:
        """Return precision, averaged over all orders of tied documents."""
        return self._hits(lists, self.cutoff) / np.maximum(self.cutoff or lists.length, 1)
