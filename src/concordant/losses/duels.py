"""What losses share that are minus the log-likelihood of a model of pairs: Bradley-Terry, Davidson, Rao and Kupper.

The models are those of ``concordant.models``, with the same formulas (duels.hpp and its twin). A pair is a duel,
f_i - f_j the lead of the first, pairs of equal labels are ties where the model knows ties.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from concordant import kernels
from concordant.kernels.codes import Duel
from concordant.losses.base import NOTHING, Evaluation, Loss
from concordant.losses.queries import Pairs, Queries
from concordant.types import Floats


class DuelLoss(Loss):
    """Minus the log-likelihood of pairs; a model with ties has one parameter of its own for them."""

    model: ClassVar[Duel]
    unit: ClassVar[str] = "pair or tie"
    own_start: ClassVar[tuple[float, ...]] = (0.0,)  # equal objects tie one time in three

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss, its gradient per position and its slope in the tie parameter."""
        value, gradient, slope = kernels.query_duel_terms(scores, *queries.layout, _tie(own), int(self.model))
        return Evaluation(value, gradient, np.full(len(own), slope))

    def evaluate_pairs(self, scores: Floats, pairs: Pairs, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss of explicit pairs, ties among them, with its gradients."""
        if not self.own_start:
            pairs.refuse_ties(self.name)
        first, second = pairs.better.astype(np.int32), pairs.worse.astype(np.int32)
        won, tied = pairs.weight * ~pairs.tied, pairs.weight * pairs.tied
        counts = (first, second, won, np.zeros(len(won)), tied, NOTHING)
        found = kernels.duel_terms(*counts, scores, 0.0, _tie(own), int(self.model))
        return Evaluation(-found[0], -found[1], np.full(len(own), -found[5]))

    def probabilities(self, margin: Floats, own: Floats = NOTHING) -> Floats:
        """Return the chances to win, tie and lose at a margin: n x 3."""
        win, loss, tie = chances(self.model, margin, np.array(_tie(own)))
        return np.column_stack([win, tie, loss])


def chances(model: int, lead: Floats, tie: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the chances (win, loss, tie) of an item that leads by so much."""
    if model == Duel.DAVIDSON:
        top = np.maximum(np.abs(lead) / 2, tie)
        up, down, even = np.exp(lead / 2 - top), np.exp(-lead / 2 - top), np.exp(tie - top)
        total = up + down + even
        return up / total, down / total, even / total
    if model == Duel.RAO_KUPPER:
        margin = np.logaddexp(0.0, tie)
        log_up, log_down = -np.logaddexp(0.0, margin - lead), -np.logaddexp(0.0, margin + lead)
        log_factor = tie + np.logaddexp(np.log(2.0), tie)  # of P(tie) against P(win) P(loss)
        return np.exp(log_up), np.exp(log_down), np.exp(log_factor + log_up + log_down)
    if model == Duel.THURSTONE:
        from scipy.special import ndtr

        up, down = np.asarray(ndtr(lead)), np.asarray(ndtr(-lead))
    else:
        up, down = np.exp(-np.logaddexp(0.0, -lead)), np.exp(-np.logaddexp(0.0, lead))
    return up, down, np.zeros(len(lead))


def _tie(own: Floats) -> float:
    return float(own[0]) if len(own) else 0.0
