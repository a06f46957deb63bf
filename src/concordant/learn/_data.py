"""Validation of the arguments of ``fit`` (queries, weights, pairs, validation sets) and their layout for losses."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from concordant import metrics
from concordant.errors import InputError, OneQueryWarning, ParameterError, arg
from concordant.losses.queries import Pairs, Queries
from concordant.metrics.relevance.ndcg import NDCG
from concordant.scorers.base import Matrix
from concordant.support.brief import Brief
from concordant.support.limits import NUMBERS, WEIGHTS, are_numbers, bad_weights
from concordant.types import AnyArray, Floats, Int64s

# Hardly any query has more documents to rank; whoever has more rows has queries.
MANY_ROWS = 500
MISSING_QUERY = "qid contains missing values: give the query of each row."


def query_codes(n_rows: int, qid: ArrayLike | None, group: ArrayLike | None) -> Int64s:
    """Return the query of every row as a code, by first appearance; without qid or group, there is one query."""
    if qid is not None and group is not None:
        raise InputError("Both qid and group were given: give only one of them.")
    if group is not None:
        size = _array(group, "group")
        if size.ndim != 1 or size.dtype.kind not in "iu" or (size < 0).any() or size.sum() != n_rows:
            raise InputError(
                "group must contain the query sizes in row order, whole numbers that sum to the number of "
                f"rows ({n_rows:,})."
            )
        return np.repeat(np.arange(int((size > 0).sum())), size[size > 0])
    if qid is None:
        return np.zeros(n_rows, np.int64)
    query = _array(qid, "qid")
    if query.shape != (n_rows,):
        raise InputError(f"qid has shape {query.shape}, but there are {n_rows:,} rows: give one query per row.")
    if query.dtype.kind == "O":
        return _codes_of_objects(query)
    if (query.dtype.kind == "f" and not np.isfinite(query).all()) or (
        query.dtype.kind in "mM" and np.isnat(query).any()
    ):
        raise InputError(MISSING_QUERY)
    if query.dtype.kind in "iub" and len(query) and (query[1:] >= query[:-1]).all():  # sorted: no need to sort
        return np.concatenate([[0], np.cumsum(query[1:] != query[:-1])])
    _, first, code = np.unique(query, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[code.reshape(-1)]


def checked_queries(n_rows: int, qid: ArrayLike | None, group: ArrayLike | None = None) -> Int64s:
    """Return an integer code for the query of every row; warn if very many rows form one query, perhaps by mistake.

    ``group=[n]`` confirms that this is intended.
    """
    query = query_codes(n_rows, qid, group)
    if n_rows > MANY_ROWS and group is None and not query.any():
        reason = "no qid is given" if qid is None else "qid has the same value everywhere"
        warnings.warn(
            f"{reason}, so all {n_rows:,} rows are one query and compared with each other: give "
            + arg("qid")
            + ", the query of every row. In GridSearchCV and pipelines, first "
            "sklearn.set_config(enable_metadata_routing=True), then fit(X, y, qid=qid).",
            OneQueryWarning,
            stacklevel=3,
        )
    return query


def _codes_of_objects(query: AnyArray) -> Int64s:
    """Number values of any type, including mixed types that cannot be sorted, in order of appearance."""
    code: dict[Any, int] = {}
    try:
        codes = np.fromiter((code.setdefault(name, len(code)) for name in query.tolist()), np.int64, len(query))
    except TypeError:
        raise InputError("qid must contain names or numbers: give the query of each row.") from None
    if any(_is_missing(name) for name in code):
        raise InputError(MISSING_QUERY)
    return codes


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or pandas' NA."""
    try:
        return value is None or bool(value != value)  # NaN is not equal to itself
    except TypeError:  # pandas' NA has no truth value
        return True


def _array(values: ArrayLike, name: str) -> AnyArray:
    """Return values as an array, or raise InputError if their rows differ in length."""
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(
            f"{name} must be an array, but its rows differ in length: give rows of equal length."
        ) from None


def _numbers(values: ArrayLike, name: str) -> Floats:
    """Return values as floating-point numbers, or raise InputError."""
    array = _array(values, name)
    if array.dtype.kind not in "cmM":  # NumPy would take parts or counts of these for numbers
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            pass
    raise InputError(f"{name} must contain only numbers, got {array.dtype}.")


def query_weights(sample_weight: ArrayLike | None, query: Int64s) -> Floats | None:
    """Validate row weights, which must be constant within a query."""
    if sample_weight is None:
        return None
    weight = _numbers(sample_weight, "sample_weight")
    if weight.ndim == 0:
        weight = np.full(len(query), float(weight))
    if weight.shape != query.shape:
        raise InputError(
            f"sample_weight has shape {weight.shape}, but there are {len(query):,} rows: give one per row."
        )
    if bad_weights(weight).any():
        raise InputError(f"Each value in sample_weight must be {WEIGHTS}.")
    if not weight.any():
        raise InputError(
            "All weights in sample_weight are zero, so there is nothing to learn from: give positive weights."
        )
    weight_of_query = np.zeros(int(query.max(initial=-1)) + 1)
    weight_of_query[query] = weight
    if (weight_of_query[query] != weight).any():
        row = int(np.flatnonzero(weight_of_query[query] != weight)[0])
        raise InputError(
            f"sample_weight differs within the query of row {row}: rows are compared within their query, "
            "so give all rows of a query the same weight."
        )
    return weight


def row_weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    """Validate row weights that may differ within a query, for learners of independent rows."""
    weight = query_weights(sample_weight, np.arange(n_rows))
    return np.ones(n_rows) if weight is None else weight


def explicit_pairs(pairs: ArrayLike, weight: ArrayLike | None, tied: ArrayLike | None, n_rows: int) -> Pairs:
    """Validate pairs (better row, worse row)."""
    rows = _array(pairs, "pairs")
    if not rows.size:
        raise InputError("pairs is empty, so there is nothing to learn from: give at least one pair.")
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise InputError("pairs must have two columns of whole numbers: the preferred row of X, then the other row.")
    outside = rows[(rows < 0) | (rows >= n_rows)]
    if len(outside):
        raise InputError(f"pairs must contain rows of X, 0 to {n_rows - 1}, got {int(outside[0])}.")
    if (rows[:, 0] == rows[:, 1]).any():
        raise InputError("pairs contains a row paired with itself: remove such pairs.")
    weight_by_pair = np.ones(len(rows)) if weight is None else _numbers(weight, "sample_weight")
    if weight_by_pair.shape != (len(rows),) or bad_weights(weight_by_pair).any():
        raise InputError(f"sample_weight must have one value per pair ({len(rows):,}), each {WEIGHTS}.")
    is_tied = np.zeros(len(rows), bool) if tied is None else _array(tied, "tied")
    if is_tied.shape != (len(rows),) or is_tied.dtype.kind != "b":
        raise InputError(f"tied must be an array with one boolean per pair ({len(rows):,}).")
    if not weight_by_pair[~is_tied].any():
        raise InputError(
            "There is nothing to learn: every pair is tied or has weight zero. Check tied and sample_weight."
        )
    return Pairs(rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), weight_by_pair, is_tied)


def named_rows(first: ArrayLike, second: ArrayLike, n_rows: int) -> tuple[Int64s, Int64s]:
    """Validate two lists of row indices, which are compared elementwise."""
    first_row, second_row = (np.atleast_1d(_array(rows, "first or second")) for rows in (first, second))
    if first_row.shape != second_row.shape or first_row.ndim != 1:
        raise InputError("first and second must have the same length: give one row number in each per pair.")
    both = np.concatenate([first_row, second_row])
    if len(both) and (both.dtype.kind not in "iu" or both.min() < 0 or both.max() >= n_rows):
        raise InputError(f"first and second must contain rows of X, whole numbers from 0 to {n_rows - 1}.")
    return first_row.astype(np.int64), second_row.astype(np.int64)


def labels_only(y: ArrayLike, n_rows: int) -> Floats:
    """Validate labels: finite numbers, one per row."""
    label = _array(y, "y")
    if label.ndim == 2 and label.shape[1] == 1:
        label = label[:, 0]
    if label.shape != (n_rows,):
        raise InputError(f"y has shape {label.shape}, but there are {n_rows:,} rows: give one label per row.")
    try:
        label = _numbers(label, "y")
    except InputError:
        raise InputError("y must contain numbers, higher is better: convert the categories to grades.") from None
    if not are_numbers(label):
        raise InputError(
            f"y contains NaN or a label that is not {NUMBERS}: give every row a label, or leave the row out."
        )
    return label


def parts_of(valid: Sequence[Any]) -> tuple[Any, AnyArray, Any]:
    """Return (X, y, qid) of a validation set (X, y) or (X, y, qid)."""
    if not isinstance(valid, (tuple, list)) or len(valid) not in (2, 3):
        raise InputError("valid must be (X, y) or (X, y, qid): the validation rows, their labels and queries.")
    return valid[0], valid[1], valid[2] if len(valid) == 3 else None


def refuse_labels_beside_pairs(y: object, qid: object, group: object, weighting: str = "") -> None:
    """Raise an error if pairs are combined with labels, queries or weighting by query."""
    if y is not None or qid is not None or group is not None:
        raise InputError("pairs cannot be combined with y, qid or group: give labels or pairs, not both.")
    if weighting == "queries":
        raise ParameterError(arg("weighting", "queries") + " does not apply to pairs: weight them by sample_weight.")


def measure(metric: str, scores: Floats, label: Floats, query: AnyArray, weight_by_row: Floats | None = None) -> float:
    """Return the (weighted) mean of a metric over queries, averaged over the orders of tied rows.

    If ties kept the input order, a ranker with constant scores would appear perfect on rows sorted by label.
    """
    parsed = metrics.parse(metric)
    ties = "order" if isinstance(parsed, metrics.ListMetric) else "average"
    values = next(iter(metrics.evaluate_arrays(scores, label, query, [parsed], ties=ties).values()))
    weight = np.ones(len(values))
    if weight_by_row is not None:
        weight[query] = weight_by_row
    counts = np.isfinite(values) & (weight > 0)  # a metric may leave queries out
    if not counts.any():
        raise InputError(f"{metric} is undefined for all queries with positive weight: check their labels and weights.")
    return float(np.average(values[counts], weights=weight[counts]))


@dataclass(frozen=True, eq=False, repr=False)
class Rows(Brief):
    """A training set: features with labels, query codes and weights (None: all equal), or with pairs."""

    X: Any
    label: Floats = field(default_factory=lambda: np.zeros(0))
    query: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    weight: Floats | None = None
    pairs: Pairs | None = None

    @cached_property
    def queries(self) -> Queries:
        """The labelled rows in the layout of the losses."""
        return Queries.from_rows(self.label, self.query, self.weight)

    @property
    def is_weighted(self) -> bool:
        """Whether rows or pairs have unequal weights."""
        return self.weight is not None if self.pairs is None else bool((self.pairs.weight != 1).any())

    @property
    def has_preferences(self) -> bool:
        """Whether some query has two rows with different labels."""
        one_of_query = np.empty(int(self.query.max(initial=-1)) + 1)
        one_of_query[self.query] = self.label
        return bool((one_of_query[self.query] != self.label).any())

    def with_positive_weight(self) -> Rows:
        """Return the rows without those of weight zero."""
        if self.weight is None or self.weight.all():
            return self
        used = np.flatnonzero(self.weight)
        query = query_codes(len(used), self.query[used], None)
        return Rows(self.X[used], self.label[used], query, self.weight[used])


@dataclass(frozen=True, eq=False, repr=False)
class Validation(Brief):
    """A validation set and the metric monitored on it."""

    X: Matrix
    label: Floats
    query: Int64s
    metric: str

    @classmethod
    def of(cls, X: Matrix, y: ArrayLike, qid: ArrayLike | None, metric: str) -> Validation:
        """Validate labels and queries; raise InputError if the metric is the same for the best and the worst order."""
        validation = cls(X, labels_only(y, X.shape[0]), checked_queries(X.shape[0], qid), metric)
        if not validation.measure(validation.label) > validation.measure(-validation.label):
            raise InputError(
                f"The validation set is uninformative: its best and its worst order have the same {metric}. "
                "Check its labels and queries."
            )
        return validation

    def measure(self, scores: Floats) -> float:
        """Return the metric for the scores of these rows.

        NDCG, which rankers monitor after every iteration, is first computed with ties broken in favour of high labels
        and against them. Only queries for which the two values differ need the more expensive mean over all orders.
        """
        metric = self._parsed
        if not isinstance(metric, NDCG):
            return measure(self.metric, scores, self.label, self.query)
        high, low = (self._values(scores, rows, metric, "order") for rows in self._orders)
        if (differs := high > low).any():
            high[differs] = self._values(scores, self._orders[0][differs[self._sorted_query]], metric, "average")
        counts = np.isfinite(high)  # a query without relevant rows may be left out
        return float(high[counts].mean()) if counts.any() else measure(self.metric, scores, self.label, self.query)

    def _values(self, scores: Floats, rows: Int64s, metric: metrics.Metric, ties: str) -> Floats:
        """Return the metric of every query for these rows in this order."""
        values = metrics.evaluate_arrays(scores[rows], self.label[rows], self.query[rows], [metric], ties=ties)
        return next(iter(values.values()))

    @cached_property
    def _parsed(self) -> metrics.Metric:
        return metrics.parse(self.metric)

    @cached_property
    def _orders(self) -> tuple[Int64s, Int64s]:
        """The rows sorted by query, within each with the highest labels first and with the lowest first."""
        return np.lexsort((-self.label, self.query)), np.lexsort((self.label, self.query))

    @cached_property
    def _sorted_query(self) -> Int64s:
        return self.query[self._orders[0]]


class Patience:
    """Early stopping: the best value of a monitored metric so far, and when to stop."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.values: list[float] = []
        self.best = 0  # steps up to the best value, 0 before the first

    def add(self, value: float) -> bool:
        """Add the metric after another step; return whether to continue training."""
        self.values.append(value)
        if self.best == 0 or value > self.values[self.best - 1]:
            self.best = len(self.values)
        return len(self.values) - self.best < self.patience
