"""A table derived from another one: some of its rows, perhaps repeated or in another order, with further columns.

Filters, duplicate removal and the layouts of each field (``tables.layouts``) use it. Locations in messages are those of
the original table, so that an error still names the line of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from concordant.ballots.vocabulary import Coded, renumber
from concordant.errors import InputError
from concordant.tables.cells import encode_cells, number_in
from concordant.tables.nested import Structure
from concordant.tables.rows import InputTable
from concordant.types import Floats, Int64s

Column = Coded | Floats


class DerivedTable:
    """Rows of ``base`` with its columns and additional ones; ``roles`` are column roles known from its layout."""

    is_countable = False

    def __init__(
        self,
        base: InputTable,
        rows: Int64s,
        columns: Mapping[str, Column] | None = None,
        *,
        notes: Sequence[str] = (),
        roles: Mapping[str, str | Sequence[str] | None] | None = None,
        names: Mapping[str, str] | None = None,
        used: Sequence[str] = (),
    ) -> None:
        """Derive a table.

        ``rows`` are rows of the base, in any order. ``columns`` are aligned with them and replace columns of the same
        name. ``names`` maps the names of base columns to new names. ``used`` are base columns that the additional ones
        are made of, so that they do not count as unread.
        """
        self.base, self.rows, self.added = base, np.asarray(rows, np.int64), dict(columns or {})
        self.name, self.has_header = base.name, base.has_header or bool(self.added or names)
        new_names = dict(names or {})
        self._base_name = {new_names.get(name, name): name for name in base.columns}
        self.columns = [*(name for name in self._base_name if name not in self.added), *self.added]
        base.notes.extend(notes)
        self.notes = base.notes
        self.roles: dict[str, str | Sequence[str] | None] = {**getattr(base, "roles", {}), **(roles or {})}
        self.used = frozenset(used) | getattr(base, "used", frozenset())
        self.meta: dict[str, str] = dict(getattr(base, "meta", {}))  # facts about the preferences that the layout tells
        self.is_order: bool = getattr(base, "is_order", False)  # whether its ranks only give the order
        self.is_form: bool = getattr(base, "is_form", False)  # rows are respondents, columns questions with options
        self.dialect, self.like = getattr(base, "dialect", None), getattr(base, "like", "")
        self.choice = getattr(base, "choice", None)

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""
        old_texts = [self._of_base(name) for name in texts if name not in self.added]
        old_numbers = [self._of_base(name) for name in numbers if name not in self.added]
        text_of, number_of = self.base.fetch(old_texts, old_numbers) if old_texts or old_numbers else ({}, {})
        return (
            {name: self._text(name, text_of) for name in texts},
            {name: self._number(name, number_of) for name in numbers},
        )

    def _of_base(self, name: str) -> str:
        """Return the name of a column in the base; nested fields keep their names."""
        return self._base_name.get(name, name)

    def resolve(self, name: str) -> str | None:
        """Return the full name of a column or of a nested field; None if there is none."""
        if name in self.columns:
            return name
        found: str | None = getattr(self.base, "resolve", lambda _: None)(name)
        return found

    def fields(self, column: str) -> list[str]:
        """Return the dotted names of the nested fields of a column."""
        names: list[str] = getattr(self.base, "fields", lambda _: [])(self._of_base(column))
        return names

    def structure(self, column: str) -> Structure:
        """Return the fields of a column as far as they are known without reading the rows."""
        found: Structure = None if column in self.added else getattr(self.base, "structure", lambda _: None)(column)
        return found

    def _text(self, name: str, fetched: Mapping[str, Coded]) -> Coded:
        """Return a column as codes with the labels that are in use."""
        added = self.added.get(name)
        if added is None:
            return rows_of(fetched[self._of_base(name)], self.rows)
        return as_text(added)

    def _number(self, name: str, fetched: Mapping[str, Floats]) -> Floats:
        """Return a column as numbers."""
        added = self.added.get(name)
        if added is None:
            return fetched[self._of_base(name)][self.rows]
        return as_numbers(added)

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at a few rows, None for empty cells."""
        added = self.added.get(column)
        if added is None:
            return self.base.cells(self._of_base(column), [int(self.rows[row]) for row in rows])
        codes, labels = as_text(added)
        return [None if codes[row] < 0 else labels[int(codes[row])] for row in rows]

    def first(self, count: int, names: Sequence[str] = ()) -> list[list[str | None]]:
        """Return the first cells of every column, or of these columns and fields."""
        return [self.cells(name, range(min(count, len(self.rows)))) for name in names or self.columns]

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names the location of this row in the original table."""
        return self.base.error(row if row < 0 else int(self.rows[row]), message)

    def place(self, row: int) -> str:
        """Return the location of a row in the original table."""
        return self.base.place(int(self.rows[row]))


def rows_of(column: Coded, rows: Int64s) -> Coded:
    """Return these rows of a text column, with the labels in use in order of appearance."""
    codes = column[0][rows]
    is_present = codes >= 0
    if is_present.all():
        return renumber(codes, column[1])
    kept, labels = renumber(codes[is_present], column[1])
    codes[is_present] = kept
    return codes, labels


def as_text(column: Column) -> Coded:
    """Return a column as codes with labels, whole numbers without a decimal point; NaN is missing."""
    if isinstance(column, tuple):
        return column
    distinct, inverse = np.unique(column, return_inverse=True)
    texts = [None if x != x else f"{x:.0f}" if x.is_integer() else repr(x) for x in distinct.tolist()]
    return rows_of(encode_cells(texts, "number"), inverse.reshape(-1).astype(np.int64))


def as_numbers(column: Column) -> Floats:
    """Return a column as numbers, NaN if a label is missing or not a number."""
    if not isinstance(column, tuple):
        return column
    codes, labels = column
    numbers = [number_in(label) for label in labels.labels]
    return np.array([*(np.nan if number is None else number for number in numbers), np.nan])[codes]
