"""Losses that are the negative log-likelihood of a pairwise comparison model: Bradley-Terry, Davidson, Rao-Kupper.

The models are those of ``concordant.models``, with the same formulas (duels.hpp and ``kernels.links``). A pair is a
comparison with the score difference f_i - f_j; pairs with equal labels are ties if the model has ties.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from concordant import kernels
from concordant.kernels.bundles import DuelRows
from concordant.kernels.codes import Duel
from concordant.kernels.links import chances
from concordant.losses.base import NOTHING, Evaluation, Loss
from concordant.losses.queries import Pairs, Queries
from concordant.types import Floats


class DuelLoss(Loss):
    """Negative log-likelihood of pairs; a model with ties has one tie parameter."""

    model: ClassVar[Duel]
    unit: ClassVar[str] = "pair or tie"
    own_start: ClassVar[tuple[float, ...]] = (0.0,)  # equal objects tie one time in three

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss, its gradient per position and its derivative with respect to the tie parameter."""
        value, gradient, slope = kernels.query_duel_terms(scores, *queries.layout, _tie(own), int(self.model))
        return Evaluation(value, gradient, np.full(len(own), slope))

    def evaluate_pairs(self, scores: Floats, pairs: Pairs, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss of explicit pairs, which may be ties, with its gradients."""
        if not self.own_start:
            pairs.refuse_ties(self.name)
        first, second = pairs.better.astype(np.int32), pairs.worse.astype(np.int32)
        won, tied = pairs.weight * ~pairs.tied, pairs.weight * pairs.tied
        duels = DuelRows(first, second, won, np.zeros(len(won)), tied)
        terms = kernels.duel_terms(duels, scores, 0.0, _tie(own), int(self.model))
        return Evaluation(-terms.value, -terms.gradient, np.full(len(own), -terms.slope_x))

    def probabilities(self, margin: Floats, own: Floats = NOTHING) -> Floats:
        """Return the probabilities of a win, a tie and a loss at margins: n x 3."""
        win, loss, tie = chances(self.model, margin, np.array(_tie(own)))
        return np.column_stack([win, tie, loss])


def _tie(own: Floats) -> float:
    """Return the tie parameter, 0 for a model without one."""
    return float(own[0]) if len(own) else 0.0
