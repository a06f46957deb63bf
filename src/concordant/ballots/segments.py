"""Functions on segmented arrays: with a pointer ``ptr``, segment q has the entries ptr[q]:ptr[q + 1]."""

from __future__ import annotations

import numpy as np

from concordant.types import AnyArray, Bools, Floats, Int64s


def pointer(sizes: AnyArray) -> Int64s:
    """Return the start of each segment, given the segment sizes, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def first_of(ptr: Int64s) -> Int64s:
    """Return the first entry of the segment of every entry."""
    return np.repeat(ptr[:-1], np.diff(ptr))


def number_inside(ptr: Int64s) -> Int64s:
    """Return the number of each entry within its segment, from 0."""
    return np.arange(int(ptr[-1])) - first_of(ptr)


def places(ptr: Int64s, order: Int64s) -> Int64s:
    """Return the place of each entry within its segment, from 0.

    ``order`` lists entries best first, in one row or several.
    """
    place = np.empty(order.shape, np.int64)
    np.put_along_axis(place, order, np.broadcast_to(number_inside(ptr), order.shape), axis=-1)
    return place


def is_new(*columns: AnyArray) -> Bools:
    """Return, for each row, whether it differs in any column from the previous row."""
    differs = np.ones(len(columns[0]), bool)
    differs[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return differs


def max_by(index: AnyArray, values: AnyArray, n: int, initial: float = 0.0) -> Floats:
    """Return, for each of ``n`` groups, the largest value whose ``index`` is that group, but at least ``initial``."""
    largest = np.full(n, initial)
    np.maximum.at(largest, index, values)
    return largest


def spans(first: AnyArray, last: AnyArray) -> Int64s:
    """Return the indices first[k], …, last[k] - 1 for every k, concatenated."""
    sizes = last - first
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(first - np.cumsum(sizes) + sizes, sizes))


def deviation_within(scores: Floats, query: AnyArray) -> float:
    """Return the pooled standard deviation of scores around the mean of their query; 1 if it is 0."""
    mean = np.bincount(query, weights=scores) / np.maximum(np.bincount(query), 1)
    return float(np.sqrt(np.mean((scores - mean[query]) ** 2))) or 1.0


def sum_by(index: AnyArray, weights: AnyArray, n: int) -> Floats:
    """Return, for each of ``n`` groups, the sum of the weights whose ``index`` is that group."""
    # Over nothing at all, bincount forgets the weights and counts in integers.
    return np.bincount(index, weights=weights, minlength=n).astype(np.float64, copy=False)


def segment_index(indptr: AnyArray) -> Int64s:
    """Return the segment number of each entry."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
