"""Early stopping: keep the last iterate or, with validation instances, the best one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from concordant import metrics
from concordant.aggregate.supervised._base import Labelled
from concordant.types import Floats, Int64s

WATCHED = "ndcg@10"


def quality(score: Floats, data: Labelled) -> float:
    """Return the mean NDCG@10 of scores by slot, averaged over the orders of tied candidates."""
    rows = np.flatnonzero(data.is_known)
    values = metrics.evaluate_arrays(score[rows], data.label[rows], data.query[rows], WATCHED, ties="average")
    return metrics.mean(next(iter(values.values())))


def informative_slots(data: Labelled) -> Int64s:
    """Return the slots with known labels of instances that have a label above 0 and a lower one."""
    rows = np.flatnonzero(data.is_known)
    label, query = data.label[rows], data.query[rows]
    high, low = np.full(data.prefs.n_instances, -np.inf), np.full(data.prefs.n_instances, np.inf)
    np.maximum.at(high, query, label)
    np.minimum.at(low, query, label)
    return rows[((high > low) & (high > 0))[query]]


class Best:
    """Optimiser callback that keeps the weights with the best validation metric, otherwise the last ones."""

    def __init__(self, measure: Callable[[Floats], float] | None) -> None:
        self.measure = measure
        self.point: Floats | None = None
        self.value = -np.inf

    def __call__(self, iteration: int, point: Floats, value: float) -> bool:
        """Keep the weights of this step if they are the best so far; return True to continue."""
        if self.measure is None:
            self.point = point.copy()
        elif (measured := self.measure(point)) > self.value:
            self.point, self.value = point.copy(), measured
        return True
