"""The words of a field: what examples and common formats call their items, agents, ballots and instances."""

from __future__ import annotations

import io

import pytest
from tests.conftest import ROOT

import concordant as cc
from concordant.narrative.fields import ELECTION, OTHER, field_of_preferences, plural

pytestmark = pytest.mark.once

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize(
    ("file", "field", "item", "agent", "ballot"),
    [
        ("approvals.csv", "election", "items", "voters", "voters"),
        ("arena-languages.csv", "leaderboard", "items", "judges", "votes"),
        ("arena-style.csv", "leaderboard", "models", "judges", "votes"),
        ("committee.ods", "election", "items", "members", "members"),
        ("committee.xlsx", "election", "items", "members", "members"),
        ("council.csv", "election", "candidates", "voters", "voters"),
        ("election.csv", "election", "candidates", "voters", "voters"),
        ("election.soc", "election", "candidates", "voters", "voters"),
        ("league.csv", "league", "competitors", "agents", "matches"),
        ("lunch-form.csv", "other", "options", "respondents", "respondents"),
        ("model-votes.csv", "leaderboard", "models", "judges", "votes"),
        ("ratings.csv", "ratings", "items", "users", "users"),
    ],
)
def test_examples_speak_in_the_words_of_their_field(file: str, field: str, item: str, agent: str, ballot: str) -> None:
    found = field_of_preferences(cc.read(EXAMPLES / file))
    assert (found.name, found.item[1], found.agent[1], found.ballot[1]) == (field, item, agent, ballot)


def test_runs_of_search_engines_have_queries_and_documents() -> None:
    found = field_of_preferences(cc.read(sorted((EXAMPLES / "runs").iterdir())))
    assert (found.name, found.item[1], found.agent[1], found.instance) == (
        "search", "documents", "runs", ("query", "queries"),
    )  # fmt: skip


def test_teams_have_players_and_matches() -> None:
    found = field_of_preferences(cc.read(EXAMPLES / "doubles.csv", team="team", time="date"))
    assert (found.name, found.item[1], found.ballot[1]) == ("league", "players", "matches")


def test_the_column_of_groups_gives_their_word() -> None:
    found = field_of_preferences(cc.read(EXAMPLES / "arena-languages.csv", instance="language"))
    assert found.instance == ("language", "languages")


@pytest.mark.parametrize(
    ("text", "field", "item", "ballot"),
    [
        ("home_team,away_team,home_goals,away_goals\nA,B,2,1\nB,A,0,0\n", "league", "teams", "matches"),
        ("white,black,result\nA,B,1-0\nB,A,1/2-1/2\n", "league", "players", "games"),
        ("player_1,player_2,winner\nA,B,player_1\nB,A,player_1\n", "league", "players", "matches"),
        ("user_id,movie,rating\nu,x,3\nu,y,4\nv,x,1\n", "ratings", "movies", "users"),
    ],
)
def test_columns_name_what_they_hold(text: str, field: str, item: str, ballot: str) -> None:
    found = field_of_preferences(cc.read(io.StringIO(text)))
    assert (found.name, found.item[1], found.ballot[1]) == (field, item, ballot)


def test_preferences_of_unknown_origin_have_neutral_words() -> None:
    assert field_of_preferences(cc.Preferences.from_rankings([["a", "b"], ["b", "a"]])) == OTHER


def test_election_formats_have_candidates() -> None:
    assert field_of_preferences(cc.read(io.StringIO("27:Ann>Bob\n3:Bob>Ann\n"), format="abif")) == ELECTION


def test_ballots_by_precinct_are_an_election() -> None:
    rows = "ballot_id,precinct,rank1,rank2\n1,North,Ann,Bob\n2,South,Bob,Ann\n3,South,Bob,Ann\n"
    assert field_of_preferences(cc.read(io.StringIO(rows))) == ELECTION


def test_words_survive_what_is_done_with_preferences() -> None:
    prefs = cc.read(EXAMPLES / "model-votes.csv")
    for same in (prefs.merge(), prefs.noted("more"), cc.read(EXAMPLES / "model-votes.csv", reduce=True)):
        assert field_of_preferences(same).item == ("model", "models")


def test_classes_are_given_by_annotators() -> None:
    prefs = cc.read(io.StringIO("worker,task,answer\na,1,cat\na,2,dog\nb,1,cat\nb,2,cat\n"), layout="answers")
    assert field_of_preferences(prefs).name == "crowd"


def test_the_source_is_not_written_to_files() -> None:
    prefs = cc.read(EXAMPLES / "council.csv")
    for kind in ("preflib", "csv"):
        out = io.StringIO()
        assert "read as" not in " ".join(cc.write(prefs, out, format=kind))
        assert "read as" not in out.getvalue()


def test_plurals() -> None:
    assert [plural(noun) for noun in ("query", "match", "play", "club")] == ["queries", "matches", "plays", "clubs"]
