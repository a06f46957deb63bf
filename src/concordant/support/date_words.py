"""Read dates as people write them: 31/01/2024, 1/31/24 9:05 pm, 31.01.2024, 31 Jan 2024, Jan 31, 2024, 2024-1-31.

Each text is first taken apart (``parse``). Whether 05/06/2024 is in May or in June follows from the whole column
(``order_of``), because a single text may not show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

from concordant.errors import InputError, arg

DAY_FIRST, MONTH_FIRST = ORDERS = ("day", "month")
CENTURY_FROM = 69  # two-digit years from 69 are in the 20th century, as in POSIX
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
YEAR_FIRST_ADVICE = "write the year first, such as 2024-06-05"

# Patterns are texts, compiled when a column of times is first read.
_CLOCK = r"(?:[ t,-]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?: ?([ap])\.?m\.?)?(?: ?(?:z|utc|gmt))?)?"
_WEEKDAY = r"(?:(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\.?,? +)?"
_MONTH = rf"({'|'.join(MONTHS)})[a-z]*\.?"
_NUMERIC = rf"(\d{{1,2}})([-./])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_CLOCK}"
_DAY_MONTH = rf"(\d{{1,2}})(?:st|nd|rd|th)?[-. /]+{_MONTH}[-., /]+(\d{{4}}|\d{{2}}){_CLOCK}"
_MONTH_DAY = rf"{_MONTH}[-. /]+(\d{{1,2}})(?:st|nd|rd|th)?[-., /]+(\d{{4}}){_CLOCK}"
_YEAR_FIRST = r"(\d{4})([-./])(\d{1,2})\2(\d{1,2})(?!\d)"
_ZONE = r"(?<=\d) ?(?:UTC|GMT)$"


@dataclass(frozen=True)
class WrittenDate:
    """A date taken apart: two numbers whose order may be unknown, the year, and the seconds of the day."""

    first: int
    second: int
    year: int
    seconds: int
    order: str | None = None
    """Which of the two numbers comes first; None if the text does not show it."""

    def moment(self, order: str) -> datetime | None:
        """Return the date in UTC; None if there is no such day."""
        day, month = (self.first, self.second) if (self.order or order) == DAY_FIRST else (self.second, self.first)
        try:
            return datetime(self.year, month, day, tzinfo=UTC) + timedelta(seconds=self.seconds)
        except ValueError:
            return None


def iso_moment(text: str) -> datetime | None:
    """Return the time of a text with the year first; None for other texts."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    padded = _compiled(_YEAR_FIRST).sub(lambda found: f"{found[1]}-{found[3]:0>2}-{found[4]:0>2}", text, count=1)
    try:
        return datetime.fromisoformat(_compiled(_ZONE).sub("+00:00", padded))
    except ValueError:
        return None


def parse(text: str) -> WrittenDate | None:
    """Take apart a date that does not start with the year; None if the text is not such a date."""
    plain = " ".join(text.lower().split())
    if found := _compiled(_NUMERIC).fullmatch(plain):
        return _written(int(found[1]), int(found[3]), found[4], found.groups()[4:])
    plain = _compiled(_WEEKDAY).sub("", plain, count=1) if plain[:1].isalpha() else plain
    if found := _compiled(_DAY_MONTH).fullmatch(plain):
        return _written(int(found[1]), _month(found[2]), found[3], found.groups()[3:], DAY_FIRST)
    if found := _compiled(_MONTH_DAY).fullmatch(plain):
        return _written(_month(found[1]), int(found[2]), found[3], found.groups()[3:], MONTH_FIRST)
    return None


def order_of(dates: Iterable[WrittenDate], given: str | None, advice: str) -> str:
    """Return whether the day or the month comes first in a column of dates.

    A first number above 12 is a day, a second one above 12 as well. ``given`` is the order that the user named. Raise
    an error, which ends with ``advice``, if the dates do not show the order or contradict each other.
    """
    if given is not None:
        return given
    unknown = [date for date in dates if date.order is None and date.first != date.second]
    day_first = next((date for date in unknown if date.first > 12 >= date.second), None)
    month_first = next((date for date in unknown if date.second > 12 >= date.first), None)
    if day_first is not None and month_first is not None:
        raise InputError(
            f"the dates have different orders: {_shown(day_first)} starts with the day, {_shown(month_first)} with the "
            "month: " + advice + "."
        )
    if unknown and day_first is None and month_first is None:
        what = f"the dates do not show whether the day or the month comes first (such as {_shown(unknown[0])})"
        raise InputError(what + ": " + advice + ".")
    return DAY_FIRST if month_first is None else MONTH_FIRST


def order_advice() -> str:
    """Return the advice to name the order of dates."""
    return "use " + arg("date_order", DAY_FIRST) + " or " + arg("date_order", MONTH_FIRST)


def _written(
    first: int, second: int, year: str, clock: tuple[str | None, ...], order: str | None = None
) -> WrittenDate | None:
    """Return the parts of a date; None if the time of day is invalid."""
    hour, minute, second_of_minute = (int(part or 0) for part in clock[:3])
    if clock[3] is not None:  # am or pm
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (clock[3] == "p")
    if hour > 23 or minute > 59 or second_of_minute > 59:
        return None
    number = int(year)
    if len(year) == 2:
        number += 1900 if number >= CENTURY_FROM else 2000
    return WrittenDate(first, second, number, 3600 * hour + 60 * minute + second_of_minute, order)


def _month(name: str) -> int:
    return MONTHS.index(name[:3]) + 1


def _shown(date: WrittenDate) -> str:
    return f"{date.first:02}/{date.second:02}/{date.year}"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
