"""Logs of games: a row per team and game, or the winner's place in a column."""

from __future__ import annotations

import io

import pytest

import concordant as cc

NBA = """gameorder,game_id,_iscopy,date_game,team_id,fran_id,pts,elo_i,opp_id,opp_fran,opp_pts,game_location,game_result
1,g1,0,11/1/1946,TRH,Huskies,66,1300,NYK,Knicks,68,H,L
1,g1,1,11/1/1946,NYK,Knicks,68,1300,TRH,Huskies,66,A,W
2,g2,0,11/2/1946,CHS,Stags,63,1300,NYK,Knicks,47,A,W
2,g2,1,11/2/1946,NYK,Knicks,47,1306.7,CHS,Stags,63,H,L
3,g3,0,11/14/1946,CHS,Stags,50,1300,TRH,Huskies,50,N,W
"""


def games(prefs: cc.Preferences) -> list[tuple[str, str, float, float, int]]:
    """(winner, loser, points of both, which was at home: 1 the winner, -1 the loser, 0 neither)."""
    names, n = prefs.items.take(prefs.item), prefs.n_ballots
    assert prefs.points is not None
    home = [0] * n if prefs.shown is None else (prefs.shown[1::2] - prefs.shown[0::2]).tolist()
    points = prefs.points.reshape(-1, 2).tolist()
    return [(a, b, *p, h) for a, b, p, h in zip(names[0::2], names[1::2], points, home, strict=True)]


def test_nbaallelo_drops_copies_and_puts_the_home_team_first() -> None:
    prefs = cc.read(io.StringIO(NBA), time="date_game")
    assert games(prefs) == [
        ("Knicks", "Huskies", 68, 66, -1),
        ("Stags", "Knicks", 63, 47, -1),
        ("Stags", "Huskies", 50, 50, 0),
    ]
    assert prefs.is_dated
    assert any("left out 2 rows: the same game from the other side" in note for note in prefs.notes)


def test_copies_are_found_without_a_flag() -> None:
    text = (
        "Date,Team,Venue,Result,GF,GA,Opponent\n2023-08-11,Burnley,Home,L,0,3,City\n2023-08-11,City,Away,W,3,0,Burnley\n"
        "2023-08-12,Arsenal,Neutral,D,1,1,Burnley\n2023-09-12,Burnley,Away,L,0,3,City\n2023-10-01,City,Home,,,,Arsenal\n"
    )
    prefs = cc.read(io.StringIO(text))
    assert games(prefs) == [
        ("City", "Burnley", 3, 0, -1),
        ("Arsenal", "Burnley", 1, 1, 0),
        ("City", "Burnley", 3, 0, 1),
    ]
    assert prefs.tier[2:4].tolist() == [0, 0]
    notes = " | ".join(prefs.notes)
    assert "left out 1 row: the same game" in notes
    assert "left out 1 row: the game has no score" in notes


def test_results_without_points() -> None:
    text = "team,opponent,result\na,b,W\nb,c,D\nc,a,L\na,c,\n"
    prefs = cc.read(io.StringIO(text))
    assert prefs.items.take(prefs.item) == ["a", "b", "b", "c", "a", "c"]
    assert prefs.tier.tolist() == [0, 1, 0, 0, 0, 1]
    assert prefs.shown is None
    assert any("left out 1 row: the game has no result" in note for note in prefs.notes)


def test_the_place_of_the_winner() -> None:
    text = "Season,DayNum,WTeamID,WScore,LTeamID,LScore,WLoc,NumOT\n1985,20,1228,81,1328,64,N,0\n"
    text += "1985,25,1106,77,1354,70,H,0\n1985,25,1112,63,1223,56,A,0\n"
    prefs = cc.read(io.StringIO(text))
    assert games(prefs) == [("1228", "1328", 81, 64, 0), ("1106", "1354", 77, 70, 1), ("1112", "1223", 63, 56, -1)]


def test_an_unnamed_column_of_places_and_ties() -> None:
    text = "Date,Winner/tie,,Loser/tie,PtsW,PtsL\n2023-09-07,Lions,@,Chiefs,21,20\n2023-09-10,Browns,,Lions,24,24\n"
    prefs = cc.read(io.StringIO(text))
    assert games(prefs) == [("Lions", "Chiefs", 21, 20, -1), ("Browns", "Lions", 24, 24, 1)]
    assert prefs.tier.tolist() == [0, 1, 0, 0]


def test_repeated_names_of_points_follow_their_sides() -> None:
    text = (
        "Date,Visitor/Neutral,PTS,Home/Neutral,PTS\n2023-10-24,Lakers,107,Nuggets,119\n2023-10-24,Suns,108,Kings,104\n"
    )
    assert games(cc.read(io.StringIO(text))) == [("Nuggets", "Lakers", 119, 107, 1), ("Suns", "Kings", 108, 104, -1)]


def test_a_table_that_is_no_log_is_read_as_before() -> None:
    with pytest.raises(cc.InputError):
        cc.read(io.StringIO("team,opponent,colour\na,b,red\nb,c,blue\n"))
    prefs = cc.read(io.StringIO("team,opponent,won\na,b,a\nb,c,c\n"), left="team", right="opponent", outcome="won")
    assert prefs.items.take(prefs.item) == ["a", "b", "c", "b"]
