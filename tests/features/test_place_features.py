"""Places as features: by their definitions, on a small example and on random lists."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import laws
from concordant.errors import InputError, NeedError

PREFS = cc.Preferences.from_ranks(
    ["x", "x", "x", "y", "y", "z"], ["a", "b", "c", "b", "a", "d"], [1, 2, 40, 1, 3, 1], instance=["q"] * 6
)


def columns(prefs: cc.Preferences) -> dict[str, np.ndarray]:
    features = cc.PlaceFeatures().fit(prefs)
    return dict(zip(features.get_feature_names_out(), features.transform(prefs).T, strict=True))


def test_places_fall_with_the_rank_and_silence_is_0() -> None:
    found = columns(PREFS)
    np.testing.assert_allclose(found["x top"], [10 / 11, 10 / 12, 10 / 50, 0])
    np.testing.assert_allclose(found["x log place"], [1, 1 - np.log10(2) / 3, 1 - np.log10(40) / 3, 0])
    np.testing.assert_allclose(found["y unranked"], [0, 0, 1, 1])


def test_candidates_that_are_not_named_share_the_places_behind() -> None:
    found = columns(PREFS)
    np.testing.assert_allclose(found["x ahead"], [1, 2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(found["y ahead"], [2 / 3, 1, 1 / 6, 1 / 6])
    np.testing.assert_allclose(found["z coverage"], [1 / 4] * 4)


def test_ahead_counts_the_candidates_behind_and_half_of_those_tied() -> None:
    prefs, _ = laws.random_labelled(np.random.default_rng(3))
    ties = cc.Preferences.from_rankings(
        [[["a", "b"], "c"], ["c", ["a", "b", "d"]]], agent=["x", "y"], instance=["q", "q"]
    )
    for one in (prefs, ties):
        found = columns(one)
        for b in range(one.n_ballots):
            mine = slice(one.indptr[b], one.indptr[b + 1])
            agent = one.agents.labels[one.agent[b]]
            tier = dict(zip(one.entry_slot[mine].tolist(), one.tier[mine].tolist(), strict=True))
            q = one.instance_of_ballot[b]
            slots = range(one.slot_ptr[q], one.slot_ptr[q + 1])
            place = {s: tier.get(s, 10**6) for s in slots}
            for s in slots:
                others = [place[t] for t in slots if t != s]
                expected = sum((place[s] < p) + 0.5 * (place[s] == p) for p in others) / len(others)
                assert found[f"{agent} ahead"][s] == pytest.approx(expected)


def test_a_silent_expert_puts_nobody_ahead() -> None:
    prefs = cc.Preferences.from_ranks(
        ["x", "x", "y", "x", "x"], list("ababc"), [1, 2, 1, 1, 2], instance=["q", "q", "q", "r", "r"]
    )
    found = columns(prefs)
    second = slice(prefs.slot_ptr[1], prefs.slot_ptr[2])
    np.testing.assert_allclose(found["y ahead"][second], 0.5)
    assert not found["y coverage"][second].any()


def test_the_best_of_several_ballots_counts() -> None:
    once = cc.Preferences.from_rankings([["a", "b", "c"]], agent=["x"])
    twice = cc.Preferences.from_rankings([["a", "b", "c"], ["a", "b", "c"]], agent=["x", "x"])
    np.testing.assert_allclose(cc.PlaceFeatures().fit_transform(twice), cc.PlaceFeatures().fit_transform(once))


def test_strangers_are_left_out() -> None:
    features = cc.PlaceFeatures().fit(PREFS)
    new = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]], agent=["x", "w"])
    found = features.transform(new)
    assert found.shape == (2, 15)
    alone = features.transform(cc.Preferences.from_rankings([["a", "b"]], agent=["x"]))
    np.testing.assert_allclose(found, alone)


def test_ranks_below_1_and_unknown_experts_are_refused() -> None:
    with pytest.raises(InputError, match="below 1"):
        cc.PlaceFeatures().fit_transform(cc.Preferences.from_ranks(["x", "x"], ["a", "b"], [0, 1]))
    with pytest.raises(NeedError):
        cc.PlaceFeatures().transform(PREFS)
    with pytest.raises(NeedError):
        cc.PlaceFeatures().fit(cc.Preferences.from_rankings([["a", "b"]]))
