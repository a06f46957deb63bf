"""The losses of pairs that are logarithms of odds, in NumPy (twin of logistic.cpp)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from concordant.kernels.twins.tiered import pair_steps, softplus_and_slope, weight_by_position
from concordant.types import Floats, Int32s, Int64s

__all__ = ["davidson_terms", "logistic_hessian_product", "logistic_terms"]


def logistic_terms(
    score: Floats, ptr: Int64s, tier: Int32s, weight: Floats, shift: float, with_ties: bool
) -> tuple[float, Floats, float]:
    """Sum log(1 + e^(shift - d)) over pairs; with ties also over both directions of tied pairs.

    Returns the value, its gradient by position and its slope in the shift.
    """
    value, slope, gradient = 0.0, 0.0, np.zeros(len(score))
    weighted = weight_by_position(ptr, weight)
    for one, other in _met(ptr, tier, with_ties):
        loss, chance = softplus_and_slope(shift - (score[one] - score[other]))
        lost = weighted[one] * chance
        value += float(weighted[one] @ loss)
        slope += float(lost.sum())
        gradient[one] -= lost
        gradient[other] += lost
    return value, gradient, slope


def logistic_hessian_product(score: Floats, ptr: Int64s, tier: Int32s, weight: Floats, direction: Floats) -> Floats:
    """Multiply the Hessian of the sum of log(1 + e^-d) over pairs by a direction."""
    product, weighted = np.zeros(len(score)), weight_by_position(ptr, weight)
    for one, other in _met(ptr, tier, False):
        _, chance = softplus_and_slope(score[other] - score[one])
        change = weighted[one] * chance * (1 - chance) * (direction[other] - direction[one])
        product[one] -= change
        product[other] += change
    return product


def davidson_terms(
    score: Floats, ptr: Int64s, tier: Int32s, weight: Floats, beta: float
) -> tuple[float, Floats, float]:
    """Sum minus the log-likelihood of Davidson's model over pairs and ties, beta = log nu.

    Returns the value, its gradient by position and its slope in beta.
    """
    value, slope, gradient = 0.0, 0.0, np.zeros(len(score))
    weighted = weight_by_position(ptr, weight)
    for one, other in pair_steps(ptr):
        margin, tied, counts = score[one] - score[other], tier[one] == tier[other], weighted[one]
        log_of_all, loss, tie = _davidson_chances(margin, beta)
        value += float(counts @ (log_of_all - tied * (beta - margin / 2)))
        slope += float(counts @ (tie - tied))
        change = counts * (loss + (tie - tied) / 2)
        gradient[one] -= change
        gradient[other] += change
    return value, gradient, slope


def _met(ptr: Int64s, tier: Int32s, with_ties: bool) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield (better, worse) positions of every pair; with ties, tied pairs in both directions."""
    for first, second in pair_steps(ptr):
        tied = tier[first] == tier[second]
        yield first[~tied], second[~tied]
        if with_ties:
            yield first[tied], second[tied]
            yield second[tied], first[tied]


def _davidson_chances(margin: Floats, beta: float) -> tuple[Floats, Floats, Floats]:
    """Return the log of 1 + e^-d + nu e^(-d/2), and the chances of a loss and of a tie."""
    of_tie = beta - margin / 2
    top = np.maximum(np.maximum(0.0, -margin), of_tie)
    loss, tie = np.exp(-margin - top), np.exp(of_tie - top)
    total = np.exp(-top) + loss + tie
    return top + np.log(total), loss / total, tie / total
