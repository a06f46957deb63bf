"""Histories: questions about ratings over time, their export, their picture, and the command line."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from tests.conftest import ROOT

import concordant as cc
from concordant.ballots.vocabulary import Vocabulary
from concordant.narrative.plots import apart
from concordant.results.histories import History

LEAGUE = str(ROOT / "examples" / "league.csv")


def day(text: str) -> float:
    return float((np.datetime64(text) - np.datetime64("1970-01-01")).astype(int))


@pytest.fixture
def history():
    rows = [
        ("2020-03-01", 0, 10.0),
        ("2020-06-01", 1, 12.0),
        ("2020-12-31", 0, 11.0),
        ("2021-01-01", 0, 15.0),
        ("2021-07-01", 1, 14.0),
        ("2021-12-01", 0, 13.5),
        ("2023-05-01", 1, 9.0),
    ]
    time, item, score = zip(*rows, strict=True)
    score = np.array(score)
    return History(
        Vocabulary(["a", "b"]), np.array(item, np.int32), np.array([day(one) for one in time]), score,
        low=score - [1, 6, 1, 6, 1, 1, 1], high=score + 1, is_dated=True,
    )  # fmt: skip


def test_the_history_of_an_item_is_its_rows(history):
    assert history.of("b").columns()["time"] == ["2020-06-01", "2021-07-01", "2023-05-01"]
    assert len(history.of("a", "b")) == len(history)
    with pytest.raises(cc.ConcordantError, match="no item 'x'"):
        history.of("x")


def test_at_a_moment_items_stand_where_their_last_game_left_them(history):
    assert history.at("2020-03-01").items == ["a"]
    assert history.at("2022-12-31").tiers == [["b"], ["a"]]
    assert history.at("2022-12-31").scores.tolist() == [14.0, 13.5]
    assert history.at("2022-12-31").low.tolist() == [13.0, 12.5]
    with pytest.raises(cc.InputError, match="first time is 2020-03-01"):
        history.at("2019-01-01")
    with pytest.raises(cc.InputError, match="a date like"):
        history.at(7)


def test_the_whole_of_a_day_has_passed_when_it_is_named():
    games = cc.Preferences.from_pairs(["a", "b"], ["b", "a"], time=["2024-01-01T10:00", "2024-01-01T15:00"])
    ranking = cc.rank(games, "elo")
    assert ranking.history.at("2024-01-01").scores.tolist() == ranking.scores.tolist()


def test_a_peak_is_the_best_score_and_its_moment(history):
    assert history.peaks().to_rows()[0] == {"time": "2021-01-01", "item": "a", "score": 15.0, "low": 9.0, "high": 16.0}
    assert history.peaks()["item"] == ["a", "b"]
    assert history.peaks("low")["time"] == ["2021-07-01", "2021-12-01"]
    assert history.peaks().head(1)["item"] == ["a"]


def test_leaders_played_in_the_period_they_lead(history):
    assert history.best("year").to_rows() == [
        {"year": "2020", "item": "b", "score": 12.0, "low": 6.0, "high": 13.0},
        {"year": "2021", "item": "b", "score": 14.0, "low": 13.0, "high": 15.0},
        {"year": "2023", "item": "b", "score": 9.0, "low": 8.0, "high": 10.0},
    ]
    assert history.best("year", by="peak")["item"] == ["b", "a", "b"]
    assert history.best("year", by="mean").to_rows()[1] == {"year": "2021", "item": "a", "score": 14.25}
    assert history.best("year", top=2)["item"] == ["b", "a", "b", "a", "b"]
    assert history.best("year", least=2)["item"] == ["a", "a"]
    assert history.best("quarter")["quarter"][:2] == ["2020 Q1", "2020 Q2"]
    assert history.best("month")["month"][0] == "2020-03"
    assert history.best(3650)["item"] == ["a"]


def test_questions_that_make_no_sense_are_refused_with_advice(history):
    with pytest.raises(cc.InputError, match="day, week, month, quarter, year"):
        history.best("decade")
    with pytest.raises(cc.InputError, match="end, mean, peak"):
        history.best(by="luck")
    with pytest.raises(cc.InputError, match="score, low, high"):
        history.peaks("luck")
    unsure = cc.rank(cc.Preferences.from_pairs(["a"], ["b"]), "elo").history
    with pytest.raises(cc.InputError, match="no confidence intervals"):
        unsure.peaks("low")
    with pytest.raises(cc.InputError, match="The times are not dates"):
        unsure.best("year")
    assert unsure.best(1).to_rows() == [{"until": "1", "item": "a", "score": 1516.0}]
    with pytest.raises(cc.ConcordantError, match="no column"):
        history.peaks()["luck"]


def test_only_methods_that_follow_time_have_a_history():
    ranking = cc.rank(cc.Preferences.from_pairs(["a"], ["b"]), "borda")
    with pytest.raises(cc.ConcordantError, match="elo, glicko2 or trueskill"):
        _ = ranking.history


def test_histories_are_exported_and_printed(history):
    assert "2 items, 7 rows from 2020-03-01 to 2023-05-01" in repr(history)
    assert "2021-01-01  a" in repr(history.peaks())
    assert history.peaks().to_text(1).endswith("… 1 more")
    for frame in (history.to_frame("pandas"), history.to_frame("polars"), history.peaks().to_frame("pandas")):
        assert list(frame.columns) == ["time", "item", "score", "low", "high"]


def test_nothing_played_is_a_history_without_rows():
    history = cc.rank(cc.Preferences.from_rankings([["a"], ["b"]]), "elo").history
    assert len(history) == 0
    assert len(history.peaks()) == 0
    assert len(history.best(1)) == 0
    assert repr(history) == "History without rows"


# ---- pictures ----
def test_lines_bear_their_names_and_bands_their_level():
    pytest.importorskip("matplotlib", reason="plots are an extra")
    prefs = cc.read(LEAGUE, time="date")
    figure = cc.rank(prefs, "glicko2", all_items=True).plot_history(top=3)
    axes = figure.axes[0]
    assert {text.get_text() for text in axes.texts} == {"Finn", "Cleo", "Gia"}
    assert "95%" in axes.get_ylabel()
    named = cc.rank(prefs, "elo").plot_history(items=["Bo"]).axes[0]
    assert [text.get_text() for text in named.texts] == ["Bo"]
    assert named.get_ylabel() == "score"
    with pytest.raises(cc.ConcordantError, match="no item"):
        cc.rank(prefs, "elo").plot_history(items=["nobody"])


def test_many_rows_are_drawn_as_few():
    pytest.importorskip("matplotlib", reason="plots are an extra")
    n = 5000
    prefs = cc.Preferences.from_pairs(["a", "b"] * n, ["b", "a"] * n, time=np.arange(2 * n))
    line = cc.rank(prefs, "elo").plot_history().axes[0].lines[0]
    assert len(line.get_xdata()) <= 602


def test_labels_lie_a_gapapart_and_move_no_more_than_needed():
    assert apart([], 1.0).tolist() == []
    assert apart([0.0, 5.0], 1.0).tolist() == [0.0, 5.0]
    assert apart([1.0, 1.0, 5.0], 1.0).tolist() == [0.5, 1.5, 5.0]
    assert np.diff(apart([0.0, 0.1, 0.9, 1.0], 1.0)).min() >= 1.0 - 1e-12


# ---- command line ----
def test_rank_writes_and_draws_the_history(run, tmp_path):
    pytest.importorskip("matplotlib", reason="plots are an extra")
    table, picture = tmp_path / "history.csv", tmp_path / "history.svg"
    code, out, err = run(
        "rank", LEAGUE, "--time", "date", "--method", "elo", "--history", str(table), "--plot-history", str(picture)
    )
    assert code == 0
    assert "wrote 828 ratings of 8 items" in err
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 828
    assert list(rows[0]) == ["time", "item", "score"]
    assert rows[0]["time"] == "2016-02-15"
    assert "best of" not in out
    assert picture.read_text().startswith("<?xml")
    code, _, err = run(
        "rank", LEAGUE, "--time", "date", "-m", "glicko2", "--history", str(tmp_path / "h.jsonl"),
        "--history-items", "Bo,Edda",
    )  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "h.jsonl").read_text().splitlines()]
    assert {row["item"] for row in rows} == {"Bo", "Edda"}
    assert "of 2 items" in err


def test_rank_says_who_led_and_who_was_ever_best(run):
    code, out, _ = run("rank", LEAGUE, "--time", "date", "-m", "elo", "--best-of", "year", "--peaks", "--top", "2")
    assert code == 0
    assert "leaders by year" in out
    assert out.count("Ama") >= 5
    assert len(out.partition("peaks")[2].strip().splitlines()) == 3
    _, out, _ = run("rank", LEAGUE, "--time", "date", "-m", "glicko2", "--best-of", "year", "--peaks", "--json")
    found = json.loads(out)
    assert [row["year"] for row in found["best_of"]] == [str(year) for year in range(2016, 2025)]
    assert {row["item"] for row in found["peaks"]} >= {"Gia"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["-m", "borda", "--peaks"], "borda computes a single score per item"),
        (["-m", "elo", "--best-of", "year"], "The times are not dates"),
        (["-m", "elo", "--peaks", "--csv"], "cannot be combined with --csv"),
        (["-m", "elo", "--history-items", "x"], "add one of them"),
        (["-m", "elo", "--plot-history", "x.txt"], "svg, .png or .pdf"),
        (
            ["-m", "elo", "--time", "date", "--history", "x.csv", "--history-items", "Nobody"],
            "There is no item 'Nobody'",
        ),
        (["-m", "glicko2", "--period", "month"], "not dates"),
        (["-m", "glicko2", "--time", "date", "--period", "decade"], "decade"),
        (["-m", "elo", "--time", "date", "--best-of", "decade"], "day, week, month, quarter, year"),
    ],
)
def test_what_cannot_be_told_is_said_clearly(run, tmp_path, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("rank", LEAGUE, *given)
    assert code != 0
    assert said in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())
