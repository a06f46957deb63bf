"""Rules that go in rounds, or look at single places, against plain loops over ballots and textbook elections."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import concordant as cc

TENNESSEE = cc.Preferences.from_rankings(
    [list("MNCK"), list("NCKM"), list("CKNM"), list("KCNM")], weight=[42, 26, 15, 17]
)
CYCLE = cc.Preferences.from_rankings([list("abc"), list("bca"), list("cab")], weight=[4, 3, 2])
ROUNDS = ["coombs", "baldwin", "nanson", "bucklin", "black", "veto"]


@st.composite
def elections(draw, most=5):
    """A list of (votes, ballot); a ballot is a list of tiers and may leave candidates out."""
    names = "abcdef"[: draw(st.integers(1, most))]
    ballots = []
    for _ in range(draw(st.integers(1, 7))):
        order = draw(st.permutations(names))
        order = order[: draw(st.integers(1, len(order)))]
        tiers: list[list[str]] = []
        for name in order:
            if tiers and draw(st.integers(0, 4)) == 0:
                tiers[-1].append(name)
            else:
                tiers.append([name])
        ballots.append((draw(st.integers(1, 4)), tiers))
    return names, ballots


def preferences(names, ballots):
    return cc.Preferences.from_rankings([b for _, b in ballots], weight=[w for w, _ in ballots], candidates=names)


def tiers_of(names, key):
    """Return candidates in tiers by a key, the highest first."""
    found: dict = {}
    for name in names:
        found.setdefault(key(name), set()).add(name)
    return [found[value] for value in sorted(found, reverse=True)]


def as_sets(ranking):
    return [set(tier) for tier in ranking.tiers]


# ---- plain loops ----
def first_places(ballots, left):
    votes = dict.fromkeys(left, Fraction(0))
    for weight, tiers in ballots:
        for tier in tiers:
            present = [name for name in tier if name in left]
            if present:
                for name in present:
                    votes[name] += Fraction(weight, len(present))
                break
    return votes


def last_places(ballots, left):
    votes = dict.fromkeys(left, Fraction(0))
    for weight, tiers in ballots:
        named = {name for tier in tiers for name in tier}
        worst = [name for name in left if name not in named]
        for tier in reversed(tiers):
            worst = worst or [name for name in tier if name in left]
        for name in worst:
            votes[name] += Fraction(weight, len(worst))
    return votes


def net_points(ballots, left):
    net = dict.fromkeys(left, 0)
    for weight, tiers in ballots:
        place = {name: k for k, tier in enumerate(tiers) for name in tier}
        for a in left:
            for b in left:
                x, y = place.get(a, 99), place.get(b, 99)
                net[a] += weight * ((x < y) - (x > y))
    return net


def borda(names, ballots):
    return {name: Fraction(points, 2) for name, points in net_points(ballots, names).items()}


def eliminated(names, ballots, standing):
    """Return the tiers of an elimination of the lowest: earlier rounds, then Borda, then together."""
    left, history, out_in_order, points = list(names), [], [], borda(names, ballots)
    while left:
        history.append(standing(left))
        out = left
        for earlier in [*reversed(history), points]:
            least = min(earlier[name] for name in out)
            out = [name for name in out if earlier[name] == least]
        out_in_order.append(set(out))
        left = [name for name in left if name not in out]
    return out_in_order[::-1]


@settings(max_examples=150)
@given(elections())
def test_coombs_drops_who_is_last_most_often(election):
    names, ballots = election

    def standing(left):
        first, last = first_places(ballots, left), last_places(ballots, left)
        half = sum(first.values()) / 2
        return {name: Fraction(1) if first[name] > half else -last[name] for name in left}

    assert as_sets(cc.rank(preferences(names, ballots), "coombs")) == eliminated(names, ballots, standing)


@settings(max_examples=150)
@given(elections())
def test_baldwin_drops_who_has_the_fewest_borda_points(election):
    names, ballots = election
    found = cc.rank(preferences(names, ballots), "baldwin", missing="last")
    assert as_sets(found) == eliminated(names, ballots, lambda left: net_points(ballots, left))


@settings(max_examples=150)
@given(elections())
def test_nanson_drops_all_below_the_mean(election):
    names, ballots = election
    left, key = set(names), {}
    for number in range(len(names) + 1):
        net = net_points(ballots, left)
        out = {name for name in left if net[name] < 0}
        key |= {name: (number, net[name]) for name in out}
        if not out:
            break
        left -= out
    key |= dict.fromkeys(left, (99, 0))
    assert as_sets(cc.rank(preferences(names, ballots), "nanson", missing="last")) == tiers_of(names, key.get)


@settings(max_examples=150)
@given(elections())
def test_bucklin_adds_places_until_there_is_a_majority(election):
    names, ballots = election
    total = sum(weight for weight, _ in ballots)
    key = {}
    for name in names:
        votes = Counter()
        for weight, tiers in ballots:
            place = 1
            for tier in tiers:
                if name in tier:
                    votes[place] += weight
                place += len(tier)
        counted = 0
        for level in range(1, len(names) + 1):
            counted += votes[level]
            if 2 * counted > total:
                key[name] = (-level, counted)
                break
        else:
            key[name] = (-99, counted)
    assert as_sets(cc.rank(preferences(names, ballots), "bucklin")) == tiers_of(names, key.get)


@settings(max_examples=150)
@given(elections())
def test_black_takes_the_condorcet_winner_or_borda(election):
    names, ballots = election
    points = borda(names, ballots)
    wins = {a: all(net_points(ballots, [a, b])[a] > 0 for b in names if b != a) for a in names}
    found = cc.rank(preferences(names, ballots), "black", missing="last")
    assert as_sets(found) == tiers_of(names, lambda name: (wins[name], points[name]))


@settings(max_examples=150)
@given(elections())
def test_veto_counts_last_places(election):
    names, ballots = election
    last = last_places(ballots, list(names))
    found = cc.rank(preferences(names, ballots), "veto")
    assert as_sets(found) == tiers_of(names, lambda name: -last[name])
    by_name = dict(zip(found.items, found.scores, strict=True))
    assert all(by_name[name] == pytest.approx(-float(last[name])) for name in names)


@st.composite
def rated(draw):
    names = "abcd"[: draw(st.integers(2, 4))]
    rows = [
        (f"voter {k}", name, draw(st.integers(0, 5)))
        for k in range(draw(st.integers(1, 6)))
        for name in names
        if name == "a" or draw(st.integers(0, 3))
    ]
    return names, rows


@settings(max_examples=150)
@given(rated())
def test_star_is_a_runoff_between_the_two_highest_sums(election):
    names, rows = election
    names = [name for name in names if any(row[1] == name for row in rows)]
    prefs = cc.Preferences.from_ratings(*map(list, zip(*rows, strict=True)))
    total = Counter()
    for _, name, rating in rows:
        total[name] += rating
    ranking, by_sum = cc.rank(prefs, "star"), cc.rank(prefs, "score")
    assert dict(zip(by_sum.items, by_sum.scores, strict=True)) == {name: total[name] for name in names}
    if len(names) < 2 or ranking.warnings:
        return
    one, two = sorted(names, key=lambda name: -total[name])[:2]
    voters = {row[0] for row in rows}
    said = {(voter, name): rating for voter, name, rating in rows}
    ahead = sum(np.sign(said.get((v, one), -1) - said.get((v, two), -1)) for v in voters)
    winner = one if ahead > 0 else two if ahead < 0 else None
    if winner is not None:
        assert ranking.tiers[0] == [winner]
        assert set(ranking.items[:2]) == {one, two}
    elif total[one] > total[two]:
        assert ranking.items[:2] == [one, two]


# ---- textbook ----
def test_the_capital_of_tennessee():
    winners = {name: cc.rank(TENNESSEE, name).tiers[0] for name in ROUNDS}
    assert winners == {
        "coombs": ["N"], "baldwin": ["N"], "nanson": ["N"], "bucklin": ["N"], "black": ["N"], "veto": ["N", "C"],
    }  # fmt: skip


def test_bucklin_counts_second_places_in_tennessee():
    told = str(cc.rank(TENNESSEE, "bucklin").explain())
    assert "N has a majority counting the first 2 preferences: 68." in told
    assert "C also has a majority there, with 58." in told


def test_black_needs_points_where_majorities_go_in_a_circle():
    ranking = cc.rank(CYCLE, "black")
    assert ranking.items == cc.rank(CYCLE, "borda").items
    assert ranking.fit == {"condorcet_winners": 0.0}
    assert "No candidate beats every other head-to-head" in str(ranking.explain())
    assert cc.rank(TENNESSEE, "black").fit == {"condorcet_winners": 1.0}


def test_star_can_pass_over_the_highest_sum():
    rows = [(v, n, r) for v, ratings in {"u": (5, 4, 0), "v": (5, 4, 0), "w": (0, 5, 3)}.items()
            for n, r in zip("abc", ratings, strict=True)]  # fmt: skip
    prefs = cc.Preferences.from_ratings(*map(list, zip(*rows, strict=True)))
    assert cc.rank(prefs, "range").items == ["b", "a", "c"]
    ranking = cc.rank(prefs, "star")
    assert ranking.items == ["a", "b", "c"]
    assert "a wins the runoff: 2 ballots rate it higher than b, 1 lower, 0 the same." in str(ranking.explain())


def test_equal_sums_let_more_than_two_into_the_runoff_and_say_so():
    prefs = cc.Preferences.from_ratings(["u"] * 3 + ["v"] * 3 + ["w"] * 3, list("abc") * 3, [2, 1, 0, 0, 2, 1, 1, 0, 2])
    ranking = cc.rank(prefs, "star")
    assert ranking.tiers == [["a", "b", "c"]]
    assert ranking.warnings[0].name == "unbroken-ties"


def test_score_voting_takes_means_on_request():
    prefs = cc.Preferences.from_ratings(["u", "u", "v"], ["a", "b", "b"], [4.0, 3.0, 3.0])
    assert cc.rank(prefs, "score").items == ["b", "a"]
    assert cc.rank(prefs, "score", total="mean").items == ["a", "b"]


def test_rules_of_ratings_refuse_plain_rankings():
    for name in ("score", "star"):
        with pytest.raises(cc.NeedError, match="from_ratings"):
            cc.rank(TENNESSEE, name)


@pytest.mark.parametrize("name", ["coombs", "baldwin"])
def test_ties_in_rounds_are_named(name):
    symmetric = cc.Preferences.from_rankings([list("abc"), list("bca"), list("cab")])
    ranking = cc.rank(symmetric, name)
    assert ranking.tiers == [["a", "b", "c"]]
    assert [(notice.name, notice.items) for notice in ranking.warnings] == [("unbroken-ties", ("a", "b", "c"))]


def test_known_names_lead_to_the_rules():
    known = {
        "tideman": "ranked-pairs", "beatpath": "schulze", "hare": "instant-runoff", "ranked-choice": "instant-runoff",
        "simpson": "minimax", "borda-count": "borda", "range": "score", "anti-plurality": "veto",
        "wigm": "stv", "meek-stv": "stv", "scottish-stv": "stv", "seqpav": "sequential-pav", "seqphragmen": "phragmen",
    }  # fmt: skip
    assert {alias: cc.registry.make(alias).name for alias in known} == known
