"""Two-step ranking: a classifier of pairs, then an order."""

from __future__ import annotations

import io
from itertools import permutations
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from concordant import metrics, saving
from concordant.errors import ConcordantError, InputError, NeedError, ParameterError
from concordant.learn._pairs import label_pairs, pair_features
from concordant.learn.pairwise_ranker import PairwiseRanker
from concordant.losses.queries import Queries
from concordant.solvers.ordering.exact import kemeny_orders


def graded(seed: int, n_queries: int = 12, n_rows: int = 7) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_rows, 4))
    y = np.digitize(X @ [2.0, 1.0, 0.0, -1.0] + 0.3 * rng.normal(size=len(X)), [-1.0, 1.5])
    return X, y.astype(float), np.repeat(np.arange(n_queries), n_rows)


class RockPaperScissors(ClassifierMixin, BaseEstimator):
    """Knows one cycle: 0 beats 1, 1 beats 2, 2 beats 0, the last most clearly."""

    def fit(self, X: Any, y: Any) -> RockPaperScissors:
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        chance = {(0, 1): 0.6, (1, 2): 0.7, (2, 0): 0.9}
        wins = np.array([chance.get((a, b), 1 - chance.get((b, a), 0.5)) for a, b in np.asarray(X).astype(int)])
        return np.stack([1 - wins, wins], axis=1)


@pytest.mark.parametrize(
    "classifier",
    [None, GaussianNB(), LinearSVC(), Perceptron(), RandomForestClassifier(30, random_state=0), KNeighborsClassifier()],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("features", ["difference", "concatenated"])
def test_any_classifier_of_pairs_makes_a_ranker(classifier: Any, features: str) -> None:
    X, y, qid = graded(0)
    new, labels, queries = graded(1)
    model = PairwiseRanker(classifier, features=features).fit(X, y, qid=qid)
    assert model.score(new, labels, qid=queries) > 0.8


@pytest.mark.parametrize("features", ["difference", "concatenated"])
def test_preferences_of_both_directions_add_up_to_one(features: str) -> None:
    X, y, qid = graded(2)
    model = PairwiseRanker(KNeighborsClassifier(3), features=features).fit(X, y, qid=qid)
    first, second = np.arange(20), np.arange(20, 40)
    there, back = model.preference(X, first, second), model.preference(X, second, first)
    assert there + back == pytest.approx(np.ones(20))
    assert ((there >= 0) & (there <= 1)).all()
    assert model.preference(X, [3], [3]) == pytest.approx([0.5])


@pytest.mark.parametrize("ordering", ["greedy", "scc-greedy", "kemeny"])
def test_scores_count_the_rows_behind_and_queries_do_not_meet(backend: str, ordering: str) -> None:
    X, y, qid = graded(3)
    mixed = np.random.default_rng(0).permutation(len(y))
    model = PairwiseRanker(ordering=ordering).fit(X, y, qid=qid)
    scores = model.predict(X[mixed], qid=qid[mixed])
    for query in np.unique(qid):
        rows = np.flatnonzero(qid[mixed] == query)
        assert sorted(scores[rows]) == list(range(7))
        assert np.array_equal(scores[rows], model.predict(X[mixed][rows]))


def test_a_linear_classifier_of_differences_orders_by_a_score() -> None:
    X, y, qid = graded(4)
    orders = []
    for ordering in ("greedy", "scc-greedy", "kemeny"):
        model = PairwiseRanker(ordering=ordering, standardise=False).fit(X, y, qid=qid)
        assert model.classifier_.intercept_ == pytest.approx([0.0], abs=1e-6)
        orders.append(model.predict(X, qid=qid))
        by_score = X @ model.classifier_.coef_[0]
        for query in np.unique(qid):
            rows = qid == query
            assert np.array_equal(np.argsort(orders[-1][rows]), np.argsort(by_score[rows]))


def test_a_cycle_is_cut_where_it_costs_least() -> None:
    X = np.array([[0.0], [1.0], [2.0]])
    model = PairwiseRanker(RockPaperScissors(), features="concatenated", ordering="kemeny").fit(X, [2, 1, 0])
    f = np.array([[0.5, 0.6, 0.1], [0.4, 0.5, 0.7], [0.9, 0.3, 0.5]])
    assert model.preference(X, [0, 1, 2], [1, 2, 0]) == pytest.approx([0.6, 0.7, 0.9])
    best = max(metrics.agree(f, np.array(ranks, float)) for ranks in permutations(range(3)))
    assert model.agree(X) == pytest.approx([best])
    assert np.argsort(-model.predict(X)).tolist() == [1, 2, 0]


def test_kemeny_keeps_as_much_as_any_order_and_at_least_as_much_as_greed(backend: str) -> None:
    rng = np.random.default_rng(5)
    for n in (4, 6):
        f = rng.random((n, n))
        f = np.where(np.tri(n, dtype=bool), 1 - f.T, f)
        order, is_proven = kemeny_orders(np.array([0, n]), f.reshape(-1))
        ranks = np.empty(n)
        ranks[order] = np.arange(n)
        best = max(metrics.agree(f, np.array(ranks_, float)) for ranks_ in permutations(range(n)))
        assert metrics.agree(f, ranks) == pytest.approx(best)
        assert is_proven


def test_an_order_without_proof_is_returned_with_a_warning() -> None:
    rng = np.random.default_rng(11)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)  # nothing to learn, so that preferences are full of cycles
    model = PairwiseRanker(KNeighborsClassifier(1), ordering="kemeny", time_limit=0.0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="not proven optimal"):
        scores = model.predict(X)
    assert sorted(scores) == list(range(60))


def test_agree_reports_how_much_an_order_keeps() -> None:
    X, y, qid = graded(6)
    model = PairwiseRanker().fit(X, y, qid=qid)
    own = model.agree(X, qid=qid)
    assert len(own) == 12
    assert (own <= 21).all()
    backwards = model.agree(X, scores=-model.predict(X, qid=qid), qid=qid)
    assert own + backwards == pytest.approx(np.full(12, 21.0))


def test_explicit_pairs_teach_the_same_as_the_labels_they_come_from() -> None:
    X, y, qid = graded(7)
    better, worse = np.nonzero((y[:, None] > y) & (qid[:, None] == qid))
    by_label = PairwiseRanker().fit(X, y, qid=qid)
    by_pair = PairwiseRanker().fit(X, pairs=np.column_stack([better, worse]))
    assert by_label.n_pairs_ == by_pair.n_pairs_ == len(better)
    assert by_pair.classifier_.coef_ == pytest.approx(by_label.classifier_.coef_, rel=1e-3)


def test_pairs_are_listed_once_or_drawn_without_repetition() -> None:
    _, y, qid = graded(8)
    y[qid == 3] = 1.0
    queries = Queries.from_rows(y, qid)
    every = label_pairs(queries, None, np.random.default_rng(0))
    expected = np.column_stack(np.nonzero((y[:, None] > y) & (qid[:, None] == qid)))
    assert sorted(zip(every.better.tolist(), every.worse.tolist(), strict=True)) == [
        tuple(pair) for pair in expected.tolist()
    ]
    some = label_pairs(queries, 30, np.random.default_rng(0))
    drawn = set(zip(some.better.tolist(), some.worse.tolist(), strict=True))
    assert len(drawn) == 30
    assert drawn <= {tuple(pair) for pair in expected.tolist()}


def test_fewer_pairs_still_teach() -> None:
    X, y, qid = graded(9)
    model = PairwiseRanker(max_pairs=60, seed=1).fit(X, y, qid=qid)
    assert model.n_pairs_ == 60
    assert model.score(X, y, qid=qid) > 0.85


def test_what_cannot_be_done_is_refused_with_a_reason() -> None:
    X, y, qid = graded(10)
    with pytest.raises(NeedError, match="does not support weights"):
        PairwiseRanker(KNeighborsClassifier()).fit(X, y, qid=qid, sample_weight=np.ones(len(y)))
    model = PairwiseRanker().fit(X, y, qid=qid)
    with pytest.raises(InputError, match="from 0 to"):
        model.preference(X, [0], [len(X)])
    with pytest.raises(InputError, match="scores has shape"):
        model.agree(X, scores=[1.0, 2.0])


@pytest.mark.parametrize(
    "settings", [{}, {"kernel": "polynomial", "degree": 2, "C": 3.0}, {"kernel": "rbf", "gamma": 0.2}]
)
@pytest.mark.parametrize("features", ["difference", "concatenated"])
def test_the_support_vector_machine_on_differences_is_scikit_learns(features: str, settings: dict[str, Any]) -> None:
    X, y, qid = graded(11)
    model = PairwiseRanker("svc", features=features, standardise=False, **settings).fit(X, y, qid=qid)
    better, worse = np.nonzero((y[:, None] > y) & (qid[:, None] == qid))
    both = [pair_features(X, a, b, features) for a, b in ((better, worse), (worse, better))]
    gamma = settings.get("gamma", "scale")
    kernel = {"polynomial": "poly"}.get(settings.get("kernel", "rbf"), "rbf")
    oracle = SVC(C=settings.get("C", 1.0), kernel=kernel, gamma=gamma, degree=settings.get("degree", 3), coef0=1.0)
    oracle.fit(np.concatenate(both), np.repeat([1, 0], len(better)))
    there, back = (oracle.decision_function(one) for one in both)
    expected = (1 / (1 + np.exp(-there)) + 1 - 1 / (1 + np.exp(-back))) / 2
    assert model.preference(X, better, worse) == pytest.approx(expected, abs=1e-3)
    assert model.score(*graded(12)[:2], qid=graded(12)[2]) > 0.8


def test_a_kernel_on_differences_learns_preferences_that_no_linear_score_has() -> None:
    rng = np.random.default_rng(13)
    X, qid = rng.normal(size=(150, 2)), np.repeat(np.arange(30), 5)
    y = np.digitize(-np.abs(X[:, 0]), [-1.0, -0.5]).astype(float)  # the middle is best
    linear, kernel = (PairwiseRanker(one, features="concatenated").fit(X, y, qid=qid) for one in (None, "svc"))
    assert kernel.score(X, y, qid=qid) > linear.score(X, y, qid=qid) + 0.05


def test_a_trained_support_vector_machine_is_saved_as_arrays_and_loads_again() -> None:
    X, y, qid = graded(14)
    model = PairwiseRanker("svc", C=2.0).fit(X, y, qid=qid)
    file = io.BytesIO()
    saving.save(model, file)
    file.seek(0)
    loaded = saving.load(file)
    assert np.array_equal(loaded.predict(X, qid=qid), model.predict(X, qid=qid))
    del model.dual_
    with pytest.raises(ConcordantError):
        saving.save(model, io.BytesIO())


def test_settings_of_a_kernel_without_a_kernel_machine_are_rejected() -> None:
    X, y, qid = graded(15)
    with pytest.raises(ParameterError, match="support vector machine"):
        PairwiseRanker(kernel="rbf").fit(X, y, qid=qid)
    with pytest.raises(ParameterError, match="logistic"):
        PairwiseRanker("forest").fit(X, y, qid=qid)
