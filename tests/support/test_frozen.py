"""What results hand out cannot be changed: a ranking stays what the method said."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import concordant as cc
from concordant.support.frozen import FrozenDict, FrozenList, frozen

PREFS = cc.Preferences.from_rankings([["a", "b", "c"], ["c", "a", "b"], ["a", "c", "b"]], agent=["x", "y", "z"])


def test_the_items_of_a_ranking_cannot_be_changed() -> None:
    ranking = cc.rank(PREFS, "borda")
    assert ranking.items == ["a", "c", "b"]
    for change in (
        lambda: ranking.items.__setitem__(0, "b"),
        lambda: ranking.items.append("d"),
        lambda: ranking.items.sort(),
        lambda: ranking.items.__iadd__(["d"]),
        lambda: ranking.vocabulary.labels.clear(),
        lambda: PREFS.items.labels.reverse(),
        lambda: PREFS.agents.labels.pop(),
    ):
        with pytest.raises(TypeError, match="make a copy first"):
            change()
    assert ranking.items == ["a", "c", "b"]
    assert PREFS.items.labels == ["a", "b", "c"]


def test_the_numbers_of_a_ranking_cannot_be_changed() -> None:
    ranking = cc.rank(PREFS, "bradley-terry")
    fused = cc.fuse([["a", "b"], ["b", "c"]])
    for array in (
        ranking.score,
        ranking.ranks,
        ranking.slot_item,
        ranking.slot_low,
        *ranking.details.values(),
        fused.score,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
    for table in (ranking.params, ranking.details, fused.params):
        with pytest.raises(TypeError, match="make a copy first"):
            table["new"] = 1


def test_the_caller_keeps_the_arrays_it_made() -> None:
    score = np.array([1.0, 2.0])
    ranking = cc.Ranking(PREFS.items, np.array([0, 2]), np.array([0, 1], np.int32), score)
    score[0] = 0.5
    with pytest.raises(ValueError, match="read-only"):
        ranking.score[0] = 5


def test_what_a_model_learnt_cannot_be_changed() -> None:
    given = {"a": 0.5, "b": 1.0}
    model = cc.MPM().with_variances(given)
    given["a"] = 7.0
    assert model.learnt["variance"] == {"a": 0.5, "b": 1.0}
    with pytest.raises(TypeError, match="make a copy first"):
        model.learnt["variance"]["a"] = 2.0
    rated = cc.Preferences.from_ratings(["x", "x", "y"], ["m", "n", "m"], [3, 1, 5])
    popular = cc.recommend.load("popular")().fit(rated)
    with pytest.raises(ValueError, match="read-only"):
        popular.learnt["item_score"][0] = 9


def test_a_history_cannot_be_changed() -> None:
    history = cc.rank(cc.Preferences.from_pairs(["a", "b"], ["b", "c"]), "elo").history
    with pytest.raises(ValueError, match="read-only"):
        history.score[0] = 9


def test_copies_can_be_changed_and_pickles_cannot() -> None:
    ranking = cc.rank(PREFS, "borda")
    mine = ranking.items.copy()
    mine.append("d")
    assert [*ranking.items, "d"] == ranking.items + ["d"] == mine  # noqa: RUF005
    again = pickle.loads(pickle.dumps(ranking))
    assert again.items == ranking.items
    for one in (again, copy.deepcopy(ranking)):
        with pytest.raises(ValueError, match="read-only"):
            one.score[0] = 5
        with pytest.raises(TypeError, match="make a copy first"):
            one.items[0] = "b"
    assert json.dumps([ranking.items, ranking.params]).startswith('[["a", "c", "b"]')


def test_frozen_values_equal_plain_ones() -> None:
    found = frozen({"a": [1, 2], "b": {"c": np.arange(2)}})
    assert isinstance(found, FrozenDict)
    assert isinstance(found["a"], FrozenList)
    assert found["a"] == [1, 2]
    assert found["a"][:1] == [1]
    assert type(found["a"] + [3]) is list
    assert type(found.copy()) is dict
    assert not found["b"]["c"].flags.writeable
