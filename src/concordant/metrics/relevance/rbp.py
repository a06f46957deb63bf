"""Rank-biased precision (RBP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import BinaryMetric, CutMetric
from concordant.params import param
from concordant.types import Floats


@dataclass(frozen=True)
class RBP(CutMetric, BinaryMetric):
    """Expected share of relevant documents seen by a user who continues with probability p.

    ``(1 - p) sum_i p^(i-1) [l_i is relevant]`` (Moffat and Zobel 2008).
    """

    p: float = param(0.8, "persistence: probability of continuing to the next document", low=0, high=1)

    def averaged(self, lists: Lists) -> Floats:
        """Return rank-biased precision, averaged over all orders of tied documents."""
        return self._hits(lists, self.cutoff, (1.0 - self.p) * np.power(self.p, lists.position - 1.0))
