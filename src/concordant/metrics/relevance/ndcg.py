"""Normalised discounted cumulative gain (NDCG)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.kernels.codes import Measure
from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import MIN_POSITIVE, CutMetric
from concordant.params import param
from concordant.types import Floats, Int64s


@dataclass(frozen=True)
class NDCG(CutMetric):
    """Discounted cumulative gain of the top T, divided by that of the ideal order.

    ``sum_{i<=T} (2^l_i - 1)/D(i)``, with ``D(i) = log2(i+1)``, or in the LETOR convention ``D(1) = 1``, ``D(i) =
    log2(i)``, and 0 for a query with fewer than T documents (ranked or judged), as in the LETOR 4.0 script. Linear gain
    replaces ``2^l_i - 1`` by ``l_i``.
    """

    measure = Measure.NDCG
    explicit = ("gain",)
    discount: str = param(
        "log2",
        "rank discount: 1/log2(i+1), or as in the LETOR script, which also gives 0 to queries with fewer documents "
        "than the cutoff",
        choices=("log2", "letor"),
    )
    gain: str = param(
        "exponential", "gain function: 2^label - 1, or the label itself", choices=("exponential", "linear")
    )

    def row(self, largest_label: float) -> list[float]:
        """Return the metric in the form that the kernels take."""
        return [*super().row(largest_label), float(self.discount == "letor"), float(self.gain == "linear")]

    @property
    def convention(self) -> str:
        """Gain and discount in words."""
        gain = "2^label - 1" if self.gain == "exponential" else "the label"
        discount = "log2(i + 1)" if self.discount == "log2" else "log2(i) from rank 2 on (LETOR)"
        return f"{self.gain} gain ({gain}), discount {discount}"

    def averaged(self, lists: Lists) -> Floats:
        """Return NDCG, averaged over all orders of tied documents."""
        gained = lists.sum(
            lists.mean_in_tie(self._gain(lists.gain_label)) / self._discount(lists.position), self.cutoff
        )
        label, position, query = lists.ideal
        is_counted = position <= (self.cutoff or len(position))
        best = self._gain(label[is_counted]) / self._discount(position[is_counted])
        value = gained / np.maximum(np.bincount(query[is_counted], best, lists.n), MIN_POSITIVE)
        if self.discount == "letor" and self.cutoff is not None:
            value = np.where(self.cutoff > lists.documents, 0.0, value)
        return value

    def _gain(self, label: Floats) -> Floats:
        return label if self.gain == "linear" else np.exp2(label) - 1.0

    def _discount(self, position: Int64s) -> Floats:
        return np.log2(np.maximum(position, 2) if self.discount == "letor" else position + 1.0)
