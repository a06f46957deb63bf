"""Margins of games: Massey's ratings by least squares, and Elo with a margin of victory."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pytest

import concordant as cc

# The football games between five teams of the Atlantic Coast Conference in 2005, and their Massey ratings, as in
# A. N. Langville and C. D. Meyer, Who's #1? The science of rating and ranking, 2012, chapter 2.
ACC = [
    *(("Miami", "Duke", 52, 7), ("UNC", "Duke", 24, 21), ("UVA", "Duke", 38, 7), ("VT", "Duke", 45, 0)),
    *(("Miami", "UNC", 34, 16), ("Miami", "UVA", 25, 17), ("Miami", "VT", 27, 7), ("UNC", "UVA", 7, 5)),
    *(("VT", "UNC", 30, 3), ("VT", "UVA", 52, 14)),
]
MASSEY = {"Duke": -24.8, "Miami": 18.2, "UNC": -8.0, "UVA": -3.4, "VT": 18.0}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(31)


def played(games: list[Any], **more: Any) -> cc.Preferences:
    winner, loser, a, b = (list(column) for column in zip(*games, strict=True))
    return cc.Preferences.from_pairs(winner, loser, points=(a, b), **more)


def scores(prefs: cc.Preferences, method: str, **params: Any) -> dict[str, float]:
    return dict(zip(prefs.items, cc.rank(prefs, method, **params).score.tolist(), strict=True))


def simulated(rng: np.random.Generator, n: int = 8, games: int = 200, home: float = 3.0) -> tuple[Any, Any, Any]:
    """Games with a home advantage, one in five at a neutral venue: (preferences, design, margins)."""
    strength = 5 * rng.normal(size=n)
    design, margin, rows = np.zeros((games, n + 1)), np.zeros(games), []
    for g in range(games):
        i, j = rng.choice(n, 2, replace=False)
        design[g, [i, j, n]] = 1, -1, rng.random() > 0.2
        margin[g] = round(strength[i] - strength[j] + home * design[g, n] + 3 * rng.normal())
        rows.append((i, j, 50 + margin[g], 50))
    points = np.array([row[2:] for row in rows], float)
    won = margin >= 0
    names = np.array([[f"team {i}", f"team {j}"] for i, j, *_ in rows])
    names, points = (np.where(won[:, None], both, both[:, ::-1]) for both in (names, points))
    prefs = cc.Preferences.from_pairs(
        names[:, 0], names[:, 1], tie=margin == 0, points=(points[:, 0], points[:, 1]), winner_first=won
    )
    assert prefs.shown is not None
    shown = np.where(np.repeat(design[:, n] == 0, 2), 0, prefs.shown)
    return prefs.replace(shown=shown), design, margin


def by_least_squares(design: Any, margin: Any) -> Any:
    beta = np.linalg.lstsq(design, margin, rcond=None)[0]
    beta[:-1] -= beta[:-1].mean()
    return beta


def test_massey_ratings_of_a_textbook() -> None:
    assert scores(played(ACC), "massey") == pytest.approx(MASSEY, abs=1e-9)
    assert scores(played(ACC), "hodgerank", margin="points") == pytest.approx(MASSEY, abs=1e-9)


def test_massey_solves_the_least_squares_problem(rng: np.random.Generator) -> None:
    prefs, design, margin = simulated(rng)
    design[:, -1] = 0
    beta = by_least_squares(design, margin)
    found = scores(prefs, "massey")
    assert found == pytest.approx({f"team {k}": beta[k] for k in range(8)}, abs=1e-9)


@pytest.mark.parametrize(
    ("params", "change"),
    [
        ({"margin": "points"}, lambda d: d),
        ({"margin": "capped", "margin_cap": 5.0}, lambda d: np.clip(d, -5, 5)),
        ({"margin": "log"}, lambda d: np.sign(d) * np.log(1 + np.abs(d))),
        ({}, np.sign),
    ],
)
def test_the_home_advantage_is_that_of_least_squares(rng: np.random.Generator, params: Any, change: Any) -> None:
    prefs, design, margin = simulated(rng)
    margin = change(margin)
    beta = by_least_squares(design, margin)
    ranking = cc.rank(prefs, "hodgerank", order_effect=True, **params)
    found = dict(zip(prefs.items, ranking.score.tolist(), strict=True))
    assert found == pytest.approx({f"team {k}": beta[k] for k in range(8)}, abs=1e-9)
    assert ranking.fit["order_effect"] == pytest.approx(beta[-1])
    residual = margin - design @ beta
    error = math.sqrt(residual @ residual / (len(margin) - 8) * np.linalg.pinv(design.T @ design)[-1, -1])
    assert ranking.fit["order_effect_stderr"] == pytest.approx(error)


def test_the_simulated_strengths_and_home_advantage_are_found(rng: np.random.Generator) -> None:
    prefs, _, _ = simulated(rng, games=5000)
    assert cc.rank(prefs, "massey", order_effect=True).fit["order_effect"] == pytest.approx(3.0, abs=0.2)


def test_games_without_points_are_left_out_of_the_margins() -> None:
    games = [*ACC, ("Duke", "VT", math.nan, math.nan)]
    ranking = cc.rank(played(games), "massey")
    assert dict(
        zip(MASSEY, [ranking.score[played(games).items.code(team, "item")] for team in MASSEY], strict=True)
    ) == (pytest.approx(MASSEY, abs=1e-9))
    assert [notice.text for notice in ranking.warnings] == ["without points, 1 game is left out"]


def test_an_advantage_that_cannot_be_told_from_strength_is_zero() -> None:
    prefs = cc.Preferences.from_pairs(["a", "a"], ["b", "b"], winner_first=[True, True], points=([2, 3], [0, 0]))
    ranking = cc.rank(prefs, "massey", order_effect=True)
    assert (ranking.fit["order_effect"], ranking.fit["order_effect_stderr"]) == (0.0, 0.0)
    assert ranking.score.tolist() == pytest.approx([1.25, -1.25])


# ---- Elo ----
def elo_by_hand(games: list[Any], factor: Any, stake: float = 20.0, home: float = 65.0) -> dict[str, float]:
    """Play (home, away, points, points, neutral) one after the other."""
    rating: dict[str, float] = {}
    for a, b, x, y, neutral in games:
        lead = rating.setdefault(a, 1500.0) - rating.setdefault(b, 1500.0) + (0 if neutral else home)
        result = 1.0 if x > y else 0.0 if x < y else 0.5
        change = stake * factor(abs(x - y), lead, result) * (result - 1 / (1 + 10 ** (-lead / 400)))
        rating[a], rating[b] = rating[a] + change, rating[b] - change
    return rating


def five_thirty_eight(d: float, lead: float, result: float) -> float:
    """The multiplier in FiveThirtyEight's published NFL forecasts."""
    return math.log(max(d, 1) + 1) * 2.2 / (1.0 if result == 0.5 else (lead if result == 1 else -lead) * 0.001 + 2.2)


def world_football(d: float, _: float, __: float) -> float:
    """The goal difference index of the World Football Elo Ratings."""
    return 1.0 if d <= 1 else 1.5 if d == 2 else (11 + d) / 8


@pytest.mark.parametrize(("margin", "factor"), [("log", five_thirty_eight), ("goals", world_football)])
def test_elo_multiplies_the_stake_by_the_margin(rng: np.random.Generator, margin: str, factor: Any) -> None:
    games = []
    for _ in range(60):
        i, j = rng.choice(5, 2, replace=False)
        games.append((f"t{i}", f"t{j}", *rng.integers(0, 6, 2).tolist(), bool(rng.random() < 0.2)))
    text = "home,away,home_score,away_score,neutral\n" + "".join(
        f"{a},{b},{x},{y},{int(n)}\n" for a, b, x, y, n in games
    )
    found = scores(cc.read(io.StringIO(text)), "elo", stake=20.0, advantage=65.0, margin=margin)
    assert found == pytest.approx(elo_by_hand(games, factor), abs=1e-9)


def test_elo_counts_a_game_without_points_once() -> None:
    prefs = cc.Preferences.from_pairs(["a"], ["b"], points=([math.nan], [math.nan]))
    ranking = cc.rank(prefs, "elo", margin="goals")
    assert ranking.score.tolist() == [1516.0, 1484.0]
    assert any("without points" in notice.text for notice in ranking.warnings)


@pytest.mark.parametrize(("method", "margin"), [("elo", "goals"), ("elo", "log"), ("massey", "points")])
def test_margins_need_points(method: str, margin: str) -> None:
    prefs = cc.Preferences.from_pairs(["a"], ["b"])
    with pytest.raises(
        cc.ConcordantError, match="points of both sides: give their columns with left_score= and right_"
    ):
        cc.rank(prefs, method, margin=margin)


def test_margins_are_read_from_files_that_could_be_counted(make: Any) -> None:
    rows = "".join(f"{a},{b},{x},{y}\n" for a, b, x, y in ACC)
    path = make("home_team,away_team,home_score,away_score\n" + rows)
    for given in ({}, {"workers": 2}):
        ranking = cc.rank(path, "massey", **given)
        assert sorted(ranking.score.tolist()) == pytest.approx(sorted(MASSEY.values()), abs=1e-9)
    with pytest.raises(cc.ConcordantError, match="counts do not keep them"):
        cc.rank(path, "massey", reduce=True)


def test_an_explanation_of_elo_replays_games_without_points() -> None:
    prefs = played([*ACC, ("Duke", "VT", math.nan, math.nan)])
    assert "Duke" in str(cc.rank(prefs, "elo", margin="log").explain())
