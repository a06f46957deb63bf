"""DataFrames of any kind where people try them: rank, compare, rank matrices."""

from __future__ import annotations

import copy
import importlib.util
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import concordant as cc

PAIRS = {"winner": ["a", "a", "b"], "loser": ["b", "c", "c"]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table], ids=lambda f: f.__module__)
def test_a_frame_is_ranked_as_its_preferences_are(make: Any) -> None:
    expected = cc.rank(cc.Preferences.from_frame(pd.DataFrame(PAIRS)))
    ranking = cc.rank(make(PAIRS))
    assert ranking.items == expected.items == ["a", "b", "c"]
    assert ranking.method == expected.method == "bradley-terry"
    assert cc.rank(make(PAIRS), "copeland").items == ["a", "b", "c"]
    assert cc.compare(make(PAIRS), ["borda", "copeland"]).tau[0, 1] == 1.0


def test_what_is_no_frame_is_refused_with_advice() -> None:
    with pytest.raises(cc.InputError, match=r"not list.*from_rankings"):
        cc.rank([["a", "b"]])  # type: ignore[arg-type]
    with pytest.raises(cc.InputError, match=r"not dict"):
        cc.compare({"a": 1}, ["borda"])


def test_a_rank_matrix_keeps_the_names_of_a_frame() -> None:
    frame = pd.DataFrame({"ann": [1, 2, 3], "bob": [2.0, np.nan, 1.0]}, index=["x", "y", "z"])
    prefs = cc.Preferences.from_rank_matrix(frame)
    assert prefs.items.labels == ["x", "y", "z"]
    assert prefs.agents is not None
    assert prefs.agents.labels == ["ann", "bob"]
    plain = cc.Preferences.from_rank_matrix(frame.to_numpy(), items=list("xyz"), agents=["ann", "bob"])
    assert prefs == plain
    renamed = cc.Preferences.from_rank_matrix(frame, items=["p", "q", "r"])
    assert renamed.items.labels == ["p", "q", "r"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=lambda f: f.__module__)
def test_a_column_of_text_names_the_items_of_a_rank_matrix(make: Any) -> None:
    prefs = cc.Preferences.from_rank_matrix(make({"film": ["x", "y"], "ann": [2, 1], "bob": [None, 1]}))
    assert prefs.items.labels == ["x", "y"]
    assert prefs.agents is not None
    assert prefs.agents.labels == ["ann", "bob"]
    assert prefs.item.tolist() == [1, 0, 1]
    with pytest.raises(cc.InputError, match="several columns contain text \\(film, maker\\)"):
        cc.Preferences.from_rank_matrix(make({"film": ["x"], "maker": ["m"], "ann": [1]}))


def test_a_frame_without_names_numbers_its_items() -> None:
    assert cc.Preferences.from_rank_matrix(pl.DataFrame({"ann": [2, 1]})).items.labels == ["0", "1"]
    assert cc.Preferences.from_rank_matrix(pd.DataFrame({"ann": [2, 1]})).items.labels == ["0", "1"]


KINDS: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
VOTES = {
    "winner": ["a", "a", "b", "c", "a", "b"] * 4,
    "loser": ["b", "c", "c", "a", "b", "a"] * 4,
    "judge": ["x", "y"] * 12,
    "date": [f"2024-01-{k + 1:02}" for k in range(24)],
}


def library(frame: Any) -> str:
    return type(frame).__module__.partition(".")[0]


@pytest.mark.parametrize("name", KINDS)
def test_results_are_frames_of_the_library_that_came_in(name: str) -> None:
    frame = KINDS[name](VOTES)
    ranking = cc.rank(frame, "elo", time="date", agent="judge")
    results = [
        ranking,
        ranking.head(2),
        ranking.history,
        ranking.history.peaks(),
        ranking.history.at("2024-01-10"),
        cc.rank(frame, "bradley-terry", instance="judge")["x"],
        cc.compare(frame, ["borda", "copeland"], agent="judge"),
        cc.rank_groups(frame, by="judge"),
    ]
    assert {library(result.to_frame()) for result in results} == {name}
    for other in KINDS:
        assert library(ranking.to_frame(other)) == other


@pytest.mark.parametrize("name", KINDS)
def test_the_library_survives_changes_of_the_preferences(name: str) -> None:
    prefs = cc.Preferences.from_frame(KINDS[name](VOTES), agent="judge")
    changed = [
        prefs.select(items=["a", "b"]),
        prefs.take([0, 1, 2]),
        prefs.merge(),
        prefs.merge(agents=False),
        prefs.min_ballots(1),
        prefs.noted("a note"),
        prefs.replace(weight=np.full(24, 2.0)),
        pickle.loads(pickle.dumps(prefs)),
        copy.copy(prefs),
    ]
    assert {one.library for one in changed} == {name}
    assert library(cc.rank(prefs.select(items=["a", "b"]), "borda").to_frame()) == name


def test_a_lazy_frame_gives_an_eager_one_of_its_library() -> None:
    assert isinstance(cc.rank(pl.LazyFrame(PAIRS)).to_frame(), pl.DataFrame)


def test_series_have_a_library_too() -> None:
    for name in ("pandas", "polars"):
        series = {"pandas": pd.Series, "polars": pl.Series}[name]
        who, what, stars = series(["u", "u", "v"]), series(["x", "y", "x"]), series([5, 2, 4])
        for prefs in (
            cc.Preferences.from_pairs(who, what),
            cc.Preferences.from_ratings(who, what, stars),
            cc.Preferences.from_ranks(who, what, stars),
            cc.crowd.judgements(who, series(["t", "t", "t"]), what, stars),
        ):
            assert prefs.library == name
    assert cc.Preferences.from_rank_matrix(pl.DataFrame({"ann": [2, 1]})).library == "polars"
    assert cc.Preferences.from_pairs(["a"], ["b"]).library is None


@pytest.mark.parametrize("name", KINDS)
def test_evaluations_and_reliabilities_keep_the_library(name: str) -> None:
    run = KINDS[name]({"query": ["q", "q"], "item": ["d1", "d2"], "score": [2.0, 1.0], "agent": ["s", "s"]})
    prefs = cc.Preferences.from_frame(run, rating="score", instance="query")
    evaluation = cc.evaluate(prefs, {"q": {"d1": 1}})
    assert library(evaluation.to_frame()) == name
    rows = {"agent": ["u", "v", "u", "v"], "item": ["x", "x", "y", "y"], "rating": [1, 1, 0, 1]}
    judged = cc.Preferences.from_frame(KINDS[name](rows))
    assert library(cc.crowd.reliability(judged).to_frame()) == name


def test_files_give_the_first_library_that_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("winner,loser\na,b\n")
    ranking = cc.rank(path)
    assert library(ranking.to_frame()) == "pandas"
    real = importlib.util.find_spec
    for missing, left in ((("pandas",), "polars"), (("pandas", "polars"), "pyarrow")):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, m=missing: None if name in m else real(name))
        assert library(ranking.to_frame()) == left
