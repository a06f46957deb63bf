"""Fusing the result lists of one query: every form people have them in, scores, weights, mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import concordant as cc
from concordant import kernels
from concordant.kernels.reading import strings

METHODS = ["rrf", "borda", "combsum", "combmnz", "combanz", "combmed"]
FIRST = {"d1": 0.1, "d2": 0.9, "d3": 0.5}
SECOND = {"d2": 7.0, "d4": 9.0}


def by_hand(lists, weights, k=60.0):
    score: dict[str, float] = {}
    for weight, one in zip(weights, lists, strict=True):
        for place, label in enumerate(one, 1):
            score[label] = score.get(label, 0.0) + weight / (k + place)
    return sorted(score, key=score.__getitem__, reverse=True)


def test_scores_decide_the_order_not_the_order_of_keys(backend):
    assert cc.fuse([FIRST]).items == ["d2", "d3", "d1"]
    pairs = [list(FIRST.items()), list(SECOND.items())]
    plain = [["d2", "d3", "d1"], ["d4", "d2"]]
    for method in ("rrf", "borda"):
        expected = cc.fuse(plain, method)
        for lists in ([FIRST, SECOND], pairs, [FIRST, plain[1]]):
            fused = cc.fuse(lists, method)
            assert fused.items == expected.items
            np.testing.assert_allclose(fused.scores, expected.scores)


def test_comb_methods_use_the_scores():
    fused = cc.fuse([FIRST, SECOND], "combsum", normalise="none")
    assert dict(zip(fused.items, fused.scores.tolist(), strict=True)) == {"d4": 9.0, "d2": 7.9, "d3": 0.5, "d1": 0.1}
    assert cc.fuse([list(FIRST.items()), list(SECOND.items())], "combsum").items[0] == "d2"
    assert cc.fuse([FIRST, {}, []], "combsum").items == ["d2", "d3", "d1"]


def test_equal_scores_tie():
    fused = cc.fuse([{"a": 1.0, "b": 1.0, "c": 0.5}])
    assert fused.ranks.tolist() == [1, 1, 3]
    assert fused.scores.tolist() == pytest.approx([1 / 61, 1 / 61, 1 / 63])


@pytest.mark.parametrize("method", METHODS)
def test_a_weight_counts_as_so_many_lists(method):
    weighted = cc.fuse([FIRST, SECOND], method, weights=[2, 1])
    repeated = cc.fuse([FIRST, FIRST, SECOND], method)
    assert weighted.tiers == repeated.tiers
    np.testing.assert_allclose(weighted.scores, repeated.scores)


def test_a_heavy_list_wins_and_a_list_of_weight_zero_says_nothing():
    lists = [["a", "b"], ["b", "a"]]
    assert cc.fuse(lists, weights=[1, 3]).items == ["b", "a"]
    assert cc.fuse(lists, "borda", weights=[3, 1]).items == ["a", "b"]
    assert cc.fuse(lists, weights=[0, 1]).items == ["b", "a"]
    assert cc.fuse(lists, "borda", weights=[0, 1]).items == ["b", "a"]


labels = st.lists(st.sampled_from([f"d{k}" for k in range(9)] + ["é", "😀" * 30]), unique=True, max_size=8)


@given(st.lists(labels, min_size=1, max_size=5), st.data())
def test_the_direct_way_agrees_with_ranking_the_ballots(lists, data):
    if not any(lists):
        return
    weights = data.draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=len(lists), max_size=len(lists)))
    fused = cc.fuse(lists, "rrf", k=10, weights=weights)
    kept = [(one, weight) for one, weight in zip(lists, weights, strict=True) if one]
    prefs = cc.Preferences.from_rankings([one for one, _ in kept], weight=[weight for _, weight in kept])
    ranked = cc.rank(prefs, "rrf", k=10)
    assert fused.items == ranked.items
    assert fused.ranks.tolist() == ranked.ranks.tolist()
    assert fused.scores.tolist() == ranked.scores.tolist()
    assert (fused.method, fused.params) == (ranked.method, ranked.params)
    found = strings.fuse_lists(lists, np.array(weights), 10.0)
    again = kernels.fuse_lists(lists, np.array(weights), 10.0)
    assert found[0] == again[0]
    assert found[1].tolist() == again[1].tolist()


def test_a_fused_ranking_prints_exports_and_joins_labels_as_any_other():
    fused = cc.fuse([["a", "b"], ["b", "c"]])
    assert "Ranking by rrf" in repr(fused)
    assert fused.to_dict()["params"] == {"k": 60.0}
    assert fused.head(1).items == ["b"]
    assert fused.tiers == [["b"], ["a"], ["c"]]
    assert cc.evaluate(fused, {"c": 1}, "mrr")["mrr"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("lists", "options", "message"),
    [
        ({"a": 1.0}, {}, "takes a list of result lists, not dict"),
        ("ab", {}, "takes a list of result lists, not str"),
        (["ab", "cd"], {}, "List 1 is 'ab', which is not a result list"),
        ([["a"], 3], {}, "List 2 is 3, which is not a result list"),
        ([["a"], {"b"}], {}, "not a result list"),
        ([[("a", 0.5), "b"]], {}, "mixes"),
        ([{"a": float("nan")}], {}, "score of 'a' in list 1 is nan"),
        ([{"a": "high"}], {}, "score of 'a' in list 1 is 'high'"),
        ([[("a", 0.5), ("a", 0.4)]], {}, "contains 'a' twice"),
        ([["a", "a"]], {}, "contains 'a' twice"),
        ([], {}, "nothing to fuse"),
        ([{}, []], {}, "nothing to fuse"),
        ([["a"], ["b"]], {"weights": [1]}, "1 weights for 2 lists"),
        ([["a"]], {"weights": [-1]}, "0 or a number between 1e-50 and 9e15"),
        ([["a"]], {"weights": ["x"]}, "not numbers"),
        ([["a", 1.5]], {}, "1.5"),
    ],
)
def test_anything_else_is_refused_in_one_sentence(backend, lists, options, message):
    with pytest.raises(cc.InputError, match=message) as error:
        cc.fuse(lists, **options)
    assert "\n" not in str(error.value)


def test_methods_that_need_scores_say_which_list_has_none():
    with pytest.raises(cc.NeedError, match="comb needs scores, but list 2 has none"):
        cc.fuse([FIRST, ["d1"]], "combsum")
    assert cc.fuse([["a", "b"], ["b"]], "combsum", normalise="rank").items == ["b", "a"]


def test_methods_may_be_objects_and_arrays_lists():
    assert cc.fuse([["a", "b"]], cc.RRF(k=3)).scores.tolist() == [1 / 4, 1 / 5]
    assert cc.fuse([np.array(["a", "b"])]).items == ["a", "b"]
    assert cc.fuse([[(7, 0.5), (8, 0.9)]]).items == ["8", "7"]
    assert cc.fuse([{"a": np.float32(0.5), "b": 1}]).items == ["b", "a"]
    with pytest.raises(cc.InputError, match="method object"):
        cc.fuse([["a"]], cc.RRF(), k=3)


def test_fusing_equals_the_loop_people_write():
    random = np.random.default_rng(0)
    pool = [f"d{k}" for k in range(40)]
    lists = [random.permutation(pool)[:20].tolist() for _ in range(7)]
    weights = random.random(7)
    assert cc.fuse(lists, weights=weights).items == by_hand(lists, weights)
