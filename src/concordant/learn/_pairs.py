"""Sampling of pairs of rows with different labels, without enumerating them, and classifiers of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

from concordant.errors import NeedError
from concordant.learn._ensemble import fresh_copy
from concordant.losses.queries import Pairs, Queries
from concordant.scorers.base import Matrix
from concordant.types import AnyArray, Floats, Int64s


def label_pairs(queries: Queries, max_pairs: int | None, rng: np.random.Generator) -> Pairs:
    """Return the pairs of rows with different labels within queries, or ``max_pairs`` of them drawn at random."""
    total = int(queries.pairs.sum())
    if max_pairs is None or total <= max_pairs:
        return Pairs.of(queries)
    return Pairs.of(queries, np.sort(rng.choice(total, max_pairs, replace=False, shuffle=False)))


def pair_features(X: AnyArray, first: Int64s, second: Int64s, kind: str) -> AnyArray:
    """Return the features of ordered pairs of rows: their difference, or both concatenated."""
    if kind == "difference":
        return np.asarray(X[first] - X[second])
    return np.concatenate([X[first], X[second]], axis=1)


def fitted_classifier(classifier: Any, X: Matrix, target: Int64s, weight: Floats | None) -> Any:
    """Fit a copy of a classifier (logistic regression if None), with weights if they are given."""
    fresh = fresh_copy(LogisticRegression(max_iter=1000) if classifier is None else classifier, "classifier")
    if weight is None:
        return fresh.fit(X, target)
    if not has_fit_parameter(fresh, "sample_weight"):
        raise NeedError(f"{type(fresh).__name__} takes no weights: leave sample_weight out.")
    return fresh.fit(X, target, sample_weight=weight)


def chance_of_first(classifier: Any, features: AnyArray) -> Floats:
    """Return the probability of class 1 or, if unavailable, a sigmoid of the margin or the predicted class."""
    if hasattr(classifier, "predict_proba"):
        chance = classifier.predict_proba(features)
        return np.asarray(chance[:, list(classifier.classes_).index(1)], np.float64)
    if hasattr(classifier, "decision_function"):
        margin = np.asarray(classifier.decision_function(features), np.float64)
        return np.asarray(0.5 * (1 + np.tanh(margin / 2)))
    return np.asarray(classifier.predict(features) == 1, np.float64)
