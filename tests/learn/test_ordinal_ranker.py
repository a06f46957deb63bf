"""Ordinal regression: ordered categories from a latent score."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from scipy.sparse import csr_array
from scipy.special import expit, ndtr
from sklearn.linear_model import LogisticRegression

from concordant.errors import InputError
from concordant.learn._links import LINKS, chance_between
from concordant.learn.ordinal_ranker import OrdinalRanker, _Likelihood

DISTRIBUTION = {"logit": expit, "probit": ndtr, "cloglog": lambda z: -np.expm1(-np.exp(z))}
NOISE = {
    "logit": lambda rng, n: rng.logistic(size=n),
    "probit": lambda rng, n: rng.normal(size=n),
    "cloglog": lambda rng, n: -rng.gumbel(size=n),  # smallest of many: G(z) = 1 - exp(-e^z)
}


def rated(seed: int, n: int = 400, link: str = "logit") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    latent = X @ [1.5, -1.0, 0.0] + NOISE[link](rng, n)
    return X, np.digitize(latent, [-1.0, 0.5, 2.0]) + 1.0


@pytest.mark.parametrize("link", LINKS)
def test_weights_and_thresholds_of_a_simulated_truth_come_back(link: str) -> None:
    X, y = rated(0, n=20_000, link=link)
    model = OrdinalRanker(link=link, alpha=0).fit(X, y)
    assert model.coef_ == pytest.approx([1.5, -1.0, 0.0], abs=0.06)
    assert model.thresholds_ == pytest.approx([-1.0, 0.5, 2.0], abs=0.08)
    assert model.classes_.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("link", LINKS)
def test_the_gradient_is_right_and_vanishes_at_the_optimum(link: str) -> None:
    X, y = rated(1, n=60)
    weight = np.random.default_rng(2).uniform(0.1, 2, 60)
    problem = _Likelihood(X, (y - 1).astype(int), weight, LINKS[link], 0.1)
    theta = problem.start(link) + 0.3 * np.random.default_rng(3).normal(size=6)
    numeric = [(problem(theta + step)[0] - problem(theta - step)[0]) / 2e-6 for step in 1e-6 * np.eye(6)]
    assert problem(theta)[1] == pytest.approx(np.array(numeric), abs=1e-7)
    model = OrdinalRanker(standardise=False, link=link, alpha=0.1, tol=1e-14).fit(X, y, sample_weight=weight)
    gaps = np.log(np.diff(model.thresholds_))
    best = np.concatenate([model.coef_, model.thresholds_[:1], gaps])
    assert np.abs(problem(best)[1]).max() < 1e-5


@pytest.mark.parametrize("link", LINKS)
def test_chances_are_those_of_the_distribution_and_add_up(link: str) -> None:
    X, y = rated(2)
    model = OrdinalRanker(link=link).fit(X, y)
    chances = model.predict_proba(X)
    assert chances.sum(axis=1) == pytest.approx(np.ones(len(X)))
    below = DISTRIBUTION[link](model.thresholds_ - model.predict(X)[:, None])
    assert np.cumsum(chances, axis=1)[:, :-1] == pytest.approx(below, abs=1e-9)
    assert (model.predict_category(X) == model.classes_[chances.argmax(axis=1)]).all()
    far = model.predict_proba(1e6 * X)
    assert np.isfinite(far).all()
    assert far.sum(axis=1) == pytest.approx(np.ones(len(X)))


@pytest.mark.parametrize("link", LINKS)
def test_chances_far_out_in_the_tails_stay_numbers(link: str) -> None:
    bounds = np.array([-1e6, -800.0, -40.0, -8.0, 0.0, 8.0, 40.0, 800.0, 1e6])
    for parts in chance_between(LINKS[link], bounds[:-1], bounds[1:]):
        assert np.isfinite(parts).all()
    exact = DISTRIBUTION[link](np.array([0.5])) - DISTRIBUTION[link](np.array([-0.3]))
    assert np.exp(chance_between(LINKS[link], np.array([-0.3]), np.array([0.5]))[0]) == pytest.approx(exact)


def test_two_categories_are_logistic_regression() -> None:
    X, y = rated(3)
    is_high = (y > 2).astype(float)
    model = OrdinalRanker(standardise=False, alpha=0.01, tol=1e-13).fit(X, is_high)
    logistic = LogisticRegression(C=1 / (0.01 * len(y)), tol=1e-9).fit(X, is_high)
    assert model.coef_ == pytest.approx(logistic.coef_[0], abs=1e-4)
    assert model.thresholds_ == pytest.approx(-logistic.intercept_, abs=1e-4)


def test_the_score_ranks_better_categories_first() -> None:
    X, y = rated(4)
    new, grades = rated(5)
    model = OrdinalRanker().fit(X, y)
    qid = np.repeat(np.arange(40), 10)
    assert model.score(new, grades, qid=qid) > 0.85
    assert np.array_equal(model.predict(new), OrdinalRanker().fit(X, y, qid=qid).predict(new))


def test_weights_equal_repetition_also_within_a_set() -> None:
    X, y = rated(6, n=80)
    times = np.arange(80) % 3
    weighted = OrdinalRanker().fit(X, y, sample_weight=times.astype(float))
    repeated = OrdinalRanker().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-4)
    assert weighted.thresholds_ == pytest.approx(repeated.thresholds_, abs=1e-4)


def test_sparse_rows_equal_dense_rows() -> None:
    X, y = rated(7, n=100)
    X[np.abs(X) < 0.5] = 0
    dense, sparse = (OrdinalRanker(tol=1e-12).fit(rows, y) for rows in (X, csr_array(X)))
    assert sparse.predict_proba(csr_array(X)) == pytest.approx(dense.predict_proba(X), abs=1e-6)


def test_separated_categories_have_finite_weights() -> None:
    model = OrdinalRanker().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert np.isfinite(model.coef_).all()
    assert model.predict_category([[0.0], [3.0]]).tolist() == [0, 1]


def test_one_category_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to learn"):
        OrdinalRanker().fit([[0.0], [1.0]], [1, 1])
