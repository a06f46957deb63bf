"""Parse text files of fields into arrays (NumPy reference of fields.cpp)."""

from __future__ import annotations

import re

import numpy as np

from concordant.kernels.bundles import LetorRows
from concordant.kernels.layouts import encode, pointers
from concordant.types import Bytes, Floats, Int32s, Int64s

__all__ = ["encode_spans", "parse_letor", "parse_numbers", "plain_columns", "split_fields"]

_NUMBER = re.compile(rb"\+?-?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf(?:inity)?|nan)", re.IGNORECASE)
_INDEX = re.compile(rb"\d{1,10}")
_DOCUMENT = re.compile(rb"docid[ \t]*=?[ \t]*(\S+)")
_FIELD = re.compile(rb"[^ \t\v\f\r]+")
BAD_LABEL, BAD_FIELD, BAD_INDEX, BAD_VALUE = 1, 2, 3, 4


def split_fields(data: Bytes, width: int) -> tuple[Int64s, Int64s, Int64s, Int32s]:
    """Split every line that is not blank at white space: (starts, ends, line number, number of fields).

    Only the first ``width`` fields of a line are kept; missing ones are empty spans.
    """
    blank = np.isin(data, np.frombuffer(b" \t\n\v\f\r", np.uint8))
    edge = np.diff(np.concatenate([[True], blank, [True]]).astype(np.int8))
    start, end = np.flatnonzero(edge < 0), np.flatnonzero(edge > 0)
    breaks = np.flatnonzero(data == ord("\n"))
    line_of_field = np.searchsorted(breaks, start) + 1
    line, first, count = np.unique(line_of_field, return_index=True, return_counts=True)
    position = np.arange(len(start)) - np.repeat(first, count)
    row = np.repeat(np.arange(len(line)), count)
    starts, ends = np.zeros((2, len(line), width), np.int64)
    kept = position < width
    starts[row[kept], position[kept]] = start[kept]
    ends[row[kept], position[kept]] = end[kept]
    return starts.reshape(-1), ends.reshape(-1), line.astype(np.int64), count.astype(np.int32)


def encode_spans(data: Bytes, start: Int64s, end: Int64s) -> tuple[Int32s, Int64s, Bytes, Int64s]:
    """Return the codes of the texts in these spans, the distinct texts (offsets, bytes), and the first row of each."""
    raw = data.tobytes()
    codes, first, texts = encode(raw[a:b] for a, b in zip(start.tolist(), end.tolist(), strict=True))
    return codes, pointers(np.array([len(text) for text in texts])), np.frombuffer(b"".join(texts), np.uint8), first


def parse_numbers(data: Bytes, start: Int64s, end: Int64s) -> Floats:
    """Return the numbers in these spans, NaN where the text is not a number."""
    raw = data.tobytes()
    spans = zip(start.tolist(), end.tolist(), strict=True)
    return np.array([_number(raw[a:b]) for a, b in spans], np.float64)


def _number(text: bytes) -> float:
    return float(text.removeprefix(b"+")) if _NUMBER.fullmatch(text) and text[:2] != b"+-" else float("nan")


def parse_letor(data: Bytes) -> LetorRows:
    """Read LETOR / svmlight rows, ``label qid:q index:value … # docid = d``; NULL becomes NaN."""
    labels: list[float] = []
    spans: list[tuple[int, int, int, int]] = []
    ptr, index, value = [0], list[int](), list[float]()
    lines, bad = list[int](), list[tuple[int, int]]()
    offset = 0
    for number, text in enumerate(data.tobytes().split(b"\n"), 1):
        body = text.split(b"#", 1)[0]
        if body.strip():
            kept = len(index)
            row = _letor_row(body, index, value)
            if isinstance(row, int):
                del index[kept:], value[kept:]
                bad.append((number, row))
            else:
                label, query = row
                document = _DOCUMENT.search(text, len(body))
                labels.append(label)
                spans.append(
                    (
                        *((offset + query[0], offset + query[1]) if query else (-1, -1)),
                        *((offset + document.start(1), offset + document.end(1)) if document else (-1, -1)),
                    )
                )
                ptr.append(len(index))
                lines.append(number)
        offset += len(text) + 1
    span = np.array(spans, np.int64).reshape(-1, 4).T.copy()
    trouble = np.array(bad, np.int64).reshape(-1, 2)
    return LetorRows(
        np.array(labels, np.float64),
        *(span[0], span[1], span[2], span[3]),
        *(np.array(ptr, np.int64), np.array(index, np.int32), np.array(value, np.float64)),
        *(np.array(lines, np.int64), trouble[:, 0].copy(), trouble[:, 1].astype(np.int32)),
    )


def _letor_row(body: bytes, index: list[int], value: list[float]) -> tuple[float, tuple[int, int] | None] | int:
    """Append the features of one row; return its label and the span of its query, or the kind of error."""
    fields = list(_FIELD.finditer(body))
    if not _NUMBER.fullmatch(fields[0][0]) or fields[0][0][:2] == b"+-":
        return BAD_LABEL
    query = None
    for field in fields[1:]:
        name, colon, content = field[0].partition(b":")
        if not colon:
            return BAD_FIELD
        if name == b"qid":
            query = (field.start() + 4, field.end())
            continue
        if not _INDEX.fullmatch(name) or int(name) >= 2**31:
            return BAD_INDEX
        number = float("nan") if content == b"NULL" else _number(content)
        if content != b"NULL" and not _NUMBER.fullmatch(content):
            return BAD_VALUE
        index.append(int(name))
        value.append(number)
    return _number(fields[0][0]), query


def plain_columns(
    data: Bytes, is_wanted: Bytes, delimiter: int, has_header: bool, longest: int
) -> list[tuple[Int32s, Int64s, Bytes]]:
    """Return the wanted columns of plain csv text, each as (codes, offsets, bytes); none if the text is not plain.

    Plain text is UTF-8 without quotes, with one kind of line break and the same number of fields in every line.
    """
    content, width = data.tobytes(), len(is_wanted)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return []
    returns = content.count(b"\r")
    if not width or b'"' in content or b"\0" in content or returns != content.count(b"\r\n"):
        return []
    if returns and returns != content.count(b"\n"):
        return []
    lines = content.removesuffix(b"\n").removesuffix(b"\r").split(b"\r\n" if returns else b"\n") if content else []
    rows = [line.split(bytes([delimiter])) for line in lines]
    if len(rows) <= has_header or any(len(row) != width or (width == 1 and not row[0]) for row in rows):
        return []
    if max(map(len, lines)) + 1 + (returns > 0) > longest:
        return []
    columns = zip(*rows[int(has_header) :], strict=True)
    return [_coded(column) for column, wanted in zip(columns, is_wanted.tolist(), strict=True) if wanted]


def _coded(cells: tuple[bytes, ...]) -> tuple[Int32s, Int64s, Bytes]:
    """Return the cells of a column as codes (-1 if empty), offsets and bytes of the distinct texts."""
    codes, _, texts = encode(filter(None, cells))
    filled = np.full(len(cells), -1, np.int32)
    filled[[len(cell) > 0 for cell in cells]] = codes
    return filled, pointers(np.array([len(text) for text in texts], np.int64)), np.frombuffer(b"".join(texts), np.uint8)
