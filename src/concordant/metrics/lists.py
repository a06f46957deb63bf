"""Ranked lists of many queries as flat arrays, for metrics that are computed in NumPy and for tied scores.

Documents of equal score stand in some order that says nothing: a file's, a database's. The value of a metric then
depends on luck. Its mean over all orders inside the ties does not, and has a closed form (McSherry and Najork 2008):

- a place inside a tie holds every document of the tie with the same chance, so a sum over places takes the tie's mean;
- a user who stops at document d with chance v_d is still reading after j of the n documents of a tie with chance
  ``e_j(1 - v) / (n over j)``, where e_j is the elementary symmetric polynomial;
- a relevant document has 0, 1, …, m of the m others of a kind in its tie before it, each with the same chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant.ballots.segments import segment_index
from concordant.types import AnyArray, Bools, Floats, Int64s


@dataclass(frozen=True)
class Lists:
    """Labels best first (NaN: unjudged), which of them are tied, and all judged labels of each query.

    ``tie`` numbers the ties through all queries; a document alone is a tie of one.
    """

    ranked: Floats
    ptr: Int64s
    judged: Floats
    judged_ptr: Int64s
    tie: Int64s

    @classmethod
    def of(
        cls, ranked: Floats, ptr: Int64s, judged: Floats, judged_ptr: Int64s, level: AnyArray | None, skips: bool
    ) -> Lists:
        """Gather lists; neighbours of equal ``level`` are tied (None: no ties). Drop unjudged documents if
        ``skips``.
        """
        if skips:
            kept = ~np.isnan(ranked)
            ptr = np.concatenate([[0], np.cumsum(kept)])[ptr]
            ranked, level = ranked[kept], None if level is None else level[kept]
        first = np.ones(len(ranked), bool)
        if level is not None:
            first[1:] = level[1:] != level[:-1]
            first[ptr[:-1][np.diff(ptr) > 0]] = True
        return cls(ranked, ptr, judged, judged_ptr, np.cumsum(first) - 1)

    @property
    def n(self) -> int:
        """The number of queries."""
        return len(self.ptr) - 1

    @property
    def length(self) -> Int64s:
        """The number of documents in each list."""
        return np.diff(self.ptr)

    @cached_property
    def query(self) -> Int64s:
        """The query of each document."""
        return segment_index(self.ptr).astype(np.int64)

    @cached_property
    def position(self) -> Int64s:
        """The place of each document, 1 is best."""
        return np.arange(1, len(self.ranked) + 1) - self.ptr[:-1][self.query]

    @cached_property
    def tie_start(self) -> Int64s:
        """The row where each tie starts, and the end of the last."""
        starts = np.flatnonzero(np.diff(self.tie, prepend=-1))
        return np.append(starts, len(self.tie)).astype(np.int64)

    @property
    def tie_size(self) -> Int64s:
        """The number of documents in each tie."""
        return np.diff(self.tie_start)

    @cached_property
    def gain_label(self) -> Floats:
        """The labels as gains see them: unjudged and negative ones are 0."""
        return np.maximum(np.nan_to_num(self.ranked), 0.0)

    @property
    def largest(self) -> float:
        """The largest label there is, at least 0."""
        return float(max(np.fmax.reduce(labels, initial=0.0) for labels in (self.judged, self.ranked)))

    @property
    def documents(self) -> Floats:
        """How many documents of each query are ranked or judged."""
        return self.count_judged(~np.isnan(self.judged)) + _totals(self.query, np.isnan(self.ranked), self.n)

    @cached_property
    def ideal(self) -> tuple[Floats, Int64s, Int64s]:
        """Label, place and query of the judged documents in their best order; labels of 0 are left out."""
        positive = self.judged > 0
        label, query = self.judged[positive], segment_index(self.judged_ptr)[positive]
        label = label[np.lexsort((-label, query))]
        first = np.searchsorted(query, np.arange(self.n))
        return label, np.arange(1, len(label) + 1) - first[query], query

    def relevant(self, threshold: float) -> Floats:
        """Count the judged documents of each query with at least this label."""
        return self.count_judged(self.judged >= threshold)

    def count_judged(self, chosen: Bools) -> Floats:
        """Count the chosen judged documents of each query."""
        return _totals(segment_index(self.judged_ptr), chosen, self.n)

    def in_tie(self, amount: Floats | Bools) -> Floats:
        """Sum an amount per document over each tie."""
        return _totals(self.tie, amount, len(self.tie_size))

    def before_tie(self, amount: Floats | Bools) -> Floats:
        """Sum an amount per document over the ties of the same query before each tie."""
        cumulated: Floats = np.concatenate([[0.0], np.cumsum(np.asarray(amount, np.float64))])
        start = self.tie_start[:-1]
        return cumulated[start] - cumulated[self.ptr[:-1][self.query[start]]]

    def mean_in_tie(self, amount: Floats | Bools) -> Floats:
        """Return, for each place, the mean amount of the documents that may be there."""
        return (self.in_tie(amount) / np.maximum(self.tie_size, 1))[self.tie]

    def sum(self, amount: Floats, cutoff: int | Floats | None = None) -> Floats:
        """Sum an amount per place over the best ``cutoff`` places of each query."""
        if cutoff is not None:
            limit = np.broadcast_to(np.asarray(cutoff), (self.n,))
            amount = np.where(self.position <= limit[self.query], amount, 0.0)
        return _totals(self.query, amount, self.n)

    def chance_to_stop(self, stop: Floats) -> Floats:
        """Return, by place, the probability that a user stops there, who stops at a document with chance ``stop``."""
        reading = self._chance_to_read_on(1.0 - stop)
        before = np.concatenate([[1.0], reading[:-1]])[: len(reading)]
        before[self.ptr[:-1][self.length > 0]] = 1.0
        return before - reading

    def _chance_to_read_on(self, read_on: Floats) -> Floats:
        """Return, for each place, the probability of reading beyond it, averaged over the orders inside ties.

        ``read_on`` has the probability of reading on after each document.
        """
        start, size = self.tie_start[:-1], self.tie_size
        place = np.arange(len(read_on)) - start[self.tie]
        if (
            (read_on == 0.0) | (read_on == 1.0)
        ).all():  # r documents stop every reader: (n-r)/n, (n-r-1)/(n-1), … pass them
            left = size[self.tie] - place
            reading = _running_product(np.maximum(left - self.in_tie(read_on == 0.0)[self.tie], 0.0) / left, place)
        else:
            reading = read_on ** (place + 1)
            mixed = np.zeros(len(size), bool)
            mixed[self.tie[read_on != read_on[start][self.tie]]] = True
            for tie in np.flatnonzero(mixed).tolist():
                span = slice(start[tie], start[tie] + size[tie])
                reading[span] = _mean_products(read_on[span])
        query_of_tie = self.query[start]
        first_of_query = np.searchsorted(query_of_tie, np.arange(self.n))[query_of_tie]
        number = np.arange(len(size)) - first_of_query
        through = _running_product(reading[start + size - 1], number)
        earlier = np.where(number > 0, np.concatenate([[1.0], through[:-1]])[: len(through)], 1.0)
        return np.asarray(reading * earlier[self.tie])


def _running_product(factor: Floats, place: Int64s) -> Floats:
    """Multiply each factor by all before it in its run (``place`` counts from 0 in it), in log2(longest run) steps."""
    product, distance = np.asarray(factor, np.float64), 1
    while distance <= place.max(initial=0):
        earlier = np.concatenate([np.ones(distance), product[:-distance]])
        product = np.where(place >= distance, product * earlier, product)
        distance *= 2
    return product


def _totals(group: Int64s, amount: Floats | Bools, n: int) -> Floats:
    return np.bincount(group, amount, n).astype(np.float64, copy=False)


def _mean_products(factor: Floats) -> Floats:
    """Return, for j = 1, 2, …, the mean over all choices of j factors of their product, adding one factor at a time."""
    n, ones = len(factor), int((factor == 1.0).sum())
    mean = np.zeros(n + 1)
    mean[: ones + 1] = 1.0
    for known, value in enumerate(factor[factor != 1.0].tolist(), start=ones + 1):
        j = np.arange(1, known + 1)
        mean[1 : known + 1] = ((known - j) * mean[1 : known + 1] + j * value * mean[:known]) / known
    return mean[1:]
