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
from concordant.registry import METRICS
from concordant.types import AnyArray, Floats, Int64s

_LEAST_POSITIVE = float(np.nextafter(0.0, 1.0))
_EMPTY = {"zero": 0.0, "one": 1.0, "skip": np.nan}
# 2^label must stay far from overflow even when a thousand gains are added.
LARGEST_LABEL = 900.0


@dataclass(frozen=True, kw_only=True)
class RetrievalMetric(Metric):
    """A metric of one ranked list against relevance labels."""

    kind: ClassVar[str] = "retrieval"
    measure: ClassVar[Measure | None] = None
    empty: str = param("zero", "value of a query without anything relevant", choices=tuple(_EMPTY))

    def row(self, largest_label: float) -> list[float]:
        """Return the metric as the kernels read it (see ``kernels.codes``)."""
        assert self.measure is not None
        return [self.measure, getattr(self, "cutoff", None) or 0, _EMPTY[self.empty]]

    def averaged(self, lists: Lists) -> Floats:
        """Return the value of every list that has anything relevant, its mean over all orders inside ties."""
        raise NotImplementedError

    def values(self, lists: Lists) -> Floats:
        """Return the value of every list."""
        least: float = self.threshold if isinstance(self, BinaryMetric) else _LEAST_POSITIVE
        return np.where(lists.relevant(least) > 0, self.averaged(lists), _EMPTY[self.empty])


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
        judged = lists.judged[lists.judged_ptr[q] : lists.judged_ptr[q + 1]]
        judged = -np.sort(-np.maximum(judged[~np.isnan(judged)], 0.0))
        if not judged.any():
            return _EMPTY[self.empty]
        return float(self.value(lists.gain_label[lists.ptr[q] : lists.ptr[q + 1]], judged))


@dataclass(frozen=True, kw_only=True)
class BinaryMetric(RetrievalMetric):
    """A metric that only asks whether a document is relevant."""

    threshold: float = param(1.0, "the least label that counts as relevant, above 0")

    def __post_init__(self) -> None:
        """Refuse a threshold that would make unjudged documents relevant."""
        super().__post_init__()
        if not 0 < self.threshold < np.inf:
            raise ParameterError(f"threshold={self.threshold:g} of {self.name} is out of range: give a number above 0.")

    def row(self, largest_label: float) -> list[float]:
        """Return the metric as the kernels read it."""
        return [*super().row(largest_label), float(self.threshold), 0.0]

    def _hits(self, lists: Lists, cutoff: int | Floats | None, weight: AnyArray | float = 1.0) -> Floats:
        """Return how many of the best are relevant, each counted by the weight of its place."""
        return lists.sum(weight * lists.mean_in_tie(lists.gain_label >= self.threshold), cutoff)

    def _first_hit(self, lists: Lists) -> Floats:
        """Return, for each place, the chance that the first relevant document stands there."""
        return lists.chance_to_stop((lists.gain_label >= self.threshold).astype(np.float64))

    def _relevant(self, lists: Lists) -> Floats:
        """Return how many documents are judged relevant, at least 1."""
        return np.maximum(lists.relevant(self.threshold), 1.0)


@dataclass(frozen=True)
class CutMetric(RetrievalMetric):
    """A metric that may look at the best documents only."""

    cutoff: int | None = param(None, "how many of the best documents count; all if not given", low=1)


@METRICS.add
@dataclass(frozen=True)
class NDCG(CutMetric):
    """Discounted cumulative gain of the best T over that of the ideal order.

    ``sum_{i<=T} (2^l_i - 1)/D(i)``, with ``D(i) = log2(i+1)``, or in the LETOR convention ``D(1) = 1``,
    ``D(i) = log2(i)``, and 0 for a query with fewer than T documents (ranked or judged), as the script of LETOR 4.0
    has it; linear gain puts ``l_i`` for ``2^l_i - 1``.
    """

    name = "ndcg"
    measure = Measure.NDCG
    explicit = ("gain",)
    discount: str = param(
        "log2", "log2(i+1) at place i, or as LETOR's script: 0 if documents are too few", choices=("log2", "letor")
    )
    gain: str = param("exponential", "2^label - 1, or the label itself", choices=("exponential", "linear"))

    def row(self, largest_label: float) -> list[float]:
        """Return the metric as the kernels read it."""
        return [*super().row(largest_label), float(self.discount == "letor"), float(self.gain == "linear")]

    @property
    def convention(self) -> str:
        """Gain and discount in words."""
        gain = "2^label - 1" if self.gain == "exponential" else "the label"
        discount = "log2(i + 1)" if self.discount == "log2" else "log2(i) from place 2 on (LETOR)"
        return f"{self.gain} gain ({gain}), discount {discount}"

    def averaged(self, lists: Lists) -> Floats:
        """Return NDCG, its mean over all orders inside ties."""
        gained = lists.sum(
            lists.mean_in_tie(self._gain(lists.gain_label)) / self._discount(lists.position), self.cutoff
        )
        label, position, query = lists.ideal
        counted = position <= (self.cutoff or len(position))
        best = self._gain(label[counted]) / self._discount(position[counted])
        value = gained / np.maximum(np.bincount(query[counted], best, lists.n), _LEAST_POSITIVE)
        if self.discount == "letor" and self.cutoff is not None:
            value = np.where(self.cutoff > lists.documents, 0.0, value)
        return value

    def _gain(self, label: Floats) -> Floats:
        return label if self.gain == "linear" else np.exp2(label) - 1.0

    def _discount(self, position: Int64s) -> Floats:
        return np.log2(np.maximum(position, 2) if self.discount == "letor" else position + 1.0)


@METRICS.add
@dataclass(frozen=True)
class Precision(CutMetric, BinaryMetric):
    """Share of the best T places that hold a relevant document; without T, of the whole list."""

    name = "p"
    aliases = ("precision", "set-p")
    measure = Measure.PRECISION

    def averaged(self, lists: Lists) -> Floats:
        """Return precision, its mean over all orders inside ties."""
        return self._hits(lists, self.cutoff) / np.maximum(self.cutoff or lists.length, 1)


@METRICS.add
@dataclass(frozen=True)
class MeanAveragePrecision(CutMetric, BinaryMetric):
    """Mean precision at the places of the relevant documents, over all judged relevant ones."""

    name = "map"
    aliases = ("ap",)
    measure = Measure.AVERAGE_PRECISION

    def averaged(self, lists: Lists) -> Floats:
        """Return average precision, its mean over all orders inside ties.

        Place j of a tie with r relevant documents of n holds a relevant one with chance r/n, and then (j-1)(r-1)/(n-1)
        of the places above it in the tie do.
        """
        hit = lists.gain_label >= self.threshold
        size, hits = lists.tie_size, lists.in_tie(hit)
        above = np.arange(len(hit)) - lists.tie_start[lists.tie]
        beside = above * np.maximum(hits - 1, 0.0)[lists.tie] / np.maximum(size - 1, 1)[lists.tie]
        found = lists.before_tie(hit)[lists.tie] + 1.0 + beside
        return lists.sum(lists.mean_in_tie(hit) * found / lists.position, self.cutoff) / self._relevant(lists)


@METRICS.add
@dataclass(frozen=True)
class ExpectedReciprocalRank(CutMetric):
    """Expected reciprocal of the place where a user stops who is satisfied by better labels sooner.

    The user stops at place i with probability ``V_i = (2^l_i - 1)/2^lmax``: the metric is
    ``sum_i (1/i) V_i prod_{j<i} (1 - V_j)``.
    """

    name = "err"
    measure = Measure.EXPECTED_RECIPROCAL_RANK
    lmax: float | None = param(
        None, "the largest label of the scale; the data's if not given", low=0, high=LARGEST_LABEL
    )

    def row(self, largest_label: float) -> list[float]:
        """Return the metric as the kernels read it."""
        lmax = largest_label if self.lmax is None else self.lmax
        if largest_label > lmax:
            raise ParameterError(f"lmax={lmax:g} of err is below the largest label: give at least {largest_label:g}.")
        return [*super().row(largest_label), float(lmax), 0.0]

    def averaged(self, lists: Lists) -> Floats:
        """Return the expected reciprocal rank, its mean over all orders inside ties."""
        scale = np.exp2(self.row(lists.largest)[3])
        stops = lists.chance_to_stop((np.exp2(lists.gain_label) - 1.0) / scale)
        return lists.sum(stops / lists.position, self.cutoff)


@METRICS.add
@dataclass(frozen=True)
class MeanReciprocalRank(CutMetric, BinaryMetric):
    """Reciprocal of the place of the first relevant document; 0 if none is among the best T."""

    name = "mrr"
    aliases = ("rr", "recip-rank")
    measure = Measure.RECIPROCAL_RANK

    def averaged(self, lists: Lists) -> Floats:
        """Return the reciprocal rank, its mean over all orders inside ties."""
        return lists.sum(self._first_hit(lists) / lists.position, self.cutoff)


@METRICS.add
@dataclass(frozen=True)
class Recall(CutMetric, BinaryMetric):
    """Share of the judged relevant documents that are among the best T."""

    name = "recall"
    aliases = ("set-recall",)
    measure = Measure.RECALL

    def averaged(self, lists: Lists) -> Floats:
        """Return recall, its mean over all orders inside ties."""
        return self._hits(lists, self.cutoff) / self._relevant(lists)


@METRICS.add
@dataclass(frozen=True)
class HitRate(CutMetric, BinaryMetric):
    """Share of the queries with a relevant document among the best T."""

    name = "hit"
    aliases = ("hit-rate", "success")
    measure = Measure.HIT

    def averaged(self, lists: Lists) -> Floats:
        """Return the chance of a relevant document among the best T over all orders inside ties."""
        return lists.sum(self._first_hit(lists), self.cutoff)


@METRICS.add
@dataclass(frozen=True)
class RPrecision(BinaryMetric):
    """Precision at R, the number of judged relevant documents of the query."""

    name = "rprec"
    aliases = ("r-precision",)
    measure = Measure.R_PRECISION

    def averaged(self, lists: Lists) -> Floats:
        """Return R-precision, its mean over all orders inside ties."""
        relevant = self._relevant(lists)
        return self._hits(lists, relevant) / relevant


@METRICS.add
@dataclass(frozen=True)
class FMeasure(CutMetric, BinaryMetric):
    """Harmonic mean of precision and recall of the best T; without T, of the whole list."""

    name = "f1"
    aliases = ("f", "set-f")

    def averaged(self, lists: Lists) -> Floats:
        """Return twice the relevant documents found over the places looked at and the relevant documents there are."""
        places = self.cutoff or lists.length
        return 2.0 * self._hits(lists, self.cutoff) / (places + self._relevant(lists))


@METRICS.add
@dataclass(frozen=True)
class RankBiasedPrecision(CutMetric, BinaryMetric):
    """Expected share of relevant documents a user sees who goes on to the next with probability p.

    ``(1 - p) sum_i p^(i-1) [l_i is relevant]`` (Moffat and Zobel 2008).
    """

    name = "rbp"
    p: float = param(0.8, "the chance that the user goes on to the next document", low=0, high=1)

    def averaged(self, lists: Lists) -> Floats:
        """Return rank-biased precision, its mean over all orders inside ties."""
        return self._hits(lists, self.cutoff, (1.0 - self.p) * np.power(self.p, lists.position - 1.0))


@METRICS.add
@dataclass(frozen=True)
class BinaryPreference(BinaryMetric):
    """Share of judged irrelevant documents below each relevant one; unjudged documents do not count at all.

    ``1/R sum_r (1 - min(n_r, R)/min(R, N))`` for R relevant and N judged irrelevant documents, of which n_r stand
    above the relevant document r (Buckley and Voorhees 2004, as trec_eval counts). A negative label is unjudged.
    """

    name = "bpref"

    def averaged(self, lists: Lists) -> Floats:
        """Return bpref; the irrelevant documents of a tie that stand above a relevant one are 0, 1, …, m alike."""
        hit = lists.ranked >= self.threshold
        poor = (lists.ranked >= 0) & (lists.ranked < self.threshold)
        relevant = self._relevant(lists)
        judged_poor = lists.count_judged((lists.judged >= 0) & (lists.judged < self.threshold))
        query_of_tie = lists.query[lists.tie_start[:-1]]
        above, beside, most = lists.before_tie(poor), lists.in_tie(poor), relevant[query_of_tie]
        below_most = np.clip(most - above, 0.0, beside + 1.0)
        counted = below_most * above + below_most * (below_most - 1) / 2 + (beside + 1 - below_most) * most
        penalty = counted / (beside + 1) / np.maximum(np.minimum(relevant, judged_poor), 1.0)[query_of_tie]
        return np.bincount(query_of_tie, lists.in_tie(hit) * (1.0 - penalty), lists.n) / relevant
