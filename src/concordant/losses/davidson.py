"""Davidson's model of pairs with ties, d = f_i - f_j and nu = e^beta the weight of ties, learnt with the scores.

    P(i over j) : P(j over i) : P(tie) = e^(d/2) : e^(-d/2) : nu

The loss is minus the log-likelihood of all pairs of a query, pairs of equal labels being ties. Jointly convex in the
scores and beta. Use it where equal labels mean "equally good" rather than "not compared". O(n^2) time and O(n) memory
per query of n objects, without an exponential per pair (see logistic.cpp).

Reference: R. Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison experiments, JASA
1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from concordant import kernels
from concordant.losses._pairwise import TieLoss
from concordant.losses.base import NOTHING, Evaluation
from concordant.losses.queries import Queries
from concordant.types import Bools, Floats


@dataclass(frozen=True)
class DavidsonLoss(TieLoss):
    """Minus the log-likelihood of pairs and ties under Davidson's model."""

    name: ClassVar[str] = "davidson"
    own_start: ClassVar[tuple[float, ...]] = (0.0,)  # equal objects tie one time in three

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss, its gradient per position and its slope in beta."""
        layout = (queries.ptr, queries.tier, queries.weight)
        value, gradient, slope = kernels.davidson_terms(scores, *layout, float(own[0]))
        return Evaluation(value, gradient, np.array([slope]))

    def of_margin(self, margin: Floats, tied: Bools, own: Floats) -> tuple[Floats, Floats, Floats]:
        """Return minus the log-likelihood of pairs and its slopes in the margin and beta."""
        log_of_all, chance = self._chances(margin, float(own[0]))
        tie, loss = chance[:, 1] - tied, chance[:, 2]
        return log_of_all - tied * (float(own[0]) - margin / 2), -loss - tie / 2, tie

    def probabilities(self, margin: Floats, own: Floats = NOTHING) -> Floats:
        """Return the chances to win, tie and lose at a margin: n x 3."""
        return self._chances(margin, float(own[0]))[1]

    def _chances(self, margin: Floats, beta: float) -> tuple[Floats, Floats]:
        """Return the log of 1 + nu e^(-d/2) + e^-d, and the chances in that order."""
        logs = np.column_stack([np.zeros(len(margin)), beta - margin / 2, -margin])
        log_of_all = np.logaddexp.reduce(logs, axis=1)
        return log_of_all, np.exp(logs - log_of_all[:, None])
