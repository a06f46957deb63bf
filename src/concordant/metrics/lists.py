"""Ranked lists of many queries as flat arrays, for metrics computed in NumPy and for tied scores.

The order of documents with equal scores is arbitrary, for example that of a file or a database, so the value of a
metric depends on chance. Its mean over all orders of tied documents does not, and has a closed form (McSherry and
Najork 2008):

- each position within a tie holds every document of the tie with equal probability, so a sum over positions uses the
  mean of the tie;
- a user who stops at document d with probability v_d continues beyond j of the n documents of a tie with probability
  ``e_j(1 - v) / (n choose j)``, where e_j is the elementary symmetric polynomial;
- for a relevant document, the number of the m other documents of some type that precede it in its tie is uniformly
  distributed over 0, 1, …, m.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant.ballots.segments import segment_index
from concordant.support.brief import Brief
from concordant.types import AnyArray, Bools, Floats, Int64s


@dataclass(frozen=True, repr=False)
class Lists(Brief):
    """Labels in rank order (NaN: unjudged), their ties, and all judged labels of each query.

    ``tie`` numbers the ties of all queries consecutively; an untied document forms a tie of one.
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
        """Create lists from arrays.

        Parameters
        ----------
        ranked : ndarray of float64
            Labels in rank order; NaN for unjudged documents.
        ptr : ndarray of int64
            Bounds of the lists.
        judged : ndarray of float64
            Labels of all judged documents.
        judged_ptr : ndarray of int64
            Bounds of the judged labels of each query.
        level : ndarray or None
            Ranks or scores; adjacent documents with equal levels are tied. None: no ties.
        skips : bool
            Whether to drop unjudged documents.

        Returns
        -------
        Lists
            The lists.
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
        """Number of queries."""
        return len(self.ptr) - 1

    @property
    def length(self) -> Int64s:
        """Number of documents in each list."""
        return np.diff(self.ptr)

    @cached_property
    def query(self) -> Int64s:
        """The query of each document."""
        return segment_index(self.ptr).astype(np.int64)

    @cached_property
    def position(self) -> Int64s:
        """Position of each document; 1 is best."""
        return np.arange(1, len(self.ranked) + 1) - self.ptr[:-1][self.query]

    @cached_property
    def tie_start(self) -> Int64s:
        """First row of each tie, and the end of the last."""
        starts = np.flatnonzero(np.diff(self.tie, prepend=-1))
        return np.append(starts, len(self.tie)).astype(np.int64)

    @property
    def tie_size(self) -> Int64s:
        """Number of documents in each tie."""
        return np.diff(self.tie_start)

    @cached_property
    def gain_label(self) -> Floats:
        """Labels for computing gains: unjudged and negative labels are 0."""
        return np.maximum(np.nan_to_num(self.ranked), 0.0)

    @property
    def largest(self) -> float:
        """Largest label, at least 0."""
        return float(max(np.fmax.reduce(labels, initial=0.0) for labels in (self.judged, self.ranked)))

    @property
    def documents(self) -> Floats:
        """Number of documents of each query that are ranked or judged."""
        return self.count_judged(~np.isnan(self.judged)) + _totals(self.query, np.isnan(self.ranked), self.n)

    @cached_property
    def ideal(self) -> tuple[Floats, Int64s, Int64s]:
        """Label, position and query of the judged documents in the ideal order, without labels of 0."""
        positive = self.judged > 0
        label, query = self.judged[positive], segment_index(self.judged_ptr)[positive]
        label = label[np.lexsort((-label, query))]
        first = np.searchsorted(query, np.arange(self.n))
        return label, np.arange(1, len(label) + 1) - first[query], query

    def relevant(self, threshold: float) -> Floats:
        """Count the relevant judged documents of each query.

        Parameters
        ----------
        threshold : float
            Smallest relevant label.

        Returns
        -------
        ndarray of float64
            One number per query.
        """
        return self.count_judged(self.judged >= threshold)

    def count_judged(self, chosen: Bools) -> Floats:
        """Count the selected judged documents of each query.

        Parameters
        ----------
        chosen : ndarray of bool
            Mask over the judged documents.

        Returns
        -------
        ndarray of float64
            One number per query.
        """
        return _totals(segment_index(self.judged_ptr), chosen, self.n)

    def in_tie(self, amount: Floats | Bools) -> Floats:
        """Sum values of documents over each tie.

        Parameters
        ----------
        amount : ndarray of float64
            One value per document.

        Returns
        -------
        ndarray of float64
            One sum per tie.
        """
        return _totals(self.tie, amount, len(self.tie_size))

    def before_tie(self, amount: Floats | Bools) -> Floats:
        """Sum values of documents over the earlier ties of the same query.

        Parameters
        ----------
        amount : ndarray of float64
            One value per document.

        Returns
        -------
        ndarray of float64
            One sum per tie.
        """
        cumulated: Floats = np.concatenate([[0.0], np.cumsum(np.asarray(amount, np.float64))])
        start = self.tie_start[:-1]
        return cumulated[start] - cumulated[self.ptr[:-1][self.query[start]]]

    def mean_in_tie(self, amount: Floats | Bools) -> Floats:
        """Replace the value of each document by the mean over its tie.

        Parameters
        ----------
        amount : ndarray of float64
            One value per document.

        Returns
        -------
        ndarray of float64
            One mean per position.
        """
        return (self.in_tie(amount) / np.maximum(self.tie_size, 1))[self.tie]

    def sum(self, amount: Floats, cutoff: int | Floats | None = None) -> Floats:
        """Sum values over the top positions of each query.

        Parameters
        ----------
        amount : ndarray of float64
            One value per position.
        cutoff : int or None
            Number of positions; None for all.

        Returns
        -------
        ndarray of float64
            One sum per query.
        """
        if cutoff is not None:
            limit = np.broadcast_to(np.asarray(cutoff), (self.n,))
            amount = np.where(self.position <= limit[self.query], amount, 0.0)
        return _totals(self.query, amount, self.n)

    def chance_to_stop(self, stop: Floats) -> Floats:
        """Return the probability that a user stops at each position, averaged over the orders of tied documents.

        Parameters
        ----------
        stop : ndarray of float64
            Probability of stopping at each document, given that the user reads it.

        Returns
        -------
        ndarray of float64
            One probability per position.
        """
        reading = self._chance_to_read_on(1.0 - stop)
        before = np.concatenate([[1.0], reading[:-1]])[: len(reading)]
        before[self.ptr[:-1][self.length > 0]] = 1.0
        return before - reading

    def _chance_to_read_on(self, read_on: Floats) -> Floats:
        """Return, for each position, the probability of reading beyond it, averaged over the orders of tied documents.

        ``read_on`` holds the probability of continuing after each document.
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
    """Return the cumulative products of each run (``place`` counts from 0 within it), in log2(longest run) steps."""
    product, distance = np.asarray(factor, np.float64), 1
    while distance <= place.max(initial=0):
        earlier = np.concatenate([np.ones(distance), product[:-distance]])
        product = np.where(place >= distance, product * earlier, product)
        distance *= 2
    return product


def _totals(group: Int64s, amount: Floats | Bools, n: int) -> Floats:
    return np.bincount(group, amount, n).astype(np.float64, copy=False)


def _mean_products(factor: Floats) -> Floats:
    """Return, for j = 1, 2, …, the mean product over all choices of j factors, adding one factor at a time."""
    n, ones = len(factor), int((factor == 1.0).sum())
    mean = np.zeros(n + 1)
    mean[: ones + 1] = 1.0
    for known, value in enumerate(factor[factor != 1.0].tolist(), start=ones + 1):
        j = np.arange(1, known + 1)
        mean[1 : known + 1] = ((known - j) * mean[1 : known + 1] + j * value * mean[:known]) / known
    return mean[1:]
