"""Pairs of rows with different labels, drawn without writing all of them out; and what a classifier says of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.losses.queries import Pairs, Queries
from concordant.types import AnyArray, Floats, Int64s


def label_pairs(queries: Queries, most: int | None, rng: np.random.Generator) -> Pairs:
    """Return the pairs of different label within queries, or ``most`` of them drawn at random.

    Position i is better than all positions from the end of its tier to the end of its query: counted through, pair k
    belongs to the position whose pairs begin last before k.
    """
    query = np.repeat(np.arange(len(queries)), np.diff(queries.ptr))
    tier_end = np.repeat(queries.tier_ptr[1:], np.diff(queries.tier_ptr))
    count = queries.ptr[1:][query] - tier_end
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    if most is not None and total > most:
        chosen = np.sort(rng.choice(total, most, replace=False, shuffle=False))
    else:
        chosen = np.arange(total)
    better = np.searchsorted(ends, chosen, side="right")
    worse = tier_end[better] + chosen - (ends - count)[better]
    weight = queries.weight[query[better]]
    return Pairs(queries.row[better], queries.row[worse], weight, np.zeros(len(chosen), bool))


def pair_features(X: AnyArray, first: Int64s, second: Int64s, kind: str) -> AnyArray:
    """Return the features of ordered pairs of rows: their difference, or both side by side."""
    if kind == "difference":
        return np.asarray(X[first] - X[second])
    return np.concatenate([X[first], X[second]], axis=1)


def chance_of_first(classifier: Any, features: AnyArray) -> Floats:
    """Return how likely class 1 is: a probability, a squashed margin, or a plain prediction, as the classifier can."""
    if hasattr(classifier, "predict_proba"):
        chance = classifier.predict_proba(features)
        return np.asarray(chance[:, list(classifier.classes_).index(1)], np.float64)
    if hasattr(classifier, "decision_function"):
        margin = np.asarray(classifier.decision_function(features), np.float64)
        return np.asarray(0.5 * (1 + np.tanh(margin / 2)))
    return np.asarray(classifier.predict(features) == 1, np.float64)
