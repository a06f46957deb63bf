"""From ballots to duels: one row per pair of candidates that met, with how much each won and how much they tied.

A model of comparisons sees nothing else of the data, so 10^7 votes over 1,000 items become at most half a million
rows. Small instances are counted in dense matrices, large sparse ones by sorting their pairs. With an order effect a
row also says who was shown first: ``first`` is then that item and ``order`` is 1 (0 where nobody was first).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from concordant import kernels, memory, views
from concordant.errors import InputError, ParameterError
from concordant.gather import segment_index
from concordant.preferences import Preferences
from concordant.types import Floats, Int32s, Int64s
from concordant.vocabulary import shorten

COUNTS = ("binary", "difference", "log")
LARGEST_DENSE = 40_000_000  # cells of all matrices together: 0.3 GB
MOST_EMPTY = 8  # cells per pair above which pairs are sorted rather than counted in matrices
BYTES_OF_PAIR = 60  # while pairs are listed one by one


@dataclass(frozen=True)
class Duels:
    """Duels of instance q are rows ptr[q]:ptr[q + 1]; ``first`` and ``second`` are slots."""

    slot_ptr: Int64s
    ptr: Int64s
    first: Int32s
    second: Int32s
    won: Floats
    lost: Floats
    tied: Floats
    order: Floats

    @property
    def n_slots(self) -> int:
        """How many candidates there are in all instances."""
        return int(self.slot_ptr[-1])

    @property
    def total(self) -> Floats:
        """How much was counted in every row."""
        return self.won + self.lost + self.tied

    def by_instance(self, values: Floats) -> Floats:
        """Add up values of rows by instance."""
        return np.asarray(np.diff(np.concatenate([[0.0], np.cumsum(values)])[self.ptr]))

    def restrict(self, instances: Int64s) -> tuple[Duels, Int64s]:
        """Return the duels of some instances with slots renumbered, and their slots here."""
        size, rows = np.diff(self.slot_ptr)[instances], np.diff(self.ptr)[instances]
        slot_ptr, ptr = (np.concatenate([[0], np.cumsum(counts)]).astype(np.int64) for counts in (size, rows))
        shift = self.slot_ptr[instances] - slot_ptr[:-1]
        slots = np.arange(slot_ptr[-1]) + np.repeat(shift, size)
        row = np.arange(ptr[-1]) + np.repeat(self.ptr[instances] - ptr[:-1], rows)
        lower = np.repeat(shift, rows)
        return (
            Duels(
                slot_ptr,
                ptr,
                (self.first[row] - lower).astype(np.int32),
                (self.second[row] - lower).astype(np.int32),
                self.won[row],
                self.lost[row],
                self.tied[row],
                self.order[row] if len(self.order) else self.order,
            ),
            slots,
        )


@dataclass(frozen=True)
class Counting:
    """How ballots become duels."""

    counts: str = "binary"
    normalise: bool = False
    missing: str = "ignore"
    order_effect: bool = False
    trust: Mapping[str, float] | None = None

    def duels(self, prefs: Preferences) -> Duels:
        """Count the duels of preferences."""
        if self.counts != "binary" and self.missing != "ignore":
            raise ParameterError(f"counts={self.counts!r} knows no missing={self.missing!r}: use missing='ignore'.")
        if self.order_effect and prefs.shown is None:
            raise InputError(
                "An order effect needs to know which item was shown first (or played at home): "
                "build the preferences with shown= (from_pairs: winner_first=), or leave order_effect out."
            )
        if self.trust is not None:
            prefs = trusted(prefs, self.trust)
        cells = float((np.diff(prefs.slot_ptr).astype(np.float64) ** 2).sum())
        length = np.diff(prefs.indptr).astype(np.float64)
        pairs = float((length * (length - 1) / 2).sum())
        is_small = cells <= min(LARGEST_DENSE, MOST_EMPTY * max(pairs, 10_000.0)) and memory.fits(8 * 4 * cells)
        is_dense = is_small or self.missing != "ignore"
        if self.order_effect or not is_dense:
            return self._listed(prefs)
        if self.counts == "binary":
            matrices = views.win_matrices(prefs, self.missing)
            wins, ties = matrices.wins, matrices.ties
        else:
            wins = kernels.level_counts(
                prefs.slot_ptr,
                prefs.instance_of_ballot,
                prefs.indptr,
                prefs.entry_slot,
                prefs.tier,
                self.levels(prefs),
                prefs.weight,
            )
            ties = np.zeros(len(wins))
        return Duels(prefs.slot_ptr, *kernels.matrix_duels(prefs.slot_ptr, wins, ties), np.empty(0))

    def _listed(self, prefs: Preferences) -> Duels:
        """List all pairs of all ballots, then add up equal ones."""
        length = np.diff(prefs.indptr).astype(np.float64)
        n_pairs = float((length * (length - 1) / 2).sum())
        memory.require(
            BYTES_OF_PAIR * n_pairs,
            f"Listing the {n_pairs:,.0f} pairs of these ballots",
            "select fewer items or ballots",
        )
        pairs, weight = listed_pairs(prefs)
        up = weight * ~pairs.is_tie if self.counts == "binary" else weight * self._amount(prefs)
        even = weight * pairs.is_tie if self.counts == "binary" else np.zeros(len(weight))
        flip, order = pairs.better > pairs.worse, None
        if self.order_effect:
            assert prefs.shown is not None
            lead = np.sign(prefs.shown[pairs_second(prefs)] - prefs.shown[pairs_first(prefs)])
            flip, order = np.where(lead == 0, flip, lead < 0), lead != 0
        first, second = np.where(flip, pairs.worse, pairs.better), np.where(flip, pairs.better, pairs.worse)
        won, lost = np.where(flip, 0.0, up), np.where(flip, up, 0.0)
        n = prefs.n_slots
        if order is None:
            rows = kernels.group_duels(first, second, won, lost, even, n)
            order_by_row = np.empty(0)
        else:  # rows with and without somebody first are kept apart by numbering slots twice
            rows = kernels.group_duels(first + n * ~order, second, won, lost, even, 2 * n)
            order_by_row = (rows[0] < n).astype(np.float64)
            sorted_rows = np.argsort(rows[0] % n, kind="stable")
            who, whom, *counted = (column[sorted_rows] for column in rows)
            rows = (who % n, whom, *counted)  # type: ignore[assignment]
            order_by_row = order_by_row[sorted_rows]
        ptr = np.searchsorted(rows[0], prefs.slot_ptr).astype(np.int64)
        return Duels(prefs.slot_ptr, ptr, *rows, order_by_row)

    def _amount(self, prefs: Preferences) -> Floats:
        level = self.levels(prefs)
        return np.abs(level[pairs_first(prefs)] - level[pairs_second(prefs)])

    def levels(self, prefs: Preferences) -> Floats:
        """Return a number per entry whose differences are the counts of a pair; higher is better."""
        sizes = np.diff(prefs.indptr)
        if self.counts == "difference" and prefs.scale == "rating":
            assert prefs.value is not None
            top, bottom = (_over_ballots(how, prefs.value, prefs.indptr) for how in (np.maximum, np.minimum))
            span = np.repeat(top - bottom, sizes)
            return prefs.value / np.where(span > 0, span, 1.0) if self.normalise else prefs.value
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
        divide = self.normalise or self.counts == "log"
        return -ranks / np.where(largest > 0, largest, 1.0) if divide else -ranks


def trusted(prefs: Preferences, trust: Mapping[str, float]) -> Preferences:
    """Return the preferences with every ballot's weight multiplied by the weight of its agent (1 if not named)."""
    if prefs.agents is None or prefs.agent is None:
        raise InputError("Weights of agents need agents: build the preferences with agent=.")
    by_agent = np.ones(len(prefs.agents))
    for agent, weight in trust.items():
        if not (np.isfinite(weight) and weight >= 0):
            raise ParameterError(
                f"The weight of agent {shorten(str(agent))!r} is {weight}: give a number of at least 0."
            )
        by_agent[prefs.agents.code(agent, "agent")] = weight
    weighted = copy.copy(prefs)
    weighted.weight, weighted._unit_weights = prefs.weight * by_agent[prefs.agent], None
    return weighted


def listed_pairs(prefs: Preferences) -> tuple[views.Pairs, Floats]:
    """Return all pairs some ballot compares and the weight of each."""
    pairs = views.pairs(prefs)
    return pairs, prefs.weight[pairs.ballot]


def pairs_first(prefs: Preferences) -> Int64s:
    """Return the entry of the better item of every pair of ``views.pairs``."""
    return _pair_entries(prefs)[0]


def pairs_second(prefs: Preferences) -> Int64s:
    """Return the entry of the worse item of every pair of ``views.pairs``."""
    return _pair_entries(prefs)[1]


def _pair_entries(prefs: Preferences) -> tuple[Int64s, Int64s]:
    numbered = copy.copy(prefs)
    entry = np.arange(len(prefs.item))
    numbered._known_slots = (prefs.slot_ptr, prefs.slot_item, entry)
    pairs = views.pairs(numbered)
    return pairs.better, pairs.worse


def _over_ballots(how: np.ufunc, values: Floats, indptr: Int64s) -> Floats:
    out = np.zeros(len(indptr) - 1)
    filled = np.diff(indptr) > 0
    if filled.any():
        out[filled] = how.reduceat(values, indptr[:-1][filled])
    return out


def slot_instances(duels: Duels) -> Int64s:
    """Return the instance every slot belongs to."""
    return segment_index(duels.slot_ptr)
