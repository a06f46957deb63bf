"""R-precision."""

from __future__ import annotations

from dataclasses import dataclass

from concordant.kernels.codes import Measure
from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import BinaryMetric
from concordant.types import Floats


@dataclass(frozen=True)
class RPrec(BinaryMetric):
    """Precision at rank R, the number of judged relevant documents of the query."""

    aliases = ("r-precision",)
    measure = Measure.R_PRECISION

    def averaged(self, lists: Lists) -> Floats:
        """Return R-precision, averaged over all orders of tied documents."""
        relevant = self._relevant(lists)
        return self._hits(lists, relevant) / relevant
