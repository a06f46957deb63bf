"""Sushi preference files: orders (``sushi3a.5000.10.order``) and scores (``sushi3b.5000.10.score``).

An order file begins with ``number-of-items 1`` (some copies lack that line), followed by one line ``0 length item item
…`` per respondent, best first. A score file is a matrix with one line per respondent and one column per item; -1 means
that an item is not rated. Items keep their numbers as names, and respondents are numbered from 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from concordant.ballots import build
from concordant.ballots.vocabulary import Vocabulary
from concordant.io._formats import Format
from concordant.io._source import Source
from concordant.preferences import Preferences
from concordant.tables.bad_rows import refuse_lines
from concordant.tables.options import PREFERENCES, Options

NOT_RATED = -1.0
MAX_ITEMS = 10_000_000  # a header of twenty bytes may speak of more than fits into memory


def _looks_like(head: bytes) -> bool:
    """Return whether the first lines are orders that state their own length."""
    lines = [line.split() for line in head.split(b"\n")[:5] if line.strip()]
    orders = lines[1:] if lines and _is_size(lines[0]) else lines
    return len(orders) > 1 and all(_is_order(fields) for fields in orders[:-1])


def _is_size(fields: Sequence[bytes]) -> bool:
    return len(fields) == 2 and fields[0].isdigit() and len(fields[0]) < 10 and fields[1] == b"1"


def _is_order(fields: Sequence[bytes]) -> bool:
    """Return whether a line is ``0 length item item …`` with the stated number of items."""
    return (
        len(fields) > 2
        and fields[0] == b"0"
        and all(field.isdigit() and len(field) < 10 for field in fields[1:])
        and int(fields[1]) == len(fields) - 2
    )


FORMATS = (
    Format(
        *("sushi", (".order", ".score"), "Sushi orders and scores", (PREFERENCES,)),
        module=__name__,
        sniff=_looks_like,
    ),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read one file of orders or scores."""
    options.refuse_roles("sushi files")
    if len(sources) > 1:
        raise sources[1].error("respondents are numbered by line within a file: read one file at a time.")
    return _scores(sources[0], options) if sources[0].ending == ".score" else _orders(sources[0], options)


def _orders(source: Source, options: Options) -> Preferences:
    """Read one order per line, best first."""
    bad: dict[str, list[int]] = {}
    orders, respondents, size = list[list[int]](), list[str](), None
    for position, (line, fields) in enumerate(_filled_lines(source)):
        if position == 0 and _is_size(fields):
            size = int(fields[0])
            if size > MAX_ITEMS:
                raise source.error(
                    f"the header declares {size:,} items, but the limit is {MAX_ITEMS:,}: check that this is "
                    "the right file.",
                    line,
                )
            continue
        respondent = str(position + (size is None))
        if not _is_order(fields):
            bad.setdefault("the line is not '0 length item item …'", []).append(line)
            continue
        order = [int(field) for field in fields[2:]]
        if len(set(order)) < len(order):
            bad.setdefault("an item occurs twice in the order", []).append(line)
        elif size is not None and max(order) >= size:
            what = (
                f"the header declares {size} items, numbered from 0, but the order contains a number outside this range"
            )
            bad.setdefault(what, []).append(line)
        else:
            orders.append(order)
            respondents.append(respondent)
    left_out = refuse_lines(bad, source.error, options)
    if not orders:
        raise source.error("the file contains no orders: check that this is the right file.")
    flat = np.array([item for order in orders for item in order])
    used = np.arange(size) if size is not None else np.unique(flat)
    sizes = [len(order) for order in orders]
    note = f"{source.name}: {len(orders):,} orders of {len(used)} items (sushi)"
    return Preferences(
        Vocabulary([str(item) for item in used.tolist()]),
        np.cumsum([0, *sizes]),
        np.searchsorted(used, flat),
        np.concatenate([np.arange(size) for size in sizes]),
        agents=Vocabulary(respondents),
        agent=np.arange(len(orders)),
        notes=[note, *left_out],
    )


def _scores(source: Source, options: Options) -> Preferences:
    """Read a matrix of scores with one line per respondent; -1 means that an item is not rated."""
    bad: dict[str, list[int]] = {}
    rows, respondents = list[list[float]](), list[str]()
    for position, (line, fields) in enumerate(_filled_lines(source), 1):
        try:
            row = [float(field) for field in fields]
        except ValueError:
            bad.setdefault("a score is not a number", []).append(line)
            continue
        if rows and len(row) != len(rows[0]):
            bad.setdefault(f"the line has {len(row)} scores, but the first line has {len(rows[0])}", []).append(line)
        else:
            rows.append(row)
            respondents.append(str(position))
    left_out = refuse_lines(bad, source.error, options)
    if not rows:
        raise source.error("the file contains no scores: check that this is the right file.")
    matrix = np.array(rows, np.float64)
    respondent, item = np.nonzero(matrix != NOT_RATED)
    items = Vocabulary([str(k) for k in range(matrix.shape[1])])
    parts = build.gather_rows(
        (item, items), matrix[respondent, item], scale="rating", agent=(respondent, Vocabulary(respondents))
    )
    note = f"{source.name}: {len(respondent):,} scores of {len(items)} items by {len(rows):,} respondents (sushi)"
    return Preferences(**parts, notes=[note, *left_out])


def _filled_lines(source: Source) -> Iterator[tuple[int, list[bytes]]]:
    """Yield (line number, fields) of every line that is not empty."""
    for line, text in enumerate(source.read_text_bytes().split(b"\n"), 1):
        fields = text.split()
        if fields:
            yield line, fields
