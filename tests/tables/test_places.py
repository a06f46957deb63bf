"""Ballots in columns of places: how the columns are called, and words that name no candidate."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import concordant as cc
from concordant.errors import InputError
from concordant.tables.places import contest_columns, names_no_candidate, place_columns

BODY = "A,B,C\nB,skipped,A\nC,overvote,UWI\n undervote ,Skipped,(blank)\nNone of the above,Write-in: Zed,A\n"
READ = ["A > B > C", "B > A", "C", "None of the above > Write-in: Zed > A"]


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Read a text as a csv file."""

    def call(text: str, **options: Any) -> cc.Preferences:
        path = tmp_path / "votes.csv"
        path.write_text(text, encoding="utf-8")
        return cc.read(path, **options)

    return call


def ballots(prefs: cc.Preferences) -> list[str]:
    """Return the ballots as text."""
    labels = [prefs.items[code] for code in prefs.item.tolist()]
    return [" > ".join(labels[a:b]) for a, b in zip(prefs.indptr[:-1], prefs.indptr[1:], strict=True)]


@pytest.mark.parametrize(
    "heading",
    [
        "rank1,rank2,rank3",
        "rank1,Rank2,rank3",
        "Rank_1,Rank_2,Rank_3",
        "1st choice,2nd choice,3rd choice",
        "1ST CHOICE,2ND CHOICE,3RD CHOICE",
        "Choice 1,Choice 2,Choice 3",
        "Ranking_1,Ranking_2,Ranking_3",
        "First Preference,Second Preference,Third Preference",
        "Preference 1,Preference 2,Preference 3",
        "[1],[2],[3]",
        "1st,2nd,3rd",
        "first,second,third",
        "1ST CHOICE MAYOR,2ND CHOICE MAYOR,3RD CHOICE MAYOR",
        "Mayor Choice 1 (45),Mayor Choice 2 (45),Mayor Choice 3 (45)",
        "mayor_rank_1,mayor_rank_2,mayor_rank_3",
        "What is your first choice?,What is your second choice?,What is your third choice?",
    ],
)
def test_places_are_recognised_by_many_names_and_words_are_never_candidates(read: Any, heading: str) -> None:
    prefs = read(f"{heading}\n{BODY}")
    assert ballots(prefs) == READ
    assert prefs.notes[1] == (
        "cells without a candidate, read as empty places: 2 skipped, 1 undervote, 1 overvote, 1 UWI, 1 (blank)"
    )
    assert prefs.notes[2].startswith("1 row: an empty ballot, left out (first: line 5)")
    assert prefs.notes[3].startswith("1 row: an empty place before a filled one (first: line 3)")


@pytest.mark.parametrize(
    "word",
    [
        *("undervote", "Undervote", "skipped", "SKIPPED", "blank", "overvote", "over-vote", "write-in", "Write_In"),
        *("writein", "UWI", "undeclared write-ins", "Undeclared Write-in", "[skipped]", "", "-", "NA", "n/a"),
    ],
)
def test_words_for_places_without_a_candidate(word: str) -> None:
    assert names_no_candidate(word)


@pytest.mark.parametrize(
    "name",
    ["None of the above", "Re-open nominations", "Further discussion", "Write-in: Ann", "Blank, Ann", "Skip James"],
)
def test_candidates_whose_names_only_resemble_such_words(name: str) -> None:
    assert not names_no_candidate(name)


def test_a_candidate_named_twice_has_its_best_place(read: Any) -> None:
    prefs = read("rank1,rank2,rank3\nA,A,B\nB,A,B\nC,C,C\n")
    assert ballots(prefs) == ["A > B", "B > A", "C"]
    assert "3 rows: an item occurs twice in the ballot and is counted once, in its best place" in prefs.notes[1]


def test_strict_rejects_repeated_candidates(read: Any) -> None:
    with pytest.raises(InputError, match=r"line 2: an item occurs twice .* which strict=True rejects"):
        read("rank1,rank2\nA,A\n", strict=True)


def test_weights_count_equal_ballots(read: Any) -> None:
    prefs = read("Precinct,1ST CHOICE,2ND CHOICE,Count\np1,A,B,10\np2,B,undervote,3\n")
    assert prefs.weight.tolist() == [10, 3]
    assert ballots(prefs) == ["A > B", "B"]


def test_words_count_as_labels_in_other_layouts(read: Any) -> None:
    prefs = read("winner,loser\nskipped,blank\n")
    assert list(prefs.items) == ["skipped", "blank"]


def test_of_several_contests_one_is_chosen(read: Any) -> None:
    text = "voter,Mayor choice 1,Mayor choice 2,Council choice 1,Council choice 2\nv,A,B,X,Y\nw,B,A,Y,X\n"
    with pytest.raises(InputError, match=r"several contests \(mayor, council\): choose one with question=CONTEST"):
        read(text)
    assert ballots(read(text, question="council")) == ["X > Y", "Y > X"]
    assert ballots(read(text, places=["Mayor choice 2", "Mayor choice 1"])) == ["B > A", "A > B"]


def test_places_can_be_named_on_the_command_line(run: Any, make: Any) -> None:
    path = make("voter,fav,next\nv,A,B\nw,B,C\nx,A,C\n")
    code, out, said = run("rank", path, "--places", "fav,next", "--method", "plurality")
    assert code == 0
    assert "2 places = fav … next" in said
    assert out.splitlines()[2].split() == ["1", "A", "2"]


def test_other_columns_with_numbers_are_not_places() -> None:
    assert place_columns(["item1", "item2", "score1", "q1"]) == ()
    assert place_columns(["rank2", "rank3"]) == ()
    assert contest_columns(["player 1", "player 2", "Vote [Choice 1]", "Vote [Choice 2]", "team 1 rank"]) == {}


# ---- published cast vote records ----
NO_CANDIDATES = {"undervote", "overvote", "UWI", "skipped", "Uncertified Write In"}


@pytest.mark.parametrize(
    ("name", "n_ballots", "n_candidates"),
    [("mn_2013_cast_vote_record.csv", 79378, 35), ("Portland_D1_Condensed.csv", 42678, 16)],
)
def test_first_choices_of_published_records(data_folder: Path, name: str, n_ballots: int, n_candidates: int) -> None:
    path = data_folder / "votekit" / name
    if not path.exists():
        pytest.skip(f"{path.name} is not among the public data sets")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    places = [column for column in rows[0] if column.lower().startswith("rank")]
    named = [[row[place] for place in places if row[place] not in NO_CANDIDATES] for row in rows]
    first = Counter(ballot[0] for ballot in named if ballot)
    prefs = cc.read(path)
    assert (prefs.n_ballots, prefs.n_items) == (n_ballots, n_candidates)
    ranking = cc.rank(prefs, "plurality")
    assert dict(zip(ranking.items, ranking.scores.tolist(), strict=True)) == {
        item: first[item] for item in prefs.items.labels
    }
    counted = Counter(cell for row in rows for place in places if (cell := row[place]) in NO_CANDIDATES)
    assert all(f"{count:,} {word}" in prefs.notes[1] for word, count in counted.items())
