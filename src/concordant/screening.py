"""Bad rows: an error at the first one, or left out and counted, as the user wishes; never dropped silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from concordant.errors import InputError
from concordant.types import Bools

SKIP_HINT = "correct the row, or use --skip-bad-rows (skip_bad_rows=True) to leave such rows out"


class Placed(Protocol):
    """Something whose rows stand somewhere a user can look at."""

    def error(self, row: int, message: str) -> InputError:
        """Make the error that names this row's place; row -1 is the whole."""

    def place(self, row: int) -> str:
        """Say where a row stands: ``line 17``."""


class Screen:
    """Which rows are still good, and why the others are not."""

    def __init__(self, rows: Placed, count: int, *, strict: bool, skip_bad_rows: bool) -> None:
        self.rows, self.strict, self.skip = rows, strict, skip_bad_rows
        self.good: Bools = np.ones(count, bool)
        self._reasons: dict[str, tuple[int, int]] = {}
        self._tolerated: list[str] = []

    @property
    def count(self) -> int:
        """How many rows are good."""
        return int(self.good.sum())

    def refuse(self, bad: Bools, reason: str, explain: Callable[[int], str] | None = None) -> None:
        """Stop at the first bad row, or leave all of them out under this reason; ``explain(row)`` may say more."""
        rows = np.flatnonzero(bad & self.good)
        if not len(rows):
            return
        first = int(rows[0])
        if not self.skip:
            what = reason if explain is None else explain(first)
            raise self.rows.error(first, f"{what}: {SKIP_HINT}.")
        count = self.rows.rows_in(rows) if hasattr(self.rows, "rows_in") else len(rows)  # a row may stand for many
        self._reasons[reason] = (count, first)
        self.good = self.good & ~bad

    def tolerate(self, odd: Bools, what: str) -> None:
        """Accept something odd with a note, unless strict."""
        count, first = int(odd.sum()), int(np.argmax(odd)) if len(odd) else 0
        if count and self.strict:
            raise self.rows.error(first, f"{what}, which strict does not allow: correct it, or read without strict.")
        if count:
            self._tolerated.append(f"{count:,} row{'s' * (count > 1)}: {what} (first: {self.rows.place(first)})")

    def notes(self) -> list[str]:
        """Say what was left out or tolerated, with counts and the first place."""
        left_out = [
            f"left out {count:,} row{'s' * (count > 1)}: {reason} (first: {self.rows.place(first)})"
            for reason, (count, first) in self._reasons.items()
        ]
        return left_out + self._tolerated
