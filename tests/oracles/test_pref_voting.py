"""Voting rules against pref_voting: who comes first in elections with ties, on ballots and between candidates."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc

pytest.importorskip("pref_voting", reason="pref_voting is not installed: pip install pref_voting (800 MB with numba)")
pytestmark = pytest.mark.filterwarnings("default")


def elections(n, seed, *, most_candidates=5, with_ties=True):
    """Yield random elections twice: for concordant, and as a profile of pref_voting."""
    from pref_voting.profiles_with_ties import ProfileWithTies

    rng = np.random.default_rng(seed)
    for _ in range(n):
        m, n_ballots = int(rng.integers(2, most_candidates + 1)), int(rng.integers(1, 9))
        ballots = [rng.integers(1, m + 1, m) if with_ties else rng.permutation(m) + 1 for _ in range(n_ballots)]
        lists = [[[str(i) for i in np.flatnonzero(b == place)] for place in np.unique(b)] for b in ballots]
        profile = ProfileWithTies([dict(enumerate(b.tolist())) for b in ballots], candidates=list(range(m)))
        yield cc.Preferences.from_rankings(lists, candidates=map(str, range(m))), profile


def first(prefs, method, **params):
    return sorted(int(item) for item in cc.rank(prefs, method, **params).tiers[0])


def test_pairwise_rules_put_the_same_candidates_first():
    from pref_voting.c1_methods import copeland, llull, top_cycle
    from pref_voting.margin_based_methods import beat_path, minimax

    for prefs, profile in elections(300, 0):
        assert first(prefs, "schulze", strength="margins") == sorted(beat_path(profile))
        assert first(prefs, "schulze") == sorted(beat_path(profile, strength_function=profile.support))
        assert first(prefs, "copeland") == sorted(copeland(profile))
        assert first(prefs, "copeland", ties=1.0) == sorted(llull(profile))
        assert first(prefs, "minimax") == sorted(minimax(profile))
        assert first(prefs, "minimax", strength="winning-votes") == sorted(
            minimax(profile, strength_function=profile.support)
        )
        assert first(prefs, "condorcet") == sorted(top_cycle(profile))


def test_ranked_pairs_elects_the_same_where_no_tie_decides():
    from pref_voting.margin_based_methods import ranked_pairs

    compared = 0
    for prefs, profile in elections(150, 1, most_candidates=4):
        if prefs.n_items < 4 or len(set(np.abs(profile.margin_matrix)[np.triu_indices(4, 1)].tolist())) > 3:
            ranking = cc.rank(prefs, "ranked-pairs")
            winners = set(ranked_pairs(profile))
            if ranking.warnings:
                assert {int(item) for item in ranking.tiers[0]} & winners
            else:
                assert {int(item) for item in ranking.tiers[0]} == winners
                compared += 1
    assert compared > 50


def test_positional_rules_give_the_same_points():
    from pref_voting.profiles import Profile

    rng = np.random.default_rng(2)
    for _ in range(60):
        m, n = int(rng.integers(2, 6)), int(rng.integers(1, 9))
        orders = [rng.permutation(m).tolist() for _ in range(n)]
        profile = Profile(orders)
        prefs = cc.Preferences.from_rankings([[str(i) for i in o] for o in orders], candidates=map(str, range(m)))
        for method, theirs in (("borda", profile.borda_scores()), ("plurality", profile.plurality_scores())):
            ranking = cc.rank(prefs, method)
            assert dict(zip(map(int, ranking.items), ranking.scores.tolist(), strict=True)) == theirs


def test_runoffs_elect_the_same_where_no_tie_decides():
    from pref_voting.iterative_methods import instant_runoff
    from pref_voting.profiles import Profile

    rng, compared = np.random.default_rng(3), 0
    for _ in range(300):
        m, n = int(rng.integers(2, 6)), int(rng.integers(5, 30))
        orders = [rng.permutation(m).tolist() for _ in range(n)]
        prefs = cc.Preferences.from_rankings([[str(i) for i in o] for o in orders], candidates=map(str, range(m)))
        if not cc.rank(prefs, "instant-runoff").warnings:
            assert first(prefs, "instant-runoff") == sorted(instant_runoff(Profile(orders)))
            compared += 1
    assert compared > 50


def strict_elections(n, seed, most=30):
    """Yield random elections of strict complete ballots twice."""
    from pref_voting.profiles import Profile

    rng = np.random.default_rng(seed)
    for _ in range(n):
        m, n_ballots = int(rng.integers(2, 6)), int(rng.integers(3, most))
        orders = [rng.permutation(m).tolist() for _ in range(n_ballots)]
        prefs = cc.Preferences.from_rankings([[str(i) for i in o] for o in orders], candidates=map(str, range(m)))
        yield prefs, Profile(orders)


def test_rules_of_rounds_elect_the_same_where_no_tie_decides():
    from pref_voting.iterative_methods import baldwin, coombs

    compared = 0
    for prefs, profile in strict_elections(300, 4):
        for method, theirs in (("coombs", coombs), ("baldwin", baldwin)):
            if not cc.rank(prefs, method).warnings:
                assert first(prefs, method) == sorted(theirs(profile)), method
                compared += 1
    assert compared > 100


def test_rules_that_break_no_ties_elect_the_same():
    from pref_voting.combined_methods import blacks
    from pref_voting.iterative_methods import strict_nanson
    from pref_voting.other_methods import bucklin
    from pref_voting.scoring_methods import anti_plurality

    rules = (("nanson", strict_nanson), ("bucklin", bucklin), ("black", blacks), ("veto", anti_plurality))
    for prefs, profile in strict_elections(300, 5, most=12):
        for method, theirs in rules:
            assert first(prefs, method) == sorted(theirs(profile)), method


def test_rules_of_ratings_elect_the_same():
    from pref_voting.grade_methods import score_voting, star
    from pref_voting.grade_profiles import GradeProfile

    rng, compared = np.random.default_rng(6), 0
    for _ in range(200):
        m, n = int(rng.integers(2, 6)), int(rng.integers(3, 20))
        ratings = rng.integers(0, 6, (n, m))
        profile = GradeProfile([dict(enumerate(row.tolist())) for row in ratings], list(range(6)))
        agent, item = np.indices(ratings.shape).reshape(2, -1).astype(str)
        prefs = cc.Preferences.from_ratings(agent.tolist(), item.tolist(), ratings.reshape(-1).tolist())
        assert first(prefs, "score") == sorted(score_voting(profile, evaluation_method="sum"))
        if not cc.rank(prefs, "star").warnings and len(star(profile)) == 1:
            assert first(prefs, "star") == sorted(star(profile))
            compared += 1
    assert compared > 100
