"""A table of Python values, such as the result of a database query.

Values become text as in other tables: whole numbers without a decimal point, dates as 2024-05-31, true and false, bytes
as UTF-8 text or hexadecimal digits, lists and objects as JSON. None, NaN and empty text are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import Coded, Vocabulary
from concordant.errors import InputError
from concordant.tables.cells import distinct
from concordant.tables.derived import as_numbers
from concordant.types import Floats, Int32s


class ValueTable:
    """Columns of a query result, encoded as they arrive; rows are counted from 1."""

    has_header, is_countable = True, False

    def __init__(self, name: str, columns: Sequence[str], batches: Iterable[Sequence[Sequence[Any]]]) -> None:
        """Encode batches of rows."""
        self.name, self.columns = name, distinct([str(column) for column in columns])
        self.notes: list[str] = []
        self._coded = encode_rows(len(self.columns), batches)

    def _column(self, name: str) -> Coded:
        return self._coded[self.columns.index(name)]

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""
        return (
            {name: self._column(name) for name in texts},
            {name: as_numbers(self._column(name)) for name in numbers},
        )

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at a few rows, None for empty cells."""
        codes, labels = self.fetch([column], [])[0][column]
        return [None if codes[row] < 0 else labels[int(codes[row])] for row in rows]

    def first(self, count: int) -> list[list[str | None]]:
        """Return the first cells of every column."""
        coded = (self._column(name) for name in self.columns)
        return [[None if code < 0 else labels[code] for code in codes[:count].tolist()] for codes, labels in coded]

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names this row."""
        return InputError(message if row < 0 else f"{self.place(row)}: " + message, path=self.name)

    def place(self, row: int) -> str:
        """Return the location of a row for messages."""
        return f"row {row + 1}"


def encode_rows(width: int, batches: Iterable[Sequence[Sequence[Any]]]) -> list[Coded]:
    """Encode batches of rows column by column."""
    encoders = [_Encoder() for _ in range(width)]
    for rows in batches:
        for encoder, values in zip(encoders, zip(*rows, strict=True), strict=True):
            encoder.add(values)
    return [encoder.done() for encoder in encoders]


class _Encoder:
    """The codes of a column so far, and the code of each label."""

    def __init__(self) -> None:
        self._parts: list[Int32s] = []
        self._code_of_value: dict[Any, int] = {}
        self._code_of_text: dict[str, int] = {}

    def add(self, values: Sequence[Any]) -> None:
        """Encode the next values; equal values of one type are converted once."""
        known, codes = self._code_of_value, []
        for value in values:
            try:
                code = known.get((type(value), value))
            except TypeError:  # a list or an object has no hash
                code = self._code(value)
            if code is None:
                code = known[type(value), value] = self._code(value)
            codes.append(code)
        self._parts.append(np.array(codes, np.int32))

    def _code(self, value: Any) -> int:
        text = text_of(value)
        return -1 if not text else self._code_of_text.setdefault(text, len(self._code_of_text))

    def done(self) -> Coded:
        codes = np.concatenate(self._parts) if self._parts else np.zeros(0, np.int32)
        return codes, Vocabulary(list(self._code_of_text))


def text_of(value: Any) -> str | None:
    """Return a value as text, None if it is missing."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    if isinstance(value, Decimal):
        return f"{value.normalize():f}" if value.is_finite() else None
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _text_of_bytes(bytes(value))
    return _json(value) if isinstance(value, (list, tuple, dict)) else str(value)


def _text_of_bytes(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.hex()


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=text_of)
