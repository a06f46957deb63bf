"""Positional rules against their definitions, applied ballot by ballot."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import kernels, laws

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


def test_majority_vote_is_the_answer_most_workers_give():
    random = np.random.default_rng(0)
    worker, item = np.repeat(np.arange(7), 20), np.tile(np.arange(20), 7)
    answer = random.integers(0, 2, 140)
    found = scores(cc.Preferences.from_ratings(worker, item, answer), "majority-vote", cutoff=1)
    yes = np.bincount(item, answer)
    assert {label: score > 0 for label, score in found.items()} == {str(k): bool(yes[k] > 3.5) for k in range(20)}


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


# ---- mean rating ----
def rated(rows):
    users, items, stars = zip(*rows, strict=True)
    return cc.Preferences.from_ratings(users, items, stars)


FILMS = rated(
    [(f"u{k}", "loved", 5 - (k % 4 == 0)) for k in range(40)]
    + [(f"u{k}", film, 1 + k % 5) for k in range(40) for film in ("fine", "plain")]
    + [("u0", "once", 5), ("u1", "bad", 1)]
)


def test_one_enthusiast_does_not_put_an_item_first():
    assert cc.rank(FILMS, "mean-rating").items[0] == "loved"
    assert cc.rank(FILMS, "mean").items[0] == "once"
    assert scores(FILMS, "mean") == {"once": 5.0, "loved": 4.75, "fine": 3.0, "plain": 3.0, "bad": 1.0}


def test_the_prior_count_is_that_many_ratings_of_the_general_mean():
    prefs = rated([("u", "a", 5), ("v", "a", 4), ("u", "b", 2), ("w", "b", 1), ("v", "b", 3)])
    found = scores(prefs, "mean-rating", prior_count=2.0)
    weight_a, weight_b = 2 / (2 + 2), 3 / (3 + 2)
    general = (weight_a * 4.5 + weight_b * 2.0) / (weight_a + weight_b)
    assert found["a"] == pytest.approx((9 + 2 * general) / 4)
    assert found["b"] == pytest.approx((6 + 2 * general) / 5)


def test_the_prior_count_from_the_data_is_noise_over_differences():
    rng = np.random.default_rng(0)
    true = rng.normal(3, 0.5, 200)
    rows = [(f"u{u}", f"i{i}", true[i] + rng.normal(0, 1)) for i in range(200) for u in range(rng.integers(2, 60))]
    fit = cc.rank(rated(rows), "mean-rating").fit
    assert fit["prior_count"] == pytest.approx(4.0, rel=0.25)  # 1² / 0.5²
    assert fit["noise"] == pytest.approx(1.0, rel=0.05)


def test_intervals_of_mean_ratings_cover_what_they_promise():
    rng = np.random.default_rng(1)
    covered = {"mean-rating": [], "mean": []}
    for _ in range(60):
        true = rng.normal(3, 0.7, 25)
        rows = [
            (f"u{u}", f"i{i}", true[i] + rng.normal()) for i in range(25) for u in range(60) if rng.random() < i / 40
        ]
        for name, hits in covered.items():
            ranking = cc.rank(rated(rows), name)
            truth = true[[int(item[1:]) for item in ranking.items]]
            hits.append(((ranking.low <= truth) & (truth <= ranking.high)).mean())
    for name, hits in covered.items():
        assert 0.93 < np.mean(hits) < 0.97, name


def test_items_nobody_rated_have_the_general_mean_and_are_named():
    prefs = cc.Preferences(
        ["a", "b", "c"],
        [0, 2],
        [0, 1],
        [0, 1],
        value=[5.0, 3.0],
        scale="rating",
        slot_ptr=[0, 3],
        slot_item=[0, 1, 2],
    )
    for name in ("mean-rating", "mean"):
        ranking = cc.rank(prefs, name)
        assert ranking.items == ["a", "c", "b"]
        assert ranking.warnings[0].items == ("c",)


def test_equal_means_are_tied_in_spite_of_rounding():
    prefs = rated(
        [("u", "a", 0.1), ("v", "a", 0.2), ("w", "a", 0.3), ("u", "b", 0.3), ("v", "b", 0.2), ("w", "b", 0.1)]
    )
    assert cc.rank(prefs, "mean-rating").tiers == [["a", "b"]]


# ---- few ballots ----
def test_items_on_few_ballots_can_be_left_out_by_every_method():
    for name in ("mean", "borda", "mpm"):
        ranking = cc.rank(FILMS, name, min_ballots=2)
        assert ranking.tiers == [["loved"], ["fine", "plain"]]
        assert ranking.warnings[0].name == "few-ballots"
        assert "2 of 5 items" in ranking.warnings[0].text
    assert FILMS.min_ballots(1).items.labels == FILMS.items.labels


def test_ballots_are_counted_by_weight_and_by_instance():
    prefs = cc.Preferences.from_rankings(
        [["a", "b"], ["b", "c"], ["a", "c"]], weight=[2, 1, 1], instance=["q", "q", "r"]
    )
    kept = prefs.min_ballots(2)
    ranking = cc.rank(kept, "borda")
    assert {"q": ranking["q"].items} == {"q": ["a", "b"]}
    assert list(kept.instances.labels) == ["q"]


def test_asking_for_more_ballots_than_there_are_says_how_many_there_are():
    with pytest.raises(cc.InputError, match="the maximum is 40"):
        cc.rank(FILMS, "borda", min_ballots=41)


@pytest.mark.parametrize("kind", ["equal", "whole", "fractional", "taken back"])
def test_medians_are_those_of_repeated_values(kind):
    rng = np.random.default_rng(4)
    for _ in range(40):
        n, groups = int(rng.integers(0, 60)), int(rng.integers(1, 7))
        group, value = rng.integers(0, groups, n), rng.integers(0, 9, n) / 2
        times = np.full(n, 2) if kind == "equal" else rng.integers(1, 5, n)
        if kind == "taken back":  # each group also gets values it does not have in the end
            extra = rng.integers(0, 9, n) / 2
            group, value = np.tile(group, 3), np.concatenate([value, extra, extra])
            times = np.concatenate([times, times, -times])
        medians = kernels.weighted_medians(group, value, times * (0.1 if kind == "fractional" else 1.0), groups)
        for g in range(groups):
            own, count = value[group == g], times[group == g]
            repeated = np.repeat(np.unique(own), [count[own == one].sum() for one in np.unique(own)])
            expected = np.median(repeated) if len(repeated) else np.nan
            assert medians[g] == pytest.approx(expected, nan_ok=True)
