"""The labelled rows of every query, laid out for the losses.

A loss works on *positions*, not on rows of X. The positions of a query are contiguous and sorted by decreasing label,
so that objects with equal labels (a *tier*) are contiguous and "all objects worse than this one" is a suffix. Rows of X
are never moved; ``row`` is the row of each position.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant.ballots.segments import first_of, is_new
from concordant.errors import NeedError
from concordant.support.brief import Brief
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s


@dataclass(frozen=True, eq=False, repr=False)
class Queries(Brief):
    """Labelled objects by query: positions in order of decreasing label within each query.

    ``ptr``: query q owns positions ``ptr[q]:ptr[q+1]``. ``tier``: per position, 0 = best, dense and non-decreasing
    within a query. ``label``: per position. ``weight``: per query. ``row``: the row a position comes from.
    """

    ptr: Int64s
    tier: Int32s
    label: Floats
    weight: Floats
    row: Int64s

    @classmethod
    def from_rows(
        cls,
        label: Floats,
        query: AnyArray,
        weight_by_row: Floats | None = None,
        *,
        shuffle: np.random.Generator | None = None,
    ) -> Queries:
        """Lay out rows with their labels and query codes (0, 1, … in order of first appearance).

        Rows with equal labels in a query stay in input order, or in random order with ``shuffle``.
        """
        among_ties = shuffle.permutation(len(label)) if shuffle is not None else np.arange(len(label))
        row = np.lexsort((among_ties, -label, query)).astype(np.int64, copy=False)
        query_by_position = np.asarray(query)[row]
        label_by_position = np.ascontiguousarray(label[row], np.float64)
        count = int(query_by_position[-1]) + 1 if len(row) else 0
        ptr = np.searchsorted(query_by_position, np.arange(count + 1)).astype(np.int64, copy=False)
        rank: Int64s = np.cumsum(is_new(label_by_position, query_by_position))
        tier: Int32s = (rank - rank[first_of(ptr)]).astype(np.int32)
        weight = np.ones(count) if weight_by_row is None else np.ascontiguousarray(weight_by_row[row[ptr[:-1]]], float)
        return cls(ptr, tier, label_by_position, weight, row)

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.ptr) - 1

    @property
    def layout(self) -> tuple[Int64s, Int32s, Floats]:
        """The arrays that every loss uses: pointers, tiers and weights."""
        return self.ptr, self.tier, self.weight

    @cached_property
    def is_grouped(self) -> bool:
        """Whether the rows of every query are adjacent in X, in the order of the queries."""
        return bool((np.maximum.reduceat(self.row, self.ptr[:-1]) == self.ptr[1:] - 1).all()) if len(self) else True

    @cached_property
    def tier_ptr(self) -> Int64s:
        """The start of each tier: tier t (numbered over all queries) owns positions tier_ptr[t]:tier_ptr[t+1]."""
        begins = is_new(self.tier)
        begins[self.ptr[:-1]] = True
        return np.append(np.flatnonzero(begins), len(self.tier)).astype(np.int64, copy=False)

    @cached_property
    def query_tier_ptr(self) -> Int64s:
        """The tiers of each query: query q owns tiers query_tier_ptr[q]:query_tier_ptr[q+1]."""
        return np.searchsorted(self.tier_ptr, self.ptr).astype(np.int64, copy=False)

    @cached_property
    def pairs(self) -> Floats:
        """The number of pairs with different labels, per query."""
        size = np.diff(self.tier_ptr).astype(np.float64)
        squares = np.add.reduceat(size * size, self.query_tier_ptr[:-1]) if len(self) else np.zeros(0)
        return (np.diff(self.ptr).astype(np.float64) ** 2 - squares) / 2

    @cached_property
    def tied_pairs(self) -> Floats:
        """The number of pairs with equal labels, per query."""
        size = np.diff(self.ptr).astype(np.float64)
        return size * (size - 1) / 2 - self.pairs

    def part(self, first: int, last: int) -> Queries:
        """Return queries ``first`` to ``last - 1``; positions are renumbered from 0, rows are unchanged."""
        low, high = int(self.ptr[first]), int(self.ptr[last])
        return Queries(
            self.ptr[first : last + 1] - low,
            self.tier[low:high],
            self.label[low:high],
            self.weight[first:last],
            self.row[low:high],
        )

    def weighted(self, weight: Floats) -> Queries:
        """Return the same queries with other weights."""
        return Queries(self.ptr, self.tier, self.label, weight, self.row)


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(Brief):
    """Explicit preferences between rows: ``better[k]`` over ``worse[k]``, or equal where ``tied[k]``."""

    better: Int64s
    worse: Int64s
    weight: Floats
    tied: Bools

    @classmethod
    def of(cls, queries: Queries, chosen: Int64s | None = None) -> Pairs:
        """List the pairs of rows with different labels in the same query, or only the ``chosen`` ones by number.

        Position i is better than all positions from the end of its tier to the end of its query. Pairs are numbered in
        this order: pair k belongs to the first position whose cumulative number of pairs exceeds k.
        """
        query = np.repeat(np.arange(len(queries)), np.diff(queries.ptr))
        end_of_tier = np.repeat(queries.tier_ptr[1:], np.diff(queries.tier_ptr))
        n_worse = queries.ptr[1:][query] - end_of_tier
        pairs_up_to = np.cumsum(n_worse)
        if chosen is None:
            better = np.repeat(np.arange(len(query)), n_worse)
            worse = np.arange(len(better)) - np.repeat(pairs_up_to - n_worse - end_of_tier, n_worse)
        else:
            better = np.searchsorted(pairs_up_to, chosen, side="right")
            worse = chosen - (pairs_up_to - n_worse - end_of_tier)[better]
        weight = queries.weight[query[better]]
        return cls(queries.row[better], queries.row[worse], weight, np.zeros(len(better), bool))

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.better)

    def by_row(self, by_pair: Floats, n_rows: int) -> Floats:
        """Sum values of pairs by row: plus for the better row, minus for the worse."""
        up, down = (np.bincount(side, by_pair, n_rows) for side in (self.better, self.worse))
        return np.asarray(up - down, np.float64)

    def refuse_ties(self, loss: str) -> None:
        """Raise an error if some pairs are tied; ``loss`` is the loss that does not support ties."""
        if self.tied.any():
            raise NeedError(
                f"The {loss} loss does not support ties, but {int(self.tied.sum()):,} pairs are tied: "
                "leave them out, or use DavidsonRanker or RaoKupperRanker."
            )
