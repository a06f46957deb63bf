"""Best-worst counting."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

import concordant as cc

BALLOTS = [["a", ["b", "c"], "d"], ["a", ["c", "d"], "e"], ["b", ["a", "e"], "d"], ["c", ["b", "d"], "e"]]


def scores(prefs: cc.Preferences, **params: str) -> dict[str, float]:
    ranking = cc.rank(prefs, "best-worst", **params)
    return dict(zip(ranking.items, ranking.scores.tolist(), strict=True))


def test_the_scores_of_a_small_example() -> None:
    prefs = cc.Preferences.from_rankings(BALLOTS)
    assert scores(prefs, score="difference") == {"a": 2, "b": 1, "c": 1, "d": -2, "e": -2}
    assert scores(prefs) == pytest.approx({"a": 2 / 3, "b": 1 / 3, "c": 1 / 3, "d": -1 / 2, "e": -2 / 3})
    logit = scores(prefs, score="logit")
    assert logit["a"] == pytest.approx(math.log((3 + 2) / (3 - 2)))


def test_the_logit_of_published_counts() -> None:
    """Three items of table 6 of Lipovetsky and Conklin (2014), by the formula of the paper."""
    total, best, worst = np.array([[7145, 1733, 1324], [7144, 5218, 113], [7144, 362, 4597]], float).T
    chance = (total - worst + best) / (2 * total)
    lines = [f"{k},{t:.0f},{b:.0f},{w:.0f}" for k, t, b, w in zip("xyz", total, best, worst, strict=True)]
    table = io.StringIO("item,totals,bests,worsts\n" + "\n".join(lines) + "\n")
    ranking = cc.rank(cc.read(table), "best-worst", score="logit")
    found = dict(zip(ranking.items, ranking.scores.tolist(), strict=True))
    assert [found[k] for k in "xyz"] == pytest.approx(np.log(chance / (1 - chance)).tolist())
    half = 1.959963985 / np.sqrt(2 * total * chance * (1 - chance))
    by_item = dict(zip(ranking.items, (ranking.scores - ranking.low).tolist(), strict=True))
    assert [by_item[k] for k in "xyz"] == pytest.approx(half.tolist())


def test_an_item_that_is_always_best_has_finite_scores_and_intervals() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["a", "c", "b"]])
    for score in ("share", "difference", "logit"):
        ranking = cc.rank(prefs, "best-worst", score=score)
        assert ranking.items[0] == "a"
        assert np.isfinite([ranking.scores, ranking.low, ranking.high]).all()
        assert ranking.low[0] < ranking.scores[0]
    share = cc.rank(prefs, "best-worst")
    assert share.high.max() <= 1


def test_tied_items_share_a_place_and_an_open_tier_is_not_the_worst() -> None:
    tied = cc.Preferences.from_rankings([[["a", "b"], "c", "d"], [["a", "b", "c", "d"]]])
    assert scores(tied, score="difference") == {"a": 0.5, "b": 0.5, "c": 0, "d": -1}
    choices = cc.read(io.StringIO("ranking,open\na > b = c,1\nb > c,1\n"))
    assert scores(choices, score="difference") == {"a": 1, "b": 1, "c": 0}


def test_the_explanation_shows_the_counts() -> None:
    ranking = cc.rank(cc.Preferences.from_rankings(BALLOTS), "best-worst")
    text = str(ranking.explain())
    assert "a wins under best-worst counting" in text
    assert "best 2 times and worst 0 times on 3 ballots" in text
