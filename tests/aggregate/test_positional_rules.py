"""Positional rules against their definitions, applied ballot by ballot."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import laws

POSITIONAL = ["approval", "borda", "majority-vote", "median-rank", "plurality"]


def places_by_hand(prefs, slot):
    """What every ballot of the slot's instance says of it: (position or None, free position, weight)."""
    q = int(np.searchsorted(prefs.slot_ptr, slot, side="right")) - 1
    m = int(prefs.slot_ptr[q + 1] - prefs.slot_ptr[q])
    said = []
    for b in np.flatnonzero(prefs.instance_of_ballot == q):
        span = slice(prefs.indptr[b], prefs.indptr[b + 1])
        tiers = prefs.tier[span].tolist()
        named = dict(zip(prefs.entry_slot[span].tolist(), tiers, strict=True))
        if slot in named:
            better, equal = (sum(t < named[slot] for t in tiers), sum(t == named[slot] for t in tiers))
            position = better + (equal + 1) / 2
        else:
            position = None
        said.append((position, (len(tiers) + 1 + m) / 2, float(prefs.weight[b])))
    return said, m


def random_elections(n=60):
    rng = np.random.default_rng(5)
    return (laws.random_preferences(rng) for _ in range(n))


def scores(prefs, name, **params):
    ranking = cc.rank(prefs, name, **params)
    return dict(zip(ranking.items, ranking.scores.tolist(), strict=True))


# ---- Borda ----
def test_borda_gives_a_point_for_everyone_below_and_shares_positions():
    for prefs in random_elections():
        score = cc.rank(prefs, "borda", missing="last").score
        for slot in range(prefs.n_slots):
            said, m = places_by_hand(prefs, slot)
            points = sum(w * (m - (free if position is None else position)) for position, free, w in said)
            assert score[slot] == pytest.approx(points, abs=1e-9)


def test_an_open_tail_and_an_unfinished_ballot_say_the_same_to_borda():
    finished = cc.Preferences.from_rankings([["a"], ["b", "a", "c"]], candidates=["a", "b", "c"])
    open_tail = cc.Preferences(["a", "b", "c"], [0, 3, 6], [0, 1, 2, 1, 0, 2], [0, 1, 1, 0, 1, 2], open=[True, False])
    assert scores(finished, "borda") == scores(open_tail, "borda") == {"a": 3.0, "b": 2.5, "c": 0.5}


def test_borda_of_pairs_is_the_share_of_comparisons_won():
    prefs = cc.Preferences.from_pairs(["a", "a", "b"], ["b", "c", "c"], weight=[3, 1, 1], tie=[False, True, False])
    assert scores(prefs, "borda") == {"a": 3.5 / 4, "b": 1 / 4, "c": 0.5 / 2}


def test_borda_of_fractional_weights_makes_exact_ties():
    prefs = cc.Preferences.from_rankings([["a"], ["a"], ["b"]], weight=[0.1, 0.2, 0.3], candidates=["a", "b", "c"])
    assert cc.rank(prefs, "borda").tiers == [["a", "b"], ["c"]]


# ---- median rank ----
def median_by_hand(values):
    """The middle of all values, each repeated as often as its weight (a multiple of 0.1) says."""
    return float(np.median(np.repeat([v for v, _ in values], [round(10 * w) for _, w in values])))


@pytest.mark.parametrize("missing", ["last", "ignore"])
def test_median_rank_is_the_middle_position(missing):
    for prefs in random_elections():
        score = cc.rank(prefs, "median-rank", missing=missing).score
        for slot in range(prefs.n_slots):
            said, m = places_by_hand(prefs, slot)
            positions = [
                (free if position is None else position, w)
                for position, free, w in said
                if missing == "last" or position is not None
            ]
            expected = median_by_hand(positions) if positions else m + 1
            assert -score[slot] == pytest.approx(expected)


def test_an_extreme_minority_does_not_move_the_median():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"]] * 3 + [["c", "b", "a"]] * 2)
    assert cc.rank(prefs, "median-rank").items == ["a", "b", "c"]


# ---- plurality ----
def test_plurality_shares_a_tied_first_place():
    prefs = cc.Preferences.from_rankings([[["a", "b"], "c"], ["a", "c"]], weight=[3, 2])
    assert scores(prefs, "plurality") == {"a": 3.5, "b": 1.5, "c": 0.0}


def test_a_ballot_that_is_only_an_open_tier_has_no_first_place():
    prefs = cc.Preferences(["a", "b"], [0, 2, 4], [0, 1, 0, 1], [0, 0, 0, 1], open=[True, False])
    assert scores(prefs, "plurality") == {"a": 1.0, "b": 0.0}


# ---- approval ----
def test_approval_counts_what_stands_above_the_last_tier():
    prefs = cc.Preferences.from_rankings([[["a", "b"], ["c", "d"]], ["a", ["b", "c", "d"]], [["c", "d"]]])
    assert scores(prefs, "approval") == {"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0}


def test_an_open_tier_is_not_approved():
    prefs = cc.Preferences(["a", "b"], [0, 2], [0, 1], [0, 0], open=[True])
    assert scores(prefs, "approval") == {"a": 0.0, "b": 0.0}


def test_a_cutoff_approves_ratings_from_it_up_and_ranks_down_to_it():
    ratings = cc.Preferences.from_ratings(["u", "u", "v", "v"], ["a", "b", "a", "b"], [5, 3, 4, 4])
    assert scores(ratings, "approval", cutoff=4) == {"a": 2.0, "b": 1.0}
    ranks = cc.Preferences.from_ranks(["u", "u", "v", "v"], ["a", "b", "a", "b"], [1, 3, 2, 1])
    assert scores(ranks, "approval", cutoff=2) == {"a": 2.0, "b": 1.0}
    rankings = cc.Preferences.from_rankings([["a", ["b", "c"], "d"]])
    assert scores(rankings, "approval", cutoff=2) == {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0}


# ---- majority vote ----
def test_majority_vote_counts_the_lists_that_name_an_item():
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b"], ["c"]], weight=[1, 2, 1])
    assert scores(prefs, "majority-vote") == {"b": 3.0, "a": 1.0, "c": 1.0}


def test_majority_vote_of_judgements_is_for_minus_against():
    prefs = cc.Preferences.from_ratings(list("uuvvw"), list("xyxyx"), [1, 0, 1, 1, 0])
    assert scores(prefs, "majority-vote", cutoff=1) == {"x": 1.0, "y": 0.0}


def test_majority_vote_within_the_top():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["a", "c"]])
    assert scores(prefs, "majority-vote", cutoff=1) == {"a": 1.0, "b": 0.0, "c": -3.0}


# ---- edges ----
@pytest.mark.parametrize("name", POSITIONAL)
def test_one_item_is_first(name):
    assert cc.rank(cc.Preferences.from_rankings([["a"]]), name).ranks.tolist() == [1]


@pytest.mark.parametrize("name", POSITIONAL)
def test_ballots_that_tie_everything_tie_everything(name):
    assert cc.rank(cc.Preferences.from_rankings([[["a", "b"]]] * 3), name).tiers == [["a", "b"]]


@pytest.mark.parametrize("name", POSITIONAL)
def test_no_ballots_tie_all_candidates(name):
    prefs = cc.Preferences.from_rankings([[]], candidates=["a", "b"])
    assert cc.rank(prefs, name).tiers == [["a", "b"]]


@pytest.mark.parametrize("name", POSITIONAL)
def test_preferences_without_items_are_refused(name):
    with pytest.raises(cc.InputError, match="nothing to rank"):
        cc.rank(cc.Preferences([], [0], [], []), name)
