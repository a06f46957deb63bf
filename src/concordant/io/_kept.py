"""Some rows of a table: those that a format means to be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import Coded, renumber
from concordant.errors import InputError
from concordant.types import Bools, Floats


class KeptRows:
    """The rows of a table at which ``keep`` is true; messages name the rows of the whole table."""

    is_countable = False

    def __init__(self, table: Any, keep: Bools, roles: dict[str, str]) -> None:
        self._table, self._row = table, np.flatnonzero(keep)
        self.name, self.columns, self.has_header = table.name, list(table.columns), table.has_header
        self.notes: list[str] = list(table.notes)
        self.roles = roles

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""
        coded, values = self._table.fetch(texts, numbers)
        kept = {name: renumber(codes[self._row], labels) for name, (codes, labels) in coded.items()}
        return kept, {name: column[self._row] for name, column in values.items()}

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at a few rows, None for empty cells."""
        cells: list[str | None] = self._table.cells(column, self._row[list(rows)].tolist())
        return cells

    def first(self, count: int) -> list[list[str | None]]:
        """Return the first cells of every column."""
        rows = range(min(count, len(self._row)))
        return [self.cells(name, rows) for name in self.columns]

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names this row's location."""
        problem: InputError = self._table.error(row if row < 0 else int(self._row[row]), message)
        return problem

    def place(self, row: int) -> str:
        """Return the location of a row for messages."""
        return str(self._table.place(int(self._row[row])))
