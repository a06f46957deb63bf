"""What a score is worth: whoever forgets the queries is told, and the order of rows says nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold

from concordant import OneQueryWarning
from concordant.learn import ForestRanker, OrdinalRanker, QueryRanks, RankBoost, RankNet, RankRegressor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((900, 3))
Y = (X[:, 0] + RNG.standard_normal(900) > 0).astype(int)
QID = np.repeat(np.arange(90), 10)


@pytest.mark.parametrize("ranker", [RankNet(), RankRegressor(), RankBoost(rounds=2), ForestRanker(trees=2)])
def test_many_rows_without_queries_are_told_in_fit_and_score(ranker):
    with pytest.warns(OneQueryWarning, match=r"no qid is given, so all 900 rows.*give qid=.*enable_metadata_routing"):
        ranker.fit(X, Y)
    with pytest.warns(OneQueryWarning, match="900 rows"):
        ranker.score(X, Y)
    with pytest.warns(OneQueryWarning, match="qid has the same value everywhere"):
        ranker.fit(X, Y, qid=np.ones(900))


def test_queries_few_rows_and_intended_single_queries_are_not_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error", OneQueryWarning)
        assert RankNet().fit(X, Y, qid=QID).score(X, Y, qid=QID) > 0.5
        RankNet().fit(X[:200], Y[:200]).score(X[:200], Y[:200])
        RankNet().fit(X, Y, group=[900])
        OrdinalRanker().fit(X, Y)  # learns from rows, not from queries


def test_a_validation_set_without_queries_is_told():
    with pytest.warns(OneQueryWarning, match="900 rows"):
        RankNet(max_iter=3).fit(X, Y, qid=QID, valid=(X, Y))


def test_ranks_within_queries_need_queries():
    with pytest.warns(OneQueryWarning, match="900 rows"):
        QueryRanks().fit_transform(X)


def test_a_grid_search_without_routing_is_told_and_with_routing_is_not():
    search = GridSearchCV(RankNet(max_iter=20), {"alpha": [1e-4, 1e-2]}, cv=2)
    with pytest.warns(OneQueryWarning):
        search.fit(np.vstack([X, X]), np.concatenate([Y, Y]))
    with sklearn.config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("error", OneQueryWarning)
        folds = list(GroupKFold(2).split(X, Y, QID))
        GridSearchCV(RankNet(max_iter=200), {"alpha": [1e-4, 1e-2]}, cv=folds).fit(X, Y, qid=QID)


def test_a_ranker_that_says_nothing_does_not_look_perfect_on_sorted_rows():
    y, qid = np.tile([2, 1, 0, 0], 20), np.repeat(np.arange(20), 4)
    rows = np.column_stack([y, np.ones(80)])
    ranker = RankNet().fit(rows, y, qid=qid)
    ranker.coef_ = np.zeros(2)
    sorted_rows = ranker.score(rows, y, qid=qid)
    assert sorted_rows == pytest.approx(ranker.score(rows[::-1], y[::-1], qid=qid[::-1]))
    assert sorted_rows < 0.9
