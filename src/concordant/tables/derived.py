"""A table derived from another one: a choice of its rows, with additional or replaced columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import Coded, encode, renumber
from concordant.errors import InputError
from concordant.tables.cells import number_in
from concordant.tables.rows import InputTable
from concordant.types import Floats, Int64s

Column = Coded | Floats


class DerivedTable:
    """Some rows of a table, in any order, with additional or replaced columns; rows have the locations of the base."""

    is_countable = False

    def __init__(self, base: InputTable, rows: Int64s, columns: Mapping[str, Column] | None = None) -> None:
        """Choose rows of the base (numbers from 0, which may repeat).

        ``columns`` are text columns (codes with their vocabulary) or numbers, one value per chosen row.
        """
        self.base, self.rows, self._own = base, np.asarray(rows, np.int64), dict(columns or {})
        self.name, self.has_header, self.notes = base.name, base.has_header, base.notes
        self.columns = [*base.columns, *(name for name in self._own if name not in base.columns)]
        self.dialect, self.like = getattr(base, "dialect", None), getattr(base, "like", "")

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""
        base_texts, base_numbers = ([name for name in names if name not in self._own] for names in (texts, numbers))
        coded, values = self.base.fetch(base_texts, base_numbers) if base_texts or base_numbers else ({}, {})
        coded = {name: some_rows(column, self.rows) for name, column in coded.items()}
        values = {name: column[self.rows] for name, column in values.items()}
        return (
            {name: coded[name] if name in coded else as_text(self._own[name]) for name in texts},
            {name: values[name] if name in values else as_numbers(self._own[name]) for name in numbers},
        )

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at a few rows, None for empty cells."""
        if column not in self._own:
            return self.base.cells(column, self.rows[list(rows)].tolist())
        codes, labels = as_text(self._own[column])
        return [None if codes[row] < 0 else labels[int(codes[row])] for row in rows]

    def first(self, count: int) -> list[list[str | None]]:
        """Return the first cells of every column."""
        rows = range(min(count, len(self.rows)))
        return [self.cells(name, rows) for name in self.columns]

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names this row's location in the base."""
        return self.base.error(row if row < 0 else int(self.rows[row]), message)

    def place(self, row: int) -> str:
        """Return the location of a row in the base."""
        return self.base.place(int(self.rows[row]))


def some_rows(column: Coded, rows: Int64s) -> Coded:
    """Return some rows of a text column, with the labels still in use in order of appearance."""
    codes, labels = column
    chosen = codes[rows]
    is_filled = chosen >= 0
    if is_filled.all():
        return renumber(chosen, labels)
    filled, labels = renumber(chosen[is_filled], labels)
    new = np.full(len(chosen), -1, np.int32)
    new[is_filled] = filled
    return new, labels


def as_text(column: Any) -> Coded:
    """Return a column as codes with labels; whole numbers without a decimal point."""
    if isinstance(column, tuple):
        return column
    filled = ~np.isnan(column)
    codes = np.full(len(column), -1, np.int32)
    texts = [str(int(value)) if value.is_integer() else repr(value) for value in column[filled].tolist()]
    codes[filled], labels = encode(texts)
    return codes, labels


def as_numbers(column: Any) -> Floats:
    """Return a column as numbers, NaN for other cells."""
    if not isinstance(column, tuple):
        return np.asarray(column, np.float64)
    codes, labels = column
    numbers = (number_in(label) for label in labels.labels)
    return np.array([*(np.nan if value is None else value for value in numbers), np.nan])[codes]
