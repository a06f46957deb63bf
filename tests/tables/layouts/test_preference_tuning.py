"""Rows for preference tuning: the models are compared."""

from __future__ import annotations

import io

import pytest

import concordant as cc

ROWS = """prompt,chosen,rejected,{a},{b},{s}_chosen,{s}_rejected
p1,x,y,m1,m2,5,4
p2,x,y,m2,m3,5,5
p3,x,y,m1,m3,5,4
"""


@pytest.mark.parametrize(
    ("a", "b", "s"),
    [("chosen_model", "rejected_model", "score"), ("chosen-model", "rejected-model", "rating")],
)
def test_models_are_the_items_and_equal_scores_are_ties(a: str, b: str, s: str) -> None:
    prefs = cc.read(io.StringIO(ROWS.format(a=a, b=b, s=s)))
    assert list(prefs.items) == ["m1", "m2", "m3"]
    assert (prefs.tier[0::2] == prefs.tier[1::2]).tolist() == [False, True, False]
    assert any("preference tuning" in note for note in prefs.notes)


def test_texts_are_compared_where_no_column_names_the_models() -> None:
    prefs = cc.read(io.StringIO("prompt,chosen,rejected\np,good,bad\nq,fine,poor\n"))
    assert list(prefs.items) == ["good", "bad", "fine", "poor"]


def test_a_role_given_by_the_user_wins() -> None:
    prefs = cc.read(
        io.StringIO(ROWS.format(a="chosen_model", b="rejected_model", s="score")), winner="chosen", loser="rejected"
    )
    assert list(prefs.items) == ["x", "y"]


def test_an_error_names_the_line_of_the_file() -> None:
    text = ROWS.format(a="chosen_model", b="rejected_model", s="score") + "p4,x,y,m1,m1,5,4\n"
    with pytest.raises(cc.errors.InputError, match=r"line 5|:5"):
        cc.read(io.StringIO(text))
