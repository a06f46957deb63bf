"""DataFrames of any kind where people try them: rank, compare, rank matrices."""

from __future__ import annotations

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
