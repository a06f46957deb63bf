"""A table whose cells are spans of a text in memory, encoded in place when a column is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from concordant import kernels
from concordant.ballots.vocabulary import Coded, encode, vocabulary_of_bytes
from concordant.errors import InputError
from concordant.io._source import Source
from concordant.types import Bytes, Floats, Int64s

Spans = tuple[Int64s, Int64s]  # start and end of each cell; an empty span is a missing cell


class SpanTable:
    """Columns of spans; ``spans(name)`` returns the cells of a column.

    ``line`` is the line of each row, or its number if messages count in another ``unit``.
    """

    has_header, is_countable = True, False

    def __init__(
        self,
        source: Source,
        data: Bytes,
        columns: Sequence[str],
        spans: Callable[[str], Spans],
        line: Int64s,
        *,
        unit: str = "line",
    ) -> None:
        self.source, self.name, self.data = source, source.name, data
        self.columns, self.unit = list(columns), unit
        self.notes: list[str] = []
        self.roles: dict[str, str] = {}
        """Columns by role, unless the user names others."""
        self.has_escapes = False
        """Whether a backslash in a cell only protects the next character."""
        self._spans, self._line = spans, line

    @cached_property
    def _found(self) -> dict[str, Spans]:
        return {}

    def spans(self, column: str) -> Spans:
        """Return the start and the end of the cells of a column."""
        if column not in self._found:
            self._found[column] = self._spans(column)
        return self._found[column]

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""
        return {name: self._coded(name) for name in texts}, {name: self._numbers(name) for name in numbers}

    def _coded(self, column: str) -> Coded:
        start, end = self.spans(column)
        filled = start < end
        codes = np.full(len(start), -1, np.int32)
        codes[filled], offsets, letters, _ = kernels.encode_spans(
            self.data, np.ascontiguousarray(start[filled]), np.ascontiguousarray(end[filled])
        )
        vocabulary = vocabulary_of_bytes(offsets, letters)
        if ord("\\") not in letters or not self.has_escapes:
            return codes, vocabulary
        new_code, vocabulary = encode([re.sub(r"\\(.)", r"\1", label) for label in vocabulary.labels], column)
        return np.append(new_code, np.int32(-1))[codes], vocabulary

    def _numbers(self, column: str) -> Floats:
        start, end = self.spans(column)
        return kernels.parse_numbers(self.data, np.ascontiguousarray(start), np.ascontiguousarray(end))

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at a few rows, None for empty cells."""
        start, end = (ends[list(rows)].tolist() for ends in self.spans(column))
        return [self.data[a:b].tobytes().decode("utf-8", "replace") or None for a, b in zip(start, end, strict=True)]

    def first(self, count: int) -> list[list[str | None]]:
        """Return the first cells of every column."""
        rows = range(min(count, len(self._line)))
        return [self.cells(name, rows) for name in self.columns]

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names the line of a row."""
        if row >= 0 and self.unit != "line":
            return self.source.error(f"{self.place(row)}: " + message)
        return self.source.error(message, None if row < 0 else int(self._line[row]))

    def place(self, row: int) -> str:
        """Return the location of a row for messages."""
        return f"{self.unit} {int(self._line[row])}"


def padded(content: bytes) -> Any:
    """Return bytes as an array with a final line break and room to look ahead."""
    return np.frombuffer(content + b"\n\0\0\0\0\0\0\0", np.uint8)
