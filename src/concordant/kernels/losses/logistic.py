"""Negative log-likelihood of all pairs of a query (NumPy reference of logistic.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels import links
from concordant.kernels.codes import Duel
from concordant.kernels.layouts import over_pairs, pair_steps, preference_steps, softplus_and_slope
from concordant.types import Floats, Int32s, Int64s

__all__ = ["logistic_hessian_product", "query_duel_terms"]


def query_duel_terms(
    score: Floats, ptr: Int64s, tier: Int32s, weight: Floats, tie: float, model: int
) -> tuple[float, Floats, float]:
    """Sum the negative log-likelihood of a comparison model over all pairs of a query; pairs in one tier are ties.

    Bradley-Terry has no ties and leaves them out. Returns the value, its gradient by position and its derivative in the
    tie parameter.
    """

    def of_pairs(i: Int64s, j: Int64s) -> tuple[Floats, ...]:
        """Return the negative log-likelihood of pairs, and its derivatives in the margin and in the tie parameter."""
        tied = (tier[i] == tier[j]).astype(np.float64)
        with np.errstate(invalid="ignore"):  # scores may be NaN
            lead, none = score[i] - score[j], np.zeros(len(i))
            terms = links.terms(model, lead, np.array(tie), 1 - tied, none, tied)
        return -terms.value, -terms.slope, -terms.slope_x

    steps = preference_steps(ptr, tier) if model == Duel.BRADLEY_TERRY else pair_steps(ptr)
    return over_pairs(steps, np.repeat(weight, np.diff(ptr)), of_pairs)


def logistic_hessian_product(score: Floats, ptr: Int64s, tier: Int32s, weight: Floats, direction: Floats) -> Floats:
    """Multiply the Hessian of the sum of log(1 + e^-d) over pairs by a direction."""

    def of_pairs(i: Int64s, j: Int64s) -> tuple[Floats, ...]:
        _, chance = softplus_and_slope(score[j] - score[i])
        return chance, chance * (1 - chance) * (direction[i] - direction[j])

    return over_pairs(preference_steps(ptr, tier), np.repeat(weight, np.diff(ptr)), of_pairs)[1]
