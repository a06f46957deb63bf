"""Fitted rankers and pipelines come back from a file as they were, and a file can bring nothing else."""

from __future__ import annotations

import importlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, PolynomialFeatures, StandardScaler

import concordant as cc
from concordant import learn, saving
from concordant.learn import GradientRanker, Ranker, RankNet
from concordant.saving.estimators import SKLEARN, Estimators
from concordant.saving.values import pack, unpack

BOOSTERS = {"xgboost-ranker": "xgboost", "light-gbm-ranker": "lightgbm"}
HERE = [name for name in learn.modules() if name not in BOOSTERS or importlib.util.find_spec(BOOSTERS[name])]
RANKERS = [name for name in HERE if issubclass(learn.load(name), Ranker)]
GRADIENT = [name for name in RANKERS if issubclass(learn.load(name), GradientRanker)]
KINDS: list[dict[str, Any]] = [{"hidden": 3}, {"kernel": "rbf"}, {"kernel": "polynomial", "components": 20}]

X = np.random.default_rng(0).normal(size=(96, 5))
Y = np.digitize(X @ [1.0, 2, 0, -1, 0.5], [0.0, 2.0]).astype(float)
QID = np.repeat(np.arange(12), 8)


def again(model: Any) -> Any:
    """Save and load."""
    file = io.BytesIO()
    cc.save(model, file)
    return cc.load(file)


# ---- everything comes back ----
@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker_predicts_the_same_after_a_round_trip(name: str) -> None:
    model = learn.load(name)().fit(X, Y, qid=QID)
    loaded = again(model)
    assert type(loaded) is type(model)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.n_features_in_ == X.shape[1]
    assert np.array_equal(clone(loaded).fit(X, Y, qid=QID).predict(X), model.predict(X))


@pytest.mark.parametrize("name", HERE)
def test_every_estimator_comes_back_unfitted(name: str) -> None:
    model = learn.load(name)()
    assert str(again(model).get_params()) == str(model.get_params())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
@pytest.mark.parametrize("name", GRADIENT)
def test_networks_and_kernels_come_back_too(name: str, kind: dict[str, Any]) -> None:
    model = learn.load(name)(**kind, max_iter=3).fit(X, Y, qid=QID)
    assert np.array_equal(again(model).predict(X), model.predict(X))


def test_the_learning_curve_and_the_names_of_features_are_kept() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"naïve {k}" for k in range(X.shape[1])])
    model = RankNet().fit(frame, Y, qid=QID, valid=(frame, Y, QID))
    loaded = again(model)
    assert loaded.history_ == model.history_
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
    assert np.array_equal(loaded.predict(frame), model.predict(frame))


def test_a_pipeline_comes_back_with_all_its_steps() -> None:
    X_gaps = np.where(np.abs(X) > 2, np.nan, X)
    both = FeatureUnion([("first", "passthrough"), ("main", PCA(2))])
    model = make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures(2), both, RankNet())
    model.fit(X_gaps, Y, ranknet__qid=QID)
    loaded = again(model)
    assert [name for name, _ in loaded.steps] == [name for name, _ in model.steps]
    assert np.array_equal(loaded.predict(X_gaps), model.predict(X_gaps))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", sorted(set(SKLEARN) - {"Pipeline", "FeatureUnion", "LabelBinarizer"}))
def test_every_listed_class_of_scikit_learn_answers_the_same(name: str) -> None:
    cls = getattr(importlib.import_module(SKLEARN[name][0]), name)
    params = {"n_quantiles": 20} if name == "QuantileTransformer" else {}
    params |= {"n_components": 3} if "n_components" in cls().get_params() and "Discriminant" not in name else {}
    model = cls(**params).fit(X, Y > 0)
    loaded = again(model)
    for answer in ("transform", "predict", "predict_proba", "decision_function"):
        if hasattr(model, answer):
            assert np.array_equal(getattr(loaded, answer)(X), getattr(model, answer)(X))
    assert np.array_equal(clone(loaded).fit(X, Y > 0).n_features_in_, 5)


def test_requests_for_metadata_and_output_forms_are_kept() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True).set_output(transform="default").fit(X)
        loaded = again(scaler)
        assert loaded._metadata_request.fit.requests == {"sample_weight": True}
        assert loaded._sklearn_output_config == {"transform": "default"}


def test_the_same_model_gives_the_same_bytes_and_no_module_names() -> None:
    model = make_pipeline(StandardScaler(), RankNet()).fit(X, Y, ranknet__qid=QID)
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        cc.save(model, file)
    assert files[0].getvalue() == files[1].getvalue()
    with zipfile.ZipFile(files[0]) as archive:
        assert archive.namelist() == ["model.json", "arrays.npz"]
        text = archive.read("model.json").decode()
    assert "concordant.learn" not in text
    assert "sklearn." not in text
    assert json.loads(text)["scikit-learn"] == sklearn.__version__


def test_what_is_kept_beside_a_model_is_read_without_building_it(tmp_path: Path) -> None:
    cc.save(RankNet(), tmp_path / "model.zip", about={"features": ["a", "b"]})
    assert saving.read_about(tmp_path / "model.zip") == {"features": ["a", "b"]}


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, 2.5, float("inf"), "é", [1, [2.0, None]], (1, "a"), {"a": [1.5], 3: "x"}),
        *(np.float32(1.5), np.int64(3), np.arange(3, dtype=np.int8), np.array(["a", "bb"]), np.dtype("float32")),
    ],
)
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    arrays: dict[str, Any] = {}
    found = unpack(json.loads(json.dumps(pack(value, "x", arrays, Estimators()))), arrays, Estimators())
    assert type(found) is type(value)
    assert np.array_equal(found, value) if isinstance(value, np.ndarray) else found == value


def test_sparse_rows_come_back() -> None:
    arrays: dict[str, Any] = {}
    rows = csr_array(np.where(X > 1, X, 0))
    packed = pack(rows, "x", arrays, Estimators())
    assert (unpack(packed, arrays, Estimators()) != rows).nnz == 0
    arrays["x.indices"] = arrays["x.indices"] + 1000  # out of range
    with pytest.raises(ValueError):
        unpack(packed, arrays, Estimators())


# ---- refused when saving ----
class Mine(RankNet):
    """Not in the registry."""


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: RandomForestClassifier(2).fit(X, Y), "RandomForestClassifier cannot be saved"),
        (lambda: make_pipeline(FunctionTransformer(np.log), RankNet()), "func cannot be saved: it is a ufunc"),
        (lambda: Mine(), "Mine cannot be saved"),
        (lambda: GridSearchCV(MinMaxScaler(), {}), "GridSearchCV cannot be saved"),
        (lambda: Pipeline([("one", MinMaxScaler())], memory="cache"), "memory"),
        (lambda: PCA(2, random_state=np.random.RandomState(0)), "random_state cannot be saved: it is a RandomState"),
        (lambda: with_attribute("_secret", 1), "'_secret'"),
        (lambda: with_attribute("strange_", {1.5: 2}), "strange_ cannot be saved"),
        (lambda: with_attribute("strange_", np.array([object()])), "array of object"),
    ],
)
def test_what_is_no_plain_data_is_refused_with_the_reason(make: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(cc.InputError, match=reason):
        cc.save(make(), tmp_path / "model.zip")
    assert not (tmp_path / "model.zip").exists()


def with_attribute(name: str, value: object) -> RankNet:
    model = RankNet()
    setattr(model, name, value)
    return model


# ---- refused when loading ----
def described(**changes: Any) -> dict[str, Any]:
    one = {"kind": "estimator", "library": "concordant", "name": "rank-net", "params": {}, "learnt": {}, **changes}
    return {"format": saving.FORMAT, "version": 1, "scikit-learn": sklearn.__version__, "estimator": one}


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        (described(name="os"), "the estimator 'os'"),
        (described(name="_base"), "the estimator '_base'"),
        (described(name="../rank_net"), "cannot be loaded"),
        (described(library="scikit-learn", name="RandomForestClassifier"), "the estimator 'RandomForestClassifier'"),
        (described(library="subprocess", name="Popen"), "the estimator 'Popen'"),
        (described(params={"colour": 1}), "no parameter 'colour'"),
        (described(params={"alpha": -1.0}), "out of range"),
        (described(params={"alpha": {"kind": "eval", "value": "1"}}), "unknown kind, 'eval'"),
        (described(learnt={"__class__": 1}), "no learnt value '__class__'"),
        (described(learnt={"predict": 1}), "no learnt value 'predict'"),
        (described(learnt={"alpha": 1}), "no learnt value 'alpha'"),
        (described(learnt={"_private": 1}), "no learnt value '_private'"),
        (described(learnt={"coef_": {"kind": "array", "at": "nowhere"}}), "nowhere"),
        (described(learnt={"coef_": {"kind": "dtype", "value": "object"}}), "not a numeric type"),
        (described(learnt={"coef_": {"kind": "loss", "name": "base"}}), "no loss 'base'"),
        (described(requests={"__init__": {"qid": True}}), "cannot request metadata"),
        (described(library="scikit-learn", name="Pipeline", params={"steps": [], "memory": "/tmp"}), "cache"),
        (described(params={"alpha": json.loads("[" * 100 + "]" * 100)}), "nested too deeply"),
        (described(params=None), "cannot be loaded"),
        ({**described(), "estimator": []}, "cannot be loaded"),
    ],
)
def test_a_hostile_file_is_refused(description: Any, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps(description))
    with pytest.raises(cc.FormatError, match=reason) as caught:
        cc.load(path)
    assert str(path) in str(caught.value)


def test_another_major_version_of_scikit_learn_is_said(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        archive.writestr("model.json", json.dumps({**described(), "scikit-learn": "0.9"}))
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 0\.9"):
        cc.load(tmp_path / "model.zip")
