"""Discounted error: a footrule in which errors at the top count most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from concordant.errors import InputError
from concordant.metrics.distance import DistanceMetric
from concordant.metrics.distances._ranks import positions, two, vector


def discounted_error(truth: ArrayLike, predicted: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the weighted sum of absolute rank differences over the items that both rank.

    Parameters
    ----------
    truth : array-like of shape (n_items,)
        True ranks.
    predicted : array-like of shape (n_items,)
        Predicted ranks.
    weights : array-like of shape (n_items,), optional
        Weight of each item; ``1/log2(1 + true rank)`` if not given.

    Returns
    -------
    float
        The sum.
    """
    true_rank, predicted_rank = two(truth, predicted)
    both = ~np.isnan(true_rank) & ~np.isnan(predicted_rank)
    position, guess = positions(true_rank[both]), positions(predicted_rank[both])
    if weights is None:
        weight = 1 / np.log2(1 + position)
    else:
        weight_by_item = vector(weights, "weights")
        if len(weight_by_item) != len(true_rank):
            raise InputError(
                f"There are {len(weight_by_item)} weights for {len(true_rank)} items: give one weight per item."
            )
        weight = weight_by_item[both]
    return float((weight * np.abs(position - guess)).sum())


@dataclass(frozen=True)
class DiscountedError(DistanceMetric):
    """Spearman's footrule with less weight for items of lower true rank."""

    function = staticmethod(discounted_error)
