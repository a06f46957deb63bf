"""Mean average precision (MAP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.kernels.codes import Measure
from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import BinaryMetric, CutMetric
from concordant.types import Floats


@dataclass(frozen=True)
class MAP(CutMetric, BinaryMetric):
    """Mean over all judged relevant documents of the precision at their ranks (average precision)."""

    aliases = ("ap",)
    measure = Measure.AVERAGE_PRECISION

    def averaged(self, lists: Lists) -> Floats:
        """Return average precision, averaged over all orders of tied documents.

        Position j of a tie with r relevant documents of n holds a relevant one with probability r/n; then, on average,
        (j-1)(r-1)/(n-1) of the positions above it in the tie hold relevant documents.
        """
        is_relevant = lists.gain_label >= self.threshold
        size, hits = lists.tie_size, lists.in_tie(is_relevant)
        above = np.arange(len(is_relevant)) - lists.tie_start[lists.tie]
        in_tie_above = above * np.maximum(hits - 1, 0.0)[lists.tie] / np.maximum(size - 1, 1)[lists.tie]
        n_relevant = lists.before_tie(is_relevant)[lists.tie] + 1.0 + in_tie_above
        return lists.sum(lists.mean_in_tie(is_relevant) * n_relevant / lists.position, self.cutoff) / self._relevant(
            lists
        )
