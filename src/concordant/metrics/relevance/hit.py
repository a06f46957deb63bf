"""Hit rate (success) at a cutoff."""

from __future__ import annotations

from dataclasses import dataclass

from concordant.kernels.codes import Measure
from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import BinaryMetric, CutMetric
from concordant.types import Floats


@dataclass(frozen=True)
class Hit(CutMetric, BinaryMetric):
    """Share of the queries with a relevant document in the top T."""

    aliases = ("hit-rate", "success")
    measure = Measure.HIT

    def averaged(self, lists: Lists) -> Floats:
        """Return the probability of a relevant document in the top T, over all orders of tied documents."""
        return lists.sum(self._first_hit(lists), self.cutoff)
