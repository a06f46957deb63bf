"""Read long columns of times from concatenated UTF-8 text, without a Python object for each of them.

Only columns that can be read in one way are read here: all cells are plain numbers, or all of them are dates with the
year first. ``dates.read_times`` reads all other columns, and both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from concordant.support.dates import DAY, as_numbers
from concordant.types import AnyArray, Bools, Bytes, Floats, Int64s

MANY = 2_000  # texts from which this pays
MAX_LENGTHS = 40  # different lengths of the texts of one column
DATE, COMPACT, FRACTION = "dddd-dd-dd", 8, 19
TEMPLATES = {10: DATE, 16: DATE + "Tdd:dd", 19: DATE + "Tdd:dd:dd"}
EXACT = 2**53  # microseconds that a float holds exactly, until the year 2255
ZONES = (b"", b"Z", b"+00:00")
_NUMERIC = np.zeros(256, bool)
_NUMERIC[list(b"0123456789.+-eE")] = True
_DIGIT = np.zeros(256, bool)
_DIGIT[list(b"0123456789")] = True


def times_of_bytes(offsets: Int64s, data: Bytes) -> tuple[Floats, bool] | None:
    """Return what ``read_times`` returns for these texts; None if they have to be read one by one."""
    if len(offsets) <= MANY:
        return None
    length = np.diff(offsets)
    if not length.min() or len(np.unique(length)) > MAX_LENGTHS:
        return None
    times = np.empty(len(length))
    read = _numbers if _NUMERIC[data].all() and not _is_dash(data, offsets) else _moments
    for rows, texts in _by_length(offsets, length, data):
        values = read(texts)
        if values is None:
            return None
        times[rows] = values
    if read is _moments:
        return times, True
    return None if (length == COMPACT).all() else as_numbers(times)


def _is_dash(data: Bytes, offsets: Int64s) -> bool:
    """Return whether the first text may be a date: its fifth sign is a hyphen."""
    return bool(offsets[1] - offsets[0] >= len(DATE) and data[offsets[0] + 4] == ord("-"))


def _by_length(offsets: Int64s, length: Int64s, data: Bytes) -> Iterator[tuple[AnyArray, Bytes]]:
    """Yield the rows of each length, and their texts as a matrix of bytes."""
    lengths = np.unique(length).tolist()
    if len(lengths) == 1:
        yield np.arange(len(length)), data[offsets[0] : offsets[-1]].reshape(-1, lengths[0])
        return
    for size in lengths:
        rows = np.flatnonzero(length == size)
        texts = np.empty((len(rows), size), np.uint8)
        for k in range(size):
            texts[:, k] = data[offsets[rows] + k]
        yield rows, texts


def _numbers(texts: Bytes) -> Floats | None:
    """Return texts of one length as numbers; None if one of them is not a number."""
    try:
        values: Floats = _joined(texts).astype(np.float64)
    except ValueError:
        return None
    return np.where(np.isfinite(values), values, np.nan)


def _moments(texts: Bytes) -> Floats | None:
    """Return texts of one length as days since 1970, in UTC; None if one of them is not such a date."""
    for zone in ZONES:
        size = texts.shape[1] - len(zone)
        if (not zone or size > len(DATE)) and (texts[:, size:] == np.frombuffer(zone, np.uint8)).all():
            own = texts[:, :size]
            if _is_date(own).all():
                return _days(own)
    return None


def _is_date(texts: Bytes) -> Bools:
    """Return which texts have the digits and separators of a date with the year first, and a year from 1 on."""
    size = texts.shape[1]
    template = TEMPLATES.get(size)
    if template is None and FRACTION + 1 < size <= FRACTION + 7:
        template = TEMPLATES[FRACTION] + "." + "d" * (size - FRACTION - 1)
    good = np.full(len(texts), template is not None)
    for k, sign in enumerate(template or ""):
        column = texts[:, k]
        if sign == "d":
            good &= _DIGIT[column]
        elif sign == "T":
            good &= (column == ord("T")) | (column == ord(" "))
        else:
            good &= column == ord(sign)
    good &= (texts[:, :4] != ord("0")).any(axis=1)
    return good


def _days(texts: Bytes) -> Floats | None:
    try:
        moments = _joined(texts).astype("datetime64[us]")
    except ValueError:  # the 30th of February
        return None
    count = moments.astype(np.int64)
    if np.abs(count).max() > EXACT:
        return None
    return count / 1e6 / DAY


def _joined(texts: Bytes) -> AnyArray:
    """Return each row of a matrix of bytes as one text."""
    return np.ascontiguousarray(texts).view(f"S{texts.shape[1]}").reshape(-1)
