"""Position error: the predicted position of the best item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from concordant.errors import InputError
from concordant.metrics.distance import DistanceMetric
from concordant.metrics.distances._ranks import positions, two


def position_error(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the predicted position of the truly best item, minus 1.

    Tied predictions share the mean position of their tie group, and items without a prediction are tied in last place.
    If several items are truly best, the one with the best predicted position counts.

    Parameters
    ----------
    truth : array-like of shape (n_items,)
        True ranks.
    predicted : array-like of shape (n_items,)
        Predicted ranks.

    Returns
    -------
    float
        The error.
    """
    true_rank, predicted_rank = two(truth, predicted)
    known_to_either = ~(np.isnan(true_rank) & np.isnan(predicted_rank))
    true_rank, predicted_rank = true_rank[known_to_either], predicted_rank[known_to_either]
    if np.isnan(true_rank).all():
        raise InputError("The true ranking ranks no item: give at least one true rank.")
    best = true_rank == np.nanmin(true_rank)
    return float(positions(predicted_rank)[best].min() - 1)


@dataclass(frozen=True)
class PositionError(DistanceMetric):
    """Number of items ranked above the true best item."""

    function = staticmethod(position_error)
