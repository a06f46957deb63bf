"""Rao and Kupper's model of pairs with ties, d = f_i - f_j and theta = 1 + e^alpha a threshold learnt with the scores.

    P(i over j) = 1 / (1 + theta e^-d)     P(j over i) = 1 / (1 + theta e^d)     P(tie): what is left

Objects closer than log theta are hard to tell apart, so they tie. The loss is minus the log-likelihood of all pairs of
a query, pairs of equal labels being ties. With c = log theta, P(tie) = (theta^2 - 1) P(i over j) P(j over i): a tie is
"each over the other" but for a factor, so that one logistic function log(1 + e^(c - d)) serves all pairs. Convex in the
scores and c; not in alpha, though every stationary point is a minimum. O(n^2) time and O(n) memory per query of n
objects, without an exponential per pair (see logistic.cpp).

Reference: P. Rao, L. Kupper, Ties in paired-comparison experiments: a generalization of the Bradley-Terry model, JASA
1967.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from concordant import kernels
from concordant.losses._pairwise import TieLoss, sigmoid
from concordant.losses.base import NOTHING, Evaluation
from concordant.losses.queries import Queries
from concordant.types import Bools, Floats

_LOG2 = math.log(2)


class _Threshold(NamedTuple):
    """What alpha stands for: c = log theta and log(theta^2 - 1), with their slopes in alpha."""

    c: float
    c_slope: float
    tie: float
    tie_slope: float


@lru_cache(maxsize=1)  # one evaluation asks once per block of queries
def _threshold(alpha: float) -> _Threshold:
    # theta^2 - 1 = e^alpha (2 + e^alpha)
    c, rise = _softplus(alpha)
    above, share = _softplus(alpha - _LOG2)
    return _Threshold(c, rise, alpha + _LOG2 + above, 1 + share)


@dataclass(frozen=True)
class RaoKupperLoss(TieLoss):
    """Minus the log-likelihood of pairs and ties under Rao and Kupper's model."""

    name: ClassVar[str] = "rao-kupper"
    is_convex: ClassVar[bool] = False
    own_start: ClassVar[tuple[float, ...]] = (0.0,)  # theta = 2: equal objects tie one time in three

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss, its gradient per position and its slope in alpha."""
        at, ties = _threshold(float(own[0])), float(queries.weight @ queries.tied_pairs)
        layout = (queries.ptr, queries.tier, queries.weight)
        value, gradient, slope = kernels.logistic_terms(scores, *layout, at.c, True)
        return Evaluation(value - ties * at.tie, gradient, np.array([slope * at.c_slope - ties * at.tie_slope]))

    def of_margin(self, margin: Floats, tied: Bools, own: Floats) -> tuple[Floats, Floats, Floats]:
        """Return minus the log-likelihood of pairs and its slopes in the margin and alpha."""
        at = _threshold(float(own[0]))
        lost, won = sigmoid(at.c - margin), tied * sigmoid(at.c + margin)
        value = np.logaddexp(0.0, at.c - margin) + tied * (np.logaddexp(0.0, at.c + margin) - at.tie)
        return value, won - lost, (lost + won) * at.c_slope - tied * at.tie_slope

    def probabilities(self, margin: Floats, own: Floats = NOTHING) -> Floats:
        """Return the chances to win, tie and lose at a margin: n x 3."""
        at = _threshold(float(own[0]))
        win, loss = (-np.logaddexp(0.0, at.c - sign * margin) for sign in (1, -1))
        chances: Floats = np.exp(np.column_stack([win, at.tie + win + loss, loss]))
        return chances


def _softplus(x: float) -> tuple[float, float]:
    """Return log(1 + e^x) and its slope."""
    small = math.exp(-abs(x))
    return max(x, 0.0) + math.log1p(small), (1.0 if x >= 0 else small) / (1 + small)
