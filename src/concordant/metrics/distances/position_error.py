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
    one, other = two(truth, predicted)
    known_to_either = ~(np.isnan(one) & np.isnan(other))
    one, other = one[known_to_either], other[known_to_either]
    if np.isnan(one).all():
        raise InputError("The true ranking ranks nothing: give at least one true rank.")
    best = one == np.nanmin(one)
    return float(positions(other)[best].min() - 1)


@dataclass(frozen=True)
class PositionError(DistanceMetric):
    """Number of items ranked above the true best item."""

    function = staticmethod(position_error)
