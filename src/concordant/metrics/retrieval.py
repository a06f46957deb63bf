"""Retrieval metrics: how good is a ranking of documents, given how relevant they are?

A ranking puts the document with label ``l_1`` first, ``l_2`` second, …; an unjudged document counts as label 0,
and so does a negative label. A query without anything relevant scores 0 and stays in the mean
(``empty="zero"``), or scores 1 (``"one"``), or is left out (``"skip"``: its value is NaN and :func:`mean` passes
over it).

Two entrances: :func:`evaluate_arrays` takes scores, labels and groups in any order; :func:`evaluate_ranked`
takes labels that already stand best first. All metrics of a query come from one pass over its list.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from concordant import kernels
from concordant.errors import InputError, ParameterError
from concordant.gather import segment_index
from concordant.kernels.codes import Measure
from concordant.metrics.value import Metric, known, parse_all
from concordant.params import param
from concordant.types import AnyArray, Floats, Int64s

_EMPTY = {"zero": 0.0, "one": 1.0, "skip": np.nan}
_CUTOFF = "how many of the best documents count; all if not given"
# 2^label must stay far from overflow even when a thousand gains are added.
_LARGEST_LABEL = 900.0


@dataclass(frozen=True, kw_only=True)
class RetrievalMetric(Metric):
    """A metric of one ranked list against relevance labels."""

    kind: ClassVar[str] = "retrieval"
    measure: ClassVar[Measure]
    empty: str = param("zero", "value of a query without anything relevant", choices=tuple(_EMPTY))

    def row(self, largest_label: float) -> list[float]:
        """Return the metric as the kernels read it (see ``kernels.codes``)."""
        return [self.measure, getattr(self, "cutoff", None) or 0, _EMPTY[self.empty]]


@dataclass(frozen=True, kw_only=True)
class ListMetric(RetrievalMetric):
    """A metric computed in Python, one list after the other: the way for metrics of other packages."""

    def value(self, ranked: Floats, judged: Floats) -> float:
        """Return the value of one list: its labels best first, and all judged labels of the query, best first."""
        raise NotImplementedError


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


@known
@dataclass(frozen=True)
class NDCG(RetrievalMetric):
    """Discounted cumulative gain of the best T over that of the ideal order.

    ``sum_{i<=T} (2^l_i - 1)/D(i)``, with ``D(i) = log2(i+1)``, or in the LETOR convention ``D(1) = 1``,
    ``D(i) = log2(i)``, and 0 for a query with fewer than T documents (ranked or judged), as the script of LETOR 4.0
    has it; linear gain puts ``l_i`` for ``2^l_i - 1``.
    """

    name: ClassVar[str] = "ndcg"
    measure: ClassVar[Measure] = Measure.NDCG
    cutoff: int | None = param(None, _CUTOFF, low=1)
    discount: str = param(
        "log2", "log2(i+1) at place i, or as LETOR's script: 0 if documents are too few", choices=("log2", "letor")
    )
    gain: str = param("exponential", "2^label - 1, or the label itself", choices=("exponential", "linear"))

    def row(self, largest_label: float) -> list[float]:
        """Return the metric as the kernels read it."""
        return [*super().row(largest_label), float(self.discount == "letor"), float(self.gain == "linear")]


@known
@dataclass(frozen=True)
class Precision(BinaryMetric):
    """Share of the best T places that hold a relevant document; without T, of the whole list."""

    name: ClassVar[str] = "p"
    aliases: ClassVar[tuple[str, ...]] = ("precision",)
    measure: ClassVar[Measure] = Measure.PRECISION
    cutoff: int | None = param(None, _CUTOFF, low=1)


@known
@dataclass(frozen=True)
class MeanAveragePrecision(BinaryMetric):
    """Mean precision at the places of the relevant documents, over all judged relevant ones."""

    name: ClassVar[str] = "map"
    aliases: ClassVar[tuple[str, ...]] = ("ap",)
    measure: ClassVar[Measure] = Measure.AVERAGE_PRECISION
    cutoff: int | None = param(None, _CUTOFF, low=1)


@known
@dataclass(frozen=True)
class ExpectedReciprocalRank(RetrievalMetric):
    """Expected reciprocal of the place where a user stops who is satisfied by better labels sooner.

    The user stops at place i with probability ``V_i = (2^l_i - 1)/2^lmax``: the metric is
    ``sum_i (1/i) V_i prod_{j<i} (1 - V_j)``.
    """

    name: ClassVar[str] = "err"
    measure: ClassVar[Measure] = Measure.EXPECTED_RECIPROCAL_RANK
    cutoff: int | None = param(None, _CUTOFF, low=1)
    lmax: float | None = param(
        None, "the largest label of the scale; the data's if not given", low=0, high=_LARGEST_LABEL
    )

    def row(self, largest_label: float) -> list[float]:
        """Return the metric as the kernels read it."""
        lmax = largest_label if self.lmax is None else self.lmax
        if largest_label > lmax:
            raise ParameterError(f"lmax={lmax:g} of err is below the largest label: give at least {largest_label:g}.")
        return [*super().row(largest_label), float(lmax), 0.0]


@known
@dataclass(frozen=True)
class MeanReciprocalRank(BinaryMetric):
    """Reciprocal of the place of the first relevant document; 0 if none is among the best T."""

    name: ClassVar[str] = "mrr"
    aliases: ClassVar[tuple[str, ...]] = ("rr",)
    measure: ClassVar[Measure] = Measure.RECIPROCAL_RANK
    cutoff: int | None = param(None, _CUTOFF, low=1)


@known
@dataclass(frozen=True)
class Recall(BinaryMetric):
    """Share of the judged relevant documents that are among the best T."""

    name: ClassVar[str] = "recall"
    measure: ClassVar[Measure] = Measure.RECALL
    cutoff: int | None = param(None, _CUTOFF, low=1)


@known
@dataclass(frozen=True)
class HitRate(BinaryMetric):
    """Share of the queries with a relevant document among the best T."""

    name: ClassVar[str] = "hit"
    aliases: ClassVar[tuple[str, ...]] = ("hit-rate", "success")
    measure: ClassVar[Measure] = Measure.HIT
    cutoff: int | None = param(None, _CUTOFF, low=1)


@known
@dataclass(frozen=True)
class RPrecision(BinaryMetric):
    """Precision at R, the number of judged relevant documents of the query."""

    name: ClassVar[str] = "rprec"
    aliases: ClassVar[tuple[str, ...]] = ("r-precision",)
    measure: ClassVar[Measure] = Measure.R_PRECISION


def evaluate_arrays(
    score: ArrayLike,
    label: ArrayLike,
    group: ArrayLike | None,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    unjudged: str = "zero",
) -> dict[str, Floats]:
    """Evaluate scored documents, rows in any order: one value per group for every metric.

    Higher scores rank first, equal scores in row order. ``label`` may hold NaN for unjudged documents. ``group``
    is any array of integers or text (None: one group); values come in order of first appearance of the groups.
    """
    score_by_row, label_by_row = _floats(score, "score"), _floats(label, "label")
    if len(score_by_row) != len(label_by_row):
        raise InputError(
            f"There are {len(score_by_row)} scores but {len(label_by_row)} labels: give one label per score."
        )
    if not len(score_by_row):
        raise InputError("There is nothing to evaluate: give at least one score with its label and group.")
    if np.isnan(score_by_row).any():
        where = int(np.flatnonzero(np.isnan(score_by_row))[0])
        raise InputError(f"The score in row {where} is NaN: give every document a number.")
    place, ptr = _group(group, len(score_by_row))
    if len(place):
        score_by_row, label_by_row = _moved(score_by_row, place), _moved(label_by_row, place)
    chosen = _retrieval_only(metrics)
    skips, compiled = _skips(unjudged), [one for one in chosen if not isinstance(one, ListMetric)]
    table = _table(compiled, _largest(label_by_row, compiled))
    values = kernels.evaluate_scores(score_by_row, label_by_row, ptr, table, skips)
    best_first = np.lexsort((-score_by_row, segment_index(ptr))) if len(compiled) < len(chosen) else np.arange(0)
    lists = _Lists(label_by_row[best_first], ptr, label_by_row, ptr, skips)
    return _by_name(chosen, compiled, values, lists)


def evaluate_ranked(
    ranked_label: ArrayLike,
    ptr: ArrayLike,
    judged_label: ArrayLike,
    judged_ptr: ArrayLike,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    unjudged: str = "zero",
    joined: bool = False,
) -> dict[str, Floats]:
    """Evaluate lists that stand best first: one value per query for every metric.

    Query q owns ``ranked_label[ptr[q]:ptr[q+1]]`` (NaN: unjudged) and all its judged labels, ranked or not,
    are ``judged_label[judged_ptr[q]:judged_ptr[q+1]]``. ``unjudged="skip"`` takes unjudged documents out of the
    lists (condensed lists) instead of counting them as 0. ``joined`` promises that every ranked label was taken from
    the judged ones, so that only those need checking.
    """
    ranked, judged = _floats(ranked_label, "ranked_label"), _floats(judged_label, "judged_label")
    starts, judged_starts = (
        _pointers(ptr, len(ranked), "ptr"),
        _pointers(judged_ptr, len(judged), "judged_ptr"),
    )
    if len(starts) != len(judged_starts):
        raise InputError(
            f"There are {len(starts) - 1} ranked lists but {len(judged_starts) - 1} sets of judged labels: "
            "give one set per list."
        )
    chosen = _retrieval_only(metrics)
    skips, compiled = _skips(unjudged), [one for one in chosen if not isinstance(one, ListMetric)]
    largest = max(_largest(labels, compiled) for labels in ((judged,) if joined else (judged, ranked)))
    table = _table(compiled, largest)
    values = kernels.evaluate_lists(ranked, starts, judged, judged_starts, table, skips)
    return _by_name(chosen, compiled, values, _Lists(ranked, starts, judged, judged_starts, skips))


def mean(values: ArrayLike) -> float:
    """Average per-query values, leaving out skipped queries (NaN); NaN when none is left."""
    kept = np.asarray(values, np.float64)
    kept = kept[~np.isnan(kept)]
    return float(kept.mean()) if len(kept) else float("nan")


def _retrieval_only(metrics: str | Metric | Iterable[str | Metric]) -> list[RetrievalMetric]:
    chosen = []
    for metric in parse_all(metrics):
        if not isinstance(metric, RetrievalMetric):
            raise ParameterError(f"{metric} compares two rankings, not a ranking with labels: use compare_ranks.")
        chosen.append(metric)
    return chosen


def _table(chosen: list[RetrievalMetric], largest_label: float) -> Floats:
    return np.array([metric.row(largest_label) for metric in chosen], np.float64).reshape(-1, 5)


def _by_name(
    chosen: list[RetrievalMetric], compiled: list[RetrievalMetric], values: Floats, lists: _Lists
) -> dict[str, Floats]:
    columns = dict(zip(compiled, np.ascontiguousarray(values.T), strict=True))
    return {str(one): lists.values(one) if isinstance(one, ListMetric) else columns[one] for one in chosen}


@dataclass(frozen=True)
class _Lists:
    """The lists of all queries, for metrics that look at one after the other."""

    ranked: Floats
    ptr: Int64s
    judged: Floats
    judged_ptr: Int64s
    skips_unjudged: bool

    def values(self, metric: ListMetric) -> Floats:
        """Return the value of every list."""
        return np.array([self._value(metric, q) for q in range(len(self.ptr) - 1)])

    def _value(self, metric: ListMetric, q: int) -> float:
        ranked = self.ranked[self.ptr[q] : self.ptr[q + 1]]
        judged = self.judged[self.judged_ptr[q] : self.judged_ptr[q + 1]]
        judged = -np.sort(-np.maximum(judged[~np.isnan(judged)], 0.0))
        if not judged.any():
            return _EMPTY[metric.empty]
        kept = ranked[~np.isnan(ranked)] if self.skips_unjudged else np.nan_to_num(ranked)
        return float(metric.value(np.maximum(kept, 0.0), judged))


def _skips(unjudged: str) -> bool:
    if unjudged not in ("zero", "skip"):
        raise ParameterError(f"unjudged={unjudged!r} is not a choice: use 'zero' or 'skip'.")
    return unjudged == "skip"


def _largest(label: Floats, chosen: list[RetrievalMetric]) -> float:
    largest, least = float(np.fmax.reduce(label, initial=0.0)), float(np.fmin.reduce(label, initial=0.0))
    if np.isinf(largest - least):
        where = int(np.flatnonzero(np.isinf(label))[0])
        raise InputError(f"The label in row {where} is infinite: give a finite label, or NaN for unjudged.")
    linear = all(isinstance(one, BinaryMetric) or getattr(one, "gain", "") == "linear" for one in chosen)
    if largest > _LARGEST_LABEL and not linear:
        raise InputError(
            f"A label is {largest:g} and 2^label overflows: use the 'linear' gain of ndcg, or smaller labels."
        )
    return largest


def _floats(values: ArrayLike, name: str) -> Floats:
    try:
        array = np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} holds something that is no number: give an array of numbers.") from None
    if np.ndim(values) != 1:
        raise InputError(f"{name} has {np.ndim(values)} dimensions: give a one-dimensional array.")
    return array


def _pointers(values: ArrayLike, end: int, name: str) -> Int64s:
    pointers = np.ascontiguousarray(values, np.int64)
    if pointers.ndim != 1 or len(pointers) < 2:
        raise InputError(f"{name} names no query: give the start of every list and the end of the last.")
    if pointers[0] != 0 or pointers[-1] != end or (np.diff(pointers) < 0).any():
        raise InputError(f"{name} must rise from 0 to {end}, the number of labels: check where each list starts.")
    return pointers


def _group(group: ArrayLike | None, rows: int) -> tuple[Int64s, Int64s]:
    """Return where each row goes (empty if the rows stand group by group) and where each group starts."""
    if group is None:
        return np.empty(0, np.int64), np.array([0, rows], np.int64)
    array: AnyArray = np.asarray(group)
    if array.ndim != 1 or len(array) != rows:
        raise InputError(
            f"group has shape {array.shape} but there are {rows} scores: give a list with one group per score."
        )
    if array.dtype.kind in "iu":
        return kernels.group_keys(np.ascontiguousarray(array, np.int64))
    starts = np.concatenate([[0], np.flatnonzero(array[1:] != array[:-1]) + 1, [rows]]).astype(np.int64)
    key_of_run = np.unique(array[starts[:-1]], return_inverse=True)[1].reshape(-1).astype(np.int64)
    if key_of_run.max() + 1 == len(key_of_run):
        return np.empty(0, np.int64), starts
    return kernels.group_keys(np.repeat(key_of_run, np.diff(starts)))


def _moved(values: Floats, place: Int64s) -> Floats:
    moved = np.empty_like(values)
    moved[place] = values
    return moved
