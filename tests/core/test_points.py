"""Points of games are kept, merged, selected, pickled and compared with the other parts of preferences."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import concordant as cc

GAMES = cc.Preferences.from_pairs(
    ["a", "a", "b", "a"], ["b", "b", "c", "b"], points=([3, 1, 2, 3], [1, 0, np.nan, 1]), time=[1, 2, 3, 4]
)


def test_points_make_no_ratings_of_pairs() -> None:
    assert (GAMES.form, GAMES.value, GAMES.scale) == ("pairs", None, None)
    assert cc.rank(GAMES).method == cc.rank(GAMES.replace(points=None)).method


def test_equal_games_are_merged_and_unknown_points_are_equal() -> None:
    merged = GAMES.merge()
    assert merged.weight.tolist() == [2.0, 1.0, 1.0]
    assert merged.points is not None
    assert merged.points[:4].tolist() == [3.0, 1.0, 1.0, 0.0]
    assert pickle.loads(pickle.dumps(GAMES)) == GAMES
    assert GAMES.replace(points=None) != GAMES
    changed = GAMES.points.copy()  # type: ignore[union-attr]
    changed[0] = 4
    assert GAMES.replace(points=changed) != GAMES


def test_selected_games_keep_their_points() -> None:
    assert GAMES.take([1, 2]).points[:2].tolist() == [1.0, 0.0]  # type: ignore[index]
    assert GAMES.select(items=["a", "b"]).points.tolist() == [3, 1, 1, 0, 3, 1]  # type: ignore[union-attr]


def test_games_are_sorted_by_time_with_their_points() -> None:
    games = cc.Preferences.from_pairs(["a", "b"], ["b", "a"], points=([5, 2], [4, 1]), time=[2, 1])
    assert games.points.tolist() == [2, 1, 5, 4]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (([1], [0, 0]), "A column of points has 1 values for 2 rows"),
        ((["x", 1], [0, 0]), "points= is not a number"),
        (([1, np.inf], [0, 0]), "A score is not"),
        ([[1, 1], [0, 0]], "points= must be a pair of columns"),
    ],
)
def test_bad_points_are_refused(points: object, message: str) -> None:
    with pytest.raises(cc.InputError, match=message):
        cc.Preferences.from_pairs(["a", "b"], ["b", "a"], points=points)  # type: ignore[arg-type]


def test_points_belong_to_pairs() -> None:
    with pytest.raises(cc.InputError, match="matches of two sides"):
        cc.Preferences(["a", "b", "c"], [0, 3], [0, 1, 2], [0, 1, 2], points=np.array([1.0, 2.0, 3.0]))
