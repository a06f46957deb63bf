"""Dates as people write them, and which of day and month comes first."""

from __future__ import annotations

import io

import numpy as np
import pytest

import concordant as cc
from concordant.errors import InputError
from concordant.support.dates import as_times, read_times

JANUARY_31 = 19_753.0  # 2024-01-31


@pytest.mark.parametrize(
    "word",
    ["31/01/2024", "31/1/24", "31-01-2024", "31.01.24", "31.1.2024", "1/31/2024", "01-31-24", "2024.01.31", "2024/1/31",
     "2024-1-31", "20240131", "31 Jan 2024", "31-Jan-24", "31st January 2024", "Jan 31, 2024", "January 31 2024",
     "Wed, 31 Jan 2024", "Wednesday 31 January 2024", "Wed Jan 31 2024", "1706659200", "1706659200000", "1.7066592E+12",
     "2024-01-31T00:00:00Z", "2024-01-31 00:00:00 UTC"],
)  # fmt: skip
def test_the_same_day(word: str) -> None:
    found, is_dated = read_times([word])
    assert (found.tolist(), is_dated) == ([JANUARY_31], True)


@pytest.mark.parametrize(
    "word",
    ["31/01/2024 18:00", "31/01/2024 18:00:00", "1/31/2024 6:00 PM", "1/31/24, 6:00:00 p.m.", "31 Jan 2024 - 18:00",
     "Jan 31, 2024 6:00pm", "2024-01-31T18:00", "2024.01.31 18:00"],
)  # fmt: skip
def test_the_time_of_day(word: str) -> None:
    assert read_times([word])[0].tolist() == [JANUARY_31 + 0.75]


def test_two_digit_years_are_between_1969_and_2068() -> None:
    found, _ = read_times(["31/12/68", "31/12/69", "31/12/99", "31/12/00"])
    years = 1970 + found.astype("datetime64[D]").astype("datetime64[Y]").astype(int)
    assert years.tolist() == [2068, 1969, 1999, 2000]


def test_the_column_shows_the_order() -> None:
    day_first = read_times(["05/06/2024", "13/06/2024"])[0]
    month_first = read_times(["05/06/2024", "06/13/2024"])[0]
    assert day_first.tolist() == read_times(["2024-06-05", "2024-06-13"])[0].tolist()
    assert month_first.tolist() == read_times(["2024-05-06", "2024-06-13"])[0].tolist()
    assert read_times(["05/05/2024"])[0].tolist() == read_times(["2024-05-05"])[0].tolist()


def test_an_order_that_is_not_shown_is_asked_for() -> None:
    with pytest.raises(InputError, match=r"do not show .* \(such as 05/06/2024\): use date_order='day' or date_order="):
        read_times(["05/06/2024", "07/06/2024"])
    assert read_times(["05/06/2024"], "day")[0].tolist() == read_times(["2024-06-05"])[0].tolist()
    assert read_times(["05/06/2024"], "month")[0].tolist() == read_times(["2024-05-06"])[0].tolist()


def test_two_orders_in_one_column_are_an_error() -> None:
    with pytest.raises(InputError, match="different orders: 31/01/2024 starts with the day, 01/31/2024 with the month"):
        read_times(["31/01/2024", "01/31/2024"])


@pytest.mark.parametrize("word", ["31/02/2024", "45/46/2024", "31/01/2024 25:00", "31/01/2024 13:00 pm", "31/01-2024"])
def test_what_is_no_date(word: str) -> None:
    assert np.isnan(read_times([word, "28/02/2024", "27/02/2024"])[0]).tolist() == [True, False, False]


@pytest.mark.parametrize("words", [["1999", "2024"], ["1", "38"], ["20232024", "20222023"], ["874724710"], ["123456"]])
def test_years_rounds_and_seasons_stay_numbers(words: list[str]) -> None:
    found, is_dated = read_times(words)
    assert (found.tolist(), is_dated) == ([float(word) for word in words], False)


def test_arrays_have_no_option_so_the_year_goes_first() -> None:
    with pytest.raises(InputError, match="write the year first"):
        as_times(["05/06/2024"])


TABLE = "date,winner,loser\n{},a,b\n{},b,a\n"


def test_files_decide_from_the_whole_column_or_by_the_option() -> None:
    prefs = cc.read(io.StringIO(TABLE.format("13/06/2024", "05/06/2024")), time="date")
    assert prefs.items.take(prefs.item) == ["b", "a", "a", "b"]
    unclear = TABLE.format("02/01/2024", "01/02/2024")
    with pytest.raises(InputError, match=r"date: the dates do not show.*date_order='day'"):
        cc.read(io.StringIO(unclear), time="date")
    first = {order: cc.read(io.StringIO(unclear), time="date", date_order=order) for order in ("day", "month")}
    assert first["day"].items.take(first["day"].item) == ["a", "b", "b", "a"]
    assert first["month"].items.take(first["month"].item) == ["b", "a", "a", "b"]
    with pytest.raises(cc.ConcordantError, match="date_order"):
        cc.read(io.StringIO(unclear), time="date", date_order="year")


def test_joined_files_decide_together(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "a.csv").write_text(TABLE.format("02/01/2024", "01/02/2024"))
    (tmp_path / "b.csv").write_text(TABLE.format("20/01/2024", "21/02/2024"))
    prefs = cc.read([tmp_path / "a.csv", tmp_path / "b.csv"], time="date")
    assert prefs.time is not None
    assert np.diff(prefs.time).tolist() == [18.0, 12.0, 20.0]
