"""Bagging over queries."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from concordant.errors import NeedError
from concordant.learn import Ranker
from concordant.learn.bagged_ranker import BaggedRanker
from concordant.learn.ordinal_ranker import OrdinalRanker
from concordant.learn.rank_boost import RankBoost


def graded(seed: int, n_queries: int = 30, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * 8, 6))
    y = np.digitize(X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.0] + noise * rng.normal(size=len(X)), [-0.5, 1.0])
    return X, y.astype(float), np.repeat(np.arange(n_queries), 8)


class Listener(Ranker):
    """Notes what it is given and scores by the first feature; takes no weights."""

    def fit(self, X: Any, y: Any, *, qid: Any = None) -> Self:
        self.seen_ = (len(X), len(set(np.asarray(qid).tolist())), np.bincount(np.unique(qid, return_inverse=True)[1]))
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(X)[:, 0]


def test_the_mean_of_many_is_better_than_one() -> None:
    X, y, qid = graded(0)
    new, labels, queries = graded(1, n_queries=100)
    one = RankBoost(rounds=50).fit(X, y, qid=qid).score(new, labels, qid=queries)
    many = BaggedRanker(RankBoost(rounds=50), n_rankers=20).fit(X, y, qid=qid).score(new, labels, qid=queries)
    assert many > one


def test_scores_are_the_mean_of_standardised_ones() -> None:
    X, y, qid = graded(2)
    model = BaggedRanker(RankBoost(rounds=10), n_rankers=3).fit(X, y, qid=qid)
    for fitted, scale in zip(model.rankers_, model.scales_, strict=True):
        scores = fitted.predict(X).reshape(30, 8)
        assert scale == pytest.approx(np.sqrt(np.mean((scores - scores.mean(axis=1, keepdims=True)) ** 2)))
    expected = np.mean(
        [one.predict(X) / scale for one, scale in zip(model.rankers_, model.scales_, strict=True)], axis=0
    )
    assert model.predict(X) == pytest.approx(expected)


def test_a_ranker_without_weights_sees_queries_repeated() -> None:
    X, y, qid = graded(3)
    model = BaggedRanker(Listener(), n_rankers=4, seed=1).fit(X, y, qid=qid)
    for fitted in model.rankers_:
        rows, queries, sizes = fitted.seen_
        assert rows == 240
        assert queries == 30
        assert (sizes == 8).all()
    half = BaggedRanker(Listener(), n_rankers=1, fraction=0.5).fit(X, y, qid=qid)
    assert half.rankers_[0].seen_[:2] == (120, 15)
    with pytest.raises(NeedError, match="sample_weight"):
        BaggedRanker(Listener()).fit(X, y, qid=qid, sample_weight=np.ones(len(y)))


def test_the_out_of_bag_score_foretells_the_score_on_new_queries() -> None:
    X, y, qid = graded(4, n_queries=120)
    new, labels, queries = graded(5, n_queries=300)
    model = BaggedRanker(RankBoost(rounds=40), n_rankers=15, out_of_bag=True).fit(X, y, qid=qid)
    fresh = model.score(new, labels, qid=queries)
    assert model.out_of_bag_score_ == pytest.approx(fresh, abs=0.04)
    assert abs(model.out_of_bag_score_ - fresh) < abs(model.score(X, y, qid=qid) - fresh)


def test_a_pipeline_can_be_bagged() -> None:
    X, y, qid = graded(6)
    model = BaggedRanker(make_pipeline(StandardScaler(), OrdinalRanker()), n_rankers=3).fit(X, y, qid=qid)
    assert model.score(X, y, qid=qid) > 0.7


def test_clones_have_seeds_of_their_own_and_the_whole_is_reproducible() -> None:
    from concordant.learn.light_gbm_ranker import LightGBMRanker

    pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    X, y, qid = graded(7)
    base = LightGBMRanker(trees=5, threads=1)
    model = BaggedRanker(base, n_rankers=3, seed=5).fit(X, y, qid=qid, valid=graded(8))
    assert len({fitted.seed for fitted in model.rankers_}) == 3
    assert base.seed == 0
    again = BaggedRanker(base, n_rankers=3, seed=5).fit(X, y, qid=qid, valid=graded(8))
    assert np.array_equal(model.predict(X), again.predict(X))


def test_missing_values_are_taken_where_the_ranker_takes_them() -> None:
    X, y, qid = graded(9)
    X[::7, 0] = np.nan
    assert np.isfinite(BaggedRanker(n_rankers=2).fit(X, y, qid=qid).predict(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        BaggedRanker(OrdinalRanker(), n_rankers=2).fit(X, y, qid=qid)


def test_a_single_query_has_no_out_of_bag_score() -> None:
    X, y, _ = graded(10, n_queries=2)
    assert np.isfinite(BaggedRanker(n_rankers=2).fit(X, y).predict(X)).all()
    with pytest.raises(NeedError, match="raise n_rankers"):
        BaggedRanker(n_rankers=2, out_of_bag=True).fit(X, y)


def test_a_ranker_of_whole_sets_is_refused() -> None:
    from concordant.learn.pairwise_ranker import PairwiseRanker

    X, y, qid = graded(11)
    with pytest.raises(NeedError, match="no scores to average"):
        BaggedRanker(PairwiseRanker()).fit(X, y, qid=qid)
