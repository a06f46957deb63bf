import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import PLAIN_KEYS

import concordant as cc
from concordant import kernels
from concordant.ballots.vocabulary import Vocabulary
from concordant.kernels import twins
from concordant.ranking import Notice, Ranking


def two_instances() -> Ranking:
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "c", "a"]], instance=["q1", "q2"])
    return cc.rank(prefs, "borda")


def test_tied_items_share_the_better_rank_and_stand_in_input_order() -> None:
    ranking = Ranking(Vocabulary("abcd"), np.array([0, 4]), np.arange(4, dtype=np.int32), np.array([1.0, 3, 3, 0]))
    assert ranking.items == ["b", "c", "a", "d"]
    assert ranking.ranks.tolist() == [1, 1, 3, 4]
    assert ranking.tiers == [["b", "c"], ["a"], ["d"]]


def test_rounding_noise_is_a_tie() -> None:
    noisy = np.array([0.1 + 0.2, 0.3, 0.3 + 1e-9])
    ranking = Ranking(Vocabulary("abc"), np.array([0, 3]), np.arange(3, dtype=np.int32), noisy)
    assert ranking.items == ["c", "a", "b"]
    assert ranking.ranks.tolist() == [1, 2, 2]


@given(st.lists(st.lists(st.sampled_from([0.0, -0.0, 1.0, 1 + 1e-15, 2.5, -3.0, 1e300]) | st.floats(-1e6, 1e6))))
def test_both_back_ends_order_segments_alike(segments: list[list[float]]) -> None:
    score = np.array([s for segment in segments for s in segment])
    ptr = np.concatenate([[0], np.cumsum([len(segment) for segment in segments])]).astype(np.int64)
    for ours, twin in zip(
        kernels.order_segments(score, ptr, 1e-12), twins.order_segments(score, ptr, 1e-12), strict=True
    ):
        assert ours.tolist() == twin.tolist()


@pytest.mark.parametrize("n", [127, 128, 1000])
def test_long_segments_are_sorted_stably(n: int) -> None:
    rng = np.random.default_rng(n)
    for score in (rng.normal(size=n), rng.integers(0, 9, n) * 1.0, 1 + rng.normal(size=n) * 1e-10, -rng.random(n)):
        order, _ = kernels.order_segments(score, np.array([0, n]), 0.0)
        assert order.tolist() == np.argsort(-score, kind="stable").tolist()


def test_one_of_many_instances_is_a_ranking_of_its_own() -> None:
    ranking = two_instances()
    assert len(ranking) == 2
    assert ranking["q2"].items == ["b", "c", "a"]
    assert [part.instance for part in ranking] == ["q1", "q2"]
    with pytest.raises(cc.ConcordantError, match="There are 2 instances"):
        _ = ranking.items
    with pytest.raises(cc.UnknownNameError, match="no instance 'q3'"):
        _ = ranking["q3"]


def test_the_head_keeps_the_best_of_each_instance() -> None:
    head = two_instances().head(1)
    assert [part.items for part in head] == [["a"], ["b"]]
    assert two_instances().head(9)["q2"].items == ["b", "c", "a"]


def test_plain_data_has_the_same_keys_for_every_method() -> None:
    data = two_instances().to_dict()
    assert list(data) == PLAIN_KEYS
    assert data["instances"][0]["items"][0] == {"item": "a", "rank": 1, "score": 1.0, "low": None, "high": None}


@pytest.mark.parametrize("backend_name", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_one_row_per_instance_and_item(backend_name: str) -> None:
    frame = two_instances().to_frame(backend_name)
    assert frame.shape == (5, 4)


def test_an_unknown_frame_library_is_refused() -> None:
    with pytest.raises(cc.InputError, match="use one of pandas"):
        two_instances().to_frame("excel")


def test_it_prints_well() -> None:
    ranking = two_instances()
    assert repr(ranking) == "Ranking by borda: 2 instances, 5 candidates"
    assert "rank  item  score" in repr(ranking["q1"])
    assert "<bdi>a</bdi></td>" in ranking["q1"]._repr_html_()
    noticed = Ranking(
        Vocabulary("a"), np.array([0, 1]), np.zeros(1, np.int32), np.zeros(1), notices=(Notice("alone", "one item"),)
    )
    assert "warning: alone: one item" in repr(noticed)


def test_fusing_lists_equals_ranking_them() -> None:
    lists = [["a", "b", "c"], ["b", "d"], ["c", "a", "e"]]
    fused, ranked = cc.fuse(lists, "rrf", k=10), cc.rank(cc.Preferences.from_rankings(lists), "rrf", k=10)
    assert fused.items == ranked.items
    assert fused.scores.tolist() == ranked.scores.tolist()
    assert cc.fuse([["a", ["b", "c"]], [1, "a"]]).items[0] == "a"
    assert cc.fuse([("x", "y")], "borda").items == ["x", "y"]


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([], "nothing to fuse"),
        ([[]], "nothing to fuse"),
        ([["a", "a"]], "List 1 contains 'a' twice"),
        (["ab"], "List 1"),
    ],
)
def test_fusing_refuses_what_is_no_list_of_results(lists: list[list[str]], message: str, backend: str) -> None:
    with pytest.raises(cc.InputError, match=message):
        cc.fuse(lists)


def test_sorted_by_the_low_end_a_place_must_be_earned():
    pairs = [("new", "b")] * 2 + [("known", "b")] * 60 + [("b", "known")] * 15
    winner, loser = zip(*pairs, strict=True)
    ranking = cc.rank(cc.Preferences.from_pairs(winner, loser), "bradley-terry", prior=0.01)
    assert ranking.items == ["new", "known", "b"]
    careful = ranking.by("low")
    assert careful.items == ["known", "new", "b"]
    assert (np.diff(careful.low) <= 0).all()
    assert careful.head(1).items == ["known"]
    assert careful.to_dict()["instances"][0]["items"][0]["item"] == "known"
    assert careful.by("score").items == ranking.items
    with pytest.raises(cc.InputError, match="computes no intervals here"):
        cc.rank(cc.Preferences.from_pairs(winner, loser), "borda").by("low")
    with pytest.raises(cc.InputError, match="use one of score, low, high"):
        ranking.by("luck")


@pytest.mark.parametrize("method", ["elo", "trueskill", "glicko2", "whole-history", "windowed-bradley-terry"])
def test_a_ranking_with_a_history_can_be_pickled(method):
    games = cc.Preferences.from_pairs(["a", "b", "a", "c"], ["b", "c", "c", "b"], time=[1, 2, 3, 4])
    ranking = cc.rank(games, method)
    again = pickle.loads(pickle.dumps(ranking))
    assert again.items == ranking.items
    assert again.history.columns()["item"] == ranking.history.columns()["item"]


@pytest.mark.parametrize("method", ["bradley-terry", "plackett-luce"])
def test_a_ranking_with_coefficients_can_be_pickled(method):
    votes = cc.Preferences.from_pairs(list("aabcb"), list("bcaba"), covariates={"length": [1.0, 2.0, 0.5, -1.0, 0.3]})
    ranking = cc.rank(votes, method)
    assert pickle.loads(pickle.dumps(ranking)).coefficients == ranking.coefficients
