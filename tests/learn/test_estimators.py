"""Every estimator of concordant.learn keeps the promises of scikit-learn and of the house."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from concordant import learn
from concordant.errors import InputError, NeedError, ParameterError
from concordant.learn import Ranker
from concordant.learn._gradient import GradientRanker, PairProbabilities
from concordant.losses.base import Loss

ABSENT = {"xgboost-ranker": "xgboost", "light-gbm-ranker": "lightgbm"}
SMALL: dict[str, dict[str, Any]] = {
    **{name: {"trees": 30, "threads": 1} for name in ABSENT},
    "forest-ranker": {"trees": 30},
    "blended-ranker": {"rankers": [learn.load("rank-net")(), learn.load("forest-ranker")(trees=10)]},
}
CONSTANT = "weights belong to queries: a weight that differs between rows of a query is refused"
ABOUT_ROW_WEIGHTS = dict.fromkeys(
    (
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    CONSTANT,
)


def estimator(name: str, **params: Any) -> Any:
    """Return an estimator, small enough for a test."""
    return learn.load(name)(**{**SMALL.get(name, {}), **params})


def available() -> list[str]:
    found = []
    for name in learn.modules():
        try:
            __import__(ABSENT.get(name, "numpy"))
        except ImportError:
            continue
        found.append(name)
    return found


RANKERS = [name for name in available() if issubclass(learn.load(name), Ranker)]
GRADIENT = [name for name in RANKERS if issubclass(learn.load(name), GradientRanker)]
PAIRED = [name for name in GRADIENT if type(estimator(name)._loss()).evaluate_pairs is not Loss.evaluate_pairs]


def made_queries(
    rng: np.random.Generator, n_queries: int = 30, n_rows: int = 8, n_features: int = 5, noise: float = 0.3
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows whose labels follow a linear truth: X, y, qid."""
    X = rng.normal(size=(n_queries * n_rows, n_features))
    truth = X @ np.arange(1, n_features + 1) / n_features + noise * rng.normal(size=len(X))
    y = np.digitize(truth, [0.0, 1.0]).astype(float)
    return X, y, np.repeat(np.arange(n_queries), n_rows)


def expected_failures(one: Any) -> dict[str, str]:
    """Return what a generic check asks that contradicts what ranking is, with the reason."""
    learns_from_rows = type(one).__name__ == "OrdinalRanker"
    row_weights = ABOUT_ROW_WEIGHTS if isinstance(one, Ranker) and not learns_from_rows else {}
    if type(one).__name__ in ("PairwiseRanker", "BlendedRanker", "QueryRanks"):
        whole = "it compares the rows of a set with each other: a part of the set is another set"
        return {**row_weights, "check_methods_subset_invariance": whole}
    return row_weights


@pytest.mark.once  # they look at the interface; the losses below it run on both back ends in tests/losses
@parametrize_with_checks(
    [estimator(name) for name in available()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("name", RANKERS)
class TestEveryRanker:
    def test_it_learns_a_linear_truth(self, name: str) -> None:
        rng = np.random.default_rng(0)
        X, y, qid = made_queries(rng)
        fresh, labels, queries = made_queries(rng, n_queries=20)
        model = estimator(name).fit(X, y, qid=qid)
        assert model.score(fresh, labels, qid=queries) > 0.85
        assert np.isfinite(model.predict(fresh)).all()

    def test_the_order_of_queries_does_not_matter(self, name: str) -> None:
        X, y, qid = made_queries(np.random.default_rng(1))
        by_number = estimator(name).fit(X, y, qid=qid)
        by_name = estimator(name).fit(X, y, qid=np.array([f"query {q:03}" for q in qid]))
        assert np.allclose(by_number.predict(X), by_name.predict(X))

    def test_group_sizes_equal_query_ids(self, name: str) -> None:
        X, y, qid = made_queries(np.random.default_rng(2))
        by_qid = estimator(name).fit(X, y, qid=qid)
        by_group = estimator(name).fit(X, y, group=np.full(30, 8))
        assert np.array_equal(by_qid.predict(X), by_group.predict(X))

    def test_weight_zero_means_absent(self, name: str) -> None:
        X, y, qid = made_queries(np.random.default_rng(3))
        noise = np.where(qid < 10, 2 - y, y)  # ten misleading queries
        ignored = estimator(name).fit(X, noise, qid=qid, sample_weight=(qid >= 10).astype(float))
        absent = estimator(name).fit(X[qid >= 10], y[qid >= 10], qid=qid[qid >= 10])
        assert np.allclose(ignored.predict(X), absent.predict(X), atol=1e-3 * np.ptp(absent.predict(X)))

    def test_the_same_seed_gives_the_same_model(self, name: str) -> None:
        X, y, qid = made_queries(np.random.default_rng(4))
        one = estimator(name).fit(X, y, qid=qid)
        assert np.array_equal(one.predict(X), clone(one).fit(X, y, qid=qid).predict(X))

    def test_weights_that_differ_inside_a_query_are_refused(self, name: str) -> None:
        X, y, qid = made_queries(np.random.default_rng(5))
        with pytest.raises(InputError, match="within the query of row"):
            estimator(name).fit(X, y, qid=qid, sample_weight=np.arange(len(y)) + 1.0)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda X, y, qid: (X, y[:-1], qid), "y has shape"),
            (lambda X, y, qid: (X, y, qid[:-1]), "qid has shape"),
            (lambda X, y, qid: (X, np.where(y > 1, np.nan, y), qid), "NaN"),
            (lambda X, y, qid: (X, np.zeros(len(y)), qid), "nothing to learn"),
        ],
    )
    def test_bad_input_is_refused_with_a_reason(self, name: str, change: Any, words: str) -> None:
        X, y, qid = change(*made_queries(np.random.default_rng(6)))
        with pytest.raises(ValueError, match=words):
            estimator(name).fit(X, y, qid=qid)

    def test_queries_travel_through_a_grid_search_over_a_pipeline(self, name: str) -> None:
        X, y, qid = made_queries(np.random.default_rng(7), n_queries=15)
        model = make_pipeline(StandardScaler(), estimator(name))
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(model, {"standardscaler__with_mean": [True]}, cv=GroupKFold(3))
            search.fit(X, y, groups=qid, qid=qid)
            assert search.best_score_ > 0.7
            assert search.score(X, y, qid=qid) > 0.7


@pytest.mark.parametrize("name", GRADIENT)
class TestEveryGradientRanker:
    def test_rows_in_any_order_give_the_same_model(self, name: str) -> None:
        rng = np.random.default_rng(8)
        X, y, qid = made_queries(rng)
        y = y + 1e-3 * np.arange(len(y))  # no ties: their order is the input's
        mixed = rng.permutation(len(y))
        model = estimator(name)
        if not model._loss().is_exact:
            pytest.skip("a stochastic solver visits the queries in another order")
        together = model.fit(X, y, qid=qid).predict(X)
        apart = clone(model).fit(X[mixed], y[mixed], qid=qid[mixed]).predict(X)
        assert np.allclose(together, apart, atol=1e-2 * np.ptp(together))

    def test_float32_is_kept_and_gives_nearly_the_same(self, name: str) -> None:
        X, y, qid = made_queries(np.random.default_rng(9))
        wide = estimator(name).fit(X, y, qid=qid).predict(X)
        narrow = estimator(name).fit(X.astype(np.float32), y, qid=qid).predict(X.astype(np.float32))
        assert np.corrcoef(wide, narrow)[0, 1] > 0.999

    def test_sparse_rows_equal_dense_rows(self, name: str) -> None:
        from scipy.sparse import csr_array

        X, y, qid = made_queries(np.random.default_rng(10))
        X[np.abs(X) < 0.5] = 0
        dense = estimator(name).fit(X, y, qid=qid).predict(X)
        sparse = estimator(name).fit(csr_array(X), y, qid=qid).predict(csr_array(X))
        assert np.corrcoef(dense, sparse)[0, 1] > 0.999

    @pytest.mark.parametrize("model", [{"hidden": 6}, {"hidden": 4, "layers": 2}, {"kernel": "rbf"}])
    def test_it_learns_what_no_line_can_tell(self, name: str, model: dict[str, Any]) -> None:
        rng = np.random.default_rng(11)
        X = rng.normal(size=(480, 2))
        y = np.digitize(-np.abs(X[:, 0]) - np.abs(X[:, 1]), [-2.0, -1.0]).astype(float)
        qid = np.repeat(np.arange(60), 8)
        params = {**model, "max_iter": 200, "alpha": 1e-4} if "hidden" in model else model
        if "alpha" in params and "alpha" not in estimator(name).get_params():
            del params["alpha"]
        curved = estimator(name, **params, learning_rate=0.03).fit(X, y, qid=qid).score(X, y, qid=qid)
        straight = estimator(name).fit(X, y, qid=qid).score(X, y, qid=qid)
        assert curved > straight + 0.05

    def test_the_best_iteration_on_a_validation_set_is_kept(self, name: str) -> None:
        rng = np.random.default_rng(12)
        X, y, qid = made_queries(rng, n_features=12, n_queries=12, noise=2.0)
        fresh, labels, queries = made_queries(rng, n_features=12, noise=2.0)
        model = estimator(name, patience=3).fit(X, y, qid=qid, valid=(fresh, labels, queries))
        curve = model.history_["valid"]
        assert model.score(fresh, labels, qid=queries) == pytest.approx(max(curve))
        assert len(curve) == model.n_iter_ == len(model.history_["loss"])

    def test_parameters_out_of_range_are_refused_when_fitting(self, name: str) -> None:
        X, y, qid = made_queries(np.random.default_rng(13))
        with pytest.raises(ParameterError, match="max_iter"):
            estimator(name, max_iter=0).fit(X, y, qid=qid)


@pytest.mark.parametrize("name", GRADIENT)
def test_pairs_teach_like_labels_or_are_refused(name: str) -> None:
    X, y, qid = made_queries(np.random.default_rng(14), n_queries=10)
    better, worse = np.nonzero((y[:, None] > y) & (qid[:, None] == qid))
    if name not in PAIRED:
        with pytest.raises(NeedError, match="pairs"):
            estimator(name).fit(X, pairs=np.column_stack([better, worse]))
        return
    by_label = estimator(name).fit(X, y, qid=qid).predict(X)
    by_pair = estimator(name).fit(X, pairs=np.column_stack([better, worse])).predict(X)
    assert np.corrcoef(by_label, by_pair)[0, 1] > 0.97


@pytest.mark.parametrize("name", [one for one in RANKERS if issubclass(learn.load(one), PairProbabilities)])
def test_chances_of_a_pair_add_up_and_follow_the_scores(name: str) -> None:
    X, y, qid = made_queries(np.random.default_rng(15))
    model = estimator(name).fit(X, y, qid=qid)
    first, second = np.arange(10), np.arange(10, 20)
    chances = model.predict_proba_pair(X, first, second)
    scores = model.predict(X)
    assert chances.shape == (10, 3)
    assert np.allclose(chances.sum(1), 1)
    assert ((chances[:, 0] > chances[:, 2]) == (scores[first] > scores[second])).all()
    assert np.allclose(model.predict_proba_pair(X, second, first), chances[:, ::-1])


def test_learners_are_found_by_name_and_listed() -> None:
    assert "rank-svm" in learn.modules()
    assert learn.RankSVM is learn.load("rank-svm")
    assert "RankNet" in dir(learn)
    with pytest.raises(AttributeError, match="RankNothing"):
        _ = learn.RankNothing
