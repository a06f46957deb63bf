"""Reduce ballots to pairwise counts (``Duels``): a row per pair of compared candidates, with wins, losses and ties.

These counts are sufficient statistics for a model of comparisons: 10^7 votes over 1,000 items become at most half a
million rows. Votes and short ballots are bucketed by the first item of every pair and summed there; long ballots are
counted in dense matrices. With position bias, ``first`` is the item that was shown first and ``order`` is 1 (0 if
neither was).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import kernels, views
from concordant.ballots.segments import pointer, segment_index, spans
from concordant.ballots.vocabulary import shorten
from concordant.errors import InputError, ParameterError, action, arg, phrase
from concordant.kernels.bundles import DuelRows
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.support.brief import Brief
from concordant.support.limits import WEIGHTS, bad_weights
from concordant.types import Floats, Int32s, Int64s

COUNTS = ("binary", "difference", "log")
LARGEST_DENSE = 40_000_000  # cells of all matrices together: 0.3 GB
MAX_EMPTY = 8  # cells per pair above which pairs are listed rather than counted in matrices
SHORT = 8  # items of a ballot up to which its pairs are listed all the same, if there are at most
MAX_LISTED = 16  # of them per cell
BYTES_OF_VOTE = 44  # while plain votes are listed
BYTES_OF_PAIR = 60  # while pairs are listed one by one


@dataclass(frozen=True, repr=False)
class Duels(Brief):
    """Pairwise counts: instance q has rows ptr[q]:ptr[q + 1]; ``first`` and ``second`` are slots."""

    slot_ptr: Int64s
    ptr: Int64s
    first: Int32s
    second: Int32s
    won: Floats
    lost: Floats
    tied: Floats
    order: Floats

    @cached_property
    def n_slots(self) -> int:
        """The number of candidates of all instances."""
        return int(self.slot_ptr[-1])

    @cached_property
    def rows(self) -> DuelRows:
        """The counts as the bundle that kernels expect."""
        return DuelRows(self.first, self.second, self.won, self.lost, self.tied, self.order)

    @cached_property
    def _sums(self) -> tuple[Floats, Floats, Floats]:
        """Sums of the counts: total by row, total by slot, and wins minus half of the total by slot."""
        return kernels.duel_sums(self.first, self.second, self.won, self.lost, self.tied, self.n_slots)

    @property
    def total(self) -> Floats:
        """The total count (won + lost + tied) of every row."""
        return self._sums[0]

    @property
    def met(self) -> Floats:
        """The total count of comparisons that involve each slot."""
        return self._sums[1]

    @property
    def balance(self) -> Floats:
        """By slot: wins (ties count half) minus half the number of its comparisons."""
        return self._sums[2]

    @cached_property
    def totals(self) -> tuple[Floats, Floats]:
        """The total count of every instance, and its count of ties."""
        return self.by_instance(self.total), self.by_instance(self.tied)

    def by_instance(self, values: Floats) -> Floats:
        """Add up values of rows by instance."""
        if len(self.ptr) == 2:
            return np.array([values.sum()])
        return np.asarray(np.diff(np.concatenate([[0.0], np.cumsum(values)])[self.ptr]))

    def every(self, step: int) -> DuelRows:
        """Return every ``step``-th row."""
        return DuelRows._make(np.ascontiguousarray(column[::step]) for column in self.rows)

    def restrict(self, instances: Int64s) -> tuple[Duels, Int64s]:
        """Return the counts of some instances with slots renumbered, and the slots they had."""
        slots, rows = (spans(ptr[instances], ptr[instances + 1]) for ptr in (self.slot_ptr, self.ptr))
        slot_ptr, ptr = (pointer(np.diff(whole)[instances]) for whole in (self.slot_ptr, self.ptr))
        shift = np.repeat(self.slot_ptr[instances] - slot_ptr[:-1], np.diff(ptr)).astype(np.int32)
        columns = DuelRows._make(column[rows] if len(column) else column for column in self.rows)
        return Duels(
            slot_ptr, ptr, *columns._replace(first=columns.first - shift, second=columns.second - shift)
        ), slots


def order_of_sides(prefs: Preferences, what: str) -> Int32s:
    """Return the position at which every entry was shown; raise an error that names ``what`` if it is unknown."""
    if prefs.shown is None:
        raise InputError(
            phrase(
                "{} requires the item that was shown first (or played at home), which these preferences do not record: "
                "winners and losers are not enough. Read the sides with {}, {} and {}{}, or leave it out.",
                *(
                    what,
                    arg("left"),
                    arg("right"),
                    arg("outcome"),
                    action("sides", " (or from_pairs with winner_first)"),
                ),
            )
        )
    return prefs.shown


@dataclass(frozen=True)
class Counting:
    """Settings for counting the pairwise comparisons of ballots."""

    counts: str = "binary"
    normalise: bool = False
    missing: str = "ignore"
    order_effect: bool = False
    trust: Mapping[str, float] | None = None

    def duels(self, prefs: Preferences) -> Duels:
        """Count the pairwise comparisons of preferences by the fastest strategy for their size."""
        if self.counts != "binary" and self.missing != "ignore":
            given = arg("counts", self.counts), arg("missing", self.missing)
            raise ParameterError(phrase("{} does not support {}: use {}.", *given, arg("missing", "ignore")))
        if self.order_effect:
            order_of_sides(prefs, "Position bias")
        if self.trust is not None:
            prefs = trusted(prefs, self.trust)
        size = _Size.of(prefs)
        return STRATEGIES[self._kind(size)][not size.fits_matrices](self, prefs, size)

    def _kind(self, size: _Size) -> str:
        """Return the kind of count, as a key of ``STRATEGIES``."""
        if self.order_effect:
            return "order"
        if self.counts != "binary":
            return "graded"
        if self.missing != "ignore":
            return "missing"
        return "short" if size.has_short_ballots else "long"

    def _win_matrices(self, prefs: Preferences, _: _Size) -> Duels:
        """Count wins and ties in dense matrices."""
        matrices = views.win_matrices(prefs, self.missing)
        return _of_matrices(prefs, matrices.wins, matrices.ties)

    def _level_matrices(self, prefs: Preferences, _: _Size) -> Duels:
        """Add up differences of levels in dense matrices."""
        wins = kernels.level_counts(views.ballots(prefs), self.levels(prefs))
        return _of_matrices(prefs, wins, np.zeros(len(wins)))

    def _sum_pairs(self, prefs: Preferences, size: _Size) -> Duels:
        """Add up the pairs of all ballots by a kernel; plain votes have a faster one."""
        _require(BYTES_OF_VOTE, size.pairs)
        if prefs.said_form == "pairs" and prefs.are_slots_items and prefs.open is None:
            weight = np.empty(0) if prefs.has_unit_weights else prefs.weight
            ptr, rows = kernels.count_votes(prefs.item.reshape(-1, 2), prefs.tier.reshape(-1, 2), weight, prefs.n_items)
        else:
            ptr, rows = kernels.count_duels(views.ballots(prefs))
        return Duels(prefs.slot_ptr, ptr, *rows)

    def _list_pairs(self, prefs: Preferences, size: _Size) -> Duels:
        """List all pairs of all ballots, then sum equal ones; with position bias the item shown first is ``first``."""
        _require(BYTES_OF_PAIR, size.pairs)
        ahead, behind, is_tie = next(views.pairs_of_entries(prefs, at_once=np.inf))
        better, worse = prefs.entry_slot[ahead], prefs.entry_slot[behind]
        weight = views.weight_of_entry(prefs)[ahead]
        if self.counts == "binary":
            amount, tie_amount = weight * ~is_tie, weight * is_tie
        else:
            level = self.levels(prefs)
            amount, tie_amount = weight * np.abs(level[ahead] - level[behind]), np.zeros(len(weight))
        flip, order = better > worse, None
        if self.order_effect:
            shown = order_of_sides(prefs, "Position bias")
            shown_earlier = np.sign(shown[behind] - shown[ahead])
            flip, order = np.where(shown_earlier == 0, flip, shown_earlier < 0), shown_earlier != 0
        first, second = np.where(flip, worse, better), np.where(flip, better, worse)
        won, lost = np.where(flip, 0.0, amount), np.where(flip, amount, 0.0)
        n = prefs.n_slots
        if order is None:
            rows = kernels.group_duels(first, second, won, lost, tie_amount, n)
        else:  # rows with and without somebody first are kept apart by numbering slots twice
            rows = kernels.group_duels(first + n * ~order, second, won, lost, tie_amount, 2 * n)
            rows = rows._replace(order=(rows.first < n).astype(np.float64))
            sorted_rows = np.argsort(rows.first % n, kind="stable")
            rows = DuelRows._make(column[sorted_rows] for column in rows)
            rows = rows._replace(first=rows.first % n)
        ptr = np.searchsorted(rows.first, prefs.slot_ptr).astype(np.int64)
        return Duels(prefs.slot_ptr, ptr, *rows)

    def levels(self, prefs: Preferences) -> Floats:
        """Return a level per entry (higher is better); the difference of two levels is the count of the pair."""
        sizes = np.diff(prefs.indptr)
        if self.counts == "difference" and prefs.scale == "rating":
            assert prefs.value is not None
            top, bottom = (_over_ballots(how, prefs.value, prefs.indptr) for how in (np.maximum, np.minimum))
            range_of_ballot = np.repeat(top - bottom, sizes)
            return prefs.value / np.where(range_of_ballot > 0, range_of_ballot, 1.0) if self.normalise else prefs.value
        ranks = views.competition_ranks(prefs)
        if (
            prefs.scale == "rank"
            and prefs.value is not None
            and (self.counts == "difference" or prefs.value.min() >= 1)
        ):
            ranks = prefs.value
        if self.counts == "log":
            ranks = np.log(ranks)
        largest = np.repeat(_over_ballots(np.maximum, ranks, prefs.indptr), sizes)
        is_divided = self.normalise or self.counts == "log"
        return -ranks / np.where(largest > 0, largest, 1.0) if is_divided else -ranks


@dataclass(frozen=True)
class _Size:
    """The number of pairs in the ballots, the cells of dense matrices over all instances, and the longest ballot."""

    pairs: float
    cells: float
    longest: int

    @classmethod
    def of(cls, prefs: Preferences) -> _Size:
        """Measure the ballots of preferences."""
        length = np.diff(prefs.indptr)
        cells = float((np.diff(prefs.slot_ptr).astype(np.float64) ** 2).sum())
        return cls(float(length @ length - length.sum()) / 2, cells, int(length.max(initial=0)))

    @property
    def fits_matrices(self) -> bool:
        """Whether dense matrices would be small and well filled."""
        limit = min(LARGEST_DENSE, MAX_EMPTY * max(self.pairs, 10_000.0))
        return self.cells <= limit and memory.fits(8 * 4 * self.cells)

    @property
    def has_short_ballots(self) -> bool:
        """Whether all ballots are so short that listing their pairs is faster than using dense matrices."""
        return self.longest <= SHORT and self.pairs <= MAX_LISTED * self.cells


def has_few_pairs(prefs: Preferences) -> bool:
    """Return whether the ballots compare so few pairs that a list of them is much smaller than dense matrices."""
    size = _Size.of(prefs)
    return MAX_EMPTY * size.pairs <= size.cells


Strategy = Callable[[Counting, Preferences, _Size], Duels]
STRATEGIES: Mapping[str, tuple[Strategy, Strategy]] = {
    # what is counted: where matrices fit, where they do not
    "order": (Counting._list_pairs, Counting._list_pairs),
    "graded": (Counting._level_matrices, Counting._list_pairs),
    "missing": (Counting._win_matrices, Counting._win_matrices),
    "short": (Counting._sum_pairs, Counting._sum_pairs),
    "long": (Counting._win_matrices, Counting._sum_pairs),
}


def _of_matrices(prefs: Preferences, wins: Floats, ties: Floats) -> Duels:
    """Return the pairwise counts in dense win and tie matrices (flat blocks by instance)."""
    ptr, rows = kernels.matrix_duels(prefs.slot_ptr, wins, ties)
    return Duels(prefs.slot_ptr, ptr, *rows)


def _require(bytes_of_pair: int, n_pairs: float) -> None:
    """Raise an error if the list of pairs would exceed the memory limit."""
    memory.require(
        bytes_of_pair * n_pairs, f"Listing the {n_pairs:,.0f} pairs of these ballots", "select fewer items or ballots"
    )


def trusted(prefs: Preferences, trust: Mapping[str, float]) -> Preferences:
    """Return the preferences with every ballot's weight multiplied by the weight of its agent (1 if not given)."""
    if prefs.agents is None or prefs.agent is None:
        raise InputError("Agent weights require agents: build the preferences with " + arg("agent") + ".")
    by_agent = np.ones(len(prefs.agents))
    for agent, weight in trust.items():
        if bad_weights(weight):
            raise ParameterError(f"The weight of agent {shorten(str(agent))!r} is {weight}: give {WEIGHTS}.")
        by_agent[prefs.agents.code(agent, "agent")] = weight
    return prefs.replace(weight=prefs.weight * by_agent[prefs.agent])


def _over_ballots(ufunc: np.ufunc, values: Floats, indptr: Int64s) -> Floats:
    """Return a ufunc (maximum, minimum) of the values of every ballot, 0 for empty ones."""
    out = np.zeros(len(indptr) - 1)
    is_filled = np.diff(indptr) > 0
    if is_filled.any():
        out[is_filled] = ufunc.reduceat(values, indptr[:-1][is_filled])
    return out


def slot_instances(duels: Duels) -> Int64s:
    """Return the instance every slot belongs to."""
    return segment_index(duels.slot_ptr)
