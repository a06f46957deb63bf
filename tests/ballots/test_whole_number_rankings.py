"""Rankings of whole numbers, in lists or arrays, give the same ballots as rankings of their texts."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc

RANKINGS = np.argsort(np.random.default_rng(0).random((40, 6)), axis=1) + 3
FORMS = {
    "lists": RANKINGS.tolist(),
    "tuples": [tuple(ranking) for ranking in RANKINGS.tolist()],
    "array": RANKINGS,
    "array of int32": RANKINGS.astype(np.int32),
    "array of unsigned": RANKINGS.astype(np.uint64),
    "columns first": np.asfortranarray(RANKINGS),
    "list of arrays": list(RANKINGS),
    "NumPy numbers": [list(ranking) for ranking in RANKINGS],
    "whole floats": RANKINGS.astype(float),
}


def same(one, two):
    assert one.items.labels == two.items.labels
    for name in ("indptr", "item", "tier"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        assert getattr(one, name).dtype == getattr(two, name).dtype


@pytest.mark.parametrize("form", FORMS)
def test_whole_numbers_give_the_ballots_of_their_texts(form, backend):
    texts = [[str(item) for item in ranking] for ranking in RANKINGS.tolist()]
    same(cc.Preferences.from_rankings(FORMS[form]), cc.Preferences.from_rankings(texts))


@pytest.mark.parametrize(
    ("rankings", "texts"),
    [
        ([[7, 5], [], [5]], [["7", "5"], [], ["5"]]),
        ([[7, "a"], ["a", 7]], [["7", "a"], ["a", "7"]]),
        ([[7, [5, 6]], [6]], [["7", ["5", "6"]], ["6"]]),
        ([[2**70, 1]], [[str(2**70), "1"]]),
        ([np.array([7, 5]), np.array([5])], [["7", "5"], ["5"]]),
        (np.empty((0, 3), int), []),
    ],
)
def test_mixed_nested_and_uneven_rankings_are_read_too(rankings, texts, backend):
    same(cc.Preferences.from_rankings(rankings), cc.Preferences.from_rankings(texts))


@pytest.mark.parametrize("rankings", [[[1, True]], [[1, None]], [[1, 1]], [[1, 2.5]], np.array([[1.5, 2]]), [3, 4]])
def test_what_is_no_ranking_of_whole_numbers_is_an_error(rankings, backend):
    with pytest.raises(cc.ConcordantError):
        cc.Preferences.from_rankings(rankings)


def test_candidates_may_add_items_to_whole_numbers(backend):
    prefs = cc.Preferences.from_rankings([[2, 1], [1, 2]], candidates=[1, 2, 3])
    assert set(prefs.items.labels) == {"1", "2", "3"}
