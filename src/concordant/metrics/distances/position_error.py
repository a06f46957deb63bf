"""Position error: where the truly best item is predicted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from concordant.errors import InputError
from concordant.metrics.distance import DistanceMetric
from concordant.metrics.distances._ranks import positions, two


def position_error(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the position the prediction gives to the truly best item, minus 1.

    Tied predictions have the mean position of their bucket, items without a prediction are the last bucket; of
    several truly best items the best placed counts.
    """
    true_rank, predicted_rank = two(truth, predicted)
    known_to_either = ~(np.isnan(true_rank) & np.isnan(predicted_rank))
    true_rank, predicted_rank = true_rank[known_to_either], predicted_rank[known_to_either]
    if np.isnan(true_rank).all():
        raise InputError("The true ranking ranks nothing: give at least one true rank.")
    best = true_rank == np.nanmin(true_rank)
    return float(positions(predicted_rank)[best].min() - 1)


@dataclass(frozen=True)
class PositionError(DistanceMetric):
    """Number of items ranked above the true best item."""

    function = staticmethod(position_error)
