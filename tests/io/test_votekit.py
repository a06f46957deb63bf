"""Profiles that VoteKit writes."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
from tests.conftest import MakeFile

import concordant as cc
from concordant.errors import InputError

RANKED = """VoteKit RankProfile
Candidates
(Ann Lee:Ann),(Bob Roe:Bob),(Cy:Cy)
Max Ranking Length
2
Includes Voter Set
False
=,=,=,=,=,=,=,=,=,=
Ranking_1,Ranking_2,&,Weight,&
"{'Ann', 'Bob'}",{'Cy'},&,3.0,&
{'Bob'},,&,1.5,&
{},{'Ann'},&,1.0,&
,,&,1.0,&
"""
SCORED = """VoteKit ScoreProfile
Candidates
(Ann:str:A),(Bob:str:B)
Includes Voter Set
True
=,=,=,=,=,=,=,=,=,=
A,B,&,Weight,&,Voter Set
3.0,1.0,&,2.0,&,{v}
,2.0,&,1.0,&,{w}
"""


def test_ranked_ballots_with_ties_weights_and_codes(make: MakeFile) -> None:
    prefs = cc.read(make(RANKED))
    assert prefs.describe().first == (
        ("ballot 1", "Ann Lee = Bob Roe > Cy (×3)"),
        ("ballot 2", "Bob Roe (×1.5)"),
        ("ballot 3", "Ann Lee"),
    )
    assert prefs.notes == (
        "votes.csv: 3 ballots of 3 candidates (VoteKit)",
        "left out 1 row: an empty ballot (first: line 13)",
    )


def test_candidates_that_no_ballot_names_stand_for_election(make: MakeFile) -> None:
    prefs = cc.read(make(RANKED.replace("(Cy:Cy)", "(Cy:Cy),(Dee:Dee)")))
    assert prefs.n_slots == 4


def test_scores_are_ratings(make: MakeFile) -> None:
    prefs = cc.read(make(SCORED))
    assert prefs.scale == "rating"
    assert prefs.describe().first == (("ballot 1", "Ann > Bob (×2)"), ("ballot 2", "Bob"))
    assert "not read: Voter Set" in prefs.notes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{'Bob'},,&,1.5", "{'Zed'},,&,1.5", "line 11: 'Zed' is not the code of a candidate"),
        ("{'Bob'},,&,1.5", "{'Bob'},{'Bob'},&,1.5", "line 11: a candidate occurs twice"),
        ("{'Bob'},,&,1.5", "{'Bob'},,&,many", "line 11: the weight is not"),
        ("=,=,=,=,=,=,=,=,=,=\n", "", "does not end with a line"),
        ("Weight", "Mass", "does not name a column Weight"),
        ("(Cy:Cy)", "Cy", "is not written as"),
        ("Candidates\n", "People\n", "lists no candidates"),
    ],
)
def test_damaged_profiles_are_rejected_with_the_line(make: MakeFile, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cc.read(make(RANKED.replace(old, new)))


def test_bad_ballots_can_be_left_out(make: MakeFile) -> None:
    prefs = cc.read(make(RANKED.replace("{'Bob'},,&,1.5", "{'Zed'},,&,1.5")), skip_bad_rows=True)
    assert prefs.n_ballots == 2


def test_columns_cannot_be_named(make: MakeFile) -> None:
    with pytest.raises(InputError, match="does not apply to VoteKit profiles"):
        cc.read(make(RANKED), agent="Weight")


def test_the_published_profile_of_albany(data_folder: Path) -> None:
    path = data_folder / "votekit" / "albany_profile.csv"
    if not path.exists():
        pytest.skip("albany_profile.csv is not among the public data sets")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    label = dict(cell.strip("()").split(":")[::-1] for cell in rows[2])
    first = Counter(label[row[0].strip("{}'")] for row in rows[9:])
    prefs = cc.read(path)
    ranking = cc.rank(prefs, "plurality")
    assert prefs.n_ballots == len(rows) - 9 == 7159
    assert dict(zip(ranking.items, ranking.scores.tolist(), strict=True)) == dict(first)
