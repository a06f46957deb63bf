"""Base classes of retrieval metrics, which evaluate a ranking against relevance labels.

The document at rank i has label ``l_i``; unjudged documents and negative labels count as 0. A query without relevant
documents has the value 0 and is included in the mean (``empty="zero"``), has the value 1 (``"one"``), or is skipped
(``"skip"``: its value is NaN, which ``metrics.mean`` ignores). A metric with a ``measure`` is computed by the kernels.
Every metric can also be computed from arrays (``averaged``), averaged over all orders of tied documents.
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
    """A metric that evaluates a ranked list against relevance labels."""

    kind: ClassVar[str] = "retrieval"
    measure: ClassVar[Measure | None] = None
    empty: str = param("zero", "value for a query without relevant documents", choices=tuple(_EMPTY))

    def row(self, largest_label: float) -> list[float]:
        """Return the metric in the form that the kernels take (see ``kernels.codes``).

        Parameters
        ----------
        largest_label : float
            Largest label of the data.

        Returns
        -------
        list of float
            Code, cutoff and options.
        """
        assert self.measure is not None
        return [self.measure, getattr(self, "cutoff", None) or 0, _EMPTY[self.empty]]

    def averaged(self, lists: Lists) -> Floats:
        """Return the value of every list with relevant documents, averaged over all orders of tied documents.

        Parameters
        ----------
        lists : Lists
            Ranked lists.

        Returns
        -------
        ndarray of float64
            One value per list.
        """
        raise NotImplementedError

    def values(self, lists: Lists) -> Floats:
        """Return the value of every list, that of ``empty`` for lists without relevant documents.

        Parameters
        ----------
        lists : Lists
            Ranked lists.

        Returns
        -------
        ndarray of float64
            One value per list.
        """
        lowest: float = self.threshold if isinstance(self, BinaryMetric) else MIN_POSITIVE
        return np.where(lists.relevant(lowest) > 0, self.averaged(lists), _EMPTY[self.empty])


@dataclass(frozen=True, kw_only=True)
class ListMetric(RetrievalMetric):
    """A metric computed in Python, list by list; the base class for metrics of other packages."""

    def value(self, ranked: Floats, judged: Floats) -> float:
        """Return the value of one list; subclasses implement this.

        Parameters
        ----------
        ranked : ndarray of float64
            Labels in rank order; unjudged documents have label 0.
        judged : ndarray of float64
            Labels of all judged documents of the query, in decreasing order.

        Returns
        -------
        float
            The value.
        """
        raise NotImplementedError

    def values(self, lists: Lists) -> Floats:
        """Return the value of every list.

        Parameters
        ----------
        lists : Lists
            Ranked lists.

        Returns
        -------
        ndarray of float64
            One value per list.
        """
        return np.array([self._value(lists, q) for q in range(lists.n)])

    def _value(self, lists: Lists, q: int) -> float:
        """Return the value of list q, that of ``empty`` if it has no relevant documents."""
        judged = lists.judged[lists.judged_ptr[q] : lists.judged_ptr[q + 1]]
        judged = -np.sort(-np.maximum(judged[~np.isnan(judged)], 0.0))
        if not judged.any():
            return _EMPTY[self.empty]
        return float(self.value(lists.gain_label[lists.ptr[q] : lists.ptr[q + 1]], judged))


@dataclass(frozen=True, kw_only=True)
class BinaryMetric(RetrievalMetric):
    """A metric for binary relevance."""

    threshold: float = param(1.0, "minimum label that counts as relevant, above 0")

    def __post_init__(self) -> None:
        """Raise ParameterError for a threshold that would make unjudged documents relevant."""
        super().__post_init__()
        if not 0 < self.threshold < np.inf:
            raise ParameterError(f"threshold={self.threshold:g} of {self.name} is out of range: give a number above 0.")

    def row(self, largest_label: float) -> list[float]:
        """Return the metric in the form that the kernels take."""
        return [*super().row(largest_label), float(self.threshold), 0.0]

    def _hits(self, lists: Lists, cutoff: int | Floats | None, weight: AnyArray | float = 1.0) -> Floats:
        """Return the number of relevant documents in the top positions, weighted by position."""
        return lists.sum(weight * lists.mean_in_tie(lists.gain_label >= self.threshold), cutoff)

    def _first_hit(self, lists: Lists) -> Floats:
        """Return, for each position, the probability that the first relevant document is there."""
        return lists.chance_to_stop((lists.gain_label >= self.threshold).astype(np.float64))

    def _relevant(self, lists: Lists) -> Floats:
        """Return the number of relevant judged documents, at least 1."""
        return np.maximum(lists.relevant(self.threshold), 1.0)


@dataclass(frozen=True)
class CutMetric(RetrievalMetric):
    """A metric with an optional rank cutoff."""

    cutoff: int | None = param(None, "rank cutoff; all documents if not given", low=1)
