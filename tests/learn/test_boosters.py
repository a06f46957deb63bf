"""LightGBM and XGBoost under the face of the other rankers."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from scipy.sparse import csr_array

from concordant.errors import ConcordantError, InputError
from concordant.learn._boosters import Grades, Grouped
from concordant.learn._data import Rows
from concordant.learn.light_gbm_ranker import LightGBMRanker
from concordant.learn.xgboost_ranker import XGBoostRanker

LIBRARY = {LightGBMRanker: "lightgbm", XGBoostRanker: "xgboost"}


def wrapper(cls: Any) -> Any:
    is_absent = importlib.util.find_spec(LIBRARY[cls]) is None
    return pytest.param(cls, marks=pytest.mark.skipif(is_absent, reason=f"{LIBRARY[cls]} is not installed"))


both = pytest.mark.parametrize("cls", [wrapper(LightGBMRanker), wrapper(XGBoostRanker)])


def graded(seed: int, n_queries: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows whose labels depend on a feature in a way no line follows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * 8, 4))
    y = np.digitize(-np.abs(X[:, 0]) + 0.5 * X[:, 1], [-1.0, 0.0]).astype(float)
    return X, y, np.repeat(np.arange(n_queries), 8)


@both
def test_trees_learn_what_no_line_can_tell(cls: Any) -> None:
    X, y, qid = graded(0)
    new, labels, queries = graded(1)
    model = cls(trees=60, threads=1).fit(X, y, qid=qid)
    assert model.n_iter_ == 60
    assert model.score(new, labels, qid=queries) > 0.9


@both
def test_queries_may_come_in_any_order(cls: Any) -> None:
    X, y, qid = graded(2)
    mixed = np.random.default_rng(0).permutation(len(y))
    together = cls(trees=20, threads=1, columns=1.0).fit(X, y, qid=qid)
    apart = cls(trees=20, threads=1, columns=1.0).fit(X[mixed], y[mixed], qid=qid[mixed])
    assert np.corrcoef(together.predict(X), apart.predict(X))[0, 1] > 0.97


def test_rows_are_copied_only_where_queries_are_mixed() -> None:
    X, y, qid = graded(3)
    assert Grouped.of(Rows(X, y, qid, None)).X is X
    mixed = np.argsort(np.arange(len(y)) % 8, kind="stable")
    found = Grouped.of(Rows(X[mixed], y[mixed], qid[mixed], np.repeat(np.arange(40.0), 8)[mixed]))
    assert np.array_equal(found.X, X)
    assert found.size.tolist() == [8] * 40
    assert found.weight is not None
    assert found.weight.tolist() == list(range(40))


@both
def test_a_validation_set_stops_early_and_keeps_the_best_trees(cls: Any) -> None:
    X, y, qid = graded(4)
    new, labels, queries = graded(5)
    model = cls(trees=300, patience=5, threads=1).fit(X, y, qid=qid, valid=(new, labels, queries))
    curve = model.history_["valid"]
    assert len(curve) < 300
    assert model.n_iter_ == 1 + int(np.argmax(curve))
    assert model.score(new, labels, qid=queries) == pytest.approx(max(curve), abs=1e-6)


@both
def test_missing_features_and_sparse_rows_are_taken(cls: Any) -> None:
    X, y, qid = graded(6)
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    assert cls(trees=40, threads=1).fit(holes, y, qid=qid).score(holes, y, qid=qid) > 0.85
    sparse = csr_array(np.where(np.abs(X) < 0.3, 0.0, X))
    assert cls(trees=40, threads=1).fit(sparse, y, qid=qid).score(sparse, y, qid=qid) > 0.85


@both
def test_the_text_is_the_whole_model(cls: Any) -> None:
    X, y, qid = graded(7)
    model = cls(trees=15, threads=1).fit(X, y, qid=qid)
    again = cls()
    again.booster_text_, again.n_features_in_ = str(model.booster_text_), 4
    assert isinstance(model.booster_text_, str)
    assert np.array_equal(again.predict(X), model.predict(X))


@both
def test_weights_of_queries_matter(cls: Any) -> None:
    X, y, qid = graded(8)
    wrong = np.where(qid < 20, 2 - y, y)
    weight = np.where(qid < 20, 0.001, 1.0)
    model = cls(trees=40, threads=1).fit(X, wrong, qid=qid, sample_weight=weight)
    assert model.score(X, y, qid=qid) > cls(trees=40, threads=1).fit(X, wrong, qid=qid).score(X, y, qid=qid) + 0.1


@both
def test_labels_of_any_kind_are_graded_by_size(cls: Any) -> None:
    X, y, qid = graded(9)
    whole = cls(trees=30, threads=1).fit(X, y, qid=qid)
    other = cls(trees=30, threads=1).fit(X, 100 * y - 50.5, qid=qid)
    assert other.score(X, y, qid=qid) == pytest.approx(whole.score(X, y, qid=qid), abs=0.1)
    grades = Grades.of(np.array([-1.5, 7.0, 7.0, 0.0]))
    assert grades.grade.tolist() == [0, 2, 2, 1]
    assert grades.gain.tolist() == [0, 1, 2]
    assert Grades.of(np.array([0.0, 3.0])).gain.tolist() == [0, 1, 3, 7]


@both
def test_every_objective_learns(cls: Any) -> None:
    X, y, qid = graded(10)
    objectives = {"lightgbm": ["rank_xendcg"], "xgboost": ["rank:pairwise", "rank:map"]}[LIBRARY[cls]]
    for objective in objectives:
        label = (y > 0).astype(float) if objective == "rank:map" else y
        model = cls(trees=40, objective=objective, threads=1).fit(X, label, qid=qid)
        assert model.score(X, label, qid=qid) > 0.85


def test_what_a_library_cannot_do_is_refused_with_a_reason() -> None:
    X, y, qid = graded(11)
    if importlib.util.find_spec("lightgbm") is not None:
        with pytest.raises(InputError, match="10,000"):
            LightGBMRanker().fit(np.zeros((10_001, 1)), np.arange(10_001) % 2, group=[10_001])
        with pytest.raises(InputError, match="integer labels"):
            LightGBMRanker(objective="rank_xendcg").fit(X, y - 0.5, qid=qid)
    if importlib.util.find_spec("xgboost") is not None:
        with pytest.raises(InputError, match="labels 0 and 1"):
            XGBoostRanker(objective="rank:map").fit(X, y, qid=qid)


@pytest.mark.parametrize("cls", [LightGBMRanker, XGBoostRanker])
def test_a_missing_library_is_named_with_the_extra(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, LIBRARY[cls], None)
    X, y, qid = graded(12)
    with pytest.raises(ConcordantError, match=r"concordant\[learn\]"):
        cls().fit(X, y, qid=qid)


@pytest.mark.skipif(importlib.util.find_spec("lightgbm") is None, reason="lightgbm is not installed")
def test_lightgbm_leaves_busy_processors_alone_and_models_do_not_depend_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from concordant.learn import light_gbm_ranker

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(light_gbm_ranker.os, "sched_getaffinity", lambda _: range(8), raising=False)
    for load, idle in ((0.0, 8), (2.6, 5), (7.9, 1), (20.0, 1)):
        monkeypatch.setattr(light_gbm_ranker.os, "getloadavg", lambda load=load: (load, 0.0, 0.0), raising=False)
        assert light_gbm_ranker.idle_processors() == idle
    monkeypatch.setattr(light_gbm_ranker.os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert light_gbm_ranker.idle_processors() == 3
    X, y, qid = graded(5)
    one = LightGBMRanker(trees=5, threads=1).fit(X, y, qid=qid)
    monkeypatch.setattr(light_gbm_ranker, "idle_processors", lambda: 1)
    chosen = LightGBMRanker(trees=5).fit(X, y, qid=qid)
    assert chosen.booster_text_ == one.booster_text_.replace("[num_threads: 1]", "[num_threads: 0]")
