"""Further columns of a ranking: the rank by intervals, margins, votes and details."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.conftest import ROOT

import concordant as cc
from concordant.results.more_columns import ranks_by_intervals

VOTES = str(ROOT / "examples" / "model-votes.csv")


def test_the_rank_by_intervals_counts_those_entirely_above() -> None:
    rng = np.random.default_rng(0)
    ptr = np.array([0, 3, 3, 10])
    score, half = rng.normal(size=10), rng.random(10)
    low, high = score - half, score + half
    found = ranks_by_intervals(low, high, ptr)
    for start, stop in pairwise(ptr.tolist()):
        for slot in range(start, stop):
            assert found[slot] == 1 + (low[start:stop] > high[slot]).sum()


def test_touching_intervals_share_a_rank() -> None:
    assert ranks_by_intervals(np.array([1.0, 0.0]), np.array([2.0, 1.0]), np.array([0, 2])).tolist() == [1, 1]


def test_columns_come_last_in_every_table_and_stay_aligned() -> None:
    ranking = cc.rank(cc.read(VOTES)).on_scale("elo").with_columns("votes", "margin", "stderr")
    assert list(ranking.columns())[-3:] == ["votes", "margin", "stderr"]
    up, down = ranking.high - ranking.scores, ranking.scores - ranking.low
    wanted = [f"+{a:.0f}/-{b:.0f}" for a, b in zip(up, down, strict=True)]
    assert list(ranking.columns()["margin"]) == wanted
    assert ranking.columns()["stderr"].tolist() == ranking.detail("stderr").tolist()
    assert list(ranking.head(2).columns()["margin"]) == wanted[:2]
    assert list(ranking.by("low").columns()["votes"]) == [
        dict(zip(ranking.items, ranking.columns()["votes"], strict=True))[item] for item in ranking.by("low").items
    ]


def test_votes_are_the_weight_of_the_ballots_that_mention_an_item() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "c"]], weight=[2, 0.5])
    ranking = cc.rank(prefs, "borda").with_columns("votes")
    assert dict(zip(ranking.items, ranking.columns()["votes"], strict=True)) == {"a": 2.0, "b": 2.5, "c": 0.5}
    whole = cc.rank(cc.Preferences.from_rankings([["a", "b"], ["b", "a"]], instance=["x", "y"]), "borda")
    assert whole["y"].with_columns("votes").columns()["votes"].tolist() == [1, 1]


def test_margins_on_the_scale_of_the_method_have_decimals() -> None:
    margins = cc.rank(cc.read(VOTES)).with_columns("margin").columns()["margin"]
    assert margins[0] == "+0.5567/-0.5567"


def test_unknown_columns_are_refused() -> None:
    ranking = cc.rank(cc.read(VOTES), "borda")
    with pytest.raises(cc.InputError, match=r"no further column 'vots' of borda: .* Did you mean votes"):
        ranking.with_columns("vots")
    with pytest.raises(cc.InputError, match="borda computes no intervals here, which 'rank_ub' needs"):
        ranking.with_columns("rank_ub")
    with pytest.raises(cc.InputError, match="'votes' is not known"):
        cc.rank(cc.read(VOTES), "elo").history.at(100).with_columns("votes")
