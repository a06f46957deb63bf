"""Recall at a cutoff."""

from __future__ import annotations

from dataclasses import dataclass

from concordant.kernels.codes import Measure
from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import BinaryMetric, CutMetric
from concordant.types import Floats


@dataclass(frozen=True)
class Recall(CutMetric, BinaryMetric):
    """Share of the judged relevant documents in the top T."""

    aliases = ("set-recall",)
    measure = Measure.RECALL

    def averaged(self, lists: Lists) -> Floats:
        """Return recall, averaged over all orders of tied documents."""
        return self._hits(lists, self.cutoff) / self._relevant(lists)
