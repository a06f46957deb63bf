"""Committees from approvals against all committees there are, and against plain loops."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import concordant as cc
from concordant.aggregate.voting import _best_committees as best_committees

RULES = ["pav", "sequential-pav", "phragmen"]
LISTS = cc.Preferences.from_rankings([[list("abc")], [list("de")], [["f"]]], weight=[6, 3, 1])


@st.composite
def elections(draw):
    names = "abcdef"[: draw(st.integers(2, 6))]
    ballots = [
        (draw(st.integers(1, 5)), draw(st.lists(st.sampled_from(names), min_size=1, unique=True)))
        for _ in range(draw(st.integers(1, 7)))
    ]
    return names, ballots, draw(st.integers(1, 4))


def preferences(names, ballots):
    return cc.Preferences.from_rankings([[b] for _, b in ballots], weight=[w for w, _ in ballots], candidates=names)


def worth(committee, ballots):
    return sum(
        weight * sum(Fraction(1, k) for k in range(1, len(set(ballot) & set(committee)) + 1))
        for weight, ballot in ballots
    )


def elected(ranking):
    return {item for item, one in zip(ranking.items, ranking.detail("elected"), strict=True) if one}


def approvals_and_order(names, ballots, method):
    """Return how many approve of whom, and who of those is elected after whom."""
    approved = {name: sum(w for w, b in ballots if name in b) for name in names}
    return approved, [name for name in cc.rank(preferences(names, ballots), method).items if approved[name]]


@settings(max_examples=100)
@given(elections())
def test_pav_finds_the_best_of_all_committees(drawn):
    check_best_committee(*drawn)


@settings(max_examples=40)
@given(elections())
def test_pav_finds_the_best_committee_by_integer_programming(drawn):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_committees, "MAX_ENUMERATED", 0)
        patch.setattr(best_committees, "MAX_CELLS", 0)
        check_best_committee(*drawn)


def check_best_committee(names, ballots, seats):
    ranking = cc.rank(preferences(names, ballots), "pav", seats=seats)
    committees = [set(one) for one in combinations(names, min(seats, len(names)))]
    best = max(worth(one, ballots) for one in committees)
    optimal = [one for one in committees if worth(one, ballots) == best]
    assert elected(ranking) in optimal
    tied = set().union(*optimal) - set.intersection(*optimal)
    assert {item for notice in ranking.warnings for item in notice.items} == tied
    if len(names) > seats:
        assert ranking.fit["total"] == pytest.approx(float(best))
        assert set(ranking.items[:seats]) == elected(ranking)


@settings(max_examples=100)
@given(elections())
def test_sequential_pav_adds_whom_unserved_ballots_want(drawn):
    names, ballots, _ = drawn
    approved, elected_in_turn = approvals_and_order(names, ballots, "sequential-pav")
    chosen: list[str] = []
    for name in elected_in_turn:
        gain = {
            other: sum(Fraction(w, 1 + len(set(b) & set(chosen))) for w, b in ballots if other in b)
            for other in names
            if other not in chosen
        }
        assert (gain[name], approved[name]) == max((gain[other], approved[other]) for other in gain)
        chosen.append(name)


@settings(max_examples=100)
@given(elections())
def test_phragmen_keeps_loads_even(drawn):
    names, ballots, _ = drawn
    approved, elected_in_turn = approvals_and_order(names, ballots, "phragmen")
    load = [Fraction(0)] * len(ballots)
    chosen: list[str] = []
    for name in elected_in_turn:
        heavy = {
            other: (1 + sum(w * x for (w, b), x in zip(ballots, load, strict=True) if other in b)) / approved[other]
            for other in names
            if other not in chosen and approved[other]
        }
        assert heavy[name] == min(heavy.values())
        load = [heavy[name] if name in b else x for (_, b), x in zip(ballots, load, strict=True)]
        chosen.append(name)


@pytest.mark.parametrize("name", RULES)
def test_lists_get_their_share_and_ties_are_named(name):
    ranking = cc.rank(LISTS, name, seats=3)
    assert elected(ranking) == {"a", "b", "d"}
    assert set(ranking.warnings[0].items) == set("abcde")
    told = str(ranking.explain())
    assert "a, b and d are elected" in told
    assert "1 approve of 0, 3 approve of 1, 6 approve of 2" in " ".join(told.split())


@pytest.mark.parametrize("name", RULES)
def test_the_committee_alone_is_two_tiers(name):
    ranking = cc.rank(LISTS, name, seats=3, result="committee")
    assert [sorted(tier) for tier in ranking.tiers] == [["a", "b", "d"], ["c", "e", "f"]]


@pytest.mark.parametrize("name", RULES)
def test_more_seats_than_candidates_elect_everybody(name):
    assert elected(cc.rank(LISTS, name, seats=10)) == set("abcdef")


@pytest.mark.parametrize("name", RULES)
def test_candidates_nobody_approves_of_come_last(name):
    prefs = cc.Preferences.from_rankings([[["b", "a"]], [["b"]]], candidates="zab")
    assert cc.rank(prefs, name).items == ["b", "a", "z"]


def test_ratings_are_approved_from_the_cutoff_on():
    prefs = cc.Preferences.from_ratings(["u", "u", "v", "v"], ["a", "b", "a", "b"], [5, 3, 2, 4])
    assert cc.rank(prefs, "pav", cutoff=3).items[0] == "b"
    assert elected(cc.rank(prefs, "pav", cutoff=5)) == {"a"}


def test_party_lists_share_ten_seats_six_to_four():
    lists = [[f"red {k}" for k in range(10)]], [[f"blue {k}" for k in range(10)]]
    prefs = cc.Preferences.from_rankings(lists, weight=[60, 40])
    for name in RULES:
        seats = [item.split()[0] for item in elected(cc.rank(prefs, name, seats=10))]
        assert (seats.count("red"), seats.count("blue")) == (6, 4), name


@pytest.mark.parametrize("is_enumerated", [True, False])
def test_a_committee_that_is_not_proven_is_said_to_be_so(is_enumerated, monkeypatch):
    if not is_enumerated:
        monkeypatch.setattr(best_committees, "MAX_ENUMERATED", 0)
    ranking = cc.rank(LISTS, "pav", seats=3, time_limit=0)
    assert ranking.warnings[0].name == "not-proven"
    assert "50% larger" in ranking.warnings[0].text
    assert "the largest known" in str(ranking.explain())
    assert len(elected(ranking)) == 3


def test_an_integer_programme_out_of_time_returns_the_greedy_committee_and_its_bound(monkeypatch):
    solve = best_committees._Programme.solve

    def late(self, seconds):
        bound = solve(self, seconds)[1] * 1.046
        self.is_late = True
        return None, bound

    monkeypatch.setattr(best_committees, "MAX_ENUMERATED", 0)
    monkeypatch.setattr(best_committees, "MAX_CELLS", 0)
    monkeypatch.setattr(best_committees._Programme, "solve", late)
    ranking = cc.rank(LISTS, "pav", seats=3)
    assert "4.6% larger" in ranking.warnings[0].text
    assert elected(ranking) == {"a", "b", "d"}


def random_approvals(n_candidates, n_ballots, seed):
    table = np.random.default_rng(seed).random((n_ballots, n_candidates)) < 0.3
    names = [f"c{k:02d}" for k in range(n_candidates)]
    ballots = [[names[k] for k in np.flatnonzero(row)] for row in table if row.any()]
    return cc.Preferences.from_rankings([[ballot] for ballot in ballots], candidates=names), table


@pytest.mark.parametrize("seed", range(5))
def test_pav_equals_enumeration_of_thousands_of_committees(seed):
    prefs, table = random_approvals(14, 120, seed)
    committees = np.array(list(combinations(range(14), 5)))
    worths = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, 6))])
    totals = np.array([worths[table[:, list(committee)].sum(axis=1)].sum() for committee in committees])
    ranking = cc.rank(prefs, "pav", seats=5)
    best = [{f"c{k:02d}" for k in committees[row]} for row in np.flatnonzero(totals > totals.max() - 1e-9)]
    assert elected(ranking) in best
    assert ranking.fit["total"] == pytest.approx(totals.max())


def test_pav_is_never_worse_than_the_sequential_rules():
    for seed in range(5):
        prefs, table = random_approvals(60, 80, seed)
        rankings = [cc.rank(prefs, "pav", seats=12, time_limit=0)]
        rankings += [cc.rank(prefs, method, seats=12) for method in ("sequential-pav", "phragmen")]
        ballots = [(1, np.flatnonzero(row)) for row in table]
        total, *others = (worth({int(item[1:]) for item in elected(ranking)}, ballots) for ranking in rankings)
        assert total >= max(others)


def test_half_a_million_tied_committees_are_not_all_kept():
    prefs = cc.Preferences.from_rankings([[[f"c{k:03d}"]] for k in range(1000)])
    ranking = cc.rank(prefs, "pav", seats=2)
    assert elected(ranking) == {"c000", "c001"}
    assert len(ranking.warnings[0].items) > 900


def test_committees_of_many_instances():
    prefs = cc.Preferences.from_rankings([[["a", "b"]], [["c"]], [["c", "d"]]], instance=["x", "y", "y"])
    for name in RULES:
        ranking = cc.rank(prefs, name)
        assert ranking["y"].items[0] == "c"
