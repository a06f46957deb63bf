"""A model file that somebody changed is refused in a sentence, or it works; it never ends the process."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from tests.fuzz import models

import concordant as cc
from concordant import registry
from concordant.learn import ForestRanker, LabelRanker, PairwiseRanker, RankBoost, RankNet
from concordant.saving.archives import array
from concordant.saving.estimators import SKLEARN
from concordant.saving.sklearn_state import LEARNS
from concordant.support.state import Kind

X, Y, QID = models.X, models.Y, models.QID
Arrays = dict[str, Any]


def tampered(model: Any, change: Callable[[Any, Arrays], None]) -> io.BytesIO:
    """Save a model, and change what is in the file."""
    file, changed = io.BytesIO(), io.BytesIO()
    cc.save(model, file)
    with zipfile.ZipFile(file) as archive:
        description = json.loads(archive.read("model.json"))
        arrays = dict(np.load(io.BytesIO(archive.read("arrays.npz")))) if len(archive.namelist()) > 1 else {}
    change(description, arrays)
    with zipfile.ZipFile(changed, "w") as archive:
        archive.writestr("model.json", json.dumps(description))
        packed = io.BytesIO()
        np.savez(packed, **arrays)
        archive.writestr("arrays.npz", packed.getvalue())
    return changed


def entry(name: str, at: int, value: float) -> Callable[[Any, Arrays], None]:
    """Change one number of an array."""

    def change(_description: Any, arrays: Arrays) -> None:
        arrays[name][at] = value

    return change


def instead(name: str, value: Any) -> Callable[[Any, Arrays], None]:
    """Put another array in the place of one."""

    def change(_description: Any, arrays: Arrays) -> None:
        arrays[name] = np.asarray(value)

    return change


def learnt(name: str, value: Any) -> Callable[[Any, Arrays], None]:
    """Put another value in the place of one learnt."""

    def change(description: Any, _arrays: Arrays) -> None:
        description["estimator"]["learnt"][name] = value

    return change


def forest() -> ForestRanker:
    return ForestRanker(trees=3).fit(X, Y, qid=QID)


# ---- every class says what it holds ----
def test_every_class_that_can_be_saved_declares_its_state() -> None:
    assert LEARNS.keys() == SKLEARN.keys()
    for kind in (registry.METHODS, registry.RECOMMENDERS, registry.LEARNERS):
        for name in kind.modules():
            if name in models.BOOSTERS and name == "xgboost-ranker":
                continue
            declared = kind.load(name).learns
            assert all(isinstance(one, Kind) for one in declared.values()), name


# ---- what crashed, hung or gave NaN before ----
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (entry("root_", 1, 2**40), "'root_' of forest-ranker"),
        (entry("root_", 0, 1), "must start at 0 and be increasing"),
        (instead("root_", np.zeros(0, np.int64)), "must start at 0 and be increasing"),
        (entry("left_", 0, 0), "precedes it or belongs to another tree"),
        (entry("right_", 0, 2**30), "'right_'"),
        (entry("feature_", 0, 99), "'feature_'"),
        (entry("value_", 0, np.nan), "contains NaN"),
        (entry("value_", 0, 1e300), "outside of"),
        (instead("threshold_", [1.0]), "has shape"),
        (instead("left_", [0.5]), "array of float64"),
        (learnt("n_features_in_", 2), "'feature_'"),
        (learnt("n_features_in_", True), "not a number"),
        (learnt("n_features_in_", 2**60), "outside of"),
    ],
)
def test_a_forest_that_leads_astray_is_refused(change: Any, reason: str) -> None:
    with pytest.raises(cc.FormatError, match=reason):
        cc.load(tampered(forest(), change))


@pytest.mark.parametrize("name", ["features_", "thresholds_", "directions_", "alphas_"])
def test_the_rounds_of_rank_boost_go_together(name: str) -> None:
    model = RankBoost(rounds=4).fit(X, Y, qid=QID)
    for change in (instead(name, getattr(model, name)[:-1]), instead(name, getattr(model, name)[None])):
        with pytest.raises(cc.FormatError, match="of rank-boost has"):
            cc.load(tampered(model, change))
    with pytest.raises(cc.FormatError, match="'features_' of rank-boost"):
        cc.load(tampered(model, entry("features_", 0, 3)))


def test_parts_that_do_not_fit_together_are_refused() -> None:
    pairwise = PairwiseRanker().fit(X, Y, qid=QID)
    with pytest.raises(cc.FormatError, match="fails on test rows"):
        cc.load(tampered(pairwise, instead("classifier_.classes_", [0, 2])))
    with pytest.raises(cc.FormatError, match="rows of coefficients for"):
        cc.load(tampered(pairwise, instead("classifier_.classes_", [0, 1, 2])))
    ranks = np.argsort(np.argsort(-X, axis=1), axis=1) + 1
    with pytest.raises(cc.FormatError, match="lacks 'chances_'"):
        cc.load(tampered(LabelRanker().fit(X, ranks), lambda d, _: d["estimator"]["params"].update(scoring="pairwise")))


def test_recommenders_check_vocabularies_factors_and_what_was_seen() -> None:
    model = registry.RECOMMENDERS.make("pmf").fit(models.ratings())
    for change, reason in (
        (entry("seen_item", 0, 5), "'seen_item'"),
        (entry("seen_ptr", 1, 2**40), "does not run from 0"),
        (instead("of_item", np.zeros((4, 11))), "'of_item' of pmf has shape"),
        (instead("item_spread", np.zeros((5, 11))), "'item_spread' of pmf has shape"),  # corrupted the heap once
        (lambda d, _: d["learnt"]["item_labels"]["value"].__setitem__(0, "n"), "contains a label twice"),
        (lambda d, _: d["learnt"].pop("noise"), "lacks 'noise'"),
        (lambda d, _: d["params"].update(precision="single"), "single precision"),
    ):
        with pytest.raises(cc.FormatError, match=reason):
            cc.load(tampered(model, change))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("left_child=-1", "left_child=0", "is malformed"),
        ("left_child=-1", "left_child=7", "does not exist"),
        ("left_child=-1", "left_child=-2", "each leaf must have exactly one parent"),
        ("split_feature=", "split_feature=9", "splits on a feature"),
        ("leaf_value=", "leaf_value=nan ", "not a number"),
        ("shrinkage=0.05", "shrinkage=1e999", "not finite"),
        ("tree_sizes=", "tree_sizes=9", "does not match tree_sizes"),
        ("num_leaves=3", "num_leaves=3000000", "unsupported type"),
        ("num_cat=0", "num_cat=1", "unsupported type"),
        ("max_feature_idx=2", "max_feature_idx=99", "3 features"),
        ("end of trees", "end", "unexpected text after its trees"),
        ("decision_type=2", "decision_type=1", "unsupported decision_type"),
        ("objective=lambdarank", "objective=none", "unknown objective"),
    ],
)
def test_lightgbm_never_reads_a_text_that_is_no_model(old: str, new: str, reason: str) -> None:
    pytest.importorskip("lightgbm")
    from concordant.learn import LightGBMRanker

    model = LightGBMRanker(trees=2, leaves=3, min_rows=2, threads=1).fit(X, Y, qid=QID)
    assert old in model.booster_text_, model.booster_text_

    def change(description: Any, _: Arrays) -> None:
        told = description["estimator"]["learnt"]
        text = told["booster_text_"].replace(old, new, 1)
        told["booster_text_"] = text if old in ("tree_sizes=", "end of trees") else models.resized(text)

    with pytest.raises(cc.FormatError, match=reason):
        cc.load(tampered(model, change))


def test_xgboost_reads_only_what_was_checked() -> None:
    from concordant.learn._booster_texts import xgboost_text

    def booster(**changes: Any) -> str:
        tree = {name: [0.5, 0.1, 0.2] for name in ("base_weights", "loss_changes", "split_conditions", "sum_hessian")}
        tree |= {name: [0, 0, 0] for name in ("default_left", "split_indices", "split_type")}
        tree |= {"left_children": [1, -1, -1], "right_children": [2, -1, -1], "parents": [2147483647, 0, 0]}
        tree |= changes
        learner = {"gradient_booster": {"model": {"trees": [tree]}}, "learner_model_param": {"base_score": "5E-1"}}
        return json.dumps({"learner": {**learner, "objective": {"name": "rank:ndcg"}}, "version": [3, 0, 0]})

    assert json.loads(xgboost_text(booster(), 2))["learner"]["learner_model_param"]["num_feature"] == "2"
    for changes in (
        {"left_children": [0, -1, -1]},
        {"left_children": [2, -1, -1]},
        {"left_children": [3, -1, -1]},
        {"right_children": [-1, -1, -1]},
        {"split_indices": [2, 0, 0]},
        {"split_type": [1, 0, 0]},
        {"split_conditions": [float("nan"), 0.1, 0.2]},
        {"split_conditions": [1e300, 0.1, 0.2]},
        {"base_weights": [0.5]},
        {"default_left": [2, 0, 0]},
    ):
        with pytest.raises(ValueError):
            xgboost_text(booster(**changes), 2)
    for text in ("", "[]", "{}", "null", '{"learner": 1, "version": 2}'):
        with pytest.raises(ValueError):
            xgboost_text(text, 2)


# ---- the file itself ----
def test_numbers_and_texts_that_do_not_exist_are_refused() -> None:
    for text in ('{"a": 1e999}', '{"a": NaN}', '{"a": 9223372036854775808}', '{"a": 1, "a": 2}', '{"a": "\\udc80"}'):
        with pytest.raises(ValueError):
            models.saving.archives.from_json(text.encode())
    assert models.saving.archives.from_json(b'{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}


def test_an_array_is_as_long_as_it_says() -> None:
    whole = io.BytesIO()
    np.save(whole, np.arange(6.0).reshape(2, 3))
    content = whole.getvalue()
    assert array(content).tolist() == [[0, 1, 2], [3, 4, 5]]
    for broken in (
        content[:-1],
        content + b"0",
        content.replace(b"(2, 3)", b"(2, 9)"),
        content.replace(b"<f8", b"|O8"),
    ):
        with pytest.raises(ValueError):
            array(broken)


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    model = forest()
    model.value_ = np.full_like(model.value_, np.nan)
    with pytest.raises(cc.InputError, match="cannot be saved: 'value_' of forest-ranker contains NaN"):
        cc.save(model, tmp_path / "model.zip")
    assert not list(tmp_path.iterdir())


def test_scores_that_are_not_finite_are_refused() -> None:
    model = RankNet().fit(X, Y, qid=QID)
    model.coef_ = np.full(3, 1e300)
    with pytest.raises(cc.InputError, match="not finite"), np.errstate(all="ignore"):
        model.predict(np.full((1, 3), 1e20))


# ---- all classes ----
def test_damaged_models_of_every_class_are_refused_or_work(tmp_path: Path) -> None:
    for number in range(4 * len(models.seeds())):
        try:
            outcome = models.run(number, tmp_path)
        except Exception as problem:
            raise AssertionError(f"python -m tests.fuzz.models {number} shows a foreign exception") from problem
        assert outcome in ("read", "refused"), f"python -m tests.fuzz.models {number} shows it"


def test_a_booster_that_tells_missing_values_apart_predicts() -> None:
    pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    from concordant.learn._booster_texts import lightgbm_text
    from concordant.learn.light_gbm_ranker import LightGBMRanker

    model = LightGBMRanker(trees=2, threads=1).fit(X, Y, qid=QID)
    text = models.resized(re.sub(r"threshold=\S+", "threshold=inf", model.booster_text_, count=1))
    assert "threshold=inf" in lightgbm_text(text, X.shape[1])
