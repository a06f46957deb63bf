"""Teams and covariates are read from every layout that names them; what cannot be meant is an error with its line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import concordant as cc
from concordant.errors import FormatError, InputError, UnknownNameError

DOUBLES = "match,team,player,rank\n1,x,ann,1\n1,x,bob,1\n1,y,cy,2\n1,y,dan,2\n2,y,bob,1\n2,y,eve,1\n2,x,ann,1\n"


def matches(prefs: cc.Preferences) -> list[list[tuple[int, list[str]]]]:
    """Return every ballot as (tier, players) of its teams, in the order of their numbers."""
    assert prefs.team is not None
    out = []
    for b in range(prefs.n_ballots):
        span = slice(prefs.indptr[b], prefs.indptr[b + 1])
        items, team, tier = prefs.items.take(prefs.item[span]), prefs.team[span], prefs.tier[span]
        out.append(
            [
                (int(tier[team == k][0]), [item for item, t in zip(items, team, strict=True) if t == k])
                for k in range(team.max() + 1)
            ]
        )
    return out


BOTH = [[(0, ["ann", "bob"]), (1, ["cy", "dan"])], [(0, ["bob", "eve"]), (0, ["ann"])]]


# ---- teams ----
def test_a_row_per_player_with_a_column_of_teams(make: Any) -> None:
    prefs = cc.read(make(DOUBLES), team="team")
    assert matches(prefs) == BOTH
    assert (prefs.form, prefs.scale, prefs.items.labels) == ("teams", None, ["ann", "bob", "cy", "dan", "eve"])
    assert "item = player, rank = rank, ballot = match, team = team" in prefs.notes[0]


def test_points_are_ratings_of_teams(make: Any) -> None:
    text = "game,team,player,points\n1,x,ann,3\n1,x,bob,3\n1,y,cy,9\n"
    prefs = cc.read(make(text), team="team", ballot="game", rating="points")
    assert matches(prefs) == [[(0, ["cy"]), (1, ["ann", "bob"])]]
    assert prefs.value is not None
    assert prefs.value.tolist() == [9, 3, 3]


def test_players_without_a_team_play_alone(make: Any) -> None:
    text = "match,team,player,rank\n1,,ann,1\n1,,bob,2\n1,y,cy,2\n1,y,dan,2\n"
    prefs = cc.read(make(text), team="team")
    assert matches(prefs) == [[(0, ["ann"]), (1, ["bob"]), (1, ["cy", "dan"])]]
    assert "2 rows: the team is missing: the player is a team of one (first: line 2)" in prefs.notes
    with pytest.raises(FormatError, match="line 2: the team is missing"):
        cc.read(make(text), team="team", strict=True)


def test_a_team_has_one_place(make: Any) -> None:
    text = "match,team,player,rank\n1,x,ann,1\n1,x,bob,3\n1,y,cy,2\n"
    with pytest.raises(FormatError, match="line 3: the rank differs from that of the other rows of its team"):
        cc.read(make(text), team="team")
    assert matches(cc.read(make(text), team="team", skip_bad_rows=True)) == [[(0, ["ann"]), (1, ["cy"])]]


def test_a_player_stands_once_in_a_match(make: Any) -> None:
    with pytest.raises(FormatError, match=r"line 4: the item 'ann' is given twice for ballot '1' \(first in line 2\)"):
        cc.read(make("match,team,player,rank\n1,x,ann,1\n1,x,bob,1\n1,y,ann,2\n"), team="team")
    with pytest.raises(FormatError, match=r"line 3: a player occurs twice in a match: 'ann\+bob' against 'cy\+ann'"):
        cc.read(make("winner,loser\nx+y,z+w\nann+bob,cy+ann\n"), team_separator="+")


def test_without_a_column_of_matches_the_error_names_it(make: Any) -> None:
    with pytest.raises(FormatError, match="the match or race column with ballot="):
        cc.read(make("round,team,player,rank\n1,x,ann,1\n1,y,bob,2\n2,x,ann,1\n"), team="team")
    with pytest.raises(FormatError, match=r"of its team \(the match column is unknown: name it with ballot="):
        cc.read(make("round,team,player,rank\n1,x,ann,1\n1,y,bob,2\n2,x,cy,2\n"), team="team")


@pytest.mark.parametrize("sign", ["+", "&", " / "])
def test_a_sign_between_the_players_of_a_side(make: Any, sign: str) -> None:
    rows = ["winner;loser;tie", f"ann{sign}bob;cy{sign}dan;0", f"bob {sign} eve;ann;1"]
    assert matches(cc.read(make("\n".join(rows)), team_separator=sign)) == BOTH


def test_the_sign_is_understood_in_places_and_rankings(make: Any) -> None:
    expected = [[(0, ["ann", "bob"]), (1, ["cy"]), (2, ["dan", "eve"])]]
    assert matches(cc.read(make("first,second,third\nann+bob,cy,dan+eve\n"), team_separator="+")) == expected
    assert matches(cc.read(make("ranking\nann + bob > cy > dan + eve\n"), team_separator="+")) == expected
    long = "race,item,rank\n1,ann+bob,1\n1,dan+eve,3\n1,cy,2\n"
    assert matches(cc.read(make(long), team_separator="+")) == expected


def test_what_the_sign_cannot_mean_is_said(make: Any) -> None:
    with pytest.raises(InputError, match="No name contains team_separator='&'"):
        cc.read(make("winner,loser\na+b,c+d\n"), team_separator="&")
    with pytest.raises(FormatError, match=r"line 2: a player has no name: 'a\+' against 'c\+d'"):
        cc.read(make("winner,loser\na+,c+d\n"), team_separator="+")
    kept = cc.read(make("winner,loser\na+,c+d\na+b,c+d\n"), team_separator="+", skip_bad_rows=True)
    assert matches(kept) == [[(0, ["a", "b"]), (1, ["c", "d"])]]


def test_several_columns_of_a_side_are_its_players(make: Any) -> None:
    text = "w1,w2,l1,l2,tie\nann,bob,cy,dan,0\nbob,eve,,ann,1\n"
    for sides in ({"winner": "w1,w2", "loser": "l1,l2"}, {"winner": ["w1", "w2"], "loser": ["l1", "l2"]}):
        prefs = cc.read(make(text), **sides)
        assert matches(prefs) == BOTH
        assert "winner = w1 + w2, loser = l1 + l2" in prefs.notes[0]
    with pytest.raises(FormatError, match="line 3: the loser is missing"):
        cc.read(make("w1,w2,l1,l2\na,b,c,d\na,b,,\n"), winner="w1,w2", loser="l1,l2")
    with pytest.raises(UnknownNameError, match="no column 'w3' for the role winner"):
        cc.read(make(text), winner="w1,w3", loser="l1,l2")


def test_the_winner_of_two_sides_stands_first(make: Any) -> None:
    text = "a1,a2,b1,b2,result\ncy,dan,ann,bob,0-1\nbob,eve,ann,,1-1\n"
    assert matches(cc.read(make(text), left="a1,a2", right="b1,b2", outcome="result")) == BOTH


def test_matches_are_sorted_by_their_time(make: Any) -> None:
    rows = [line.split(",") for line in DOUBLES.splitlines()]
    days = ["day", *["2024-02-02"] * 4, *["2024-01-01"] * 3]
    dated = "\n".join(",".join([*row, day]) for row, day in zip(rows, days, strict=True))
    prefs = cc.read(make(dated), team="team", time="day")
    assert matches(prefs) == BOTH[::-1]
    assert prefs.is_dated
    assert prefs.items.labels[0] == "bob"
    assert np.diff(prefs.time).tolist() == [32.0]
    with pytest.raises(FormatError, match="line 3: the time differs from that of the other rows of its ballot"):
        cc.read(make("match,team,player,rank,t\n1,x,ann,1,1\n1,y,bob,2,2\n"), team="team", time="t")


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_read_alike(library: Any) -> None:
    rows = [line.split(",") for line in DOUBLES.splitlines()]
    columns = {name: list(column) for name, column in zip(rows[0], zip(*rows[1:], strict=True), strict=True)}
    assert matches(cc.Preferences.from_frame(library(columns), team="team")) == BOTH
    sides = library({"w1": ["ann"], "w2": ["bob"], "l1": ["cy"], "l2": ["dan"]})
    assert matches(cc.Preferences.from_frame(sides, winner=["w1", "w2"], loser=["l1", "l2"])) == BOTH[:1]


def test_a_team_is_never_guessed_from_its_name_alone(make: Any) -> None:
    assert cc.read(make("judge,team,rank\nj,red,1\nj,blue,2\n")).team is None
    assert cc.read(make("player,team,rank\nann,red,1\nbob,red,2\n"), item="player").team is None


def test_a_role_of_another_layout_is_refused(make: Any) -> None:
    with pytest.raises(InputError, match="team= does not apply to pairs"):
        cc.read(make("winner,loser,team\na,b,x\n"), team="team", layout="pairs")


def test_equal_matches_are_joined_whatever_the_order_of_players(make: Any) -> None:
    text = "winner,loser\nann+bob,cy+dan\nbob+ann,dan+cy\nann+cy,bob+dan\n"
    merged = cc.read(make(text), team_separator="+", merge=True)
    assert merged.weight.tolist() == [2, 1]
    with pytest.raises(InputError, match="Only pairwise counts are kept, but team_separator= needs more"):
        cc.read(make(text), team_separator="+", reduce=True)


# ---- lists ----
def test_teams_in_lists() -> None:
    prefs = cc.Preferences.from_teams([[["ann", "bob"], ("cy", "dan")], [{"bob", "eve"}, "ann"]], rank=[None, [1, 1]])
    assert matches(prefs) == BOTH
    later = cc.Preferences.from_teams([[["a"], ["b"]], [["c"], ["d"]]], rank=[[2, 1], None], time=[2, 1], weight=[3, 4])
    assert matches(later) == [[(0, ["c"]), (1, ["d"])], [(0, ["b"]), (1, ["a"])]]
    assert later.weight.tolist() == [4, 3]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([["a", "b"], "cd"],), "Match 2 is 'cd', not a list of teams"),
        (([[["a"], []]],), "a team is a non-empty list of player names"),
        (([[["a"], [["b"], ["c"]]]],), "give ties with rank="),
        (([[["a"], ["b"]]], [[1]]), r"The ranks of match 1 are \[1\]: give a number for each of its 2 teams"),
        (([[["a"], ["b"]]], [["x", "y"]]), "The ranks of match 1"),
        (([[["a"], ["b"]]], [None, None]), "There are 2 ranks for 1 matches"),
        (([[["a", "b"], ["b"]]],), "contains 'b' twice"),
    ],
)
def test_lists_that_are_no_matches_are_refused(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        cc.Preferences.from_teams(given[0], rank=given[1] if len(given) > 1 else None)


# ---- covariates ----
def test_covariates_of_both_sides_follow_the_winner(make: Any) -> None:
    text = "left,right,outcome,length_a,length_b,lead\nx,y,left,1,2,5\nx,y,right,3,4,6\nx,y,tie,7,8,9\n"
    prefs = cc.read(make(text), covariate=["length_a,length_b", "lead"])
    assert prefs.covariates == ("length", "lead")
    assert prefs.items.take(prefs.item) == ["x", "y", "y", "x", "x", "y"]
    assert prefs.covariate is not None
    assert prefs.covariate.tolist() == [[1, 5], [2, 0], [4, 0], [3, 6], [7, 9], [8, 0]]


def test_covariates_follow_the_order_of_time_and_bad_rows(make: Any) -> None:
    text = "winner,loser,t,d\na,b,3,30\nc,a,1,10\nb,b,2,20\nb,c,0,0.5\n"
    prefs = cc.read(make(text), covariate="d", time="t", skip_bad_rows=True)
    assert prefs.covariate is not None
    assert prefs.covariate[0::2, 0].tolist() == [0.5, 10, 30]


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        (("length_a", "length_b"), "length"),
        (("winner_length", "loser_length"), "length"),
        (("homeRest", "awayRest"), "rest"),
        (("rest1", "rest2"), "rest"),
        (("x", "y"), "x"),
    ],
)
def test_a_covariate_is_called_what_its_columns_share(make: Any, columns: tuple[str, str], name: str) -> None:
    path = make(f"winner,loser,{','.join(columns)}\na,b,1,2\n")
    assert cc.read(path, covariate=",".join(columns)).covariates == (name,)


def test_covariates_of_the_item_in_a_row(make: Any) -> None:
    prefs = cc.read(make("judge,item,rank,price\nj,b,2,20\nj,a,1,10\nk,a,2,15\nk,b,1,5\n"), covariate="price")
    assert prefs.items.take(prefs.item) == ["a", "b", "b", "a"]
    assert prefs.covariate is not None
    assert prefs.covariate[:, 0].tolist() == [10, 20, 5, 15]
    with pytest.raises(InputError, match="covariate='size,price' does not apply to ranks: name one column"):
        cc.read(make("judge,item,rank,price,size\nj,b,2,20,3\n"), covariate="size,price")
    with pytest.raises(InputError, match="does not apply to places"):
        cc.read(make("first,second,price\na,b,1\n"), covariate="price")


def test_covariates_that_are_no_numbers_are_named_by_their_line(make: Any) -> None:
    text = "winner,loser,d\na,b,1\nb,c,long\nc,a,\n"
    with pytest.raises(FormatError, match="line 3: the covariate d is 'long', not a finite number"):
        cc.read(make(text), covariate="d")
    with pytest.raises(FormatError, match="line 2: the covariate d is missing"):
        cc.read(make("winner,loser,d\na,b,\nb,c,1\n"), covariate="d")
    prefs = cc.read(make(text), covariate="d", skip_bad_rows=True)
    assert (prefs.n_ballots, prefs.covariate.tolist() if prefs.covariate is not None else []) == (1, [[1], [0]])
    assert "left out 2 rows: the covariate d is not a number (first: line 3)" in prefs.notes


def test_covariates_that_cannot_be_meant_are_refused(make: Any) -> None:
    path = make("winner,loser,a,b,c\nx,y,1,2,3\n")
    with pytest.raises(InputError, match="names 3 columns"):
        cc.read(path, covariate="a,b,c")
    with pytest.raises(InputError, match="Two covariates are called 'a'"):
        cc.read(path, covariate=["a", "a"])
    with pytest.raises(UnknownNameError, match="no column 'z' for the role covariate"):
        cc.read(path, covariate="z")


def test_merging_keeps_covariates_apart(make: Any) -> None:
    path = make("winner,loser,d\na,b,1\na,b,1\na,b,2\n")
    assert cc.read(path, covariate="d", merge=True).weight.tolist() == [2, 1]
    with pytest.raises(InputError, match="covariate= needs more than counts"):
        cc.read(path, covariate="d", reduce=True)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, lambda c: pl.DataFrame(c).lazy()])
def test_frames_have_covariates(library: Any) -> None:
    frame = library({"winner": ["a", "b"], "loser": ["b", "c"], "wx": [1, 2], "lx": [3.5, 4.0]})
    prefs = cc.Preferences.from_frame(frame, covariate="wx,lx")
    assert prefs.covariate is not None
    assert prefs.covariate[:, 0].tolist() == [1, 3.5, 2, 4]


def test_what_a_side_is_said_of_goes_to_its_first_player(make: Any) -> None:
    prefs = cc.read(make("winner,loser,d\nann+bob,cy+dan,7\n"), team_separator="+", covariate="d")
    assert prefs.covariate is not None
    assert prefs.covariate[:, 0].tolist() == [7, 0, 0, 0]


# ---- there and back ----
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_teams_are_written_and_read_again(tmp_path: Any, make: Any, ending: str) -> None:
    prefs = cc.read(make(DOUBLES), team="team")
    path = tmp_path / f"copy.{ending}"
    assert cc.write(prefs, path) == []
    assert cc.read(path) == prefs
    assert cc.write(prefs, path, layout="rankings") == ["the teams are not written"]


def test_covariates_are_written_and_read_again(tmp_path: Any) -> None:
    pairs = cc.Preferences.from_pairs(["a", "b"], ["b", "c"], covariates={"length": ([1, 2.5], [3, 4])})
    assert cc.write(pairs, tmp_path / "pairs.csv") == []
    assert cc.read(tmp_path / "pairs.csv", covariate="winner_length,loser_length") == pairs
    ranks = cc.Preferences.from_ranks(["j", "j"], ["a", "b"], [1, 2]).replace(
        covariate=[[1.0], [2.0]], covariates=["p"]
    )
    cc.write(ranks, tmp_path / "ranks.csv")
    assert cc.read(tmp_path / "ranks.csv", covariate="p") == ranks
    with pytest.raises(InputError, match="A covariate has the same name as another column"):
        cc.write(ranks.replace(covariates=["rank"]), tmp_path / "ranks.csv")


# ---- the command line ----
def test_the_command_line_reads_teams_and_covariates(make: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from concordant.cli.__main__ import main

    path = str(make("w1,w2,l1,l2,length_w,length_l,d\nann,bob,cy,dan,1,2,3\n"))
    words = ["--winner", "w1,w2", "--loser", "l1,l2", "--covariate", "length_w,length_l", "--covariate", "d"]
    with pytest.raises(SystemExit) as stopped:
        main(["describe", path, *words])
    said = capsys.readouterr().out
    assert not stopped.value.code
    assert "teams             of 2" in said
    assert "length, d: used by models of comparisons" in said
