"""Times of ballots: dates in days, numbers as they are, and preferences that keep them."""

import datetime

import numpy as np
import pytest

import concordant as cc
from concordant.errors import InputError
from concordant.support.dates import as_times, periods, read_times, shown_time


def test_dates_are_days_since_1970_however_they_are_written():
    for words in (["1970-01-02", "1971-01-01"], ["19700102", "19710101"], ["1970.1.2", "1971/01/01"]):
        found, is_dated = read_times(words)
        assert is_dated
        assert found.tolist() == [1.0, 365.0]


def test_years_and_time_stamps_stay_numbers():
    assert read_times(["1999", "2024"])[0].tolist() == [1999.0, 2024.0]
    assert not read_times(["1999", "2024"])[1]
    assert not read_times(["20240531", "20249999"])[1]  # eight digits that are no date


def test_what_is_neither_is_not_a_number():
    found, _ = read_times(["2024-01-01", "2024-01-02", "soon"])
    assert np.isnan(found).tolist() == [False, False, True]


def test_columns_of_any_kind_give_the_same_days():
    days = [datetime.date(1970, 1, 2), datetime.date(1970, 1, 4)]
    for column in (days, np.array(days, "datetime64[D]"), ["1970-01-02", "1970-01-04"]):
        found, is_dated = as_times(column)
        assert (found.tolist(), is_dated) == ([1.0, 3.0], True)
    assert shown_time(3.25, True) == "1970-01-04"
    assert shown_time(2024.0, False) == "2024"


def test_pairs_are_sorted_by_time_and_keep_it():
    votes = cc.Preferences.from_pairs(
        ["a", "b", "c"], ["b", "c", "a"], time=["2024-03-01", "2024-01-01", "2024-02-01"], weight=[1, 2, 3],
        covariates={"length": ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])},
    )  # fmt: skip
    assert votes.is_dated
    assert np.diff(votes.time).tolist() == [31.0, 29.0]
    assert votes.weight.tolist() == [2.0, 3.0, 1.0]
    assert votes.items.take(votes.item) == ["b", "c", "c", "a", "a", "b"]
    assert votes.covariates == ("length",)
    assert votes.covariate.tolist() == [[2.0], [5.0], [3.0], [6.0], [1.0], [4.0]]
    later = votes.take([1, 2])
    assert later.time.tolist() == votes.time[1:].tolist()
    assert later.covariate.tolist() == votes.covariate[2:].tolist()
    assert votes != votes.replace(time=votes.time + 1)
    assert votes == votes.replace(weight=votes.weight)


def test_merging_forgets_times_and_keeps_covariates_apart():
    votes = cc.Preferences.from_pairs(
        ["a", "a", "a"], ["b", "b", "b"], time=[1, 2, 3], covariates={"length": [0.5, 0.5, 1.0]}
    )
    merged = votes.merge()
    assert merged.time is None
    assert merged.weight.tolist() == [2.0, 1.0]
    assert merged.covariate[0::2, 0].tolist() == [0.5, 1.0]


def test_a_team_stands_in_one_tier():
    parts = {"items": ["a", "b", "c", "d"], "indptr": [0, 4], "item": [0, 1, 2, 3]}
    match = cc.Preferences(**parts, tier=[0, 0, 1, 1], team=[0, 0, 1, 1])
    assert match.team.tolist() == [0, 0, 1, 1]
    with pytest.raises(InputError, match="give them the same rank"):
        cc.Preferences(**parts, tier=[0, 1, 1, 1], team=[0, 0, 1, 1])


def test_bad_times_and_covariates_are_refused():
    with pytest.raises(InputError, match="is missing or invalid"):
        cc.Preferences.from_pairs(["a", "b"], ["b", "a"], time=["2024-01-01", "soon"])
    with pytest.raises(InputError, match="one per row"):
        cc.Preferences.from_pairs(["a", "b"], ["b", "a"], time=[1])
    with pytest.raises(InputError, match="covariate 'length'"):
        cc.Preferences.from_pairs(["a", "b"], ["b", "a"], covariates={"length": [1.0, float("nan")]})
    with pytest.raises(InputError, match="names must be distinct"):
        cc.Preferences(["a", "b"], [0, 2], [0, 1], [0, 1], covariate=[[1.0], [2.0]])


@pytest.mark.parametrize(
    ("period", "numbers", "ends"),
    [
        ("day", [0, 1, 2, 3], ["2023-12-31", "2024-01-01", "2024-02-29", "2024-12-31"]),
        ("week", [0, 1, 2, 3], ["2023-12-31", "2024-01-07", "2024-03-03", "2025-01-05"]),
        ("month", [0, 1, 2, 3], ["2023-12-31", "2024-01-31", "2024-02-29", "2024-12-31"]),
        ("quarter", [0, 1, 1, 2], ["2023-12-31", "2024-03-31", "2024-12-31"]),
        ("year", [0, 1, 1, 1], ["2023-12-31", "2024-12-31"]),
    ],
)
def test_dates_are_cut_by_the_calendar(period, numbers, ends):
    days, is_dated = as_times(["2023-12-31", "2024-01-01", "2024-02-29", "2024-12-31T23:30"])
    found, end = periods(days, is_dated, period)
    assert found.tolist() == numbers
    assert [shown_time(one, True) for one in end] == ends


def test_dates_before_1970_are_cut_alike():
    days, is_dated = as_times(["1968-12-31", "1969-01-01", "1969-12-31"])
    found, end = periods(days, is_dated, "year")
    assert found.tolist() == [0, 1, 1]
    assert [shown_time(one, True) for one in end] == ["1968-12-31", "1969-12-31"]


def test_every_so_many_days_or_rounds_is_a_period():
    assert [part.tolist() for part in periods(np.array([0.0, 29.9, 30.0, 95.0]), True, 30)] == [
        [0, 0, 1, 2],
        [29.0, 59.0, 119.0],
    ]
    assert [part.tolist() for part in periods(np.array([1.0, 5.0, 6.0, 20.0]), False, 5)] == [
        [0, 0, 1, 2],
        [5.0, 10.0, 20.0],
    ]


@pytest.mark.parametrize(("is_dated", "period"), [(True, "fortnight"), (True, 0), (False, "month"), (False, -1.0)])
def test_what_is_no_period_is_refused(is_dated, period):
    with pytest.raises(InputError, match="Invalid period"):
        periods(np.array([1.0]), is_dated, period)
