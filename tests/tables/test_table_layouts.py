"""Every layout a table of preferences can take is read for what it says."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import concordant as cc
from concordant.errors import InputError, UnknownNameError


def ballots(prefs: cc.Preferences) -> list[list[list[str]]]:
    """Return every ballot as places of labels."""
    out = []
    for b in range(prefs.n_ballots):
        places: dict[int, list[str]] = {}
        for k in range(prefs.indptr[b], prefs.indptr[b + 1]):
            places.setdefault(int(prefs.tier[k]), []).append(prefs.items[prefs.item[k]])
        out.append([places[tier] for tier in sorted(places)])
    return out


def test_winner_and_loser_columns_are_pairs(make: Any, backend: str) -> None:
    prefs = cc.read(make("winner,loser\nada,ben\nben,cleo\n"))
    assert ballots(prefs) == [[["ada"], ["ben"]], [["ben"], ["cleo"]]]
    assert prefs.items.labels == ["ada", "ben", "cleo"]


def test_what_was_understood_is_said(make: Any) -> None:
    path = make("winner,loser,judge,date\na,b,j,x\n")
    prefs = cc.read(path)
    assert prefs.notes == (f"{path.name}: 1 pair; winner = winner, loser = loser, agent = judge; not read: date",)


def test_a_tie_column_makes_draws(make: Any, backend: str) -> None:
    prefs = cc.read(make("winner,loser,tie\na,b,false\nb,c,TRUE\nc,a,\na,d,1\n"))
    assert ballots(prefs) == [[["a"], ["b"]], [["b", "c"]], [["c"], ["a"]], [["a", "d"]]]


@pytest.mark.parametrize("word", ["model_a", "a", "left", "x", "1", "A"])
def test_the_outcome_can_name_the_left_side_in_many_ways(make: Any, word: str) -> None:
    assert ballots(cc.read(make(f"model_a,model_b,winner\nx,y,{word}\n"))) == [[["x"], ["y"]]]


@pytest.mark.parametrize("word", ["model_b", "b", "right", "y", "0", "-1", "2"])
def test_the_outcome_can_name_the_right_side_in_many_ways(make: Any, word: str) -> None:
    assert ballots(cc.read(make(f"model_a,model_b,winner\nx,y,{word}\n"))) == [[["y"], ["x"]]]


@pytest.mark.parametrize("word", ["tie", "tie (bothbad)", "draw", "0.5", "both bad"])
def test_the_outcome_can_be_a_tie(make: Any, word: str) -> None:
    assert ballots(cc.read(make(f"model_a,model_b,winner\nx,y,{word}\n"))) == [[["x", "y"]]]


def test_zero_is_a_tie_where_minus_one_is_a_loss(make: Any) -> None:
    prefs = cc.read(make("left,right,outcome\nx,y,1\nx,y,-1\nx,y,0\n"))
    assert ballots(prefs) == [[["x"], ["y"]], [["y"], ["x"]], [["x", "y"]]]


def test_ratings_of_users_in_camel_case(make: Any, backend: str) -> None:
    prefs = cc.read(make("userId,movieId,rating,timestamp\n1,10,5,7\n1,20,3.5,7\n2,20,4,7\n"))
    assert ballots(prefs) == [[["10"], ["20"]], [["20"]]]
    assert (prefs.scale, prefs.agents and prefs.agents.labels) == ("rating", ["1", "2"])
    np.testing.assert_array_equal(prefs.value, [5, 3.5, 4])


def test_long_ranks_with_query_and_engine(make: Any) -> None:
    prefs = cc.read(make("query,engine,docid,position\nq,e,d2,2\nq,e,d1,1\nq,f,d2,1\n"))
    assert ballots(prefs) == [[["d1"], ["d2"]], [["d2"]]]
    assert prefs.instances is not None
    assert prefs.instances.labels == ["q"]
    assert prefs.scale == "rank"


def test_ranks_order_and_scores_stay_as_values(make: Any) -> None:
    prefs = cc.read(make("agent,item,rank,score\na,x,1,0.2\na,y,2,0.9\n"))
    assert ballots(prefs) == [[["x"], ["y"]]]
    assert (prefs.scale, prefs.value is not None and prefs.value.tolist()) == ("rating", [0.2, 0.9])


def test_a_ballot_column_tells_anonymous_ballots_apart(make: Any) -> None:
    prefs = cc.read(make("ballot,item,rank,weight\n1,x,1,3\n1,y,2,3\n2,y,1,2\n2,x,1,2\n"))
    assert ballots(prefs) == [[["x"], ["y"]], [["y", "x"]]]
    assert prefs.agents is None
    assert prefs.weight.tolist() == [3, 2]


@pytest.mark.parametrize(
    "header", ["first,second,third", "rank1,rank2,rank3", "1,2,3", "1st,2nd,3rd", "choice_1,choice_2,choice_3"]
)
def test_places_are_wide_ballots(make: Any, header: str) -> None:
    prefs = cc.read(make(f"count,{header}\n4,ada,ben,cleo\n2,ben,ada,\n"))
    assert ballots(prefs) == [[["ada"], ["ben"], ["cleo"]], [["ben"], ["ada"]]]
    assert prefs.weight.tolist() == [4, 2]


def test_an_empty_wide_ballot_is_left_out_and_said(make: Any) -> None:
    path = make("first,second\na,b\n,\nb,a\n")
    prefs = cc.read(path)
    assert prefs.n_ballots == 2
    assert "1 row: an empty ballot, left out (first: line 3)" in prefs.notes
    with pytest.raises(InputError, match="line 3: an empty ballot"):
        cc.read(path, strict=True)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a > b = c > d", [["a"], ["b", "c"], ["d"]]),
        ("a>b~c", [["a"], ["b", "c"]]),
        ('"a, {b, c}, d"', [["a"], ["b", "c"], ["d"]]),
        ("a; b; c", [["a"], ["b"], ["c"]]),
        ('"[""a"", [""b"", ""c > d""]]"', [["a"], ["b", "c > d"]]),
        ("a", [["a"]]),
    ],
)
def test_a_ranking_column_is_read_as_written(make: Any, text: str, places: list[list[str]]) -> None:
    assert ballots(cc.read(make(f"voter,ranking\nv,{text}\n"), delimiter=",")) == [places]


def test_a_ranking_may_be_open(make: Any) -> None:
    prefs = cc.read(make("ranking,open\na > b = c,1\na > b,0\n"))
    assert prefs.open is not None
    assert prefs.open.tolist() == [True, False]


def test_a_rank_matrix_has_items_as_rows(make: Any) -> None:
    prefs = cc.read(make("doc,bing,duck\nx,1,2\ny,2,\nz,,1\n"), layout="rank-matrix")
    assert ballots(prefs) == [[["x"], ["y"]], [["z"], ["x"]]]
    assert prefs.agents is not None
    assert prefs.agents.labels == ["bing", "duck"]


def test_two_columns_without_a_header_are_winner_and_loser(make: Any) -> None:
    prefs = cc.read(make("a,b\nb,c\na,c\n"))
    assert ballots(prefs) == [[["a"], ["b"]], [["b"], ["c"]], [["a"], ["c"]]]
    assert "no header line" in prefs.notes[0]


def test_columns_without_a_header_are_named_by_position(make: Any) -> None:
    prefs = cc.read(make("u1,x,5\nu1,y,3\nu2,x,4\n"), agent=1, item=2, rating=3)
    assert prefs.form == "ratings"
    assert prefs.n_ballots == 2


def test_a_file_without_a_header_can_be_wide(make: Any) -> None:
    prefs = cc.read(make("a,b,c\nb,a\nc,b,a\n"), layout="places")
    assert ballots(prefs) == [[["a"], ["b"], ["c"]], [["b"], ["a"]], [["c"], ["b"], ["a"]]]


def test_explicit_roles_win(make: Any) -> None:
    path = make("winner,loser,stars,who,film\na,b,3,u,x\na,b,4,v,x\n")
    prefs = cc.read(path, rating="stars", agent="who", item="film")
    assert prefs.form == "ratings"
    assert prefs.n_items == 1


def test_an_unknown_column_is_named_with_a_suggestion(make: Any) -> None:
    with pytest.raises(
        UnknownNameError, match=r"no column 'winer' for the role winner. Did you mean winner.*winner, loser"
    ):
        cc.read(make("winner,loser\na,b\n"), winner="winer")


def test_an_unknown_role_is_named_with_a_suggestion(make: Any) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown argument 'winer'. Did you mean winner"):
        cc.read(make("winner,loser\na,b\n"), winer="winner")


def test_columns_that_say_nothing_are_an_error_that_lists_them(make: Any) -> None:
    with pytest.raises(InputError, match=r"foo, bar, baz have no recognised roles: .* winner="):
        cc.read(make("foo,bar,baz\n1,2,3\n"))


def test_an_ambiguous_role_is_an_error_that_says_how_to_settle_it(make: Any) -> None:
    path = make("user,judge,item,rating\nu,j,x,3\n")
    with pytest.raises(InputError, match="user, judge could each be the agent: choose one with agent='user'"):
        cc.read(path)
    assert cc.read(path, agent="judge").agents == cc.Preferences.from_ratings(["j"], ["x"], [3]).agents


def test_strict_refuses_columns_that_are_not_read(make: Any) -> None:
    path = make("winner,loser,note\na,b,hm\n")
    assert cc.read(path).n_ballots == 1
    with pytest.raises(InputError, match="the column note would not be read"):
        cc.read(path, strict=True)


def test_labels_are_read_from_a_table(make: Any) -> None:
    labels = cc.read_labels(make("query,doc,relevance\nq1,a,2\nq1,b,0\nq2,a,1\n"))
    assert labels.n_instances == 2
    assert labels.label.tolist() == [2, 0, 1]


FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_says_the_same_as_its_file(make: Any, frame: Any, backend: str) -> None:
    columns = {"model_a": ["x", "y"], "model_b": ["y", "z"], "winner": ["model_b", "tie"], "judge": ["j", "k"]}
    text = "\n".join([",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))])
    assert cc.Preferences.from_frame(frame(columns)) == cc.read(make(text + "\n"))


@pytest.mark.parametrize("frame", FRAMES)
def test_a_missing_cell_of_a_frame_names_its_row(frame: Any) -> None:
    ratings = frame({"user": ["u", "u", "v"], "item": ["x", None, "x"], "rating": [1.0, 2.0, None]})
    with pytest.raises(InputError, match="the frame, row 2: the item is missing"):
        cc.Preferences.from_frame(ratings)
    prefs = cc.Preferences.from_frame(ratings, skip_bad_rows=True)
    assert (prefs.n_ballots, prefs.items.labels) == (1, ["x"])
    assert "left out 1 row: the rating is not a number (first: row 3)" in prefs.notes


@pytest.mark.parametrize("frame", FRAMES)
def test_whole_numbers_are_labels(frame: Any) -> None:
    prefs = cc.Preferences.from_frame(frame({"winner": [1, 2], "loser": [2, 3]}))
    assert prefs.items.labels == ["1", "2", "3"]


def test_something_else_is_no_frame() -> None:
    with pytest.raises(InputError, match=r"Expected a DataFrame .* got list"):
        cc.Preferences.from_frame([1, 2])


def test_numbers_as_outcomes_are_explained_in_a_note() -> None:
    prefs = cc.read(io.StringIO("left,right,outcome\na,b,1\na,b,0\nb,c,1\n"))
    assert "outcomes are numbers: 1 = left won, 0 = right won, 0.5 = tie" in prefs.notes


def test_identifiers_of_users_and_items_are_not_a_matrix() -> None:
    prefs = cc.read(io.StringIO("user_id,movie_id,liked\n1,2,1\n1,3,0\n2,2,1\n2,1,0\n"))
    assert (prefs.form, prefs.n_agents, prefs.n_items) == ("ratings", 2, 3)
    with pytest.raises(InputError, match="no recognised roles"):
        cc.read(io.StringIO("user_id,movie_id,mood\n1,2,1\n1,3,0\n2,2,1\n2,1,0\n"))
