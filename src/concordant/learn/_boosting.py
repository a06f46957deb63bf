"""Data structures of RankBoost: features binned into intervals, and the weights of the pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.losses.queries import Pairs, Queries
from concordant.support.brief import Brief
from concordant.types import AnyArray, Bools, Bytes, Floats, Int64s

MAX_BYTE_CUTS = 254  # 255 intervals and one code for what is missing


@dataclass(frozen=True, repr=False)
class Cuts(Brief):
    """Candidate thresholds of every feature, and the interval every value falls into.

    ``code[f, k]`` counts the cuts of feature f below the value at position k; a missing value has code count + 1.
    """

    thresholds: list[Floats]
    count: Int64s
    code: AnyArray

    @classmethod
    def of(cls, X: AnyArray, row: Int64s | None, bins: int | None) -> Cuts:
        """Bin the features of X; position k is row ``row[k]`` (row k if ``row`` is None)."""
        n_rows, n_features = X.shape
        if row is None:
            row = np.arange(n_rows)
        may_need_more = n_rows > MAX_BYTE_CUTS + 1 and (bins is None or bins > MAX_BYTE_CUTS + 1)
        code = np.empty((n_features, len(row)), np.int32 if may_need_more else np.uint8)
        thresholds = []
        for feature in range(n_features):
            column = X[row, feature]
            thresholds.append(_thresholds(column, bins))
            code[feature] = kernels.interval_codes(column, thresholds[-1])
        count = np.array([len(cuts) for cuts in thresholds], np.int64)
        if may_need_more and count.max(initial=0) <= MAX_BYTE_CUTS:
            code = code.astype(np.uint8)
        return cls(thresholds, count, code)

    def vote(self, feature: int, cut: int, direction: int) -> Bools:
        """Return the vote of a threshold by position: above the cut (direction 1) or not (-1); False if missing."""
        code = self.code[feature]
        above: Bools = (code > cut) & (code <= self.count[feature])
        return above if direction > 0 else np.asarray(code <= cut)

    def threshold(self, feature: int, cut: int) -> float:
        """Return the value of a cut; all values are above cut -1."""
        return float(self.thresholds[feature][cut]) if cut >= 0 else -np.inf


def _thresholds(column: AnyArray, bins: int | None) -> Floats:
    """Return midpoints between adjacent distinct values; with ``bins``, those closest to quantiles of the rows."""
    values = np.sort(column)  # NaN last
    values = values[: len(values) - int(np.isnan(values).sum())]
    below = np.flatnonzero(values[1:] != values[:-1]) + 1  # rows below every place where the value changes
    if bins is not None and len(below) >= bins:
        wanted = np.arange(1, bins) * (len(values) / bins)
        below = below[np.unique(np.searchsorted(below, wanted).clip(0, len(below) - 1))]
    low, high = values[below - 1].astype(np.float64), values[below].astype(np.float64)
    middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)  # there is nothing between adjacent floating-point numbers


class PairWeights(ABC):
    """The training pairs, weighted by exp(-(f_i - f_j)), and the sums over them that RankBoost needs."""

    total: float
    """Total weight of the pairs before the first round."""

    @abstractmethod
    def potentials(self, score: Floats) -> tuple[Floats, float]:
        """Return, per position, the weight of pairs it should win minus those it should lose, and the total weight."""

    @abstractmethod
    def shares(self, score: Floats, vote: Bools) -> tuple[float, float]:
        """Return the weight of the pairs that a vote orders correctly, and of those that it reverses."""

    @abstractmethod
    def errors(self, score: Floats) -> float:
        """Return the initial weight of the pairs whose better row does not have the higher score."""

    @abstractmethod
    def spread(self, score: Floats) -> float:
        """Return the largest score difference that enters the weight of a pair."""


class QueryPairs(PairWeights):
    """All pairs of rows with different labels within queries, without enumerating them."""

    def __init__(self, queries: Queries) -> None:
        self.queries = queries
        self.total = float(queries.weight @ queries.pairs)

    def potentials(self, score: Floats) -> tuple[Floats, float]:
        """Return potentials and total, O(n)."""
        queries = self.queries
        return kernels.boost_potentials(score, queries.ptr, queries.tier, queries.weight)

    def shares(self, score: Floats, vote: Bools) -> tuple[float, float]:
        """Return the weights of pairs ordered correctly and reversed, O(n)."""
        queries = self.queries
        as_bytes: Bytes = vote.view(np.uint8)
        return kernels.boost_shares(score, queries.ptr, queries.tier, queries.weight, as_bytes)

    def errors(self, score: Floats) -> float:
        """Return the weight of misordered pairs, O(n log n)."""
        queries = self.queries
        return kernels.boost_errors(score, queries.ptr, queries.tier, queries.weight)

    def spread(self, score: Floats) -> float:
        """Return the largest range of scores in a query."""
        starts = self.queries.ptr[:-1]
        return float((np.maximum.reduceat(score, starts) - np.minimum.reduceat(score, starts)).max())


class ExplicitPairs(PairWeights):
    """Explicitly listed pairs."""

    def __init__(self, pairs: Pairs, n_rows: int) -> None:
        self.pairs, self.n_rows = pairs, n_rows
        self.total = float(pairs.weight.sum())

    def _weights(self, score: Floats) -> Floats:
        """Return the weight of every pair."""
        return self.pairs.weight * np.exp(score[self.pairs.worse] - score[self.pairs.better])

    def potentials(self, score: Floats) -> tuple[Floats, float]:
        """Return potentials and total, O(pairs)."""
        weight = self._weights(score)
        return self.pairs.by_row(weight, self.n_rows), float(weight.sum())

    def shares(self, score: Floats, vote: Bools) -> tuple[float, float]:
        """Return the weights of pairs ordered correctly and reversed."""
        weight = self._weights(score)
        better, worse = vote[self.pairs.better], vote[self.pairs.worse]
        return float(weight[better & ~worse].sum()), float(weight[worse & ~better].sum())

    def errors(self, score: Floats) -> float:
        """Return the weight of misordered pairs."""
        return float(self.pairs.weight[score[self.pairs.better] <= score[self.pairs.worse]].sum())

    def spread(self, score: Floats) -> float:
        """Return the largest difference within a pair."""
        return float(np.abs(score[self.pairs.better] - score[self.pairs.worse]).max())
