"""Text files with blanks between the fields: tables with a header (``Driver Race Place``), and orders, one per line.

A table of this kind is recognised only if all lines have as many fields as the header and the header names known
columns. Rows may begin with a row name that the header lacks, as R writes them. Orders are lines of names, best first,
one line per race or ballot, without a header; they are recognised only if the lines name the same competitors. Lines of
a worker, a task and a label, whose columns have no word in common, are a table without a header.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from concordant import kernels
from concordant.ballots.vocabulary import encode
from concordant.errors import InputError
from concordant.io._fields import Fields, fields_of
from concordant.io._formats import TABLES, Format
from concordant.io._lines import Lines
from concordant.io._source import Source
from concordant.io._spans import Spans, SpanTable
from concordant.preferences import Preferences
from concordant.support.patterns import lazy
from concordant.tables.bad_rows import refuse_lines
from concordant.tables.cells import distinct
from concordant.tables.options import PREFERENCES, Options
from concordant.tables.plans import Names
from concordant.tables.roles import plan_columns

FEWEST_COLUMNS = 3  # two words could be a name
FEWEST_TRIPLES = 5  # lines of worker, task and label
_HEADING = lazy(rb"\"?[A-Za-z][\w.%-]*\"?")
_NAME = lazy(rb"[A-Za-z_\x80-\xff][\w\x80-\xff'-]*")
_SHARED = 0.5  # of the names on a line that must stand on other lines as well


def _is_table(head: bytes) -> bool:
    """Return whether the first line names known columns, and all lines have the same number of fields."""
    rows = fields_of(head)
    if len(rows) < 2 or len(rows[0]) < FEWEST_COLUMNS or re.search(rb"[,;|\t]", head.lstrip().split(b"\n", 1)[0]):
        return False
    if not all(map(_HEADING.fullmatch, rows[0])) or len({len(row) for row in rows[1:]}) != 1:
        return False
    if len(rows[1]) - len(rows[0]) not in (0, 1):
        return False
    try:
        plan = plan_columns(Names("the file", _columns(rows[:2])), Options())
    except InputError:
        return False
    return plan.layout in ("pairs", "ranks", "ratings")


def _columns(rows: Fields) -> list[str]:
    """Return the names of the columns; row names that the header lacks are a column as well."""
    names = [field.decode("utf-8", "replace").strip('"') for field in rows[0]]
    return distinct(["row"] * (len(rows[1]) - len(rows[0])) + names)


def _are_columns(rows: Fields) -> bool:
    """Return whether all lines have the same number of fields, and no word stands in two columns."""
    columns = [set(column) for column in zip(*rows, strict=False)]
    has_one_width = len({len(row) for row in rows}) == 1
    return has_one_width and sum(map(len, columns)) == len(set().union(*columns))


def _are_triples(head: bytes) -> bool:
    """Return whether all lines are a worker, a task and a label in words, without a header."""
    rows = fields_of(head)
    if len(rows) < FEWEST_TRIPLES or {len(row) for row in rows} != {3} or re.search(rb"[,;|\t]", head):
        return False
    has_repeats = all(len({row[k] for row in rows}) < len(rows) for k in range(3))
    return has_repeats and _are_columns(rows) and all(_NAME.fullmatch(row[2]) for row in rows)


def _are_orders(head: bytes) -> bool:
    """Return whether all lines are lists of names, and most names of each line also stand on other lines."""
    rows = fields_of(head)
    if len(rows) < 2 or min(map(len, rows)) < FEWEST_COLUMNS:
        return False
    if not all(_NAME.fullmatch(field) for row in rows for field in row) or any(
        len(set(row)) < len(row) for row in rows
    ):
        return False
    if b"\t" in head or _are_columns(rows):
        return False
    count = Counter(field for row in rows for field in row)
    return all(sum(count[field] > 1 for field in row) >= _SHARED * len(row) for row in rows)


FORMATS = (
    Format(
        *("blanks", (), "table with blanks between the columns: Driver Race Place", (PREFERENCES,)),
        module=TABLES,
        sniff=lambda head: _is_table(head) or _are_triples(head),
        opener=__name__,
    ),
    Format(
        *("orders", (), "finishing orders: one line per race, names separated by blanks", (PREFERENCES,)),
        module=__name__,
        sniff=_are_orders,
    ),
)


def open_table(source: Source, options: Options) -> SpanTable:
    """Open a table whose fields are separated by blanks; the first line is the header."""
    lines = Lines([source])
    rows = fields_of(source.head)
    has_header = not _are_triples(source.head)
    columns = [] if len(rows) < 2 else _columns(rows[:2]) if has_header else [f"column {k}" for k in (1, 2, 3)]
    if len(columns) < 1:
        raise source.error("the table needs a header line and at least one row: check the file.")
    start, end, line, count = kernels.split_fields(lines.data, len(columns))
    is_row = np.arange(len(line)) >= int(has_header)
    what = f"the line does not have the {len(columns)} fields of the header (a field cannot contain blanks)"
    bad = line[is_row & (count != len(columns))].tolist()
    notes = refuse_lines({what: bad}, source.error, options) if bad else []
    is_row &= count == len(columns)
    starts, ends = start.reshape(-1, len(columns))[is_row], end.reshape(-1, len(columns))[is_row]
    data = lines.data

    def spans(name: str) -> Spans:
        k = columns.index(name)
        begin, stop = starts[:, k], ends[:, k]
        is_quoted = (stop - begin >= 2) & (data[begin] == ord('"')) & (data[np.maximum(stop - 1, 0)] == ord('"'))
        return begin + is_quoted, stop - is_quoted

    table = SpanTable(source, data, columns, spans, line[is_row])
    table.notes += notes
    table.has_header = has_header
    return table


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read one order per line: each line is a ballot, best first."""
    options.refuse_roles("lines of finishing orders")
    names: list[str] = []
    sizes: list[int] = []
    notes: list[str] = []
    for source in sources:
        bad: dict[str, list[int]] = {}
        n_before = len(sizes)
        for number, text in source.lines():
            order = text.split()
            if len(set(order)) < len(order):
                bad.setdefault("a name occurs twice in the order", []).append(number)
            elif order:
                names += order
                sizes.append(len(order))
        notes += refuse_lines(bad, source.error, options)
        if len(sizes) == n_before:
            raise source.error("the file contains no orders: check that this is the right file.")
    shown = sources[0].name if len(sources) == 1 else f"{len(sources)} files"
    item, items = encode(names, "item")
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    tier = (np.arange(len(item)) - np.repeat(indptr[:-1], sizes)).astype(np.int32)
    note = f"{shown}: {len(sizes):,} orders, one per line, best first"
    return Preferences(items=items, indptr=indptr, item=item, tier=tier, notes=[note, *notes])
