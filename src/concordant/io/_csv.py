"""Infer the dialect of a csv file from its first lines: delimiter, header, column names.

Only the head of the file is inspected, to decide how DuckDB reads the file (or ``_plain_csv``, if there is only one way
to read it). The line numbers of records are computed only if a message has to name one.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from concordant.errors import InputError, arg
from concordant.io._source import HEAD, Source
from concordant.tables.cells import distinct
from concordant.tables.options import Options, normalise
from concordant.tables.roles import is_known_name

DELIMITERS = ",\t;|"
FAR_TOO_MANY = 100
LONGEST_FIELD = 2**31 - 1


@dataclass(frozen=True)
class Dialect:
    """The dialect of a csv file."""

    delimiter: str
    has_header: bool
    columns: tuple[str, ...]
    spaces_after_delimiter: bool = False


def sniff(source: Source, options: Options) -> Dialect:
    """Recognise the delimiter, the header and the columns from the head of a csv file and the user's options."""
    delimiter = options.delimiter or ("\t" if options.format == "tsv" else None)
    text = _head_text(source)
    lines = [line for line in re.split("\r?\n|\r", text) if line.strip()]
    if not lines:
        raise source.error("the file is empty: there is nothing to read.")
    if "\0" in text:
        raise source.error(
            "the file contains NUL bytes and is not text: check the file, or give its " + arg("encoding") + "."
        )
    if delimiter is None:
        delimiter = _delimiter(lines, source)
    elif len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise InputError(
            arg("delimiter", delimiter) + " must be a single character that separates fields, such as ';'."
        )
    parsed = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = [row for row in islice(parsed, 200) if any(row)]
    if not rows:
        raise source.error("the first rows are empty: remove the empty rows, or check that this is the right file.")
    if len(source.head) >= HEAD and len(rows) > 1:
        rows.pop()  # the head may cut the last line
    is_named = has_header(rows, options.given_columns()) if options.header is None else options.header
    width = len(rows[0]) if is_named else max(map(len, rows))
    spaced = is_named and len(rows[0]) > 1 and all(cell[:1] == " " for cell in rows[0][1:])
    names = [cell.strip() for cell in rows[0]] if is_named else [f"column {k + 1}" for k in range(width)]
    return Dialect(delimiter, is_named, tuple(distinct(names)), spaced)


def record_lines(path: str, dialect: Dialect, rejected: Collection[int] = ()) -> Iterator[int]:
    """Yield the line on which each record begins, without the header and rejected records."""
    with _records(path, dialect) as rows:
        start, skip_header = 1, dialect.has_header
        for row in rows:
            is_blank = not row and len(dialect.columns) > 1
            if not is_blank and not skip_header and start not in rejected:
                yield start
            skip_header = skip_header and is_blank
            start = rows.line_num + 1


def wide_row(path: str, dialect: Dialect) -> tuple[int, int] | None:
    """Return (line, number of fields) of the first row that has too many fields for DuckDB to reject quickly."""
    max_fields, delimiter = len(dialect.columns) + FAR_TOO_MANY, dialect.delimiter.encode()
    with open(path, "rb") as file:
        if not any(len(line) > max_fields and line.count(delimiter) >= max_fields for line in file):
            return None
    with _records(path, dialect) as rows:  # delimiters may stand in quotes
        return next(((rows.line_num, len(row)) for row in rows if len(row) > max_fields), None)


@contextmanager
def _records(path: str, dialect: Dialect) -> Iterator[Any]:
    """Open a csv file as a csv.reader without a limit on the size of a field."""
    previous_limit = csv.field_size_limit(LONGEST_FIELD)
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as text:
            yield csv.reader(text, delimiter=dialect.delimiter[0])
    finally:
        csv.field_size_limit(previous_limit)


def _head_text(source: Source) -> str:
    """Return the head of the file as text; a character that is cut off at the end is dropped."""
    try:
        return source.head.decode("utf-8")
    except UnicodeDecodeError as problem:
        if problem.start >= len(source.head) - 3:  # the head ends inside a character
            return source.head[: problem.start].decode("utf-8")
        raise source.not_utf_8(source.head.count(b"\n", 0, problem.start) + 1) from None


def _delimiter(lines: Sequence[str], source: Source) -> str:
    """Return the delimiter that splits the first lines into the same number of fields, preferring more fields."""
    if source.ending in (".tsv", ".tab") and "\t" in lines[0]:
        return "\t"
    best_delimiter, best_score = ",", 0.0
    for delimiter in DELIMITERS:
        counts = [len(row) for row in csv.reader(lines[:20], delimiter=delimiter) if row]
        if not counts or counts[0] < 2:
            continue
        agreement = sum(count == counts[0] for count in counts) / len(counts)
        if agreement + counts[0] / 1000 > best_score:
            best_delimiter, best_score = delimiter, agreement + counts[0] / 1000
    return best_delimiter


def has_header(rows: Sequence[Sequence[str]], wanted: Collection[str]) -> bool:
    """Decide whether the first row names columns.

    It does if the user named one of its cells, if a cell is a known name for a role and does not occur below it, or if
    it is text above numbers. It does not if its cells occur again as data.
    """
    first, data = rows[0], rows[1:]
    if {normalise(str(name)) for name in wanted if not str(name).isdigit()} & {normalise(cell) for cell in first}:
        return True
    if not data:
        return any(is_known_name(cell) for cell in first)
    values_below = [{row[k].strip() for row in data if k < len(row)} for k in range(len(first))]
    if any(is_known_name(cell) and cell.strip() not in values_below[k] for k, cell in enumerate(first)):
        return True
    for k, cell in enumerate(first):
        numeric_below = all(_is_number(text) for text in values_below[k] if text)
        if numeric_below != _is_number(cell) and values_below[k] - {""}:
            return True
        if _is_number(cell):
            return False
    all_values = set().union(*values_below)
    return not any(cell.strip() in all_values for cell in first) and (len(first) != 2 or len(data) > 2)


def _is_number(text: str) -> bool:
    """Return whether Python can parse a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
