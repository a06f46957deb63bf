"""Convert times to numbers: dates become days since 1970, other numbers are unchanged.

Dates are text (2024-05-31, 20240531, 31/05/2024, 31 May 2024, with or without a time of day), time stamps (seconds or
milliseconds since 1970), or Python or NumPy dates. Other numbers are years, rounds or seasons; their differences are
meaningful. ``date_words`` reads dates that do not start with the year.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from concordant.errors import InputError, arg
from concordant.support.date_words import DAY_FIRST, YEAR_FIRST_ADVICE, iso_moment, order_advice, order_of, parse
from concordant.types import AnyArray, Floats, Int64s

DAY = 86_400.0  # seconds
CALENDAR = ("day", "week", "month", "quarter", "year")
_COMPACT = re.compile(r"(1[5-9]\d\d|20\d\d|21\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


def read_times(words: Sequence[str], date_order: str | None = None, advice: str | None = None) -> tuple[Floats, bool]:
    """Return each time as a number, and whether the times are dates (in days since 1970).

    NaN if a text is neither a number nor a date, or not of the more frequent kind (numbers and dates cannot be
    compared). Numbers of eight digits are dates if all of them can be dates; numbers of ten or thirteen digits are
    seconds or milliseconds since 1970. ``date_order`` ("day" or "month") says what comes first in 05/06/2024; if it is
    None, the column shows it, or an error with ``advice`` is raised.
    """
    plain = [word.strip() for word in words]
    if plain and all(_COMPACT.fullmatch(word) for word in plain):
        plain = [f"{word[:4]}-{word[4:6]}-{word[6:]}" for word in plain]
    moments = [_moment(word) for word in plain]
    written = [moment for kind, moment in moments if kind == "written"]
    order = order_of(written, date_order, advice or order_advice()) if written else DAY_FIRST
    n_numbers = sum(kind == "number" for kind, _ in moments)
    if n_numbers * 2 < len(moments):
        return np.array([_days(kind, moment, order) for kind, moment in moments], np.float64), True
    return as_numbers(np.array([value if kind == "number" else np.nan for kind, value in moments], np.float64))


def as_numbers(numbers: Floats) -> tuple[Floats, bool]:
    """Return numbers as times, and whether they are dates: time stamps become days since 1970."""
    unit = _epoch_unit(numbers)
    return (numbers, False) if unit is None else (numbers / (unit * DAY), True)


def _epoch_unit(numbers: Floats) -> float | None:
    """Return how many units of a time stamp make a second (1, or 1000 for milliseconds); None for other numbers.

    A time stamp of today has 10 digits in seconds and 13 in milliseconds; older ones in the same column may have one
    digit less. Years, rounds and seasons are smaller.
    """
    known = numbers[np.isfinite(numbers)]
    for unit in (1.0, 1000.0):
        if len(known) and known.min() >= 1e8 * unit and 1e9 * unit <= known.max() < 1e10 * unit:
            return unit
    return None


def as_times(column: object) -> tuple[Floats, bool]:
    """Return a column of times (numbers, dates, text) as numbers, and whether they are dates (in days)."""
    if hasattr(column, "to_numpy"):
        column = column.to_numpy()
    values: AnyArray = np.asarray(column)
    if values.dtype.kind == "M":
        days = values.astype("datetime64[us]").astype(np.int64) / (1e6 * DAY)
        return np.where(np.isnat(values), np.nan, days), True
    texts = [value.isoformat() if isinstance(value, (date, datetime)) else str(value) for value in values.tolist()]
    distinct = list(dict.fromkeys(texts))
    values_of_distinct, are_dates = read_times(distinct, advice=YEAR_FIRST_ADVICE)
    number = dict(zip(distinct, values_of_distinct.tolist(), strict=True))
    return np.array([number[text] for text in texts], np.float64), are_dates


def as_moment(moment: object, is_dated: bool) -> float:
    """Return one time as a number; reject anything else, including a number among dates or a date among numbers."""
    times, is_date = as_times([moment])
    if np.isnan(times[0]) or is_date != is_dated:
        raise InputError(
            f"{moment!r} is not a valid time: give {'a date like 2024-05-31' if is_dated else 'a number'}."
        )
    return float(times[0])


def shown_time(value: float, is_dated: bool) -> str:
    """Format a time for display: a date, or the number."""
    if not is_dated:
        return f"{value:g}" if value != round(value) else f"{value:.0f}"
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(value)), "D"))


def periods(time: Floats, is_dated: bool, period: str | float) -> tuple[Int64s, Floats]:
    """Divide time into periods; return the period number of each time, from 0, and the end of each period.

    Dates are divided by the calendar ("day", "week" from Monday, "month", "quarter", "year") or by a number of days,
    and a period ends with its last day. Numbers are divided at multiples of ``period``. Empty periods are not counted.
    """
    number = calendar_numbers(time, is_dated, period)
    present, index = np.unique(number, return_inverse=True)
    return index.astype(np.int64), period_ends(present, is_dated, period)


def calendar_numbers(time: Floats, is_dated: bool, period: str | float) -> Int64s:
    """Return the period number of each time since 1970 (or since 0); empty periods are counted as well."""
    length = _length(is_dated, period)
    if isinstance(length, float):
        return _counted(np.floor(np.floor(time) / length) if is_dated else np.ceil(time / length), period)
    day = _counted(np.floor(time), period)
    if length == "week":
        return (day + 3) // 7  # 1970 began on a Thursday
    if length == "day":
        return day
    month = day.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return month // _MONTHS[length]


def _counted(number: Floats, period: str | float) -> Int64s:
    """Return numbers of periods as integers; reject those that do not fit into int64."""
    if np.abs(number).max(initial=0.0) > 2.0**62:
        raise InputError(
            f"The times are too far from 0 to count periods of {period}: give a longer " + arg("period") + "."
        )
    return number.astype(np.int64)


def period_ends(number: Int64s, is_dated: bool, period: str | float) -> Floats:
    """Return the last day of the periods with these numbers since 1970; for numbers, the upper end of the periods."""
    length = _length(is_dated, period)
    if isinstance(length, float):
        ends: Floats = np.asarray(np.ceil((number + 1) * length) - 1 if is_dated else number * length)
        return ends
    if length in ("day", "week"):
        return (number if length == "day" else 7 * number + 3).astype(np.float64)
    next_begin = ((number + 1) * _MONTHS[length]).astype("datetime64[M]").astype("datetime64[D]")
    return next_begin.astype(np.int64).astype(np.float64) - 1


_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def _length(is_dated: bool, period: str | float) -> str | float:
    """Return the name of a calendar period, or the length of a period as a number."""
    if is_dated and period in CALENDAR:
        return str(period)
    try:
        length = float(period)
    except ValueError:
        length = np.nan
    if np.isfinite(length) and length > 0:
        return length
    if is_dated:
        raise InputError(f"Invalid period {period!r}: use one of {', '.join(CALENDAR)}, or a number of days.")
    more = ", because the times are not dates" if period in CALENDAR else ""
    raise InputError(f"Invalid period {period!r}{more}: give a positive number in the unit of the times.")


def _moment(word: str) -> tuple[str, Any]:
    """Return the kind of a text ("number", "date", "written" or "neither") and its value.

    A date is a ``datetime``, one that may be in either order a ``WrittenDate``.
    """
    try:
        number = float(word)
        return "number", number if np.isfinite(number) else np.nan
    except ValueError:
        pass
    if (moment := iso_moment(word)) is not None:
        return "date", moment
    written = parse(word)
    return ("neither", np.nan) if written is None else ("written", written)


def _days(kind: str, moment: Any, order: str) -> float:
    """Return a date in days since 1970, in UTC unless it has a time zone; NaN if it is not a date."""
    if kind not in ("date", "written"):
        return np.nan
    found: datetime | None = moment.moment(order) if kind == "written" else moment
    if found is None:
        return np.nan
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() / DAY
