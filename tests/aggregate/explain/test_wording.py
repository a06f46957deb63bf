"""Explanations of the rules: sentences whose numbers are right, for every kind of ballot."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import laws, registry

TOLD = [
    "instant-runoff", "stv", "meek", "coombs", "baldwin", "nanson", "bucklin", "star", "black", "veto", "pav",
    "sequential-pav", "phragmen", "plurality", "approval", "score",
]  # fmt: skip
TENNESSEE = cc.Preferences.from_rankings(
    [list("MNCK"), list("NCKM"), list("CKNM"), list("KCNM")], weight=[42, 26, 15, 17]
)


@pytest.mark.parametrize("name", TOLD)
def test_every_instance_of_any_ballots_is_explained(name):
    method, rng = registry.make(name), np.random.default_rng(3)
    for _ in range(25):
        ranking = method.rank(laws.random_preferences(rng, method.needs))
        for part in ranking:
            if len(part.score):
                explanation = part.explain()
                assert explanation.reasons
                assert "nan" not in explanation.to_text()
                assert explanation.to_dict()["reasons"][0]["title"]
                if explanation.draw is not None:
                    assert explanation.draw().startswith("<svg")


def test_a_runoff_says_who_goes_out_and_where_the_ballots_go():
    told = cc.rank(TENNESSEE, "instant-runoff").explain()
    assert told.reasons[0].title == "K wins under instant runoff"
    assert list(told.reasons[0].sentences) == [
        "K wins with 58 of the 100 ballots that still count in round 3.",
        "Round 1: 100 first preferences are counted. C has the fewest votes and is excluded.",
        "Round 2: The votes of C are transferred: 15 to K. N has the fewest votes and is excluded.",
        "Round 3: The votes of N are transferred: 26 to K. K is elected. M has the fewest votes and is excluded.",
    ]
    assert told.reasons[1].rows[0] == ["K", "17", "32", "58"]
    assert told.reasons[1].rows[3] == ["C", "15", "", ""]


def test_ballots_that_share_their_vote_are_followed():
    prefs = cc.Preferences.from_rankings([["a"], [["b", "c"], "a"], ["b"]], weight=[5, 2, 3])
    first, second = cc.rank(prefs, "irv").model.stages
    assert first.votes == {"a": 5.0, "b": 4.0, "c": 1.0}
    assert second.flows == {("c", "b"): 1.0}
    assert second.votes == {"a": 5.0, "b": 5.0, "c": 0.0}


def test_long_counts_are_told_in_several_tables():
    names = [f"c{k:02}" for k in range(12)]
    prefs = cc.Preferences.from_rankings([[name] for name in names], weight=range(30, 18, -1))
    tables = cc.rank(prefs, "irv").explain().reasons[1:]
    assert [len(table.header) for table in tables] == [9, 4]
    assert tables[1].title == "Votes at every round, rounds 9 to 11"


def test_votes_are_told_with_the_lead():
    told = cc.rank(TENNESSEE, "plurality").explain()
    assert told.reasons[0].sentences[0] == "M is first on 42 of 100 ballots (42.0%), 16 more than N."


def test_eliminations_say_what_decided():
    assert (
        "Round 1: M is eliminated with 58 last places." in cc.rank(TENNESSEE, "coombs").explain().reasons[0].sentences
    )
    assert (
        "Round 1: K is eliminated with -86 net points." in cc.rank(TENNESSEE, "baldwin").explain().reasons[0].sentences
    )
    assert "Round 1: M and K are eliminated with net points below the mean of 0." in (
        cc.rank(TENNESSEE, "nanson").explain().reasons[0].sentences
    )
