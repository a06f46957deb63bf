"""Words for the outcome of a comparison: sides, ties, both bad, no judgement."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import concordant as cc
from concordant.errors import InputError
from concordant.tables.outcomes import meanings_of


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        *((word, "left") for word in ("model_a", "Model A", "a", "LEFT", "1-0", "A>B", "A>>B", "[[A]]", "[[A>>B]]")),
        *((word, "left") for word in ("B<A", "A++", "response-a", "Assistant 1", "leftvote", "left wins", "white")),
        *((word, "right") for word in ("model-b", "b", "right", "0-1", "B>>A", "A<B", "B+", "rightvote", "black")),
        *((word, "tie") for word in ("tie", "Both_Good", "both good", "both-equal", "same", "=", "1/2-1/2", "A=B")),
        *((word, "tie") for word in ("B=A", "tievote", "[[C]]", "no preference", "0.5")),
        *((word, "both bad") for word in ("both_bad", "BothBad", "both-bad", "tie (bothbad)", "neither")),
        *((word, "both bad") for word in ("tie (both bad)", "bothbad_vote")),
        *((word, "none") for word in ("null", "NaN", "N/A", "*", "error", "Invalid", "skip", "unsure", "abstain")),
        *((word, "none") for word in ("can't choose", "can’t_choose", "none", "?")),
        *((word, "unknown") for word in ("maybe", "model_c", "C", "A>A", "7")),
    ],
)
def test_words_have_one_meaning_in_every_spelling(word: str, meaning: str) -> None:
    assert meanings_of([word]) == [meaning]


def test_h_d_and_a_are_home_draw_and_away_if_nothing_else_occurs() -> None:
    assert meanings_of(["H", "A", "D", "*"]) == ["left", "right", "tie", "none"]
    assert meanings_of(["A", "B", "D"]) == ["left", "right", "tie"]
    assert meanings_of(["H", "A", "B"]) == ["unknown", "left", "right"]


def test_numbers_mean_what_the_others_suggest() -> None:
    assert meanings_of(["1", "0", "0.5"]) == ["left", "right", "tie"]
    assert meanings_of(["1", "2", "0", "1.5"]) == ["left", "right", "tie", "tie"]
    assert meanings_of(["1", "-1", "0"]) == ["left", "right", "tie"]


VOTES = """model_a,model_b,winner
x,y,model_a
x,y,both_bad
y,z,
z,x,skip
x,z,Both-Good
y,z,both bad
z,x,NaN
"""


def _lazy(text: str) -> Any:
    polars = pytest.importorskip("polars")
    return polars.read_csv(io.StringIO(text)).lazy()


def _read(text: str, tmp_path: Path, **options: Any) -> cc.Preferences:
    path = tmp_path / "votes.csv"
    path.write_text(text, encoding="utf-8")
    return cc.read(path, **options)


READERS: dict[str, Callable[..., cc.Preferences]] = {
    "whole": _read,
    "merged": lambda text, path, **options: _read(text, path, merge=True, **options),
    "lazy": lambda text, _, **options: cc.Preferences.from_frame(_lazy(text), **options),
}


def _note(prefs: cc.Preferences, words: str) -> str:
    (note,) = [note for note in prefs.notes if words in note]
    return note


@pytest.mark.parametrize("how", READERS)
def test_rows_are_counted_whoever_counts_them(how: str, tmp_path: Path) -> None:
    """Three times the same votes: the notes count rows, not groups of equal rows."""
    text = VOTES + 2 * VOTES.partition("\n")[2]
    prefs = READERS[how](text, tmp_path)
    assert prefs.weight.sum() == 12
    assert _note(prefs, "no judgement").startswith("left out 9 rows: there is no judgement")
    assert _note(prefs, "judged bad").startswith(
        "6 rows: both sides are judged bad, counted as a tie; use both_bad='skip'"
    )
    ties = prefs.tier[0::2] == prefs.tier[1::2]
    assert prefs.weight[ties].sum() == 9


@pytest.mark.parametrize("how", READERS)
def test_both_bad_can_be_left_out(how: str, tmp_path: Path) -> None:
    prefs = READERS[how](VOTES, tmp_path, both_bad="skip")
    assert prefs.weight.sum() == 2
    assert _note(prefs, "judged bad").startswith("left out 2 rows: both sides are judged bad")


def test_rows_of_several_files_are_added_up(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(VOTES, encoding="utf-8")
    prefs = cc.read(tmp_path, reduce=True)
    assert _note(prefs, "no judgement").startswith("left out 6 rows")
    assert "both_bad" in _note(prefs, "4 rows: both sides")


def test_a_model_may_be_called_like_a_word() -> None:
    prefs = cc.read(io.StringIO("model_a,model_b,winner\nskip,y,skip\ny,neither,neither\ntie,y,model_a\nskip,y,y\n"))
    assert prefs.n_ballots == 4
    assert not any("judge" in note for note in prefs.notes)
    assert [prefs.items[item] for item in prefs.item[0::2].tolist()] == ["skip", "neither", "tie", "y"]
    assert not (prefs.tier[0::2] == prefs.tier[1::2]).any()


def test_a_column_of_ties_decides_where_no_winner_is_named() -> None:
    text = "model_a_name,model_b_name,chosen_model_name,both_equal\nx,y,x,False\nx,z,,True\ny,z,,False\n"
    prefs = cc.read(io.StringIO(text))
    assert prefs.n_ballots == 2
    assert (prefs.tier[0::2] == prefs.tier[1::2]).tolist() == [False, True]
    assert "left out 1 row: there is no judgement" in _note(prefs, "no judgement")
    with pytest.raises(InputError, match="names a winner and is marked as a tie"):
        cc.read(io.StringIO(text + "x,y,x,True\n"))


def test_the_odds_of_a_draw_are_no_ties() -> None:
    prefs = cc.read(io.StringIO("home,away,result,draw\nx,y,H,3.2\ny,z,A,3.1\nz,x,D,2.9\n"))
    assert np.flatnonzero(prefs.tier[0::2] == prefs.tier[1::2]).tolist() == [2]


def test_strict_rejects_rows_without_a_judgement() -> None:
    with pytest.raises(InputError, match=re.escape("there is no judgement, which strict=True rejects")):
        cc.read(io.StringIO("model_a,model_b,winner\nx,y,model_a\nx,y,\n"), strict=True)


def test_a_table_without_any_judgement_is_an_error() -> None:
    with pytest.raises(InputError, match="no row has a judgement in the column 'winner'"):
        cc.read(io.StringIO("model_a,model_b,winner\nx,y,\nx,y,skip\n"))


def test_unknown_words_are_errors_and_other_choices_too() -> None:
    with pytest.raises(InputError, match="'maybe', which is neither model_a nor model_b nor a tie"):
        cc.read(io.StringIO("model_a,model_b,winner\nx,y,maybe\n"))
    with pytest.raises(cc.ConcordantError, match="use one of tie, skip"):
        cc.read(io.StringIO(VOTES), both_bad="win")
