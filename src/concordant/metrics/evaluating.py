"""Evaluation of ranked lists from arrays: all requested metrics for every query.

:func:`evaluate_arrays` takes scores, labels and groups in any order; :func:`evaluate_ranked` takes labels sorted by
rank. All compiled metrics of a query are computed in one pass over its list. Tied documents keep the order of the rows
(``ties="order"``), or every metric is averaged over all orders of tied documents (``ties="average"``; see
:mod:`concordant.metrics.lists`), which does not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from concordant import kernels
from concordant.ballots.segments import segment_index
from concordant.errors import InputError, ParameterError, arg
from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import LARGEST_LABEL, BinaryMetric, ListMetric, RetrievalMetric
from concordant.metrics.value import Metric, parse_all
from concordant.types import AnyArray, Floats, Int64s


def evaluate_arrays(
    score: ArrayLike,
    label: ArrayLike,
    group: ArrayLike | None,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    unjudged: str = "zero",
    ties: str = "order",
) -> dict[str, Floats]:
    """Evaluate scored documents, given as rows in any order.

    Parameters
    ----------
    score : array-like of shape (n_rows,)
        Scores; higher scores rank first.
    label : array-like of shape (n_rows,)
        Relevance grades; NaN for unjudged documents.
    group : array-like of shape (n_rows,) or None
        Query of every row, integers or text; None for a single query.
    metrics : str, Metric or iterable of these
        Retrieval metrics, such as ``"ndcg@10"``.
    unjudged : {'zero', 'skip'}, default 'zero'
        Treat unjudged documents as irrelevant, or remove them from the lists (condensed lists).
    ties : {'order', 'average'}, default 'order'
        Keep tied documents in row order, or average over all their orders.

    Returns
    -------
    dict of str to ndarray
        One value per query for every metric, queries in order of first appearance.

    Examples
    --------
    >>> from concordant import metrics
    >>> metrics.evaluate_arrays([0.9, 0.5, 0.1], [0, 2, 1], None, "mrr")["mrr"].tolist()
    [0.5]
    """
    score_by_row, label_by_row = _floats(score, "score"), _floats(label, "label")
    if len(score_by_row) != len(label_by_row):
        raise InputError(
            f"There are {len(score_by_row)} scores but {len(label_by_row)} labels: give one label per score."
        )
    if not len(score_by_row):
        raise InputError("There is nothing to evaluate: give at least one score with its label and group.")
    if np.isnan(score_by_row).any():
        row = int(np.flatnonzero(np.isnan(score_by_row))[0])
        raise InputError(f"The score in row {row} is NaN: give every document a number.")
    place, ptr = _group(group, len(score_by_row))
    chosen, skips = _retrieval_only(metrics), _chosen("unjudged", unjudged, "zero", "skip")
    average = _chosen("ties", ties, "order", "average") and _has_equal(score_by_row)
    compiled = [] if average else [metric for metric in chosen if metric.measure is not None]
    largest = _checked_largest(label_by_row, chosen)  # before rows move: its message names the caller's row
    if len(place):
        score_by_row, label_by_row = _moved(score_by_row, place), _moved(label_by_row, place)
    values = kernels.evaluate_scores(score_by_row, label_by_row, ptr, _table(compiled, largest), skips)

    def lists() -> Lists:
        best_first = np.lexsort((-score_by_row, segment_index(ptr)))
        level = score_by_row[best_first] if average else None
        return Lists.of(label_by_row[best_first], ptr, label_by_row, ptr, level, skips)

    return _by_name(chosen, compiled, values, lists, average)


def evaluate_ranked(
    ranked_label: ArrayLike,
    ptr: ArrayLike,
    judged_label: ArrayLike,
    judged_ptr: ArrayLike,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    unjudged: str = "zero",
    joined: bool = False,
    level: ArrayLike | None = None,
) -> dict[str, Floats]:
    """Evaluate lists of labels that are sorted by rank, best first.

    Parameters
    ----------
    ranked_label : array-like of shape (n_ranked,)
        Labels of the ranked documents of all queries; NaN for unjudged documents.
    ptr : array-like of int
        Bounds of the lists: query q has ``ranked_label[ptr[q]:ptr[q + 1]]``.
    judged_label : array-like of shape (n_judged,)
        Labels of all judged documents, ranked or not.
    judged_ptr : array-like of int
        Bounds of the judged labels of each query.
    metrics : str, Metric or iterable of these
        Retrieval metrics, such as ``"ndcg@10"``.
    unjudged : {'zero', 'skip'}, default 'zero'
        Treat unjudged documents as irrelevant, or remove them from the lists (condensed lists).
    joined : bool, default False
        Whether every ranked label was taken from the judged labels, so that only the latter are validated.
    level : array-like of shape (n_ranked,), optional
        Ranks or scores. Adjacent documents with equal levels are tied, and values are averaged over all their orders.

    Returns
    -------
    dict of str to ndarray
        One value per query for every metric.
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
    levels = None if level is None else _floats(level, "level")
    if levels is not None and len(levels) != len(ranked):
        raise InputError(f"There are {len(levels)} levels but {len(ranked)} ranked labels: give one level per label.")
    chosen, skips = _retrieval_only(metrics), _chosen("unjudged", unjudged, "zero", "skip")
    compiled = [] if levels is not None else [metric for metric in chosen if metric.measure is not None]
    largest = max(_checked_largest(labels, chosen) for labels in ((judged,) if joined else (judged, ranked)))
    values = kernels.evaluate_lists(ranked, starts, judged, judged_starts, _table(compiled, largest), skips)

    def lists() -> Lists:
        return Lists.of(ranked, starts, judged, judged_starts, levels, skips)

    return _by_name(chosen, compiled, values, lists, levels is not None)


def mean(values: ArrayLike) -> float:
    """Return the mean over queries, without skipped ones (NaN).

    Parameters
    ----------
    values : array-like of float
        Values of a metric, one per query.

    Returns
    -------
    float
        The mean, NaN if all queries are skipped.
    """
    kept = np.asarray(values, np.float64)
    kept = kept[~np.isnan(kept)]
    return float(kept.mean()) if len(kept) else float("nan")


def _retrieval_only(metrics: str | Metric | Iterable[str | Metric]) -> list[RetrievalMetric]:
    """Return the metrics as objects; raise ParameterError for distances, which need a second ranking."""
    chosen = []
    for metric in parse_all(metrics):
        if not isinstance(metric, RetrievalMetric):
            raise ParameterError(f"{metric} compares two rankings, not a ranking with labels: use compare_ranks.")
        chosen.append(metric)
    return chosen


def _table(chosen: list[RetrievalMetric], largest_label: float) -> Floats:
    """Return the metrics in the form that the kernels take, one row each."""
    return np.array([metric.row(largest_label) for metric in chosen], np.float64).reshape(-1, 5)


def _by_name(
    chosen: list[RetrievalMetric],
    compiled: list[RetrievalMetric],
    values: Floats,
    lists: Callable[[], Lists],
    average: bool,
) -> dict[str, Floats]:
    """Return the values of all metrics by name, in the requested order, including metrics without a kernel."""
    columns = dict(zip(compiled, np.ascontiguousarray(values.T), strict=True))
    if len(compiled) < len(chosen):
        gathered = lists()
        for metric in chosen:
            if average and isinstance(metric, ListMetric):
                raise ParameterError(
                    f"{metric} cannot be averaged over the orders of tied scores: evaluate it with "
                    + arg("ties", "order", of="evaluate")
                    + "."
                )
            if metric not in columns:
                columns[metric] = metric.values(gathered)
    return {str(metric): columns[metric] for metric in chosen}


def _chosen(name: str, choice: str, usual: str, other: str) -> bool:
    """Return whether ``other`` is chosen; raise ParameterError if the choice is neither ``usual`` nor ``other``."""
    if choice not in (usual, other):
        raise ParameterError(arg(name, choice) + f" is not valid: use {usual!r} or {other!r}.")
    return choice == other


def _has_equal(score: Floats) -> bool:
    """Return whether any query contains equal scores."""
    ordered = np.sort(score)
    return bool((ordered[1:] == ordered[:-1]).any())


def _checked_largest(label: Floats, chosen: list[RetrievalMetric]) -> float:
    """Return the largest label, at least 0; raise InputError for labels that are infinite or whose gain overflows."""
    largest, smallest = float(np.fmax.reduce(label, initial=0.0)), float(np.fmin.reduce(label, initial=0.0))
    if np.isinf(largest) or np.isinf(smallest):
        row = int(np.flatnonzero(np.isinf(label))[0])
        raise InputError(f"The label in row {row} is infinite: give a finite label, or NaN for unjudged.")
    has_exponential = not all(
        isinstance(metric, (BinaryMetric, ListMetric)) or getattr(metric, "gain", "") == "linear" for metric in chosen
    )
    if largest > LARGEST_LABEL and has_exponential:
        raise InputError(
            f"A label is {largest:g} and 2^label overflows: use the 'linear' gain of ndcg, or smaller labels."
        )
    if max(largest, -smallest) * len(label) > np.finfo(float).max:
        with np.errstate(over="ignore"):
            ends = np.nansum(np.maximum(label, 0.0)), np.nansum(np.minimum(label, 0.0))
        if np.isinf(ends).any():
            raise InputError(f"The sum of the labels overflows (largest label: {largest:g}): use smaller labels.")
    return largest


def _floats(values: ArrayLike, name: str) -> Floats:
    """Return values as a one-dimensional array of floats, or raise an error that names them."""
    try:
        array = np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must be an array of numbers: it contains another value, or rows of different lengths."
        ) from None
    if np.ndim(values) != 1:
        raise InputError(f"{name} has {np.ndim(values)} dimensions: give a one-dimensional array.")
    return array


def _pointers(values: ArrayLike, end: int, name: str) -> Int64s:
    """Return pointers that increase from 0 to ``end``, or raise an error that names them."""
    pointers = np.ascontiguousarray(values, np.int64)
    if pointers.ndim != 1 or len(pointers) < 2:
        raise InputError(f"{name} is empty: give the start of every list and the end of the last.")
    if pointers[0] != 0 or pointers[-1] != end or (np.diff(pointers) < 0).any():
        raise InputError(f"{name} must increase from 0 to {end}, the number of labels: check where each list starts.")
    return pointers


def _group(group: ArrayLike | None, rows: int) -> tuple[Int64s, Int64s]:
    """Return the target of each row (empty if rows are already sorted by group) and the start of each group."""
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
    """Return the values with row k moved to ``place[k]``."""
    moved = np.empty_like(values)
    moved[place] = values
    return moved
