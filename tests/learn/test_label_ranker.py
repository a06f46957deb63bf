"""Label ranking: an order of a fixed set of labels for every row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from scipy.stats import kendalltau
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from concordant.errors import InputError, NeedError
from concordant.learn._label_ranks import tau_by_row
from concordant.learn.label_ranker import LabelRanker, _Likelihood
from concordant.preferences import Preferences

METHODS = ["plackett-luce", "pairwise"]


def ranked(seed: int, n: int = 300, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Rows and rankings of k labels that follow a linear truth (the same for every seed)."""
    rng = np.random.default_rng(seed)
    W = np.random.default_rng(99).normal(size=(3, k))
    X = rng.normal(size=(n, 3))
    scores = 2 * X @ W + rng.gumbel(size=(n, k))
    return X, (-scores).argsort(axis=1).argsort(axis=1) + 1.0


@pytest.mark.parametrize("method", METHODS)
def test_a_linear_truth_is_learnt(backend: str, method: str) -> None:
    X, ranks = ranked(0)
    new, truth = ranked(1)
    model = LabelRanker(scoring=method).fit(X, ranks)
    assert model.score(new, truth) > 0.6
    assert model.predict(new).shape == truth.shape
    assert np.array_equal(model.predict(new).argmin(axis=1), model.predict_scores(new).argmax(axis=1))


@pytest.mark.parametrize("method", METHODS)
def test_partial_and_tied_rankings_still_teach(method: str) -> None:
    X, ranks = ranked(2)
    rng = np.random.default_rng(0)
    coarse = np.ceil(ranks / 2)
    coarse[rng.random(ranks.shape) < 0.3] = np.nan
    new, truth = ranked(3)
    assert LabelRanker(scoring=method).fit(X, coarse).score(new, truth) > 0.55


def test_the_gradient_of_the_likelihood_is_right(backend: str) -> None:
    X, ranks = ranked(4, n=30, k=4)
    ranks = np.ceil(ranks / 2)
    ranks[::3, 1] = np.nan
    problem = _Likelihood(X, ranks, np.random.default_rng(1).uniform(0, 2, 30), 0.3)
    theta = np.random.default_rng(2).normal(size=problem.size)
    value, gradient = problem(theta)
    steps = 1e-6 * np.eye(problem.size)
    numeric = [(problem(theta + step)[0] - problem(theta - step)[0]) / 2e-6 for step in steps]
    assert np.isfinite(value)
    assert gradient == pytest.approx(np.array(numeric), abs=1e-6)


def test_two_labels_are_logistic_regression() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 2))
    first = X @ [1.0, -2.0] + rng.logistic(size=200) > 0
    ranks = np.where(first[:, None], [1.0, 2.0], [2.0, 1.0])
    model = LabelRanker(alpha=1e-2, tol=1e-12, standardise=False).fit(X, ranks)
    # Half of alpha |w_1 - w_2|^2 falls to the two labels as alpha/2 each.
    logistic = LogisticRegression(C=2 / (1e-2 * 200), tol=1e-8).fit(X, first)
    assert model.coef_[:, 0] - model.coef_[:, 1] == pytest.approx(logistic.coef_[0], abs=1e-3)
    assert model.intercept_[0] - model.intercept_[1] == pytest.approx(logistic.intercept_[0], abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_preferences_say_the_same_as_ranks(method: str) -> None:
    X, ranks = ranked(6, n=60, k=4)
    lists = [[f"label {k}" for k in row.argsort()] for row in ranks]
    lists[0] = [f"label {k}" for k in range(4)]  # so that labels come in their order
    ranks[0] = [1, 2, 3, 4]
    by_rank = LabelRanker(scoring=method).fit(X, ranks)
    by_ballot = LabelRanker(scoring=method).fit(X, Preferences.from_rankings(lists))
    by_instance = LabelRanker(scoring=method).fit(
        X, Preferences.from_rankings(lists, instance=[f"row {k}" for k in range(60)])
    )
    assert by_ballot.labels_ == ["label 0", "label 1", "label 2", "label 3"]
    assert by_ballot.predict_scores(X) == pytest.approx(by_rank.predict_scores(X))
    assert by_instance.predict_scores(X) == pytest.approx(by_rank.predict_scores(X))


def test_columns_of_a_frame_name_the_labels() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    X, ranks = ranked(7, n=30, k=3)
    model = LabelRanker().fit(X, pd.DataFrame(ranks, columns=["red", "green", "blue"]))
    assert model.labels_ == ["red", "green", "blue"]


@pytest.mark.parametrize("method", METHODS)
def test_weights_equal_repetition(method: str) -> None:
    X, ranks = ranked(8, n=40, k=3)
    times = np.arange(40) % 3
    weighted = LabelRanker(scoring=method).fit(X, ranks, sample_weight=times.astype(float))
    repeated = LabelRanker(scoring=method).fit(np.repeat(X, times, axis=0), np.repeat(ranks, times, axis=0))
    assert weighted.predict_scores(X) == pytest.approx(repeated.predict_scores(X), abs=2e-3)


@pytest.mark.parametrize("classifier", [DecisionTreeClassifier(max_depth=4), RidgeClassifier()])
def test_any_classifier_can_vote(classifier: Any) -> None:
    X, ranks = ranked(9)
    assert LabelRanker(scoring="pairwise", classifier=classifier).fit(X, ranks).score(X, ranks) > 0.5


def test_pairs_rows_agree_on_or_never_order_need_no_classifier() -> None:
    X, _ = ranked(10, n=6)
    ranks = np.array([[1.0, 2.0, np.nan], [1.0, 3.0, np.nan]] * 3)
    model = LabelRanker(scoring="pairwise").fit(X, ranks)
    assert model.classifiers_ == []
    assert model.predict_scores(X)[0].tolist() == [1.5, 0.5, 1.0]
    assert model.predict(X)[0].tolist() == [1, 3, 2]


def test_tau_of_every_row_is_scipys() -> None:
    rng = np.random.default_rng(11)
    truth, guess = rng.integers(1, 5, (50, 6)).astype(float), rng.permuted(np.tile(np.arange(6.0), (50, 1)), axis=1)
    truth[rng.random(truth.shape) < 0.2] = np.nan
    truth[0], truth[1] = 2.0, np.nan
    found = tau_by_row(truth, guess)
    assert np.isnan(found[:2]).all()
    for row, value in enumerate(found[2:], start=2):
        known = ~np.isnan(truth[row])
        assert value == pytest.approx(kendalltau(truth[row][known], guess[row][known]).statistic, nan_ok=True)


def test_what_is_no_ranking_is_refused_with_a_reason() -> None:
    X, ranks = ranked(12, n=10, k=3)
    with pytest.raises(InputError, match="got shape"):
        LabelRanker().fit(X, ranks[:-1])
    with pytest.raises(InputError, match="infinity"):
        LabelRanker().fit(X, np.where(ranks == 3, np.inf, ranks))
    with pytest.raises(InputError, match="contains no ranks"):
        LabelRanker().fit(X, np.full_like(ranks, np.nan))
    with pytest.raises(InputError, match="numbers"):
        LabelRanker().fit(X, [["a", "b", "c"]] * 10)
    with pytest.raises(InputError, match="one ballot per row"):
        LabelRanker().fit(X, Preferences.from_rankings([["a", "b"]]))
    with pytest.raises(InputError, match="labels, but the model was fitted to 3"):
        LabelRanker().fit(X, ranks).score(X, ranks[:, :2])
    with pytest.raises(NeedError, match="does not support weights"):
        LabelRanker(scoring="pairwise", classifier=KNeighborsClassifier()).fit(X, ranks, sample_weight=np.ones(10))
