"""Extreme but legal numbers: no method hangs, shows NaN or raises a foreign exception; one rule says what is legal."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from tools import extremes

import concordant as cc
from concordant import registry
from concordant.engine.tallies import Sums
from concordant.errors import InputError
from concordant.solvers.bundle import _on_simplex
from concordant.support import limits
from concordant.support.dates import calendar_numbers

QUICK = (
    "weights 9e15",
    "weights 1e-50 to 9e15",
    "games of weight 1e15",
    "ratings 1e30",
    "ratings 5e-324",
    "times 1e30",
)
ODD_WEIGHTS = [np.nan, np.inf, -1.0, 1e16, 1e300, 1e-60, 5e-324]
ODD_NUMBERS = [np.nan, np.inf, 1e31, -1e308]


def problems(method: str, names: tuple[str, ...]) -> dict[str, str]:
    made = extremes.methods()[method]
    found = {name: extremes.outcome_of(made, extremes.SETS[name]) for name in names}
    return {name: outcome for name, outcome in found.items() if outcome not in ("ranked", "refused")}


@pytest.mark.parametrize("method", registry.METHODS.names())
def test_a_method_ranks_extreme_numbers_or_refuses_them(method: str) -> None:
    assert not problems(method, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("method", registry.METHODS.names())
def test_a_method_ranks_every_degenerate_set_or_refuses_it(method: str) -> None:
    assert not problems(method, tuple(name for name in extremes.SETS if name not in QUICK))  # those are tried above


def test_the_grid_finds_what_is_wrong() -> None:
    broken = cc.Borda()
    assert extremes.outcome_of(broken, lambda: 1 / 0).startswith("foreign: ZeroDivisionError")  # type: ignore[arg-type, return-value]
    with pytest.raises(AssertionError, match="score is nan"):
        extremes.finite("score", np.array([1.0, np.nan]))
    with pytest.raises(AssertionError, match="shows nan"):
        extremes.shown("a 1 nan")


# ---- one rule, wherever data come in ----
@pytest.mark.parametrize("weight", ODD_WEIGHTS)
def test_a_weight_out_of_range_is_refused_wherever_it_comes_from(weight: float, tmp_path: Path) -> None:
    prefs = extremes.rankings()
    with pytest.raises(InputError, match="0 or a number between 1e-50 and 9e15"):
        prefs.replace(weight=np.full(5, weight))
    with pytest.raises(InputError, match=r"row 2.*0 or a number between 1e-50 and 9e15"):
        cc.Preferences.from_pairs(["a", "b"], ["b", "c"], weight=[1.0, weight])
    with pytest.raises(InputError, match="weight"):
        cc.Preferences.from_pairs(["a", "b"], ["b", "c"], weight=[1.0, weight], merge=True)
    (tmp_path / "votes.csv").write_text(f"winner,loser,weight\na,b,1\nb,c,{weight}\n")
    with pytest.raises(InputError, match=r"line 3: the weight is .*0 or a number between 1e-50 and 9e15"):
        cc.read(tmp_path / "votes.csv")


@pytest.mark.parametrize("number", ODD_NUMBERS)
def test_a_number_out_of_range_is_refused_wherever_it_comes_from(number: float, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="between -1e30 and 1e30"):
        cc.Preferences.from_ratings(["x", "x"], ["a", "b"], [1.0, number])
    with pytest.raises(InputError):
        cc.Preferences.from_pairs(["a", "b"], ["b", "c"], time=[1.0, number])
    with pytest.raises(InputError, match="between -1e30 and 1e30"):
        cc.Preferences.from_pairs(["a", "b"], ["b", "c"], covariates={"x": [1.0, number]})
    (tmp_path / "ratings.csv").write_text(f"user,item,rating\nx,a,1\nx,b,{number}\n")
    with pytest.raises(InputError, match="line 3"):
        cc.read(tmp_path / "ratings.csv")


def test_learners_follow_the_same_rule() -> None:
    X, y = np.arange(12.0).reshape(6, 2), np.array([0.0, 1, 2, 0, 1, 2])
    ranker = registry.LEARNERS.find("list-net")
    with pytest.raises(InputError, match=r"value in X .*between -1e30 and 1e30"):
        ranker().fit(X * 1e300, y, qid=np.arange(6) // 3)
    with pytest.raises(InputError, match="0 or a number between 1e-50 and 9e15"):
        ranker().fit(X, y, qid=np.arange(6) // 3, sample_weight=np.full(6, 1e16))
    with pytest.raises(InputError, match="between -1e30 and 1e30"):
        ranker().fit(X, y * 1e40, qid=np.arange(6) // 3)
    fitted = ranker().fit(X, y, qid=np.arange(6) // 3)
    with pytest.raises(InputError, match="value in X"):
        fitted.predict(X * 1e300)
    assert not limits.has_beyond(np.array([np.nan, 1.0]))
    assert limits.has_beyond(np.array([3e38], np.float32))


def test_merged_weights_that_are_too_large_are_refused() -> None:
    prefs = cc.Preferences.from_pairs(["a"] * 3, ["b"] * 3, weight=[9e15] * 3)
    with pytest.raises(InputError, match=r"2\.7e\+16"):
        prefs.merge()
    with pytest.raises(InputError, match="add up to"):
        Sums.of(np.full(10_000, 10**15)).by(np.zeros(10_000, np.int64), 1)


def test_large_realistic_data_are_ranked_with_finite_intervals() -> None:
    votes = cc.Preferences.from_pairs(list("abcab"), list("bcaca"), weight=[4e11, 3e11, 2e11, 1e12, 5e11])
    for name in ("bradley-terry", "davidson", "rao-kupper", "thurstone"):
        ranking = cc.rank(votes, name)
        assert np.isfinite([*ranking.low, *ranking.high]).all()
    money = cc.Preferences.from_ratings(["x", "x", "y", "y"], list("abab"), [1e12, 2e12, 5e11, 8e11])
    assert cc.rank(money, "mean-rating").items[0] == "b"


@pytest.mark.parametrize("method", ["kemeny", "footrule", "local-search", "fas-pivot", "mallows", "insertion-sort"])
@pytest.mark.parametrize("factor", [1e-12, 1e-40, 1e12])
def test_the_unit_of_weights_does_not_change_the_order(method: str, factor: float) -> None:
    base = [3.0, 2.0, 2.0, 1.0, 4.0]
    plain = cc.rank(extremes.rankings(base), method)
    assert cc.rank(extremes.rankings([factor * one for one in base]), method).items == plain.items


def test_files_are_counted_by_the_same_rule_on_workers(tmp_path: Path) -> None:
    rows = "".join(f"{'abc'[k % 3]},{'bca'[k % 2]},1e-20\n" for k in range(6) if "abc"[k % 3] != "bca"[k % 2])
    (tmp_path / "votes.csv").write_text("winner,loser,weight\n" + rows)
    with pytest.raises(InputError, match="0 or a number between 1e-9 and 9e15"):
        cc.read([tmp_path / "votes.csv"], merge=True)


# ---- methods that play games one by one ----
@pytest.mark.parametrize("method", ["elo", "trueskill"])
def test_games_are_not_repeated_without_end(method: str) -> None:
    with pytest.raises(InputError, match=r"at most 100,000,000 games can be replayed one by one"):
        cc.rank(extremes.games(weight=[1e15] * 7), method)
    assert np.isfinite(cc.rank(extremes.games(weight=[1e4] * 7), method).score).all()
    assert np.isfinite(cc.rank(extremes.games(weight=[1e15] * 7), "glicko2").score).all()


def test_periods_too_many_to_count_are_refused() -> None:
    with pytest.raises(InputError, match="too far from 0"):
        calendar_numbers(np.array([1e30]), False, 1.0)


def test_equal_times_make_one_window() -> None:
    ranking = cc.rank(extremes.games(time=[1e15] * 7), "windowed-bradley-terry")
    assert ranking.items == cc.rank(extremes.games(), "bradley-terry").items


def test_planes_with_vanishing_slopes_have_a_bound() -> None:
    share = _on_simplex(np.full((2, 2), 1e-320), np.array([1.0, 1.0]), np.array([1.0, 0.0]))
    assert np.isfinite(share).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = np.arange(12.0).reshape(6, 2) * 1e-50
        fitted = registry.LEARNERS.find("rank-svm")().fit(X, [0.0, 1, 2, 0, 1, 2], qid=np.arange(6) // 3)
    assert np.isfinite(fitted.predict(X)).all()
