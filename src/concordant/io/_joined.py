"""Read several tables as one: rows are concatenated, and columns are matched by name."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import Coded, Vocabulary, join_vocabularies
from concordant.errors import InputError
from concordant.tables.nested import Structure
from concordant.tables.rows import InputTable
from concordant.types import Floats


class JoinedTable:
    """Concatenated tables with the same columns; columns that are missing from some of them are not read."""

    is_countable = False

    def __init__(self, tables: Sequence[InputTable]) -> None:
        """Keep the common columns; reject tables without common columns, or if only some have a header."""
        self.tables = tables
        first = tables[0]
        self.name = f"{first.name} and {len(tables) - 1} more"
        self.columns = [name for name in first.columns if all(name in table.columns for table in tables)]
        self.like = first.name if all(table.columns == first.columns for table in tables) else ""
        for table in tables:
            if table.has_header != first.has_header:
                raise table.error(-1, f"only one of this file and {first.name} has a header: read them separately.")
        if not self.columns:
            strange = (table for table in tables[1:] if not set(table.columns) & set(first.columns))
            raise next(strange, tables[1]).error(
                -1, f"the file has no column in common with {first.name}: read the files separately."
            )
        self.roles = getattr(first, "roles", {})
        self.has_header, self.dialect = first.has_header, getattr(first, "dialect", None)
        self._start = np.zeros(len(tables), np.int64)
        self._files: Vocabulary | None = None
        known = [getattr(table, "roles", {}) for table in tables]
        self.roles = {role: name for role, name in known[0].items() if all(name == one.get(role) for one in known)}
        lacking = sorted({name for table in tables for name in table.columns} - set(self.columns))
        self.notes = [f"not read, because not in every file: {', '.join(lacking[:12])}"] if lacking else []

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return the columns of all tables, concatenated.

        Stores where each table starts, for ``error``, ``place`` and ``cells``.
        """
        texts = [name for name in texts if name != self.file_column]
        fetched = [table.fetch(texts, numbers) for table in self.tables]
        prefixed_notes = (f"{table.name}: " + note for table in self.tables for note in table.notes)
        self.notes += [note for note in prefixed_notes if note not in self.notes]
        # Rows of each table, by its first column: a text comes as (codes, labels), a number as an array.
        sizes = [
            len(next(iter(text.values()))[0]) if text else len(next(iter(number.values()))) for text, number in fetched
        ]
        self._start = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        joined = {}
        for name in texts:
            columns = [text[name] for text, _ in fetched]
            new_codes, vocabulary = join_vocabularies([labels for _, labels in columns])
            joined[name] = (
                np.concatenate([new[codes] for new, (codes, _) in zip(new_codes, columns, strict=True)]),
                vocabulary,
            )
        if self._files is not None:
            joined[self.file_column] = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes), self._files
        return joined, {name: np.concatenate([number[name] for _, number in fetched]) for name in numbers}

    @property
    def file_column(self) -> str:
        """The name of the column of files, which no other column has."""
        return next(name for name in (f"file{'_' * k}" for k in count()) if name not in self.columns)

    def with_files(self, names: Sequence[str]) -> None:
        """Add the column of files: the name of the file of each row."""
        self._files = Vocabulary(names)

    def has_repeats(self, columns: Sequence[str]) -> bool:
        """Return whether several files have the same values of these columns in a row."""
        fetched, _ = self.fetch(columns, [])
        key = np.zeros(len(next(iter(fetched.values()))[0]), np.int64)
        for codes, labels in fetched.values():
            key = key * (len(labels) + 1) + codes
        parts = [np.unique(part) for part in np.split(key, self._start[1:])]
        return len(np.unique(np.concatenate(parts))) < sum(map(len, parts))

    def resolve(self, name: str) -> str | None:
        """Return the full name of a column or of a nested field that all tables have; None if there is none."""
        if name in self.columns:
            return name
        found = {getattr(table, "resolve", lambda _: None)(name) for table in self.tables}
        return found.pop() if len(found) == 1 else None

    def fields(self, column: str) -> list[str]:
        """Return the dotted names of the nested fields of a column of the first table."""
        names: list[str] = getattr(self.tables[0], "fields", lambda _: [])(column)
        return names

    def structure(self, column: str) -> Structure:
        """Return the fields of a column of the first table as far as they are known without reading its rows."""
        found: Structure = getattr(self.tables[0], "structure", lambda _: None)(column)
        return found

    def first(self, n_rows: int) -> list[list[str | None]]:
        """Return the first cells of every column."""
        table: Any = self.tables[0]
        cells = dict(zip(table.columns, table.first(n_rows), strict=True))
        return [cells[name] for name in self.columns]

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at a few rows, None for empty cells."""
        cells: list[str | None] = [None] * len(rows)
        table_and_row = [self._of_row(row) for row in rows]
        for table in {id(table): table for table, _ in table_and_row}.values():
            places = [k for k, (table_of_row, _) in enumerate(table_and_row) if table_of_row is table]
            for k, cell in zip(places, table.cells(column, [table_and_row[k][1] for k in places]), strict=True):
                cells[k] = cell
        return cells

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names the file and the location of a row."""
        table, row_in_table = self._of_row(row)
        return table.error(row_in_table, message)

    def place(self, row: int) -> str:
        """Return the location of a row for messages, with its file."""
        table, row_in_table = self._of_row(row)
        return f"{table.place(row_in_table)} of {table.name}"

    def _of_row(self, row: int) -> tuple[InputTable, int]:
        """Return the table that holds a row, and the row's number in it."""
        if row < 0:
            return self.tables[0], row
        k = int(np.searchsorted(self._start, row, side="right")) - 1
        return self.tables[k], row - int(self._start[k])
