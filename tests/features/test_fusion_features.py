"""Places, fused scores and agreement as features: by their definitions, on a small example and on random lists."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import laws
from concordant.errors import InputError

PREFS = cc.Preferences.from_ranks(
    ["x", "x", "x", "y", "y", "z"], ["a", "b", "c", "b", "a", "d"], [1, 2, 4, 1, 3, 1], instance=["q"] * 6
)


def columns(prefs: cc.Preferences, **settings: str) -> dict[str, np.ndarray]:
    features = cc.FusionFeatures(**settings).fit(prefs)
    return dict(zip(features.get_feature_names_out(), features.transform(prefs).T, strict=True))


def test_heights_fall_with_the_rank_and_silence_is_0() -> None:
    found = columns(PREFS)
    np.testing.assert_allclose(found["x height"], [1, 3 / 4, 1 / 4, 0])
    np.testing.assert_allclose(found["y height"], [1 / 3, 1, 0, 0])
    np.testing.assert_allclose(found["x log height"], [1, 1 - np.log(2) / np.log(5), 1 - np.log(4) / np.log(5), 0])


def test_support_best_and_mean_are_over_the_lists_that_name_it() -> None:
    found = columns(PREFS)
    np.testing.assert_allclose(found["support"], [2 / 3, 2 / 3, 1 / 3, 1 / 3])
    both = np.stack([found["x log height"], found["y log height"], found["z log height"]])
    np.testing.assert_allclose(found["best"], both.max(axis=0))
    np.testing.assert_allclose(found["mean"], both.sum(axis=0) / (both > 0).sum(axis=0))


def test_net_wins_count_the_unnamed_as_last() -> None:
    found = columns(PREFS)["net wins"]
    # a beats b, c, d in x, c and d in y, and loses once in y and to d in z: 5 - 2 of 3 lists x 3 others
    assert found[0] == pytest.approx((3 + 2 - 1 - 1) / 9)
    assert found.sum() == pytest.approx(0)


def test_agreement_is_the_correlation_with_the_others() -> None:
    found = columns(PREFS)
    own, others = 1 / (60 + np.array([1, 2, 4])), np.array([1 / 63, 1 / 61, 0])
    np.testing.assert_allclose(found["x agreement"], np.corrcoef(own, others)[0, 1])
    assert not found["z agreement"].any()


def test_fused_scores_are_standardised_and_ranked() -> None:
    prefs, _ = laws.random_labelled(np.random.default_rng(1))
    found = columns(prefs, methods="rrf, borda")
    for name in ("rrf", "borda"):
        for q in range(prefs.n_instances):
            mine = slice(prefs.slot_ptr[q], prefs.slot_ptr[q + 1])
            score = found[f"{name} score"][mine]
            assert score.mean() == pytest.approx(0, abs=1e-9)
            assert score.std() == pytest.approx(1)
            order = np.argsort(-score, kind="stable")
            assert (np.diff(found[f"{name} rank"][mine][order]) <= 1e-12).all()
            assert found[f"{name} rank"][mine].max() <= 1


def test_the_best_of_several_ballots_counts() -> None:
    twice = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]], agent=["x", "x"])
    found = columns(twice)
    np.testing.assert_allclose(found["x height"], [1, 1])


def test_ranks_below_1_are_refused() -> None:
    with pytest.raises(InputError, match="below 1"):
        columns(cc.Preferences.from_ranks(["x", "x"], ["a", "b"], [0, 1]))
