"""Handle bad rows: raise an error at the first one, or leave them out and count them; never drop them silently."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from concordant.ballots.vocabulary import Coded, renumber
from concordant.errors import InputError, Sentence, arg, clause
from concordant.tables.options import Options
from concordant.types import AnyArray, Bools, Int64s

STRICT_HINT = ", which " + arg("strict", True) + " rejects: correct the data, or leave out " + arg("strict") + "."
_COUNT = r"\A(left out |)([\d,]+) rows?(?=: )"
SKIP_HINT = ": correct the row" + clause(", or use ", arg("skip_bad_rows", True), " to leave such rows out") + "."


class HasLocation(Protocol):
    """Protocol of inputs whose rows have locations that a user can look up."""

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names this row's location; row -1 means the whole input."""

    def place(self, row: int) -> str:
        """Return the location of a row for messages: ``line 17``."""


class RowScreen:
    """The rows that are still good, and the reasons for rejecting the others."""

    def __init__(self, rows: HasLocation, count: int, options: Options) -> None:
        self.rows, self.strict, self.skip = rows, options.strict, options.skip_bad_rows
        self.good: Bools = np.ones(count, bool)
        self._reasons: dict[str, tuple[int, int]] = {}
        self._notes: list[str] = []

    @property
    def count(self) -> int:
        """Number of good rows."""
        return int(self.good.sum())

    def kept(self, column: Coded) -> Coded:
        """Return a text column of the good rows; if some were left out, keep only labels still in use, renumbered."""
        return column if self.good.all() else renumber(column[0][self.good], column[1])

    def refuse(
        self,
        bad: Bools,
        reason: str,
        explain: Callable[[int], str] | None = None,
        *,
        column: str | None = None,
        item: Callable[[int], str] | None = None,
    ) -> None:
        """Raise an error for the first bad row, or leave all of them out under this reason.

        ``explain(row)`` may add details. The error names the column and the item of the row, if they are given.
        """
        rows = np.flatnonzero(bad & self.good)
        if not len(rows):
            return
        first = int(rows[0])
        if not self.skip:
            what = reason if explain is None else explain(first)
            raise self.rows.error(first, what + SKIP_HINT).at(column=column, item=None if item is None else item(first))
        self._reasons[reason] = (self._n_rows(rows), first)
        self.good = self.good & ~bad

    def leave_out(self, is_unusable: Bools, reason: str) -> None:
        """Leave out rows that say nothing, and count them in a note; with ``strict``, raise an error."""
        rows = np.flatnonzero(is_unusable & self.good)
        if len(rows) and self.strict:
            raise self.rows.error(int(rows[0]), reason + STRICT_HINT)
        if len(rows):
            self._reasons[reason] = (self._n_rows(rows), int(rows[0]))
            self.good = self.good & ~is_unusable

    def mention(self, is_noted: Bools, message: str) -> None:
        """Add a note on good rows that are read in a way worth knowing."""
        rows = np.flatnonzero(is_noted & self.good)
        if len(rows):
            self._notes.append(
                counted(self._n_rows(rows)) + ": " + message + f" (first: {self.rows.place(int(rows[0]))})"
            )

    def _n_rows(self, rows: Int64s) -> int:
        """Return the number of rows of the source; if equal rows were counted, a row stands for several."""
        return int(self.rows.rows_in(rows)) if hasattr(self.rows, "rows_in") else len(rows)

    def refuse_repeats(
        self, key: AnyArray, reason: str, explain: Callable[[int, int], str], item: Callable[[int], str] | None = None
    ) -> None:
        """Reject good rows that repeat the key of an earlier one; ``explain(row, earlier row)`` adds details."""
        rows = np.flatnonzero(self.good)
        _, first, inverse = np.unique(key[rows], return_index=True, return_inverse=True)
        earlier = rows[first[inverse.reshape(-1)]]
        bad = np.zeros(len(self.good), bool)
        bad[rows] = earlier != rows
        self.refuse(bad, reason, lambda row: explain(row, int(earlier[np.searchsorted(rows, row)])), item=item)

    def tolerate(self, is_odd: Bools, message: str) -> None:
        """Add a note on rows that are unusual but can be read; with ``strict``, raise an error."""
        rows = np.flatnonzero(is_odd)
        if len(rows) and self.strict:
            raise self.rows.error(int(rows[0]), message + STRICT_HINT)
        if len(rows):
            where = f" (first: {self.rows.place(int(rows[0]))})"
            self._notes.append(f"{counted(self._n_rows(rows))}: " + message + where)

    def note(self, message: str) -> None:
        """Add a note on how the rows are read."""
        self._notes.append(message)

    def notes(self) -> list[str]:
        """Return notes on what was left out or tolerated, with counts and the first location."""
        return [
            *(left_out(reason, count, self.rows.place(first)) for reason, (count, first) in self._reasons.items()),
            *self._notes,
        ]


def left_out(reason: str, count: int, first: str) -> str:
    """Return a note on how many rows were left out, why, and where the first of them is."""
    return f"left out {counted(count)}: " + reason + f" (first: {first})"


def counted(count: int) -> str:
    """Return a number of rows in words."""
    return f"{count:,} row{'s' * (count > 1)}"


def refuse_lines(
    bad: Mapping[str, Sequence[int]], error: Callable[[str, int], InputError], options: Options
) -> list[str]:
    """Raise an error at the first line that could not be parsed, or return a note per reason with its line count."""
    if bad and not options.skip_bad_rows:
        reason = min(bad, key=lambda one: min(bad[one]))
        raise error(reason + SKIP_HINT, min(bad[reason]))
    return [left_out(reason, len(lines), f"line {min(lines)}") for reason, lines in bad.items()]


def summed(notes: Iterable[str]) -> list[str]:
    """Return notes of several parts of the data: equal ones once, and counts of rows for the same reason added up."""
    first: dict[tuple[str, str], str] = {}
    totals: dict[tuple[str, str], int] = {}
    for note in notes:
        count = re.match(_COUNT, note)
        key = (count[1], note[count.end() :].rpartition(" (first: ")[0]) if count else ("", note)
        first.setdefault(key, note)
        if count:
            totals[key] = totals.get(key, 0) + int(count[2].replace(",", ""))
    return [_with_count(note, key[0], totals.get(key)) for key, note in first.items()]


def _with_count(note: str, start: str, total: int | None) -> str:
    """Return a note with another number of rows; the parameters that it names are kept."""
    if total is None:
        return note
    said = start + counted(total)
    return (
        note.each(lambda text: re.sub(_COUNT, said, text)) if isinstance(note, Sentence) else re.sub(_COUNT, said, note)
    )
