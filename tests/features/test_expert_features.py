"""Features of experts: figure 1 of the paper, the decomposition itself, signs, ballots that add up, both back ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import concordant as cc
from concordant import laws
from concordant.errors import InputError, NeedError, ParameterError
from concordant.features.pairwise import PairMatrix, levels, pair_lists
from concordant.kernels import twins
from concordant.models.observations.preference_counts import COUNTS

# Figure 1 of Volkovs, Larochelle and Zemel (2012): four documents, three experts.
FIGURE_1 = cc.Preferences.from_rank_matrix(
    [[2, 7, np.nan], [np.nan, np.nan, 1], [10, 5, np.nan], [np.nan, 15, 3]],
    items=["d1", "d2", "d3", "d4"],
    agents=["one", "two", "three"],
)


def matrix_of(prefs: cc.Preferences, counts: str, group: np.ndarray | None = None) -> np.ndarray:
    """Return the pairwise matrix of group 0 over the slots of a single instance, by the definition."""
    found = levels(prefs, counts)
    own = np.zeros(prefs.n_ballots, np.int64) if group is None else group
    matrix = np.zeros((prefs.n_slots, prefs.n_slots))
    for b in np.flatnonzero(own == 0):
        entries = range(prefs.indptr[b], prefs.indptr[b + 1])
        for e in entries:
            for f in entries:
                if prefs.tier[e] < prefs.tier[f]:
                    strength = 1.0 if found.is_binary else found.level[f] - found.level[e]
                    matrix[prefs.entry_slot[e], prefs.entry_slot[f]] += prefs.weight[b] * strength
    return matrix


def test_figure_1_of_the_paper_comes_out() -> None:
    second = FIGURE_1.select(agents=["two"], items=["d1", "d3", "d4"])
    matrix = matrix_of(second, "log")
    named = {(second.items[i], second.items[j]): matrix[i, j] for i, j in np.argwhere(matrix > 0)}
    assert {pair: round(value, 2) for pair, value in named.items()} == {
        ("d1", "d4"): 0.28,
        ("d3", "d1"): 0.12,
        ("d3", "d4"): 0.41,
    }


def test_strength_is_kept_for_all_documents_and_silence_is_marked() -> None:
    features = cc.ExpertFeatures()
    table = features.fit_transform(FIGURE_1).reshape(4, 3, 4)
    assert features.blocks == ("one", "two", "three")
    assert (table[:, :, 1] == table[0, :, 1]).all()
    is_silent = np.array([[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
    np.testing.assert_array_equal(table[:, :, 3], is_silent)
    assert not table[is_silent == 1][:, [0, 2]].any()
    assert list(features.get_feature_names_out()[:5]) == ["one u1", "one s1", "one v1", "one unranked", "two u1"]


def test_a_list_whose_largest_rank_is_1_says_nothing_by_logarithms() -> None:
    alone = cc.Preferences.from_ranks(["k", "k"], ["a", "b"], [1, 1])
    assert not cc.ExpertFeatures().fit_transform(alone).any()


@st.composite
def ballots(draw: st.DrawFn) -> cc.Preferences:
    """Several ballots of one expert in one instance: ranks with gaps and ties, weights."""
    n_items, n_ballots = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    rows = [
        (f"b{b}", f"d{i}", draw(st.integers(1, 9)), weight)
        for b in range(n_ballots)
        for weight in [draw(st.sampled_from([1.0, 2.0, 0.5]))]
        for i in draw(st.permutations(range(n_items)))[: draw(st.integers(1, n_items))]
    ]
    agent, item, rank, weight = (list(column) for column in zip(*rows, strict=True))
    prefs = cc.Preferences.from_ranks(agent, item, rank, weight=weight)
    return prefs.replace(agents=["k"], agent=np.zeros(prefs.n_ballots, np.int32))


@settings(max_examples=60)
@given(ballots(), st.sampled_from(COUNTS))
def test_the_features_are_the_leading_singular_pair(prefs: cc.Preferences, counts: str) -> None:
    matrix = matrix_of(prefs, counts)
    left, strength, right, _ = cc.ExpertFeatures(counts=counts).fit_transform(prefs).T
    values = np.linalg.svd(matrix, compute_uv=False)
    np.testing.assert_allclose(strength, values[0], rtol=1e-9, atol=1e-12)
    assert (left >= 0).all()
    assert (right >= 0).all()
    if values[0] > 0:
        np.testing.assert_allclose([left @ left, right @ right], 1.0, rtol=1e-9)
        np.testing.assert_allclose(matrix @ right, values[0] * left, atol=2e-6 * values[0])
        np.testing.assert_allclose(matrix.T @ left, values[0] * right, atol=2e-6 * values[0])


@settings(max_examples=60)
@given(ballots(), st.sampled_from(COUNTS))
def test_both_back_ends_agree(prefs: cc.Preferences, counts: str) -> None:
    features = cc.ExpertFeatures(counts=counts).fit(prefs)
    compiled = features.transform(prefs)
    with laws.using_kernels(twins):
        np.testing.assert_allclose(features.transform(prefs), compiled, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 57])
def test_a_strict_list_has_a_closed_form(n: int) -> None:
    prefs = cc.Preferences.from_rankings([[f"d{k}" for k in range(n)]], agent=["k"])
    left, strength, right, _ = cc.ExpertFeatures(counts="binary").fit_transform(prefs).T
    above = np.triu(np.ones((n, n)), 1)
    np.testing.assert_allclose(strength, np.linalg.norm(above, 2), rtol=1e-12)
    np.testing.assert_allclose(above @ right, strength * left, atol=1e-12)
    np.testing.assert_allclose(above.T @ left, strength * right, atol=1e-12)


@settings(max_examples=30)
@given(ballots(), st.sampled_from(COUNTS))
def test_more_components_rebuild_the_matrix(prefs: cc.Preferences, counts: str) -> None:
    n = prefs.n_slots
    table = cc.ExpertFeatures(counts=counts, components=n).fit_transform(prefs)
    left, strength, right = table[:, :n], table[0, n : 2 * n], table[:, 2 * n : 3 * n]
    np.testing.assert_allclose(left * strength @ right.T, matrix_of(prefs, counts), atol=1e-9)
    assert ((left * np.abs(left)).sum(axis=0) >= -1e-9).all()


def test_a_long_list_is_decomposed_without_its_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rank = np.sort(rng.choice(np.arange(1, 5000), 1200, replace=False))
    prefs = cc.Preferences.from_ranks(["k"] * 1200, [f"d{i}" for i in range(1200)], rank)
    exact = np.linalg.svd(matrix_of_strict(prefs))
    monkeypatch.setattr(PairMatrix, "dense", lambda _: pytest.fail("the matrix was formed"))
    one = cc.ExpertFeatures().fit_transform(prefs)
    np.testing.assert_allclose(one[:, 0], np.abs(exact.U[:, 0]), atol=1e-9)
    two = cc.ExpertFeatures(components=2).fit_transform(prefs)
    np.testing.assert_allclose(two[0, 2:4], exact.S[:2], rtol=1e-9)
    np.testing.assert_allclose(np.abs(two[:, 1]), np.abs(exact.U[:, 1]), atol=1e-7)


def matrix_of_strict(prefs: cc.Preferences) -> np.ndarray:
    level = levels(prefs, "log").level
    return np.maximum(level[None, :] - level[:, None], 0.0)


def test_the_combined_features_are_those_of_the_summed_matrix() -> None:
    table = cc.ExpertFeatures(scope="combined").fit_transform(FIGURE_1)
    left, values, right = np.linalg.svd(matrix_of(FIGURE_1, "log"))
    np.testing.assert_allclose(table[:, 0], np.abs(left[:, 0]), atol=1e-9)
    np.testing.assert_allclose(table[:, 1], values[0])
    np.testing.assert_allclose(table[:, 2], np.abs(right[0]), atol=1e-9)


def test_hybrid_features_pool_experts_who_say_little() -> None:
    features = cc.ExpertFeatures(scope="hybrid", min_preferences=3).fit(FIGURE_1)
    assert features.blocks == ("two", "others")
    rest = cc.ExpertFeatures(scope="combined").fit_transform(
        FIGURE_1.replace(weight=np.array([1.0, 1e-40, 1.0])[FIGURE_1.agent])
    )
    np.testing.assert_allclose(features.transform(FIGURE_1)[:, 4:7], rest[:, :3], atol=1e-9)


def test_experts_never_seen_are_left_out_or_pooled() -> None:
    known = FIGURE_1.select(agents=["one", "two"])
    alone = cc.ExpertFeatures().fit(known).transform(FIGURE_1)
    np.testing.assert_array_equal(alone, cc.ExpertFeatures().fit_transform(FIGURE_1)[:, :8])
    pooled = cc.ExpertFeatures(scope="hybrid", min_preferences=1).fit(known).transform(FIGURE_1)
    np.testing.assert_allclose(pooled[:, 8:11], cc.ExpertFeatures().fit_transform(FIGURE_1)[:, 8:11], atol=1e-12)


def test_observed_pairs_fill_the_matrix_as_they_are() -> None:
    prefs = cc.Preferences.from_pairs(["a", "a", "b"], ["b", "c", "c"], weight=[1, 1, 3], agent=["k", "k", "k"])
    left, strength, right, _ = cc.ExpertFeatures().fit_transform(prefs).T
    matrix = np.array([[0, 1, 1], [0, 0, 3], [0, 0, 0]], float)
    np.testing.assert_allclose(strength, np.linalg.norm(matrix, 2))
    np.testing.assert_allclose(matrix @ right, strength * left, atol=1e-9)


@pytest.mark.parametrize(("made", "tolerance"), [(cc.ExpertFeatures(), 1e-12), (cc.FusionFeatures(), 1e-9)])
def test_instances_do_not_mix(made: Any, tolerance: float) -> None:
    prefs, _ = laws.random_labelled(np.random.default_rng(3))
    features = made.fit(prefs)
    together = features.transform(prefs)
    for q, label in enumerate(prefs.instances or ()):
        alone = features.transform(prefs.select(instances=[label]))
        np.testing.assert_allclose(alone, together[prefs.slot_ptr[q] : prefs.slot_ptr[q + 1]], atol=tolerance)


def test_it_stands_at_the_head_of_a_pipeline() -> None:
    from sklearn.base import clone
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(cc.ExpertFeatures(counts="binary"), Ridge())
    pipeline.fit(FIGURE_1, [0.0, 0.0, 1.0, 0.0])
    assert pipeline.predict(FIGURE_1).argmax() == 2
    assert clone(pipeline[0]).get_params() == cc.ExpertFeatures(counts="binary").get_params()
    changed = cc.ExpertFeatures().set_params(counts="binary")
    assert changed.counts == "binary"
    with pytest.raises(ParameterError, match="has no parameter 'rank'"):
        changed.set_params(rank=2)


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(NeedError, match="fit"):
        cc.ExpertFeatures().transform(FIGURE_1)
    with pytest.raises(NeedError, match="the ballots have no agents"):
        cc.ExpertFeatures().fit(cc.Preferences.from_rankings([["a", "b"]]))
    with pytest.raises(ParameterError, match="counts"):
        cc.ExpertFeatures(counts="rank")
    zero = cc.Preferences.from_ranks(["k", "k"], ["a", "b"], [0, 1])
    with pytest.raises(InputError, match="logarithm"):
        cc.ExpertFeatures().fit_transform(zero)


def test_groups_have_only_the_slots_they_name() -> None:
    found = levels(FIGURE_1, "log")
    lists, named = pair_lists(FIGURE_1, found, np.asarray(FIGURE_1.agent, np.int64), 3)
    assert np.diff(lists.slot_ptr).tolist() == [2, 3, 2]
    assert len(named) == 7
