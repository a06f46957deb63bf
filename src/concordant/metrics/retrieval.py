"""Retrieval metrics: how good is a ranking of documents, given how relevant they are?

A ranking puts the document with label ``l_1`` first, ``l_2`` second, …; an unjudged document counts as label 0,
and so does a negative label. A query without anything relevant scores 0 and stays in the mean
(``empty="zero"``), or scores 1 (``"one"``), or is left out (``"skip"``: its value is NaN and ``metrics.mean`` passes
over it).

A metric with a ``measure`` is computed by the kernels; every metric can be computed on arrays (``averaged``), which
also takes the mean over all orders of tied documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from concordant.errors import ParameterError
from concordant.kernels.codes import Measure
from concordant.metrics.lists import Lists
from concordant.metrics.value import Metric
from concordant.params import param
from concordant.types import AnyArray, Floats

MIN_POSITIVE = float(np.nextafter(0.0, 1.0))
_EMPTY = {"zero": 0.0, "one": 1.0, "skip": np.nan}
# 2^label must stay far from overflow even when a thousand gains are added.
LARGEST_LABEL = 900.0


@dataclass(frozen=True, kw_only=True)
class RetrievalMetric(Metric):
    """A metric of one ranked list against relevance labels."""

    kind: ClassVar[str] = "retrieval"
    measure: ClassVar[Measure | None] = None
    empty: str = param("zero", "value of a query without relevant documents", choices=tuple(_EMPTY))

    def row(self, largest_label: float) -> list[float]:
        """Return the metric as the kernels read it (see ``kernels.codes``)."""
        assert self.measure is not None
        return [self.measure, getattr(self, "cutoff", None) or 0, _EMPTY[self.empty]]

    def averaged(self, lists: Lists) -> Floats:
        """Return the value of every list that has anything relevant, averaged over all orders inside ties."""
        raise NotImplementedError

    def values(self, lists: Lists) -> Floats:
        """Return the value of every list, ``empty`` for those without relevant documents."""
        lowest: float = self.threshold if isinstance(self, BinaryMetric) else MIN_POSITIVE
        return np.where(lists.relevant(lowest) > 0, self.averaged(lists), _EMPTY[self.empty])


@dataclass(frozen=True, kw_only=True)
class ListMetric(RetrievalMetric):
    """A metric computed in Python, one list after the other: the way for metrics of other packages."""

    def value(self, ranked: Floats, judged: Floats) -> float:
        """Return the value of one list: its labels best first, and all judged labels of the query, best first."""
        raise NotImplementedError

    def values(self, lists: Lists) -> Floats:
        """Return the value of every list."""
        return np.array([self._value(lists, q) for q in range(lists.n)])

    def _value(self, lists: Lists, q: int) -> float:
        """Return the value of list q, ``empty`` if nothing is relevant."""
        judged = lists.judged[lists.judged_ptr[q] : lists.judged_ptr[q + 1]]
        judged = -np.sort(-np.maximum(judged[~np.isnan(judged)], 0.0))
        if not judged.any():
            return _EMPTY[self.empty]
        return float(self.value(lists.gain_label[lists.ptr[q] : lists.ptr[q + 1]], judged))


@dataclass(frozen=True, kw_only=True)
class BinaryMetric(RetrievalMetric):
    """A metric that only asks whether a document is relevant."""

    threshold: float = param(1.0, "minimum label that counts as relevant, above 0")

    def __post_init__(self) -> None:
        """Reject a threshold that would make unjudged documents relevant."""
        super().__post_init__()
        if not 0 < self.threshold < np.inf:
            raise ParameterError(f"threshold={self.threshold:g} of {self.name} is out of range: give a number above 0.")

    def row(self, largest_label: float) -> list[float]:
        """Return the metric as the kernels read it."""
        return [*super().row(largest_label), float(self.threshold), 0.0]

    def _hits(self, lists: Lists, cutoff: int | Floats | None, weight: AnyArray | float = 1.0) -> Floats:
        """Return the number of relevant documents among the best, each weighted by its place."""
        return lists.sum(weight * lists.mean_in_tie(lists.gain_label >= self.threshold), cutoff)

    def _first_hit(self, lists: Lists) -> Floats:
        """Return, for each place, the probability that the first relevant document is there."""
        return lists.chance_to_stop((lists.gain_label >= self.threshold).astype(np.float64))

    def _relevant(self, lists: Lists) -> Floats:
        """Return how many documents are judged relevant, at least 1."""
        return np.maximum(lists.relevant(self.threshold), 1.0)


@dataclass(frozen=True)
class CutMetric(RetrievalMetric):
    """A metric that may look at the best documents only."""

    cutoff: int | None = param(None, "rank cutoff; all documents if not given", low=1)
