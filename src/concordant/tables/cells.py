"""A table whose cells are all in memory as text: a sheet of a workbook, or any transposed table.

Numbers are parsed on request, as in a csv file; an empty cell is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import Coded, encode
from concordant.errors import FormatError, InputError
from concordant.types import Floats

Cells = Sequence[str | None]


class CellTable:
    """Rows of text; ``place`` describes the location of a row in terms of its source."""

    is_countable = False

    def __init__(
        self,
        name: str,
        columns: Sequence[str],
        rows: Sequence[Cells],
        place: Callable[[int], str],
        *,
        has_header: bool = True,
        decimal_comma: bool = False,
        is_turned: bool = False,
    ) -> None:
        self.name, self.columns, self.has_header, self.place = name, distinct(columns), has_header, place
        self.decimal_comma, self.is_turned = decimal_comma, is_turned
        self.notes: list[str] = []
        self.sheets: tuple[str, ...] = ()
        """The sheets with data of the workbook that the rows are from."""
        width = len(self.columns)
        self._columns = [[row[k] if k < len(row) else None for row in rows] for k in range(width)]

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""
        return {name: self._coded(name) for name in texts}, {name: self._numbers(name) for name in numbers}

    def _column(self, name: str) -> list[str | None]:
        return self._columns[self.columns.index(name)]

    def _coded(self, name: str) -> Coded:
        """Return a column as codes (-1 for empty cells) with labels."""
        return encode_cells(self._column(name), name)

    def _numbers(self, name: str) -> Floats:
        numbers = (number_in(cell, self.decimal_comma) for cell in self._column(name))
        return np.array([np.nan if value is None else value for value in numbers], np.float64)

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at a few rows, None for empty cells."""
        cells = self._column(column)
        return [cells[row] or None for row in rows]

    def first(self, count: int) -> list[list[str | None]]:
        """Return the first cells of every column."""
        return [column[:count] for column in self._columns]

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names this row's location."""
        return FormatError(message if row < 0 else f"{self.place(row)}: " + message, path=self.name)


def encode_cells(cells: Sequence[str | None], name: str) -> Coded:
    """Return cells as codes (-1 for empty cells) with labels."""
    codes = np.full(len(cells), -1, np.int32)
    filled = [k for k, cell in enumerate(cells) if cell]
    codes[filled], vocabulary = encode([cells[k] for k in filled], name)
    return codes, vocabulary


def number_in(cell: str | None, decimal_comma: bool = False) -> float | None:
    """Return the number in a cell; None if it is not a number."""
    text = (cell or "").strip()
    if decimal_comma:
        text = text.replace(",", ".")
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def distinct(names: Sequence[str]) -> list[str]:
    """Return distinct column names: unnamed columns get their position, repeated names a number."""
    n_seen: dict[str, int] = {}
    out = []
    for position, name in enumerate(names, 1):
        label = name or f"column {position}"
        n_seen[label] = n_seen.get(label, 0) + 1
        out.append(label if n_seen[label] == 1 else f"{label} ({n_seen[label]})")
    return out


def transposed(table: Any, header: bool = True) -> CellTable:
    """Return the transposed table; its first column becomes the header, unless ``header`` is False."""
    columns: list[list[str | None]] = [list(column) for column in _all_cells(table)]
    if table.has_header:
        columns = [[name, *column] for name, column in zip(table.columns, columns, strict=True)]
    names: Cells = columns[0] if header and columns else [None] * max(map(len, columns), default=0)
    swapped = CellTable(
        table.name,
        [(name or "").strip() for name in names],
        columns[1:] if header else columns,
        lambda row: f"column {row + 1 + header}",
        has_header=header,
        decimal_comma=getattr(getattr(table, "dialect", None), "delimiter", "") == ";",
        is_turned=True,
    )
    swapped.notes = table.notes
    return swapped


def _all_cells(table: Any) -> list[list[str | None]]:
    coded, _ = table.fetch(table.columns, [])
    texts = ((codes.tolist(), [*labels.labels, None]) for codes, labels in coded.values())
    return [[labels[code] for code in codes] for codes, labels in texts]
