"""Sums over the leaves of trees and ranks within queries (NumPy reference of forest.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.layouts import begins_tier, segment_of
from concordant.types import AnyArray, Floats, Int32s, Int64s

__all__ = ["forest_means", "query_ranks"]


def forest_means(
    X: AnyArray, root: Int64s, feature: Int32s, threshold: Floats, left: Int32s, right: Int32s, value: Floats
) -> Floats:
    """Return, for every row, the mean over trees of the value of the leaf it falls into.

    ``root`` holds the first node of each tree. A node with feature -1 is a leaf; at other nodes rows with values up to
    the threshold go left.
    """
    total = np.zeros(len(X))
    for start in root.tolist():
        node = np.full(len(X), start)
        inner = np.flatnonzero(feature[node] >= 0)
        while len(inner):
            node_of_inner = node[inner]
            goes_left = X[inner, feature[node_of_inner]].astype(np.float64) <= threshold[node_of_inner]
            node[inner] = np.where(goes_left, left[node_of_inner], right[node_of_inner])
            inner = inner[feature[node[inner]] >= 0]
        total += value[node]
    return total / len(root)


def query_ranks(X: AnyArray, ptr: Int64s, row: Int64s) -> AnyArray:
    """Return the mid-rank of every value among the rows of its query, from 1, divided by their number."""
    rank = np.empty_like(X)
    size = np.diff(ptr)
    query = segment_of(ptr)
    for column in range(X.shape[1]):
        value = X[row, column]
        order = np.lexsort((value, query))
        sorted_query = query[order]
        begins = begins_tier(ptr, value[order])
        low = np.flatnonzero(begins)
        high = np.append(low[1:], len(order))
        tie = np.cumsum(begins) - 1
        middle = (low + high + 1) / 2 - ptr[:-1][sorted_query[low]]
        rank[row[order], column] = (middle[tie] / size[sorted_query]).astype(X.dtype)
    return rank
