"""When something happened, as numbers: dates as days since 1970, any other numbers as they are.

Dates are written year first (2024-05-31, 2024.05.31, 20240531, with or without a time of day), or are those of Python
and NumPy. Numbers are years, rounds, seasons or time stamps: how far apart they are is what they say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime

import numpy as np

from concordant.types import AnyArray, Floats

DAY = 86_400.0  # seconds
_DASHED = re.compile(r"^(\d{4})[./](\d{1,2})[./](\d{1,2})")
_COMPACT = re.compile(r"(1[5-9]\d\d|20\d\d|21\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


def read_times(words: Sequence[str]) -> tuple[Floats, bool]:
    """Return each distinct moment as a number, and whether these are dates (in days).

    NaN where a word is neither, and where dates stand among numbers, which do not compare. Numbers of eight digits are
    dates where all of them are.
    """
    plain = [word.strip() for word in words]
    if plain and all(_COMPACT.fullmatch(word) for word in plain):
        plain = [f"{word[:4]}-{word[4:6]}-{word[6:]}" for word in plain]
    moments = [_moment(word) for word in plain]
    numbers = sum(kind == "number" for kind, _ in moments)
    wanted = "number" if numbers * 2 >= len(moments) else "date"
    return np.array([value if kind == wanted else np.nan for kind, value in moments], np.float64), wanted == "date"


def as_times(column: object) -> tuple[Floats, bool]:
    """Return a column of moments (numbers, dates, text) as numbers, and whether these are dates (in days)."""
    if hasattr(column, "to_numpy"):
        column = column.to_numpy()
    values: AnyArray = np.asarray(column)
    if values.dtype.kind == "M":
        days = values.astype("datetime64[us]").astype(np.int64) / (1e6 * DAY)
        return np.where(np.isnat(values), np.nan, days), True
    texts = [one.isoformat() if isinstance(one, (date, datetime)) else str(one) for one in values.tolist()]
    distinct = list(dict.fromkeys(texts))
    found, are_dates = read_times(distinct)
    number = dict(zip(distinct, found.tolist(), strict=True))
    return np.array([number[text] for text in texts], np.float64), are_dates


def shown_time(value: float, is_dated: bool) -> str:
    """Write a moment for people: a date, or the number it is."""
    if not is_dated:
        return f"{value:g}" if value != round(value) else f"{value:.0f}"
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(value)), "D"))


def _moment(word: str) -> tuple[str, float]:
    """Return ('number' | 'date' | 'neither', value); dates as days since 1970, UTC if they name no zone."""
    try:
        number = float(word)
        return "number", number if np.isfinite(number) else np.nan
    except ValueError:
        pass
    dashed = _DASHED.sub(lambda found: f"{found[1]}-{found[2]:0>2}-{found[3]:0>2}", word)
    try:
        parsed = datetime.fromisoformat(dashed)
    except ValueError:
        return "neither", np.nan
    return "date", (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() / DAY
