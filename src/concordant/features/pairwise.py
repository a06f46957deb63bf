"""Pairwise matrices of experts and their singular pairs, without forming the matrices.

A ballot gives Y(i, j) = level_j - level_i, or 1, if i is ranked before j (``models.observations.preference_counts``
defines the levels). The matrix of a group (an expert in an instance, or all experts) is the weighted sum over its
ballots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from concordant import kernels
from concordant.ballots.segments import pointer, spans
from concordant.kernels.bundles import PairLists
from concordant.models.observations.preference_counts import levels as levels_of
from concordant.preferences import Preferences
from concordant.types import Floats, Int32s, Int64s

TOLERANCE, MAX_ITERATIONS = 1e-13, 1000  # of power iteration
DENSE = 1000  # candidates up to which a matrix is formed to find more than one singular pair


class Factors(NamedTuple):
    """Singular pairs by group: rows of ``left`` and ``right`` belong to a ``slot`` and a ``group``.

    Row g of ``strength`` holds the singular values of group g.
    """

    slot: Int64s
    group: Int64s
    left: Floats
    right: Floats
    strength: Floats


@dataclass(frozen=True)
class Levels:
    """The level of each entry in its ballot, for the pairwise matrix: larger is worse."""

    level: Floats
    is_binary: bool


def levels(prefs: Preferences, counts: str) -> Levels:
    """Return the level of every entry (larger is worse); pairwise comparisons always have binary levels."""
    if counts == "binary" or prefs.form == "pairs":
        return Levels(prefs.tier.astype(np.float64), True)
    return Levels(-levels_of(prefs, counts), False)


def level_of_lists(indptr: Int64s, tier: Int32s, counts: str) -> Floats:
    """Return the same levels for plain lists given as arrays, without the overhead of preferences."""
    if counts == "binary":
        return tier.astype(np.float64)
    place = kernels.tier_positions(indptr, tier, True)
    measured = np.log(place) if counts == "log" else place
    if counts == "difference":
        return measured
    sizes = np.diff(indptr)
    last = measured[np.maximum(indptr[1:] - 1, 0)]
    return np.asarray(measured / np.repeat(np.where(last > 0, last, 1.0), sizes))


def pair_lists(prefs: Preferences, entry_levels: Levels, group: Int64s, n_groups: int) -> tuple[PairLists, Int64s]:
    """Sort ballots by group (-1: ignored); return them, and the original slot of every slot of a group.

    A group contains only the slots on its ballots: other candidates of the instance cost nothing.
    """
    order = np.argsort(group, kind="stable")
    order = order[np.searchsorted(group[order], 0) :]
    ballot_ptr = np.searchsorted(group[order], np.arange(n_groups + 1)).astype(np.int64)
    sizes = np.diff(prefs.indptr)[order]
    indptr = pointer(sizes)
    entry = spans(prefs.indptr[:-1][order], prefs.indptr[1:][order])
    slot = prefs.entry_slot[entry]
    if (np.diff(ballot_ptr) <= 1).all():  # one ballot each: its entries are its slots
        slot_ptr, place, named = indptr[ballot_ptr], np.arange(len(slot), dtype=np.int64), slot
    else:
        key = np.repeat(group[order], sizes) * prefs.n_slots + slot
        distinct, place = np.unique(key, return_inverse=True)
        slot_ptr = np.searchsorted(distinct, np.arange(n_groups + 1) * prefs.n_slots).astype(np.int64)
        named, place = distinct % max(prefs.n_slots, 1), place.reshape(-1).astype(np.int64, copy=False)
    lists = PairLists(slot_ptr, ballot_ptr, indptr, place, entry_levels.level[entry], prefs.weight[order])
    return lists, named


def factors(prefs: Preferences, counts: str, rank: int, group: Int64s, n_groups: int) -> Factors:
    """Return the leading ``rank`` singular pairs of every group of ballots, with fixed signs.

    A single pair is non-negative. If there are several, the sign of each is chosen so that the positive entries of its
    left vector have the larger sum of squares.
    """
    entry_levels = levels(prefs, counts)
    lists, named = pair_lists(prefs, entry_levels, group, n_groups)
    owner = np.repeat(np.arange(n_groups), np.diff(lists.slot_ptr))
    if rank == 1:
        left, right, strength = kernels.pair_factors(lists, entry_levels.is_binary, TOLERANCE, MAX_ITERATIONS)
        return Factors(named, owner, left[:, None], right[:, None], strength[:, None])
    left, right = np.zeros((len(named), rank)), np.zeros((len(named), rank))
    strength = np.zeros((n_groups, rank))
    for g in range(n_groups):
        low, high = int(lists.slot_ptr[g]), int(lists.slot_ptr[g + 1])
        if high > low:
            matrix = PairMatrix(lists, g, entry_levels.is_binary)
            u, s, v = matrix.singular_pairs(rank)
            left[low:high, : len(s)], right[low:high, : len(s)], strength[g, : len(s)] = u, v, s
    return Factors(named, owner, left, right, strength)


class PairMatrix:
    """The pairwise matrix of one group: its products with vectors, and its singular pairs."""

    def __init__(self, lists: PairLists, group: int, is_binary: bool) -> None:
        """Store the ballots of one group, with items numbered from 0."""
        low, high = lists.ballot_ptr[group : group + 2].tolist()
        start, stop = int(lists.indptr[low]), int(lists.indptr[high])
        self.size = int(lists.slot_ptr[group + 1] - lists.slot_ptr[group])
        self.indptr = lists.indptr[low : high + 1] - start
        self.item = lists.slot[start:stop] - lists.slot_ptr[group]
        self.level, self.weight = lists.level[start:stop], lists.weight[low:high]
        self.is_binary = is_binary

    def dense(self) -> Floats:
        """Return the dense matrix: (i, j) is the level difference of j behind i, summed over ballots."""
        matrix = np.zeros((self.size, self.size))
        for b, weight in enumerate(self.weight.tolist()):
            entries = slice(self.indptr[b], self.indptr[b + 1])
            ahead = np.maximum(self.level[entries][None, :] - self.level[entries][:, None], 0.0)
            matrix[np.ix_(self.item[entries], self.item[entries])] += weight * (
                (ahead > 0) if self.is_binary else ahead
            )
        return matrix

    def singular_pairs(self, rank: int) -> tuple[Floats, Floats, Floats]:
        """Return up to ``rank`` left vectors, values and right vectors with fixed signs, without values of 0."""
        rank = min(rank, self.size)
        if self.size <= DENSE or rank >= self.size - 1:
            u, s, vt = np.linalg.svd(self.dense())
        else:
            u, s, vt = self._truncated(rank)
        u, s, v = u[:, :rank], s[:rank], vt[:rank].T
        is_positive = s > 1e-12 * max(float(s[0]), 1e-300)
        u, s, v = u[:, is_positive], s[is_positive], v[:, is_positive]
        sign = np.where((u * np.abs(u)).sum(axis=0) < 0, -1.0, 1.0)
        return u * sign, s, v * sign

    def _truncated(self, rank: int) -> tuple[Floats, Floats, Floats]:
        """Return the leading singular pairs by an iterative method (SciPy's svds), largest first."""
        from scipy.sparse.linalg import LinearOperator, svds

        operator = LinearOperator(
            (self.size, self.size), matvec=self.times, rmatvec=self.transposed, dtype=np.dtype(np.float64)
        )
        u, s, vt = svds(operator, k=rank, v0=np.ones(self.size), tol=1e-12)
        order = np.argsort(-s)
        return u[:, order], s[order], vt[order]

    def times(self, x: Floats) -> Floats:
        """Return the product with a vector, in time linear in the entries."""
        return self._product(np.asarray(x).reshape(-1), is_transposed=False)

    def transposed(self, x: Floats) -> Floats:
        """Return the product of the transpose with a vector."""
        return self._product(np.asarray(x).reshape(-1), is_transposed=True)

    def _product(self, x: Floats, *, is_transposed: bool) -> Floats:
        """Return the product of the matrix, or its transpose, with a vector, ballot by ballot."""
        y = np.zeros(self.size)
        for b, weight in enumerate(self.weight.tolist()):
            entries = slice(self.indptr[b], self.indptr[b + 1])
            item, level = self.item[entries], self.level[entries]
            if is_transposed:  # the same from the other end
                item, level = item[::-1], -level[::-1]
            y[item] += weight * _summed_behind(x[item], level, self.is_binary)
        return y


def _summed_behind(x: Floats, level: Floats, is_binary: bool) -> Floats:
    """Return, for every entry, the sum of x over the entries behind it, each times its distance in level (binary: 1).

    Entries are sorted best first: ``level`` ascends, and equal levels are tied.
    """
    at_or_behind = np.cumsum(x[::-1])[::-1]
    step = np.diff(level)
    if not is_binary:
        return np.append(np.cumsum((step * at_or_behind[1:])[::-1])[::-1], 0.0)
    behind = np.append(at_or_behind, 0.0)
    tier_end = np.append(np.flatnonzero(step > 0) + 1, len(x))
    return np.asarray(behind[tier_end[np.searchsorted(tier_end, np.arange(len(x)), side="right")]])
