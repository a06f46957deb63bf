"""Sampling of pairs of rows with different labels, without enumerating them, and classifiers of pairs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

from concordant.errors import NeedError
from concordant.learn._ensemble import fresh_copy
from concordant.losses.queries import Pairs, Queries
from concordant.scorers.base import Matrix
from concordant.scorers.kernel import KernelMap, gamma_of
from concordant.types import AnyArray, Floats, Int64s

KERNELS = ("linear", "rbf", "polynomial")


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
    fresh = fresh_copy(logistic(1.0) if classifier is None else classifier, "classifier")
    if weight is None:
        return fresh.fit(X, target)
    if not has_fit_parameter(fresh, "sample_weight"):
        raise NeedError(f"{type(fresh).__name__} does not support weights: leave sample_weight out.")
    return fresh.fit(X, target, sample_weight=weight)


class KernelSettings(NamedTuple):
    """Settings of a support vector machine."""

    C: float
    kernel: str
    gamma: float | None
    degree: int


def logistic(C: float) -> LogisticRegression:
    """Return a logistic regression with this inverse regularisation strength."""
    return LogisticRegression(C=C, max_iter=1000)


def fitted_svc(
    X: AnyArray, target: Int64s, weight: Floats | None, settings: KernelSettings
) -> tuple[KernelMap, Floats, float]:
    """Fit a support vector machine to pairs: the expansion over its support vectors, their weights, the intercept."""
    from sklearn.svm import SVC

    X = np.asarray(X, np.float64)
    gamma = gamma_of(X) if settings.gamma is None else settings.gamma
    name = {"polynomial": "poly"}.get(settings.kernel, settings.kernel)
    machine = SVC(C=settings.C, kernel=name, gamma=gamma, degree=settings.degree, coef0=1.0, cache_size=500)
    machine.fit(X, target, sample_weight=weight)
    expansion = KernelMap.expansion(machine.support_vectors_, settings.kernel, gamma=gamma, degree=settings.degree)
    return expansion, np.array(machine.dual_coef_[0], np.float64), float(machine.intercept_[0])


def squashed(margin: Floats) -> Floats:
    """Return 1 / (1 + exp(-margin))."""
    return np.asarray(0.5 * (1 + np.tanh(margin / 2)))


def chance_of_first(classifier: Any, features: AnyArray) -> Floats:
    """Return the probability of class 1 or, if unavailable, a sigmoid of the margin or the predicted class."""
    if hasattr(classifier, "predict_proba"):
        chance = classifier.predict_proba(features)
        return np.asarray(chance[:, list(classifier.classes_).index(1)], np.float64)
    if hasattr(classifier, "decision_function"):
        return squashed(np.asarray(classifier.decision_function(features), np.float64))
    return np.asarray(classifier.predict(features) == 1, np.float64)
