"""Retrieval metrics (NumPy reference of retrieval.cpp): sums over the positive labels of each query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.kernels.codes import Measure
from concordant.kernels.layouts import by_appearance, find_rows, pointers, segment_of
from concordant.types import Floats, Int32s, Int64s

__all__ = ["evaluate_lists", "evaluate_scores", "group_keys", "join_labels"]


def evaluate_lists(
    ranked_label: Floats,
    ptr: Int64s,
    judged_label: Floats,
    judged_ptr: Int64s,
    table: Floats,
    skip_unjudged: bool,
) -> Floats:
    """Return the metrics (queries x metrics) of ranked lists of labels, best first; NaN is unjudged.

    ``judged_label`` holds all labels of each query, also of documents that were not retrieved.
    """
    n = len(ptr) - 1
    query = segment_of(ptr)
    counted = ~np.isnan(ranked_label) if skip_unjudged else np.ones(len(ranked_label), bool)
    counted_before = np.concatenate([[0], np.cumsum(counted)])
    position = counted_before[1:] - counted_before[ptr[:-1]][query]
    positive = ranked_label > 0
    retrieved = _Positives(n, query[positive], position[positive], ranked_label[positive])
    length = counted_before[ptr[1:]] - counted_before[ptr[:-1]]

    judged_query = segment_of(judged_ptr)
    judged = judged_label > 0
    judged_query, label = judged_query[judged], judged_label[judged]
    order = np.lexsort((-label, judged_query))
    judged_query, label = judged_query[order], label[order]
    ideal = _Positives(n, judged_query, _count_within(judged_query) + 1, label)
    is_known = np.concatenate([[0], np.cumsum(~np.isnan(judged_label))])
    documents = is_known[judged_ptr[1:]] - is_known[judged_ptr[:-1]]
    if not skip_unjudged:
        documents += np.bincount(query[np.isnan(ranked_label)], minlength=n)
    columns = [_values(row, retrieved, ideal, length, documents) for row in table]
    return np.stack(columns, axis=1) if columns else np.empty((n, 0))


def evaluate_scores(score: Floats, label: Floats, ptr: Int64s, table: Floats, skip_unjudged: bool) -> Floats:
    """Return the metrics (queries x metrics) of scores and labels in input order, grouped by ``ptr``."""
    query = segment_of(ptr)
    order = np.lexsort((-score, query))
    return evaluate_lists(label[order], ptr, label, ptr, table, skip_unjudged)


def join_labels(
    rank_ptr: Int64s,
    ranked_item: Int32s,
    label_ptr: Int64s,
    label_item: Int32s,
    label_value: Floats,
    n_items: int,
) -> Floats:
    """Return the label of every ranked entry, NaN where unjudged; group q is judged by label group q."""
    row = find_rows(segment_of(label_ptr) * n_items + label_item, segment_of(rank_ptr) * n_items + ranked_item)
    return np.append(label_value, np.nan)[row]  # row -1 is the last


def group_keys(keys: Int64s) -> tuple[Int64s, Int64s]:
    """Return (place, ptr): the target index of each row so that equal keys are adjacent, in order of first appearance.

    Rows of a group stay in input order. ``place`` is empty if the rows are grouped already.
    """
    group, _ = by_appearance(keys)
    ptr, order = pointers(np.bincount(group)), np.argsort(group, kind="stable")
    in_order = np.arange(len(order), dtype=np.int64)
    if np.array_equal(order, in_order):
        return np.empty(0, np.int64), ptr
    place = np.empty(len(order), np.int64)
    place[order] = in_order
    return place, ptr


@dataclass(frozen=True)
class _Positives:
    """The positive labels: query, position in the list (from 1) and label of each."""

    n: int
    query: Int64s
    position: Int64s
    label: Floats

    def keep(self, chosen: np.ndarray) -> _Positives:
        return _Positives(self.n, self.query[chosen], self.position[chosen], self.label[chosen])

    def sum(self, amount: Floats) -> Floats:
        return np.bincount(self.query, amount, self.n).astype(np.float64, copy=False)

    def count(self) -> Floats:
        return np.bincount(self.query, minlength=self.n).astype(np.float64)


def _values(row: Floats, retrieved: _Positives, ideal: _Positives, length: Int64s, documents: Int64s) -> Floats:
    """Return one metric for every query. ``row``: measure, cutoff (0: none), value without relevant documents, options.

    The two options are, for NDCG, whether LETOR's discount and whether linear gains are used; for expected reciprocal
    rank the largest label; for all others the lowest label that counts as relevant.
    """
    measure, cutoff, if_none_relevant, option, option_2 = Measure(int(row[0])), int(row[1]), row[2], row[3], row[4]
    graded = measure in (Measure.NDCG, Measure.EXPECTED_RECIPROCAL_RANK)
    if not graded:
        retrieved, ideal = retrieved.keep(retrieved.label >= option), ideal.keep(ideal.label >= option)
    relevant = ideal.count()
    if cutoff:
        retrieved, ideal = retrieved.keep(retrieved.position <= cutoff), ideal.keep(ideal.position <= cutoff)
    if measure is Measure.NDCG:
        value = retrieved.sum(_gain(retrieved, option, option_2)) / _not_zero(ideal.sum(_gain(ideal, option, option_2)))
        if option:  # LETOR's script gives no value to places a query has no document for
            value = np.where(cutoff > documents, 0.0, value)
    elif measure is Measure.EXPECTED_RECIPROCAL_RANK:
        stop = (np.exp2(retrieved.label) - 1) / np.exp2(option)  # the chance to stop; option: largest label
        value = retrieved.sum(_product_before(retrieved.query, 1 - stop) * stop / retrieved.position)
    else:
        value = _binary(measure, retrieved, relevant, cutoff if cutoff else length)
    return np.where(relevant > 0, value, if_none_relevant)


def _binary(measure: Measure, retrieved: _Positives, relevant: Floats, places: int | Int64s) -> Floats:
    """Return a metric for binary relevance; ``places`` is the cutoff or the length of the list."""
    nth = _count_within(retrieved.query) + 1
    if measure is Measure.AVERAGE_PRECISION:
        return retrieved.sum(nth / retrieved.position) / _not_zero(relevant)
    if measure is Measure.RECIPROCAL_RANK:
        return retrieved.sum(np.where(nth == 1, 1 / retrieved.position, 0.0))
    if measure is Measure.HIT:
        return np.minimum(retrieved.count(), 1.0)
    if measure is Measure.PRECISION:
        return retrieved.count() / np.maximum(places, 1)
    if measure is Measure.R_PRECISION:
        retrieved = retrieved.keep(retrieved.position <= relevant[retrieved.query])
    return retrieved.count() / _not_zero(relevant)


def _gain(entries: _Positives, letor: float, linear: float) -> Floats:
    """Return the discounted gain of every positive label."""
    gain = entries.label if linear else np.exp2(entries.label) - 1
    discount = np.log2(np.maximum(entries.position, 2)) if letor else np.log2(entries.position + 1.0)
    return gain / discount


def _count_within(group: Int64s) -> Int64s:
    """Number the entries of each run of equal groups 0, 1, 2, …"""
    starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]])) if len(group) else group
    return np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))


def _product_before(group: Int64s, factor: Floats) -> Floats:
    """Return, for every entry, the product of the factors before it in its run, in log2(longest run) doubling steps."""
    index = _count_within(group)
    product = np.where(index > 0, np.concatenate([[1.0], factor[:-1]]) if len(factor) else factor, 1.0)
    distance = 1
    while distance <= index.max(initial=0):
        earlier = np.concatenate([np.ones(distance), product[:-distance]])
        product = np.where(index >= distance, product * earlier, product)
        distance *= 2
    return product


def _not_zero(values: Floats) -> Floats:
    return np.where(values > 0, values, 1.0)
