"""Races: one row per competitor, with places that may be words."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest

import concordant as cc


def orders(prefs: cc.Preferences) -> list[str]:
    """The ballots as text."""
    text = []
    for start, stop in zip(prefs.indptr[:-1], prefs.indptr[1:], strict=True):
        names, tiers = prefs.items.take(prefs.item[start:stop]), prefs.tier[start:stop].tolist()
        signs = ["", *(" = " if a == b else " > " for a, b in pairwise(tiers))]
        text.append("".join(sign + name for sign, name in zip(signs, names, strict=True)))
    return text


@pytest.mark.parametrize(
    "heading",
    ["race,driver,place", "race_id,horse,finish", "heat,swimmer,pos", "event,athlete,position", "raceId,riderId,rank",
     "Grand Prix,Driver,Finishing Position", "race,player,place", "tournament,name,pos"],
)  # fmt: skip
def test_races_are_ballots(heading: str) -> None:
    prefs = cc.read(io.StringIO(f"{heading}\n1,a,1\n1,b,2\n1,c,3\n2,b,1\n2,a,2\n"))
    assert orders(prefs) == ["a > b > c", "b > a"]


def test_facts_about_competitors_are_not_read_as_weights_or_ratings() -> None:
    prefs = cc.read(io.StringIO("race,horse,jockey,weight,rating,place\n1,a,x,60,90,2\n1,b,y,55,80,1\n"))
    assert orders(prefs) == ["b > a"]
    assert prefs.weight.tolist() == [1.0]


def test_unclassified_competitors_tie_for_the_last_place() -> None:
    text = "race,driver,place\n1,a,1st\n1,b,2nd\n1,c,DNF\n1,d,Ret\n1,e,DNS\n2,b,1\n2,a,DSQ\n2,c,NC\n"
    prefs = cc.read(io.StringIO(text))
    assert orders(prefs) == ["a > b > c = d", "b > c"]
    notes = " | ".join(prefs.notes)
    assert "left out 2 rows: did not start, or was disqualified (DNS, DSQ) (first: line 6)" in notes
    assert "3 rows: not classified, so tied for the last place of the race (DNF, RET, NC) (first: line 4)" in notes


def test_shared_places_of_golf() -> None:
    text = "tournament,player,pos,score\nOpen,a,1,-9\nOpen,b,T2,-8\nOpen,c,T2,-8\nOpen,d,CUT,5\nOpen,e,WD,\n"
    assert orders(cc.read(io.StringIO(text))) == ["a > b = c > d"]


def test_a_fall_over_jumps_is_no_failure_to_qualify() -> None:
    text = "race,horse,place\n1,a,1\n1,b,F\n1,c,PU\n"
    assert orders(cc.read(io.StringIO(text))) == ["a > b = c"]
    assert orders(cc.read(io.StringIO(text.replace("PU", "R")))) == ["a > c"]


ERGAST = """resultId,raceId,driverId,constructorId,number,grid,position,positionText,positionOrder,points,rank,statusId
1,18,1,1,22,1,1,1,1,10,2,1
2,18,2,2,3,5,2,2,2,8,3,1
3,18,3,3,7,7,\\N,R,3,6,1,5
4,18,4,4,5,11,\\N,D,4,5,7,2
5,19,1,1,22,9,2,2,2,4,9,1
6,19,2,2,3,5,1,1,1,3,4,1
7,19,3,3,7,2,\\N,N,3,2,13,11
8,19,4,4,5,4,\\N,R,4,2,13,11
"""


def test_the_results_of_ergast() -> None:
    prefs = cc.read(io.StringIO(ERGAST))
    assert orders(prefs) == ["1 > 2 > 3", "2 > 1 > 3 = 4"]
    assert "item = driverId, rank = positionText, ballot = raceId" in prefs.notes[0]


def test_the_position_alone_ties_all_without_one() -> None:
    lines = [line.split(",") for line in ERGAST.splitlines()]
    text = "\n".join(",".join([*line[:7], line[8], *line[9:]]) for line in lines) + "\n"
    prefs = cc.read(io.StringIO(text))
    assert orders(prefs) == ["1 > 2 > 3 = 4", "2 > 1 > 3 = 4"]
    assert "rank = position," in prefs.notes[0]


def test_the_user_may_choose_other_columns() -> None:
    prefs = cc.read(io.StringIO(ERGAST), item="constructorId", rank="positionOrder", ballot="raceId")
    assert orders(prefs) == ["1 > 2 > 3 > 4", "2 > 1 > 3 > 4"]


def test_other_words_are_errors() -> None:
    with pytest.raises(cc.InputError, match="line 3: the rank is 'blue', not"):
        cc.read(io.StringIO("race,driver,place\n1,a,1\n1,b,blue\n"))
    with pytest.raises(cc.InputError, match="not a"):  # a word for races, but there is no race
        cc.read(io.StringIO("item,rank\na,1\nb,DNF\n"))
