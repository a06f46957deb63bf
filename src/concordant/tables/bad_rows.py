"""Handle bad rows: raise an error at the first one, or leave them out and count them; never drop them silently."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from concordant.ballots.vocabulary import Coded, renumber
from concordant.errors import InputError, arg, clause
from concordant.tables.options import Options
from concordant.types import AnyArray, Bools

STRICT_HINT = ", which " + arg("strict", True) + " rejects: correct the data, or leave out " + arg("strict") + "."
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
        count = self.rows.rows_in(rows) if hasattr(self.rows, "rows_in") else len(rows)  # a row may stand for many
        self._reasons[reason] = (count, first)
        self.good = self.good & ~bad

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
        count, first = int(is_odd.sum()), int(np.argmax(is_odd)) if len(is_odd) else 0
        if count and self.strict:
            raise self.rows.error(first, message + STRICT_HINT)
        if count:
            count = self.rows.rows_in(np.flatnonzero(is_odd)) if hasattr(self.rows, "rows_in") else count
            self._notes.append(f"{count:,} row{'s' * (count > 1)}: {message} (first: {self.rows.place(first)})")

    def leave_out(self, rows: Bools, reason: str) -> None:
        """Leave out rows that say nothing and count them; with ``strict``, raise an error."""
        chosen = np.flatnonzero(rows & self.good)
        if not len(chosen):
            return
        if self.strict:
            raise self.rows.error(int(chosen[0]), reason + STRICT_HINT)
        count = self.rows.rows_in(chosen) if hasattr(self.rows, "rows_in") else len(chosen)
        self._reasons[reason] = (count, int(chosen[0]))
        self.good = self.good & ~rows

    def notes(self) -> list[str]:
        """Return notes on what was left out or tolerated, with counts and the first location."""
        return [
            *(left_out(reason, count, self.rows.place(first)) for reason, (count, first) in self._reasons.items()),
            *self._notes,
        ]


def left_out(reason: str, count: int, first: str) -> str:
    """Return a note on how many rows were left out, why, and where the first of them is."""
    return f"left out {count:,} row{'s' * (count > 1)}: " + reason + f" (first: {first})"


def refuse_lines(
    bad: Mapping[str, Sequence[int]], error: Callable[[str, int], InputError], options: Options
) -> list[str]:
    """Raise an error at the first line that could not be parsed, or return a note per reason with its line count."""
    if bad and not options.skip_bad_rows:
        reason = min(bad, key=lambda one: min(bad[one]))
        raise error(reason + SKIP_HINT, min(bad[reason]))
    return [left_out(reason, len(lines), f"line {min(lines)}") for reason, lines in bad.items()]
