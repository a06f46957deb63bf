"""Recognise files whose lines are fields separated by white space: search runs, relevance judgements, race orders."""

from __future__ import annotations

from collections.abc import Sequence

from concordant.io._source import HEAD
from concordant.support.patterns import lazy

Fields = list[list[bytes]]
MAX_LINES = 200  # lines of the head that decide
FEWEST = 2  # lines without which only the usual second field (Q0 or 0) identifies a run
_USUAL = (b"Q0", b"q0", b"0")
_NUMBER = lazy(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WHOLE = lazy(rb"[-+]?\d{1,18}")


def fields_of(head: bytes) -> Fields:
    """Return the fields of the first lines; blank lines, and a last line that may be cut, are left out."""
    lines = head.split(b"\n")
    if len(head) >= HEAD and len(lines) > 1:
        lines.pop()
    return [fields for line in lines[:MAX_LINES] if (fields := line.split())]


def is_number(field: bytes) -> bool:
    """Return whether a field is a finite number."""
    return _NUMBER.fullmatch(field) is not None


def is_run(head: bytes) -> bool:
    """Return whether these are runs: ``topic Q0 document rank score [tag]`` or ``topic document rank [score]``."""
    rows = fields_of(head)
    if not rows:
        return False
    first = rows[0]
    if len(first) in (5, 6) and is_number(first[3]) and is_number(first[4]):
        is_usual = first[1] in _USUAL[: 3 if len(first) == 6 else 2]
        return is_usual or (_is_uniform(rows, 1) and all(_is_whole(row[3]) and is_number(row[4]) for row in rows))
    return is_counted_run(rows)


def is_counted_run(rows: Fields) -> bool:
    """Return whether the third field counts the documents of each topic 1, 2, 3, …; a fourth field is the score."""
    width = len(rows[0])
    if width not in (3, 4) or any(len(row) != width or row[1] == rows[0][0] for row in rows):
        return False
    if width == 4 and not all(is_number(row[3]) for row in rows):
        return False
    topic, rank, longest = b"", 0, 0
    for row in rows:
        rank = rank + 1 if row[0] == topic else 1
        topic, longest = row[0], max(longest, rank)
        if row[2] != b"%d" % rank:
            return False
    return longest > 1


def is_judged(head: bytes) -> bool:
    """Return whether these are relevance judgements: ``topic iteration document relevance``."""
    rows = fields_of(head)
    if not rows or len(rows[0]) != 4 or not is_number(rows[0][3]) or is_counted_run(rows):
        return False
    return rows[0][1] in _USUAL or (_is_uniform(rows, 1) and all(_is_whole(row[3]) for row in rows))


def _is_whole(field: bytes) -> bool:
    return _WHOLE.fullmatch(field) is not None


def _is_uniform(rows: Fields, field: int) -> bool:
    """Return whether there are several lines, all with the same number of fields and the same value of one field."""
    return len(rows) >= FEWEST and all(len(row) == len(rows[0]) and row[field] == rows[0][field] for row in rows)


def widths(rows: Sequence[Sequence[bytes]], usual: int) -> int:
    """Return the number of fields of the lines of a run, as its first line has them; ``usual`` if it is none."""
    first = rows[0] if rows else []
    numeric = {3: (2,), 4: (2, 3), 5: (3, 4), 6: (3, 4)}.get(len(first), ())
    return len(first) if numeric and all(is_number(first[k]) for k in numeric) else usual
