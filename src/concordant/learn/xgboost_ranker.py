"""Gradient-boosted trees by XGBoost, with the interface of the other rankers.

``objective`` is "rank:ndcg" (LambdaMART: pairwise logistic loss, weighted by the change of NDCG if the two rows were
swapped), "rank:pairwise" (the same without weights) or "rank:map" (weighted by the change of MAP; labels 0 and 1).
``LightGBMRanker`` describes when to use trees and which labels are allowed. NaN marks missing features, queries may
come in any order, and ``valid=`` enables early stopping on any metric of concordant. The fitted model is stored in
XGBoost's JSON format in ``booster_text_``.

Cost: O(rows x features) per tree. References: T. Chen and C. Guestrin, XGBoost: a scalable tree boosting system,
KDD 2016; C. Burges, From RankNet to LambdaRank to LambdaMART, Microsoft Research MSR-TR-2010-82.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from concordant.errors import InputError
from concordant.learn._booster_texts import xgboost_text
from concordant.learn._boosters import BoostedTrees, Grades, Grouped, Trained, library
from concordant.params import param
from concordant.scorers.base import Matrix
from concordant.types import Floats


@dataclass(eq=False, repr=False)
class XGBoostRanker(BoostedTrees):
    """LambdaMART with boosted trees, by XGBoost."""

    objective: str = param("rank:ndcg", "objective of the trees", choices=("rank:ndcg", "rank:pairwise", "rank:map"))
    depth: int = param(4, "maximum depth of a tree", low=1)
    min_weight: float = param(1.0, "minimum sum of the Hessian in a leaf", low=0)

    def _train(self, train: Grouped, valid: Grouped | None, step: Callable[[], None]) -> Trained:
        """Train XGBoost on rows sorted by query; with a validation set, stop early on the metric."""
        xgboost = _library()
        grades = Grades.of(train.label)
        if self.objective == "rank:map" and grades.grade.max() > 1:
            raise InputError("rank:map needs labels 0 and 1: convert them, or use rank:ndcg.")
        data = xgboost.DMatrix(train.X, grades.grade)
        data.set_group(train.size)
        if train.weight is not None:
            data.set_weight(train.weight)
        settings = self._settings(grades)
        if valid is None:
            booster = xgboost.train(settings, data, self.trees, callbacks=[_reporting(xgboost, step)])
            return Trained(_text(booster), booster.num_boosted_rounds(), [])
        watched = xgboost.DMatrix(valid.X, np.zeros(len(valid.label)))
        watched.set_group(valid.size)
        evaluations: dict[str, Any] = {}
        booster = xgboost.train(
            settings,
            data,
            self.trees,
            evals=[(watched, "valid")],
            custom_metric=lambda scores, _data: ("metric", self._measure(scores, valid)),
            maximize=True,
            early_stopping_rounds=self.patience,
            evals_result=evaluations,
            verbose_eval=False,
            callbacks=[_reporting(xgboost, step)],
        )
        kept = booster[: booster.best_iteration + 1]
        return Trained(_text(kept), booster.best_iteration + 1, list(evaluations["valid"]["metric"]))

    def _settings(self, grades: Grades) -> dict[str, Any]:
        """Return the parameters of XGBoost."""
        settings = {
            "objective": self.objective,
            "disable_default_eval_metric": True,
            "eta": self.learning_rate,
            "max_depth": self.depth,
            "min_child_weight": self.min_weight,
            "colsample_bytree": self.columns,
            "lambda": self.l2,
            "seed": self.seed,
            "nthread": self._n_threads,
            "tree_method": "hist",
            "verbosity": 0,
        }
        if self.objective == "rank:ndcg":
            settings["ndcg_exp_gain"] = grades.is_plain
        return settings

    def _gains(self) -> Floats:
        gain_of_name = _booster(self.booster_text_, self.n_features_in_).get_score(importance_type="total_gain")
        return np.array([gain_of_name.get(f"f{k}", 0.0) for k in range(self.n_features_in_)], np.float64)

    def _scores(self, X: Matrix) -> Floats:
        data = _library().DMatrix(X, nthread=self._n_threads or -1)
        return np.asarray(_booster(self.booster_text_, self.n_features_in_).predict(data), np.float64)

    def check_learnt(self) -> None:
        """Raise ValueError if the text is not a valid XGBoost model with this number of features."""
        xgboost_text(self.booster_text_, self.n_features_in_)


def _reporting(xgboost: Any, step: Callable[[], None]) -> Any:
    """Return a callback that reports every tree."""

    class Reporting(xgboost.callback.TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, *_: Any) -> bool:
            step()
            return False

    return Reporting()


def _text(booster: Any) -> str:
    return bytes(booster.save_raw("json")).decode("utf-8")


@lru_cache(maxsize=8)
def _booster(text: str, n_features: int) -> Any:
    """Return the model from its text; the library's parser receives only checked parts."""
    booster = _library().Booster()
    booster.load_model(bytearray(xgboost_text(text, n_features), "utf-8"))
    return booster


def _library() -> Any:
    return library("xgboost", "XGBoostRanker needs XGBoost (Python 3.12 or later)")
