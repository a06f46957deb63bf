"""Ranks within queries, forests and the mean of rankers."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

import sklearn
from scipy.stats import rankdata
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.pipeline import make_pipeline

from concordant import kernels
from concordant.errors import InputError, NeedError
from concordant.kernels import twins
from concordant.learn import BlendedRanker, ForestRanker, PairwiseRanker, QueryRanks, RankNet
from concordant.learn.forest_ranker import _standardised


def made(rng: np.random.Generator, n_queries: int = 20, n_rows: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows whose labels depend on how they compare with the rest of their query: X, y, qid."""
    level = rng.normal(scale=5, size=(n_queries, 1, 1))  # of the query: tells nothing about its rows
    X = (level + rng.normal(size=(n_queries, n_rows, 3))).reshape(-1, 3)
    own = (X.reshape(n_queries, n_rows, 3) - level).reshape(-1, 3)
    y = np.digitize(own[:, 0] + 0.3 * rng.normal(size=len(own)), [0.0, 1.0]).astype(float)
    return X, y, np.repeat(np.arange(n_queries), n_rows)


class TestRanksWithinQueries:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_they_are_mid_ranks_over_the_size_of_the_query(self, dtype: type) -> None:
        rng = np.random.default_rng(0)
        X = rng.integers(0, 4, size=(30, 3)).astype(dtype)  # many ties
        qid = rng.integers(0, 5, size=30)  # in any order
        found = QueryRanks().fit_transform(X, qid=qid)
        assert found.dtype == dtype
        assert np.array_equal(found[:, :3], X)
        for q in np.unique(qid):
            rows = qid == q
            assert np.allclose(found[rows, 3:], rankdata(X[rows], axis=0) / rows.sum())

    def test_both_kernels_agree(self) -> None:
        rng = np.random.default_rng(1)
        X = rng.integers(0, 6, size=(50, 4)).astype(float)
        ptr, row = np.array([0, 20, 20, 50]), rng.permutation(50)
        assert np.array_equal(kernels.query_ranks(X, ptr, row), twins.query_ranks(X, ptr, row))

    def test_monotone_changes_of_a_query_leave_them_alone(self) -> None:
        rng = np.random.default_rng(2)
        X, _, qid = made(rng)
        ranks = QueryRanks(include_first=False)
        moved = np.exp(X / 10) * (1 + qid[:, None]) + qid[:, None]
        assert np.array_equal(ranks.fit_transform(X, qid=qid), ranks.transform(moved, qid=qid))

    def test_queries_reach_them_through_a_pipeline(self) -> None:
        X, y, qid = made(np.random.default_rng(3))
        with sklearn.config_context(enable_metadata_routing=True):
            model = make_pipeline(QueryRanks(include_first=False), RankNet()).fit(X, y, qid=qid)
            assert model.score(X, y, qid=qid) > 0.9

    def test_columns_are_named(self) -> None:
        ranks = QueryRanks().fit(np.zeros((2, 2)))
        assert list(ranks.get_feature_names_out(["a", "b"])) == ["a", "b", "rank of a", "rank of b"]


class TestAForest:
    def test_it_predicts_what_the_trees_of_scikit_learn_predict(self, backend: str) -> None:
        X, y, qid = made(np.random.default_rng(4))
        model = ForestRanker(trees=12).fit(X, y, qid=qid)
        grown = ExtraTreesRegressor(12, min_samples_leaf=5, max_features=0.3, random_state=0)
        assert np.allclose(model.predict(X), grown.fit(X, _standardised(y, qid)).predict(X))

    def test_both_kernels_agree(self) -> None:
        X, y, qid = made(np.random.default_rng(5))
        model = ForestRanker(trees=5).fit(X, y, qid=qid)
        nodes = (model.root_, model.feature_, model.threshold_, model.left_, model.right_, model.value_)
        rows = X.astype(np.float32)
        assert np.allclose(kernels.forest_means(rows, *nodes), twins.forest_means(rows, *nodes))

    def test_labels_are_standardised_within_queries(self) -> None:
        target = _standardised(np.array([0.0, 2, 1, 1, 5, 7]), np.array([0, 0, 1, 1, 2, 2]))
        assert target.tolist() == [-1, 1, 0, 0, -1, 1]


class TestABlend:
    def test_it_is_the_mean_of_scores_of_equal_spread(self) -> None:
        X, y, qid = made(np.random.default_rng(6))
        model = BlendedRanker([RankNet(), ForestRanker(trees=20)], ranks=False, standardise=False).fit(X, y, qid=qid)
        by_hand = [one.predict(X) / scale for one, scale in zip(model.rankers_, model.scales_, strict=True)]
        assert np.allclose(model.predict(X, qid=qid), np.mean(by_hand, axis=0))
        for scores in by_hand:
            centred = scores - (np.bincount(qid, scores) / np.bincount(qid))[qid]
            assert np.sqrt(np.mean(centred**2)) == pytest.approx(1)

    def test_ranks_help_where_only_the_competition_tells(self) -> None:
        rng = np.random.default_rng(7)
        X, y, qid = made(rng)
        fresh, labels, queries = made(rng)
        rankers = [ForestRanker(trees=30)]
        with_ranks = BlendedRanker(rankers).fit(X, y, qid=qid).score(fresh, labels, qid=queries)
        without = BlendedRanker(rankers, ranks=False).fit(X, y, qid=qid).score(fresh, labels, qid=queries)
        assert with_ranks > without + 0.05

    def test_the_penalty_is_chosen_on_the_validation_set(self) -> None:
        rng = np.random.default_rng(8)
        X, y, qid = made(rng, n_queries=6)
        valid = made(rng)
        chosen = BlendedRanker([RankNet()], metric="ndcg@5").fit(X, y, qid=qid, valid=valid)
        fixed = [
            BlendedRanker([RankNet(alpha=alpha)]).fit(X, y, qid=qid).score(*valid[:2], qid=valid[2], metric="ndcg@5")
            for alpha in (1e-4, 1e-3, 1e-2, 1e-1)
        ]
        assert chosen.score(*valid[:2], qid=valid[2], metric="ndcg@5") == pytest.approx(max(fixed))

    def test_rankers_without_scores_and_empty_lists_are_refused(self) -> None:
        X, y, qid = made(np.random.default_rng(9))
        with pytest.raises(NeedError, match="no scores to average"):
            BlendedRanker([PairwiseRanker()]).fit(X, y, qid=qid)
        with pytest.raises(InputError, match="at least one ranker"):
            BlendedRanker([]).fit(X, y, qid=qid)
