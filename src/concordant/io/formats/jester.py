"""Jester files: one line per user with the number of jokes rated, then the rating of each joke; 99 is "not rated".

The dataset is published as Excel workbooks (.xls) in zip archives. Reading them requires python-calamine (the extra
``sheets``); files saved as csv are read without it. Users and jokes are named by their position, from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from concordant.ballots import build
from concordant.ballots.vocabulary import Vocabulary
from concordant.errors import InputError
from concordant.io._csv import Dialect
from concordant.io._duckdb import CsvTable
from concordant.io._formats import Format
from concordant.io._source import OLE, Source
from concordant.preferences import Preferences
from concordant.support.limits import NUMBERS, bad_numbers
from concordant.tables.bad_rows import RowScreen
from concordant.tables.options import PREFERENCES, Options
from concordant.types import Bools, Floats

NOT_RATED = 99.0
FEWEST_JOKES = 20  # fewer columns could be anybody's table


def _looks_like(head: bytes) -> bool:
    """Return whether the first field of each of the first lines is the number of ratings on that line."""
    lines = head.split(b"\n")[:4]
    return all(_counts_itself(line) for line in (lines[:-1] or lines))


def _counts_itself(line: bytes) -> bool:
    """Return whether the first number of a line is the number of its ratings."""
    try:
        return _is_counted([float(cell) for cell in line.split(_delimiter(line))])
    except ValueError:
        return False


def _is_counted(numbers: Sequence[float]) -> bool:
    """Return whether the first number is the number of the other values that are not 99."""
    rated = sum(number != NOT_RATED for number in numbers[1:])
    return len(numbers) > FEWEST_JOKES and numbers[0] == rated


def is_jester(source: Source) -> bool:
    """Return whether the first cell of each of the first rows of a workbook is the number of ratings in that row."""
    from concordant.io._sheets import sheets_of

    first = sheets_of(source)[0].cells[:3]
    return (
        bool(first)
        and all(isinstance(cell, (int, float)) for row in first for cell in row)
        and all(map(_is_counted, first))
    )


def _delimiter(line: bytes) -> bytes:
    return max((b",", b";", b"\t"), key=line.count)


FORMATS = (
    Format(
        "jester",
        (),
        "Jester ratings: a count, then one rating per joke, 99 if missing",
        (PREFERENCES,),
        module=__name__,
        sniff=_looks_like,
        borrows=(".csv",),
    ),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read the ratings of one file."""
    options.refuse_roles("Jester files")
    if len(sources) > 1:
        raise sources[1].error("users are numbered by row within a file: read one file at a time.")
    source = sources[0]
    is_workbook = source.head.startswith(OLE)
    rows: Any = _Workbook(source) if is_workbook else _table(source, options)
    matrix = rows.matrix if is_workbook else _matrix(rows)
    screen = RowScreen(rows, len(matrix), options)
    is_bad: Bools = np.any(bad_numbers(matrix), axis=1)
    screen.refuse(is_bad, f"a rating is not {NUMBERS}")
    rated = matrix[:, 1:] != NOT_RATED
    count = rated.sum(axis=1)
    screen.refuse(
        matrix[:, 0] != count,
        "the first column is not the number of ratings",
        lambda row: f"the first column counts {matrix[row, 0]:g} ratings, but the row has {count[row]}",
    )
    user, joke = np.nonzero(rated & screen.good[:, None])
    agents = Vocabulary([str(k) for k in range(1, len(matrix) + 1)])
    parts = build.gather_rows(
        (joke, Vocabulary([str(k) for k in range(1, matrix.shape[1])])),
        matrix[:, 1:][user, joke],
        scale="rating",
        agent=(user, agents),
    )
    note = f"{source.name}: {len(user):,} ratings of {matrix.shape[1] - 1} jokes by {screen.count:,} users (Jester)"
    return Preferences(**parts, notes=[note, *screen.notes()])


def _table(source: Source, options: Options) -> Any:
    """Open a Jester csv file as a table without a header."""
    first = source.head.split(b"\n", 1)[0]
    delimiter = _delimiter(first)
    names = tuple(f"column {k}" for k in range(1, first.count(delimiter) + 2))
    return CsvTable(source, Dialect(delimiter.decode(), False, names), options)


def _matrix(table: Any) -> Floats:
    columns = table.fetch([], table.columns)[1]
    return np.stack([columns[name] for name in table.columns], axis=1)


class _Workbook:
    """The first sheet of an Excel workbook."""

    def __init__(self, source: Source) -> None:
        """Read the first sheet as a matrix of numbers; reject other workbooks."""
        from concordant.io._sheets import sheets_of

        self.source = source
        try:
            self.matrix: Floats = np.array(sheets_of(source)[0].cells, np.float64)
        except ValueError as problem:
            if isinstance(problem, InputError):
                raise
            raise source.error(f"the workbook is not a table of numbers ({problem}): save it as csv.") from None
        if self.matrix.ndim != 2 or self.matrix.shape[1] < 2:
            raise source.error(
                "the workbook is not a Jester table (a count, then one rating per joke): save it as csv."
            )

    def error(self, row: int, message: str) -> Any:
        """Create the error that names a row."""
        return self.source.error(message if row < 0 else f"row {row + 1}: {message}")

    def place(self, row: int) -> str:
        """Return the location of a row for messages."""
        return f"row {row + 1}"
