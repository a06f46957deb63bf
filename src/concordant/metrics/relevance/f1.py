"""F1 score at a cutoff."""

from __future__ import annotations

from dataclasses import dataclass

from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import BinaryMetric, CutMetric
from concordant.types import Floats


@dataclass(frozen=True)
class F1(CutMetric, BinaryMetric):
    """Harmonic mean of precision and recall in the top T; without T, in the whole list."""

    aliases = ("f", "set-f")

    def averaged(self, lists: Lists) -> Floats:
        """Return F1: twice the relevant documents found, divided by the sum of positions and relevant documents."""
        places = self.cutoff or lists.length
        return 2.0 * self._hits(lists, self.cutoff) / (places + self._relevant(lists))
