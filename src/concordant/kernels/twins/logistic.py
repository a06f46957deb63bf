"""The losses of pairs that are logarithms of odds, in NumPy (twin of logistic.cpp)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from concordant.kernels.twins.layouts import over_pairs, pair_steps, preference_steps, softplus_and_slope
from concordant.types import Floats, Int32s, Int64s

__all__ = ["davidson_terms", "logistic_hessian_product", "logistic_terms"]


def logistic_terms(
    score: Floats, ptr: Int64s, tier: Int32s, weight: Floats, shift: float, with_ties: bool
) -> tuple[float, Floats, float]:
    """Sum log(1 + e^(shift - d)) over pairs; with ties also over both directions of tied pairs.

    Returns the value, its gradient by position and its slope in the shift.
    """

    def of_pairs(one: Int64s, other: Int64s) -> tuple[Floats, ...]:
        loss, chance = softplus_and_slope(shift - (score[one] - score[other]))
        return loss, -chance, chance

    return over_pairs(_met(ptr, tier, with_ties), np.repeat(weight, np.diff(ptr)), of_pairs)


def logistic_hessian_product(score: Floats, ptr: Int64s, tier: Int32s, weight: Floats, direction: Floats) -> Floats:
    """Multiply the Hessian of the sum of log(1 + e^-d) over pairs by a direction."""

    def of_pairs(one: Int64s, other: Int64s) -> tuple[Floats, ...]:
        _, chance = softplus_and_slope(score[other] - score[one])
        return chance, chance * (1 - chance) * (direction[one] - direction[other])

    return over_pairs(preference_steps(ptr, tier), np.repeat(weight, np.diff(ptr)), of_pairs)[1]


def davidson_terms(
    score: Floats, ptr: Int64s, tier: Int32s, weight: Floats, beta: float
) -> tuple[float, Floats, float]:
    """Sum minus the log-likelihood of Davidson's model over pairs and ties, beta = log nu.

    Returns the value, its gradient by position and its slope in beta.
    """

    def of_pairs(one: Int64s, other: Int64s) -> tuple[Floats, ...]:
        margin, tied = score[one] - score[other], tier[one] == tier[other]
        log_of_all, loss, tie = _davidson_chances(margin, beta)
        return log_of_all - tied * (beta - margin / 2), -(loss + (tie - tied) / 2), tie - tied

    return over_pairs(pair_steps(ptr), np.repeat(weight, np.diff(ptr)), of_pairs)


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
