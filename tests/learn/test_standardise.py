"""Features of very different scale: learnt from as if standardised, reported in their own units."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from tests.conftest import Run

import concordant as cc
from concordant import learn
from concordant.learn import _scaling
from concordant.learn._scaling import Moments, Scaling
from concordant.params import params_of

SCALED = [name for name in learn.modules() if any(one.name == "standardise" for one in params_of(learn.load(name)))]
LINEAR = ["rank-net", "list-mle", "list-net", "ordered-partition-ranker", "rank-regressor", "rank-svm", "lambda-rank"]
UNITS = np.array([1e-6, 1.0, 1e5, 3e8])


def rows(seed: int = 0, n: int = 240) -> tuple[Any, Any, Any]:
    """Draw rows of 24 queries whose label depends on all four features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) + np.array([0.0, 2.0, -1.0, 5.0])
    y = np.digitize(X @ [1.0, -1.0, 0.7, 0.5] + 0.3 * rng.normal(size=n), [-1.0, 1.0, 3.0])
    return X, y, np.repeat(np.arange(n // 10), 10)


def test_every_learner_whose_result_depends_on_the_scale_standardises():
    trees = {"forest-ranker", "light-gbm-ranker", "xgboost-ranker", "rank-boost"}
    others = {"bagged-ranker", "query-ranks", "second-order-features"}  # of other rankers, or features themselves
    assert set(learn.modules()) - set(SCALED) == trees | others


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_units_of_features_do_not_change_what_is_learnt(name):
    X, y, qid = rows()
    new, labels, queries = rows(1)
    plain, scaled = learn.load(name)().fit(X, y, qid=qid), learn.load(name)().fit(X * UNITS, y, qid=qid)
    np.testing.assert_allclose(scaled.coef_ * UNITS, plain.coef_, rtol=1e-5)
    assert not hasattr(scaled, "feature_scale_")
    np.testing.assert_allclose(scaled.predict(new * UNITS), new * UNITS @ scaled.coef_, rtol=1e-12)
    assert scaled.score(new * UNITS, labels, qid=queries) > 0.9


@pytest.mark.parametrize(
    "ranker",
    [
        learn.RankNet(hidden=3),
        learn.RankNet(hidden=3, layers=2),
        learn.RankNet(kernel="polynomial", degree=2, components=40),
        learn.RankSVM(kernel="rbf"),
        learn.OrdinalRanker(),
        learn.PairwiseRanker(),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_result_is_that_of_a_standard_scaler_before_the_ranker(ranker):
    X, y, qid = rows()
    new, _, queries = rows(1)
    X, new = X * UNITS, new * UNITS
    more = {"qid": queries} if isinstance(ranker, learn.PairwiseRanker) else {}
    found = ranker.fit(X, y, qid=qid).predict(new, **more)
    scaler = StandardScaler().fit(X)
    before = type(ranker)(**{**ranker.get_params(), "standardise": False}).fit(scaler.transform(X), y, qid=qid)
    expected = before.predict(scaler.transform(new), **more)
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=1e-5)


def test_categories_and_label_ranks_keep_their_origin():
    X, y, _ = rows()
    scaler = StandardScaler().fit(X * UNITS)
    raw, before = learn.OrdinalRanker().fit(X * UNITS, y), learn.OrdinalRanker(standardise=False)
    before.fit(scaler.transform(X * UNITS), y)
    np.testing.assert_allclose(
        raw.predict_proba(X * UNITS), before.predict_proba(scaler.transform(X * UNITS)), atol=1e-6
    )
    ranks = np.argsort(np.argsort(-X[:, :3], axis=1), axis=1) + 1
    for settings in ({}, {"scoring": "pairwise"}):
        labels = learn.LabelRanker(**settings).fit(X * UNITS, ranks)
        assert labels.score(X * UNITS, ranks) > 0.8


@pytest.mark.parametrize("name", ["rank-net", "list-net", "rank-svm"])
def test_sparse_features_stay_sparse(name, monkeypatch):
    X, y, qid = rows()
    X = np.where(X > 1, X, 0.0) * UNITS
    kept = []
    monkeypatch.setattr(
        _scaling.Scaling, "apply", lambda self, X, old=Scaling.apply: kept.append(old(self, X)) or kept[-1]
    )
    sparse = learn.load(name)(max_iter=500, tol=1e-10).fit(csr_array(X), y, qid=qid)
    assert all(issparse(one) for one in kept)
    dense = learn.load(name)(max_iter=500, tol=1e-10).fit(X, y, qid=qid)
    np.testing.assert_allclose(sparse.coef_ * UNITS, dense.coef_ * UNITS, atol=2e-3)


def test_weights_count_like_repeated_rows():
    X, _, qid = rows(n=40)
    times = 1 + qid % 2
    found = Moments.of(X, times.astype(float))
    again = Moments.of(np.repeat(X, times, axis=0))
    for one, other in zip(found, again, strict=True):
        np.testing.assert_allclose(one, other)


def test_moments_of_parts_are_those_of_all():
    X, _, _ = rows()
    units = UNITS * [1, 1, 1e200, 1]
    deviation, mean = X.std(axis=0) * units, X.mean(axis=0) * units
    X = X * units
    for parts in ((X[:50], X[50:]), (csr_array(X[:50]), csr_array(X[50:]))):
        joined = Scaling.from_moments(Moments.joined(map(Moments.of, parts)))
        np.testing.assert_allclose(joined.deviation, deviation, rtol=1e-9)
    np.testing.assert_allclose(Scaling.of(X).mean, mean)
    assert Scaling.of(np.full((5, 1), 3.3)).deviation == [1.0]


def test_an_end_away_from_the_minimum_is_warned_about():
    X, y, qid = rows()
    with pytest.warns(ConvergenceWarning, match="before it reached the minimum .* set standardise=True"):
        learn.RankNet(standardise=False).fit(X * UNITS, y, qid=qid)


def test_kernel_models_are_saved_with_their_scale(tmp_path):
    X, y, qid = rows()
    model = learn.RankSVM(kernel="rbf").fit(X * UNITS, y, qid=qid)
    cc.save(model, tmp_path / "model.zip")
    np.testing.assert_array_equal(cc.load(tmp_path / "model.zip").predict(X * UNITS), model.predict(X * UNITS))


def test_models_saved_before_features_were_scaled_still_predict(tmp_path):
    X, y, qid = rows()
    model = learn.RankNet(kernel="rbf", standardise=False, components=50).fit(X, y, qid=qid)
    model.standardise = True  # what a file without the parameter is read as
    cc.save(model, tmp_path / "model.zip")
    np.testing.assert_array_equal(cc.load(tmp_path / "model.zip").predict(X), model.predict(X))


def test_the_command_line_gives_the_same_as_python(run: Run, tmp_path: Path):
    X, y, qid = rows()
    lines = [
        f"{label} qid:{query} " + " ".join(f"{k + 1}:{value!r}" for k, value in enumerate((row * UNITS).tolist()))
        for row, label, query in zip(X, y, qid, strict=True)
    ]
    (tmp_path / "train.txt").write_text("\n".join(lines))
    told = run("train", tmp_path / "train.txt", "--method", "list-net", "-o", tmp_path / "m.zip", "--json")[1]
    assert json.loads(told)["steps"] == ["list-net"]
    loaded = cc.load(tmp_path / "m.zip")
    np.testing.assert_allclose(loaded.coef_, learn.ListNet().fit(X * UNITS, y, qid=qid).coef_)


def test_trees_tell_how_much_each_feature_gains():
    X, y, qid = rows()
    X[:, 3] = 0.0
    rankers = [learn.LightGBMRanker(trees=20, threads=1), learn.ForestRanker(trees=20)]
    for ranker in rankers:
        with pytest.raises(AttributeError):
            _ = ranker.feature_importances_
        found = ranker.fit(X, y, qid=qid).feature_importances_
        assert found.shape == (4,)
        assert found.sum() == pytest.approx(1)
        assert found[3] == 0
        assert (found[:3] > 0.05).all()
