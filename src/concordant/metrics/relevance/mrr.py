"""Mean reciprocal rank (MRR)."""

from __future__ import annotations

from dataclasses import dataclass

from concordant.kernels.codes import Measure
from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import BinaryMetric, CutMetric
from concordant.types import Floats


@dataclass(frozen=True)
class MRR(CutMetric, BinaryMetric):
    """Reciprocal rank of the first relevant document; 0 if there is none in the top T."""

    aliases = ("rr", "recip-rank")
    measure = Measure.RECIPROCAL_RANK

    def averaged(self, lists: Lists) -> Floats:
        """Return the reciprocal rank, averaged over all orders of tied documents."""
        return lists.sum(self._first_hit(lists) / lists.position, self.cutoff)
