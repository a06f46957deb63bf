"""Tables of games with the points of both sides: the points decide, and the margin is kept."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import concordant as cc

HEADINGS = [
    "date,home_team,away_team,home_score,away_score",
    "Date,HomeTeam,AwayTeam,FTHG,FTAG",
    "date,home,away,hg,ag",
    "date,hometeam,visitorteam,home_pts,visitor_pts",
    "date,HOME_TEAM_ID,VISITOR_TEAM_ID,PTS_home,PTS_away",
    "date,Home Team Name,Away Team Name,Home Team Goals,Away Team Goals",
    "date,host,guest,goals_host,goals_guest",
    "date,home_club,away_club,home_runs,away_runs",
    "date,team1,team2,score1,score2",
    "date,team_1,team_2,points_1,points_2",
    "date,player_a,player_b,score_a,score_b",
    "date,Home.team,Away.team,Home.Points,Away.Points",
    "date,home_team,away_team,full_time_home_goals,full_time_away_goals",
]
GAMES = [("Ash", "Elm", 3, 1), ("Elm", "Oak", 2, 2), ("Oak", "Ash", 0, 1), ("Elm", "Ash", 4, 2)]


def csv_of(heading: str) -> str:
    lines = [f"2024-01-{k + 1:02},{a},{b},{x},{y}" for k, (a, b, x, y) in enumerate(GAMES)]
    return "\n".join([heading, *lines]) + "\n"


def games(prefs: cc.Preferences) -> list[tuple[str, str, bool, float, float]]:
    """(winner or left, loser or right, tied, points of both) of every game."""
    names = prefs.items.take(prefs.item)
    assert prefs.points is not None
    tied = (prefs.tier[0::2] == prefs.tier[1::2]).tolist()
    points = prefs.points.reshape(-1, 2).tolist()
    return [(a, b, t, *p) for a, b, t, p in zip(names[0::2], names[1::2], tied, points, strict=True)]


@pytest.mark.parametrize("heading", HEADINGS)
def test_points_decide_the_result_and_are_kept(heading: str) -> None:
    prefs = cc.read(io.StringIO(csv_of(heading)))
    assert prefs.form == "pairs"
    assert games(prefs) == [
        ("Ash", "Elm", False, 3, 1),
        ("Elm", "Oak", True, 2, 2),
        ("Ash", "Oak", False, 1, 0),
        ("Elm", "Ash", False, 4, 2),
    ]
    assert prefs.shown is not None
    assert prefs.shown.tolist() == [0, 1, 0, 1, 1, 0, 0, 1]  # the left side was at home


def test_the_user_can_name_the_columns() -> None:
    text = "x,y,p,q\nAsh,Elm,3,1\nElm,Ash,2,5\n"
    prefs = cc.read(io.StringIO(text), left="x", right="y", left_score="p", right_score="q")
    assert games(prefs) == [("Ash", "Elm", False, 3, 1), ("Ash", "Elm", False, 5, 2)]


def test_games_without_points_are_left_out_and_counted() -> None:
    text = "home,away,home_score,away_score\nAsh,Elm,3,1\nElm,Oak,NA,NA\nOak,Ash,,\nElm,Ash,tbd,\n"
    prefs = cc.read(io.StringIO(text))
    assert prefs.n_ballots == 1
    assert any(
        "left out 3 rows: the game has no score (not yet played) (first: line 3)" in note for note in prefs.notes
    )
    with pytest.raises(cc.InputError, match="no score"):
        cc.read(io.StringIO(text), strict=True)
    with pytest.raises(cc.InputError, match="no game has a score yet"):
        cc.read(io.StringIO("home,away,home_score,away_score\nAsh,Elm,,\n"))


def test_a_text_that_is_no_score_is_an_error() -> None:
    with pytest.raises(cc.InputError, match=r"line 2: the left_score is 'three', not"):
        cc.read(io.StringIO("home,away,home_score,away_score\nAsh,Elm,three,1\n"))


def test_the_result_decides_and_contradictions_are_counted() -> None:
    text = "HomeTeam,AwayTeam,FTHG,FTAG,FTR\nAsh,Elm,1,1,H\nElm,Oak,0,3,H\nOak,Ash,2,0,H\n,,,,\n"
    prefs = cc.read(io.StringIO(text))
    assert games(prefs) == [("Ash", "Elm", False, 1, 1), ("Elm", "Oak", False, 0, 3), ("Oak", "Ash", False, 2, 0)]
    notes = " | ".join(prefs.notes)
    assert "left out 1 row: the row is empty (first: line 5)" in notes
    assert "1 row: the result contradicts the points; the result counts (first: line 3)" in notes
    assert "1 row: the points are equal, but the result names a winner (first: line 2)" in notes


def test_a_result_without_points_keeps_the_game() -> None:
    prefs = cc.read(io.StringIO("home,away,home_score,away_score,winner\nAsh,Elm,2,1,\nElm,Oak,,,Oak\n"))
    assert prefs.points is not None
    assert prefs.items.take(prefs.item) == ["Ash", "Elm", "Oak", "Elm"]
    assert np.isnan(prefs.points).tolist() == [False, False, True, True]


def test_a_column_of_differences_is_not_the_result() -> None:
    text = "home_team,away_team,home_score,away_score,result\nAsh,Elm,3,1,2\nElm,Oak,0,7,-7\n"
    prefs = cc.read(io.StringIO(text))
    assert games(prefs) == [("Ash", "Elm", False, 3, 1), ("Oak", "Elm", False, 7, 0)]
    assert "result holds numbers that are no results" in prefs.notes[0]


def test_words_that_name_no_side_leave_the_decision_to_the_points() -> None:
    text = "home_team,away_team,home_goals,away_goals,outcome\nAsh,Elm,3,1,home win REG\nElm,Oak,1,2,away win OT\n"
    prefs = cc.read(io.StringIO(text))
    assert games(prefs) == [("Ash", "Elm", False, 3, 1), ("Oak", "Elm", False, 2, 1)]
    assert any("2 rows: the result in outcome is neither side nor a tie" in note for note in prefs.notes)
    with pytest.raises(cc.InputError, match="home win REG"):
        cc.read(io.StringIO(text), outcome="outcome")


@pytest.mark.parametrize("name", ["Score", "FT", "result"])
def test_scores_in_one_cell_give_points(name: str) -> None:
    prefs = cc.read(io.StringIO(f"Home,{name},Away\nAsh,3–1,Elm\nElm,0:2 (aet),Oak\n"))
    assert games(prefs) == [("Ash", "Elm", False, 3, 1), ("Oak", "Elm", False, 2, 0)]


def test_results_of_chess_are_no_points() -> None:
    prefs = cc.read(io.StringIO("White,Black,Result\nAsh,Elm,1-0\nElm,Oak,1/2-1/2\nOak,Ash,0-1\n"))
    assert prefs.points is None


@pytest.mark.parametrize(
    ("column", "cells"),
    [("neutral", "FALSE,TRUE"), ("neutral", "0,1"), ("neutral_site", "no,yes"), ("location", "Home,Neutral")],
)
def test_neither_side_is_first_at_a_neutral_venue(column: str, cells: str) -> None:
    first, second = cells.split(",")
    text = f"home,away,home_score,away_score,{column}\nAsh,Elm,3,1,{first}\nAsh,Elm,2,4,{second}\n"
    prefs = cc.read(io.StringIO(text))
    assert prefs.shown is not None
    assert prefs.shown.tolist() == [0, 1, 0, 0]


def test_a_place_that_is_a_city_is_not_read() -> None:
    text = "home,away,home_score,away_score,location\nAsh,Elm,3,1,Rome\nAsh,Elm,2,4,Oslo\n"
    prefs = cc.read(io.StringIO(text))
    assert prefs.shown is not None
    assert prefs.shown.tolist() == [0, 1, 1, 0]
    assert "not read: location" in prefs.notes[0]
    with pytest.raises(cc.InputError, match="neither true nor false"):
        cc.read(io.StringIO(text), neutral="location")


def test_home_advantage_is_not_credited_at_neutral_venues() -> None:
    lines = [f"{a},{b},1,0,{neutral}" for a, b in (("x", "y"), ("y", "x")) for neutral in (0, 1)]
    text = "home,away,home_score,away_score,neutral\n" + "\n".join(lines) + "\n"
    elo = cc.rank(cc.read(io.StringIO(text)), "elo", advantage=100.0)
    expected, rating = 0.0, {"x": 1500.0, "y": 1500.0}
    for home, away, neutral in (("x", "y", 0), ("x", "y", 1), ("y", "x", 0), ("y", "x", 1)):
        expected = 1 / (1 + 10 ** (-(rating[home] - rating[away] + 100 * (1 - neutral)) / 400))
        rating[home] += 32 * (1 - expected)
        rating[away] -= 32 * (1 - expected)
    found = {item: elo.score[k] for k, item in enumerate(["x", "y"])}
    assert found == pytest.approx(rating)


def test_winner_and_loser_may_have_points() -> None:
    prefs = cc.read(io.StringIO("winner,loser,winner_score,loser_score\nAsh,Elm,3,1\nOak,Elm,2,2\n"))
    assert games(prefs) == [("Ash", "Elm", False, 3, 1), ("Oak", "Elm", False, 2, 2)]
    assert prefs.shown is None


@pytest.mark.parametrize("heading", [HEADINGS[0], "date,home_team,away_team,home_score,away_score,FTR"])
def test_counts_by_the_engine_equal_those_in_memory(make: Any, heading: str) -> None:
    lines = csv_of(HEADINGS[0]).splitlines()[1:]
    results = (",H", ",D", ",A", ",H") if "FTR" in heading else ("",) * 4
    rows = [line + result for line, result in zip(lines, results, strict=True)] * 3
    path = make("\n".join([heading, *rows]) + "\n")
    whole, reduced = cc.read(path), cc.read(path, reduce=True)
    assert reduced.points is None
    assert any("margins are not kept" in note for note in reduced.notes)
    without = whole.replace(points=None).merge()
    order = sorted(without.items)
    for method in ("bradley-terry", "borda"):
        a, b = cc.rank(without, method), cc.rank(reduced, method)
        assert [a.score[without.items.code(i, "item")] for i in order] == pytest.approx(
            [b.score[reduced.items.code(i, "item")] for i in order]
        )
    merged = cc.read(path, merge=True)
    assert merged.points is not None
    assert (merged.n_ballots, merged.weight.sum()) == (4, 12)


def test_neutral_games_survive_counting(make: Any) -> None:
    rows = ["x,y,2,1,0", "x,y,2,1,1", "y,x,1,1,1", "y,x,0,3,0"] * 5
    path = make("home,away,home_score,away_score,neutral\n" + "\n".join(rows) + "\n")
    whole, reduced = cc.read(path), cc.read(path, reduce=True)
    for prefs in (whole, reduced):
        shown = prefs.shown.reshape(-1, 2)  # type: ignore[union-attr]
        assert float(prefs.weight[shown[:, 0] == shown[:, 1]].sum()) == 10
    a, b = (cc.rank(prefs, "davidson", order_effect=True) for prefs in (whole, reduced))
    assert a.fit["order_effect"] == pytest.approx(b.fit["order_effect"], rel=1e-6)


@pytest.mark.parametrize("name", ["games.csv", "games.jsonl", "games.parquet"])
def test_points_and_neutral_games_are_written_and_read_back(tmp_path: Path, name: str) -> None:
    text = "home,away,home_score,away_score,neutral,winner\nAsh,Elm,3,1,0,Ash\nElm,Oak,2,2,1,\nOak,Ash,,,0,Ash\n"
    prefs = cc.read(io.StringIO(text))
    cc.write(prefs, tmp_path / name)
    assert cc.read(tmp_path / name) == prefs


def test_the_points_of_winners_are_written_and_read_back(tmp_path: Path) -> None:
    prefs = cc.Preferences.from_pairs(["a", "b"], ["b", "c"], points=([2, 1.5], [1, np.nan]))
    cc.write(prefs, tmp_path / "games.csv")
    assert cc.read(tmp_path / "games.csv") == prefs


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_games_are_read_alike(library: str) -> None:
    frames = pytest.importorskip(library)
    a, b, x, y = (list(column) for column in zip(*GAMES, strict=True))
    frame = frames.DataFrame({"home_team": a, "away_team": b, "home_score": x, "away_score": y})
    whole = cc.read(io.StringIO(csv_of(HEADINGS[0])))
    assert cc.Preferences.from_frame(frame) == whole
    if library == "polars":
        assert cc.Preferences.from_frame(frame.lazy()) == whole


def test_games_are_grouped_by_their_result_while_they_are_counted(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from concordant.io import _coded, _reduce

    rows = [f"x,y,{90 + k % 20},{95 + k % 7},{'' if k % 5 else 'y'},v{k % 3}" for k in range(200)]
    path = make(
        "home,away,home_pts,away_pts,winner,judge\n" + "\n".join([*rows, "y,x,nan,,x,v1", "x,y,NA,NA,,v1"]) + "\n"
    )
    sizes: list[int] = []
    keyed = _reduce.ReducedTable._keyed
    monkeypatch.setattr(_reduce.ReducedTable, "_keyed", lambda self: sizes.append(len(self._groups[-1])) or keyed(self))
    whole, reduced = cc.read(path), cc.read(path, reduce=True)
    assert sizes == [8]  # three results with and without a named winner, and two games without points
    assert reduced.weight.sum() == whole.n_ballots == 201
    assert any("left out 1 row: the game has no score" in note for note in reduced.notes)
    contradicted = next(note for note in whole.notes if "contradicts" in note).split(" (")[0]
    assert any(contradicted in note for note in reduced.notes)
    monkeypatch.setattr(_coded, "LARGE", 1)
    by_agent = cc.read(path, reduce=True, agent="judge")
    assert by_agent.weight.sum() == 201
    assert cc.rank(by_agent, "bradley-terry").score == pytest.approx(cc.rank(reduced, "bradley-terry").score)
