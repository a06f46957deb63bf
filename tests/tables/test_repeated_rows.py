"""Repeated rows are left out on request, the first is kept, and describe counts them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.conftest import Run

import concordant as cc

TEXT = "winner,loser,id\na,b,1\nb,c,2\na,b,1\na,b,3\nb,c,2\na,b,1\n"


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("how", [{}, {"reduce": True}, {"merge": True}])
def test_equal_rows_are_left_out_but_for_the_first(votes: Path, how: dict[str, Any]) -> None:
    prefs = cc.read(votes, drop_duplicates=True, **how)
    assert prefs.weight.sum() == 3
    assert "left out 3 rows equal to an earlier row" in prefs.notes


@pytest.mark.parametrize("columns", ["winner,loser", ["winner", "Loser"], ("winner", "loser")])
def test_rows_may_be_compared_by_some_columns(votes: Path, columns: Any) -> None:
    frame = pd.read_csv(votes)
    for prefs in (cc.read(votes, drop_duplicates=columns), cc.Preferences.from_frame(frame, drop_duplicates=columns)):
        assert prefs.n_ballots == 2
        assert "left out 4 rows equal to an earlier row in winner, loser" in prefs.notes


def test_the_condition_comes_first(votes: Path) -> None:
    prefs = cc.read(votes, where="id != 1", drop_duplicates="winner,loser")
    assert prefs.n_ballots == 2
    assert prefs.notes[1:] == (
        "left out 3 of 6 rows that do not meet the condition where='id != 1'",
        "left out 1 row equal to an earlier row in winner, loser",
    )


def test_rows_of_several_files_are_compared_together(votes: Path, tmp_path: Path) -> None:
    other = tmp_path / "more.csv"
    other.write_text("winner,loser,id\na,b,3\nc,a,9\n")
    assert cc.read([votes, other], drop_duplicates=True).n_ballots == 4
    assert cc.rank([votes, other], drop_duplicates=True).items
    with pytest.raises(cc.InputError, match="drop_duplicates= relates the rows of several files"):
        cc.read([votes, other], drop_duplicates=True, reduce=True)


def test_without_repeated_rows_nothing_changes() -> None:
    prefs = cc.read(io.StringIO("winner,loser\na,b\nb,c\n"), drop_duplicates=True)
    assert prefs.n_ballots == 2
    assert "no row repeats an earlier row" in prefs.notes


def test_unknown_columns_and_values_are_refused(votes: Path) -> None:
    with pytest.raises(cc.InputError, match=r"no column 'winer' to compare rows by. Did you mean winner\?"):
        cc.read(votes, drop_duplicates="winer")
    with pytest.raises(cc.InputError, match="drop_duplicates=7 is not valid"):
        cc.read(votes, drop_duplicates=7)
    with pytest.raises(cc.InputError, match="drop_duplicates= only applies to tables, not to trec"):
        cc.read(io.StringIO("1 Q0 d 1 1 x\n"), drop_duplicates=True)


@pytest.mark.parametrize("seed", range(3))
def test_the_engine_and_numpy_agree_with_pandas(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 3, (200, 3)), columns=["w", "l", "turn"])
    frame = frame[frame.w != frame.l].reset_index(drop=True)
    frame = frame.assign(winner="w" + frame.w.astype(str), loser="w" + frame.l.astype(str))
    expected = frame.drop_duplicates()
    path = tmp_path / "votes.parquet"
    frame.to_parquet(path)
    for prefs in (
        cc.read(path, drop_duplicates=True),
        cc.Preferences.from_frame(frame, drop_duplicates=True),
    ):
        assert prefs.items.take(prefs.item[0::2]) == expected.winner.tolist()
        assert prefs.items.take(prefs.item[1::2]) == expected.loser.tolist()


def test_describe_counts_copies_but_not_ordinary_repeated_votes(run: Run, votes: Path, tmp_path: Path) -> None:
    told = json.loads(run("describe", votes, "--json")[1])
    assert any(note.startswith("3 rows are equal to an earlier row in all 3 columns") for note in told["notes"])
    plain = tmp_path / "plain.csv"
    plain.write_text("winner,loser\na,b\na,b\nb,c\n")
    told = json.loads(run("describe", plain, "--json")[1])
    assert not any("equal to an earlier row" in note for note in told["notes"])


@pytest.mark.parametrize("words", ["--drop-duplicates FILE", "FILE --drop-duplicates", "FILE --drop-duplicates="])
def test_the_value_of_the_option_may_be_left_out(run: Run, votes: Path, words: str) -> None:
    code, _, told = run("rank", *(votes if word == "FILE" else word for word in words.split()))
    assert code == 0
    assert "left out 3 rows equal to an earlier row\n" in told


def test_the_option_takes_columns(run: Run, votes: Path) -> None:
    _, _, told = run("rank", votes, "--drop-duplicates", "winner,loser")
    assert "left out 4 rows equal to an earlier row in winner, loser" in told
