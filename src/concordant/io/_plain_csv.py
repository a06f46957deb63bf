"""Read plain csv files by splitting at delimiters, without loading DuckDB.

For a small file, loading DuckDB takes as long as reading and ranking together. For a large file, a kernel that encodes
labels in place takes a third of DuckDB's time. A file is *plain* if there is only one way to read it: UTF-8, no
quotation marks, the same line ending throughout, and as many fields per line as there are columns. Its cells are the
text between delimiters; an empty cell is missing, and numbers are digits with a decimal point. DuckDB reads all other
files, and all numeric columns with a cell that may or may not be a number. Both readers give the same result, and tests
compare them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np

from concordant import kernels
from concordant.ballots.vocabulary import Coded, Vocabulary, vocabulary_of_bytes
from concordant.io._csv import DELIMITERS, Dialect
from concordant.io._duckdb import LONGEST_LINE, CsvTable
from concordant.io._source import Source
from concordant.support import memory
from concordant.tables.options import Options
from concordant.types import Bytes, Floats, Int32s, Int64s

MAX_SMALL = 1 << 20  # bytes of a small file, whose cells are kept at hand
ROOM = 8  # bytes of memory that a large file must leave for each of its own
DISTINCT = 1 << 16  # numbers in a column of a large file, above which DuckDB reads them
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")
_WORD = re.compile(r"[A-HJ-MO-Za-hj-mo-z]")  # what begins so is no number; "inf" and "nan" are left to DuckDB


class Cells(NamedTuple):
    """A text and the start and end of its cells: rows by columns."""

    data: Bytes
    start: Int64s
    end: Int64s


def open_csv(source: Source, dialect: Dialect, options: Options) -> CsvTable:
    """Open a csv file, without DuckDB if it is plain."""
    cells = None
    if source.compression is None and source.encoding is None and _is_usual(dialect):
        if source.size > MAX_SMALL:
            may_be_plain = b'"' not in source.head and memory.fits(ROOM * source.size)
            return (LargeCsvTable if may_be_plain else CsvTable)(source, dialect, options)
        cells = plain_cells(source.read_bytes(), dialect)
    return CsvTable(source, dialect, options) if cells is None else PlainCsvTable(source, dialect, options, cells)


def _is_usual(dialect: Dialect) -> bool:
    return dialect.delimiter in tuple(DELIMITERS) and not dialect.spaces_after_delimiter


def plain_cells(content: bytes, dialect: Dialect) -> Cells | None:
    """Return the cells of a plain csv file without its header; None for other files."""
    if not _is_usual(dialect):
        return None
    if b'"' in content or b"\0" in content:
        return None
    if b"\r" in content:
        if not content.count(b"\r") == content.count(b"\r\n") == content.count(b"\n"):
            return None
        content = content.replace(b"\r\n", b"\n")
    if not content.endswith(b"\n"):
        content += b"\n"
    if not _is_utf_8(content):
        return None
    data = np.frombuffer(content, np.uint8)
    is_line_end = data == ord("\n")
    end = np.flatnonzero(is_line_end | (data == ord(dialect.delimiter)))
    width = len(dialect.columns)
    if len(end) % width or len(end) == width * dialect.has_header:
        return None
    ends_line = is_line_end[end].reshape(-1, width)
    if not ends_line[:, -1].all() or ends_line[:, :-1].any():
        return None
    start = np.concatenate([[0], end[:-1] + 1])
    if width == 1 and (start == end).any():
        return None
    first = int(dialect.has_header)
    return Cells(data, start.reshape(-1, width)[first:], end.reshape(-1, width)[first:])


def _is_utf_8(content: bytes) -> bool:
    try:
        return content.isascii() or bool(content.decode("utf-8"))
    except UnicodeDecodeError:
        return False


class PlainCsvTable(CsvTable):
    """A plain csv file; DuckDB reads what this class cannot."""

    def __init__(self, source: Source, dialect: Dialect, options: Options, cells: Cells) -> None:
        super().__init__(source, dialect, options)
        self._cells = cells

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""
        if not {*texts, *numbers}.issubset(self.columns):
            return super().fetch(texts, numbers)
        numbers_of = {name: self._numbers(name) for name in numbers}
        known = {name: values for name, values in numbers_of.items() if values is not None}
        if len(known) < len(numbers_of):
            return super().fetch(texts, numbers)
        return {name: self._coded(name) for name in texts}, known

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at a few rows, None for empty cells."""
        if column not in self.columns:
            return super().cells(column, rows)
        return _texts(self._cells, self.columns.index(column), rows)

    def first(self, count: int, names: Sequence[str] = ()) -> list[list[str | None]]:
        """Return the first cells of every column, or of these columns and fields."""
        return super().first(count, names) if names else _first(self._cells, count)

    def _spans(self, column: str) -> tuple[Int64s, Int64s]:
        k = self.columns.index(column)
        return np.ascontiguousarray(self._cells.start[:, k]), np.ascontiguousarray(self._cells.end[:, k])

    def _coded(self, column: str) -> Coded:
        """Return a column as codes (-1 for empty cells) with labels."""
        start, end = self._spans(column)
        filled = start < end
        codes = np.full(len(start), -1, np.int32)
        codes[filled], offsets, letters, _ = kernels.encode_spans(self._cells.data, start[filled], end[filled])
        return codes, vocabulary_of_bytes(offsets, letters)

    def _numbers(self, column: str) -> Floats | None:
        """Return a column as numbers; None if DuckDB has to decide whether a cell is a number."""
        return _numbers_of(*self._coded(column), self.dialect)


class LargeCsvTable(CsvTable):
    """A large csv file, split at delimiters if it is plain; DuckDB is used otherwise, and for all error messages."""

    _is_plain = True

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""
        if not {*texts, *numbers}.issubset(self.columns):
            return super().fetch(texts, numbers)
        columns = self._columns({*texts, *numbers}) if self._is_plain and len(numbers) <= len(texts) else {}
        values = {
            name: _numbers_of(*columns[name], self.dialect)
            for name in numbers
            if name in columns and len(columns[name][1]) <= DISTINCT
        }
        known = {name: column_values for name, column_values in values.items() if column_values is not None}
        if not columns or len(known) < len(numbers):
            self._is_plain = False
            return super().fetch(texts, numbers)
        return {name: columns[name] for name in texts}, known

    def first(self, count: int, names: Sequence[str] = ()) -> list[list[str | None]]:
        """Return the first cells of every column, taken from the lines that were read to recognise the file."""
        head = self.source.head
        cells = None if names else plain_cells(head[: head.rfind(b"\n") + 1], self.dialect)
        return super().first(count, names) if cells is None else _first(cells, count)

    def _columns(self, names: Set[str]) -> dict[str, Coded]:
        """Return these columns as codes with labels; empty unless the file is plain."""
        data = np.fromfile(self.path(), np.uint8)
        data = data[3:] if data[:3].tobytes() == b"\xef\xbb\xbf" else data
        is_wanted = np.array([name in names for name in self.columns], np.uint8)
        delimiter = ord(self.dialect.delimiter)
        encoded = kernels.plain_columns(data, is_wanted, delimiter, self.has_header, LONGEST_LINE)
        coded = ((codes, vocabulary_of_bytes(offsets, letters)) for codes, offsets, letters in encoded)
        wanted = [name for name in self.columns if name in names]
        return dict(zip(wanted, coded, strict=True)) if encoded else {}


def _first(cells: Cells, count: int) -> list[list[str | None]]:
    n_rows, n_columns = cells.start.shape
    return [_texts(cells, k, range(min(count, n_rows))) for k in range(n_columns)]


def _texts(cells: Cells, column: int, rows: Sequence[int]) -> list[str | None]:
    """Return the cells of a column at a few rows, None for empty cells."""
    start, end = (ends[list(rows), column].tolist() for ends in (cells.start, cells.end))
    return [cells.data[a:b].tobytes().decode() or None for a, b in zip(start, end, strict=True)]


def _numbers_of(codes: Int32s, labels: Vocabulary, dialect: Dialect) -> Floats | None:
    """Return a text column as numbers; None if only DuckDB can decide whether a cell is a number."""
    values = np.full(len(labels) + 1, np.nan)  # the last one is what stands for nothing
    for k, label in enumerate(labels):
        text = label.replace(",", ".") if dialect.delimiter == ";" else label
        if _NUMBER.fullmatch(text):
            values[k] = float(text)
        elif not _WORD.match(text):
            return None
    return values[codes]
