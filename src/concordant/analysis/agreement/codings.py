"""Answers arranged by unit and rater, the form in which agreement is measured.

A unit is what raters answer: an item (of a topic), or a comparison of two items. Each rater answers a unit at most
once. Raters without names are one per ballot. A comparison is a unit whose classes are "first wins", "tie" and "second
wins"; it is counted in both orders, so that no coefficient depends on which of the two items is named first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import views
from concordant.ballots.segments import sum_by
from concordant.errors import InputError
from concordant.preferences import Preferences
from concordant.types import AnyArray, Floats, Int64s

MAX_ANSWERS = 1e8  # after ballots that count several times are repeated
MAX_ORDINAL = 10  # distinct whole numbers that are taken for an ordinal scale
MAX_BLOCKS = 5_000  # of units, which a bootstrap resamples
MAX_CELLS = 2e7  # of blocks by category


@dataclass(frozen=True, eq=False)
class Codings:
    """Answers by unit and rater, sorted by unit."""

    unit: Int64s
    rater: Int64s
    value: Floats
    """The answer: a number, or the position of a class."""
    n_units: int
    n_raters: int
    names: tuple[str, ...] | None = None
    """Names of the raters, if they are known."""
    classes: tuple[str, ...] | None = None
    """Names of the classes, if answers have no order."""
    is_mirrored: bool = False
    """Whether every unit of the first half occurs again in the second, in the other order."""
    notes: tuple[str, ...] = ()

    @cached_property
    def categories(self) -> tuple[Floats, Int64s]:
        """The distinct answers in ascending order, and the position of every answer among them."""
        values, code = np.unique(self.value, return_inverse=True)
        return values, code.reshape(-1).astype(np.int64)

    @property
    def n_categories(self) -> int:
        """The number of distinct answers."""
        return len(self.categories[0])

    @cached_property
    def size(self) -> Floats:
        """The number of answers by unit."""
        return np.bincount(self.unit, minlength=self.n_units).astype(np.float64)

    @cached_property
    def n_comparable(self) -> int:
        """The number of units with at least two answers."""
        return int((self.size >= 2).sum()) // (1 + self.is_mirrored)

    @property
    def n_answers(self) -> int:
        """The number of answers."""
        return len(self.value) // (1 + self.is_mirrored)

    @cached_property
    def level(self) -> tuple[str, str]:
        """The level of measurement that the answers suggest, and why."""
        values, n = self.categories[0], self.n_categories
        if self.is_mirrored:
            return "nominal", "Comparisons of two items are compared as classes: first wins, tie, second wins."
        if self.classes is not None:
            return "nominal", "Answers are classes without an order, so their level of measurement is nominal."
        if n <= 2:
            return "nominal", "There are at most two different answers, so their level of measurement is nominal."
        if n <= MAX_ORDINAL and bool((values == np.round(values)).all()):
            text = f"Answers are {n} whole numbers, so their level of measurement is taken to be ordinal"
            return "ordinal", f"{text} (interval, if their differences are comparable)."
        return "interval", "Answers are numbers, so their level of measurement is taken to be interval."

    # ---- blocks of units ----
    def block_of_unit(self, cells: int, seed: int) -> Int64s:
        """Return the block of every unit: one unit each, or random blocks of equal size if there are many units.

        ``cells`` is how many numbers are kept per block. A unit and its mirror image share a block.
        """
        n = self.n_units // (1 + self.is_mirrored)
        n_blocks = min(n, MAX_BLOCKS, max(int(MAX_CELLS / max(cells, 1)), 200))
        block = np.arange(n) if n_blocks == n else np.random.default_rng(seed).permutation(n) % n_blocks
        return np.concatenate([block, block]) if self.is_mirrored else block

    def of_units(self, chosen: AnyArray) -> Codings:
        """Return the answers to some units, given as a mask."""
        kept = chosen[self.unit]
        number = np.cumsum(chosen) - 1
        return Codings(
            number[self.unit[kept]], self.rater[kept], self.value[kept], int(chosen.sum()), self.n_raters, self.names,
            self.classes,
        )  # fmt: skip


def codings_of(prefs: Preferences) -> Codings:
    """Arrange ratings, answers or comparisons by unit and rater; of repeated answers, the first counts."""
    if prefs.form == "pairs":
        unit, value, n_units = _comparisons(prefs)
        ballot = np.arange(prefs.n_ballots)
        classes: tuple[str, ...] | None = ("first wins", "tie", "second wins")
    else:
        assert prefs.value is not None
        unit, value, n_units = prefs.entry_slot, prefs.value, prefs.n_slots
        ballot, classes = views.ballot_of_entry(prefs), None if prefs.classes is None else tuple(prefs.classes.labels)
    notes: list[str] = []
    if prefs.agent is not None and prefs.agents is not None:
        rater, n_raters, names = prefs.agent[ballot].astype(np.int64), len(prefs.agents), tuple(prefs.agents.labels)
        if not prefs.has_unit_weights:
            notes.append("Each agent counts once per item: weights of ballots are ignored.")
    else:
        times = whole_weights(prefs)[ballot]
        if times.sum() > MAX_ANSWERS:
            raise InputError(f"Agreement of {times.sum():,} answers needs named agents: name the column of agents.")
        unit, value, rater = np.repeat(unit, times), np.repeat(value, times), np.repeat(ballot, times)
        if prefs.form == "pairs" or not prefs.has_unit_weights:
            rater = np.arange(len(unit))
        n_raters, names = int(rater.max(initial=-1)) + 1, None
        notes.append("Agents have no names, so each ballot counts as another rater.")
    unit = unit.astype(np.int64)
    order = np.lexsort((rater, unit))
    unit, rater, value = unit[order], rater[order], np.asarray(value, np.float64)[order]
    is_first = np.ones(len(unit), bool)
    is_first[1:] = (unit[1:] != unit[:-1]) | (rater[1:] != rater[:-1])
    if not is_first.all():
        n = int((~is_first).sum())
        notes.append(f"Left out {n:,} repeated answer{'s' * (n > 1)} by the same agent; the first one counts.")
        unit, rater, value = unit[is_first], rater[is_first], value[is_first]
    is_mirrored = prefs.form == "pairs"
    if is_mirrored:
        unit, rater = np.concatenate([unit, unit + n_units]), np.concatenate([rater, rater])
        value = np.concatenate([value, 2 - value])
    return Codings(unit, rater, value, n_units * (1 + is_mirrored), n_raters, names, classes, is_mirrored, tuple(notes))


def _comparisons(prefs: Preferences) -> tuple[Int64s, Floats, int]:
    """Return unit and outcome of every ballot of two items: 0 if the item of the lower code wins, 1 for a tie, 2."""
    item, tier = prefs.item.reshape(-1, 2).astype(np.int64), prefs.tier.reshape(-1, 2)
    outcome = np.sign(tier[:, 0] - tier[:, 1]).astype(np.float64)
    outcome = 1 + np.where(item[:, 0] < item[:, 1], outcome, -outcome)
    low, high = item.min(axis=1), item.max(axis=1)
    key = (prefs.instance_of_ballot.astype(np.int64) * prefs.n_items + low) * prefs.n_items + high
    pair, unit = np.unique(key, return_inverse=True)
    return unit.reshape(-1), outcome, len(pair)


def whole_weights(prefs: Preferences) -> Int64s:
    """Return how often every ballot counts; reject fractions, because agreement counts raters."""
    times = np.round(prefs.weight)
    if (times != prefs.weight).any():
        raise InputError("Agreement counts raters, so the weights of ballots must be whole numbers.")
    return times.astype(np.int64)


def sums_by_block(block: Int64s, n_blocks: int, columns: AnyArray) -> Floats:
    """Return sums of columns (units in rows) by block."""
    if n_blocks == len(block):
        return np.asarray(columns, np.float64)[np.argsort(block)]
    return np.stack([sum_by(block, column, n_blocks) for column in np.asarray(columns, np.float64).T], axis=1)
