"""What losses of pairs share: a function of the margin d = f_i - f_j of a pair "i over j"."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from concordant.errors import NeedError
from concordant.losses.base import NOTHING, Evaluation, Loss
from concordant.losses.queries import Pairs
from concordant.types import Bools, Floats


def sigmoid(x: Floats) -> Floats:
    """Return 1 / (1 + e^-x), exact in both tails."""
    return np.exp(-np.logaddexp(0.0, -x))


def chances_without_ties(margin: Floats) -> Floats:
    """Return the logistic chances to win, tie (none) and lose at a margin: n x 3."""
    return np.column_stack([sigmoid(margin), np.zeros(len(margin)), sigmoid(-margin)])


class PairLoss(Loss):
    """A loss of the pairs with different labels."""

    unit: ClassVar[str] = "pair"

    @abstractmethod
    def of_margin(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return the loss of pairs with these margins, and its slope."""

    def evaluate_pairs(self, scores: Floats, pairs: Pairs, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss of explicit pairs and its gradient per row."""
        if pairs.tied.any():
            raise NeedError(
                f"The {self.name} loss has no place for ties, but {int(pairs.tied.sum()):,} pairs are tied: "
                "leave them out, or use DavidsonRanker or RaoKupperRanker."
            )
        value, slope = self.of_margin(scores[pairs.better] - scores[pairs.worse])
        return Evaluation(float(pairs.weight @ value), _by_row(pairs, pairs.weight * slope, len(scores)))


class TieLoss(Loss):
    """A loss of all pairs, tied ones too, with one parameter of its own for the weight of ties."""

    unit: ClassVar[str] = "pair or tie"

    @abstractmethod
    def of_margin(self, margin: Floats, tied: Bools, own: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the loss of pairs with these margins, its slope in the margin and its slope in the own parameter."""

    def evaluate_pairs(self, scores: Floats, pairs: Pairs, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss of explicit pairs and ties, with its gradients."""
        margin = scores[pairs.better] - scores[pairs.worse]
        value, slope, by_own = self.of_margin(margin, pairs.tied, own)
        gradient = _by_row(pairs, pairs.weight * slope, len(scores))
        return Evaluation(float(pairs.weight @ value), gradient, np.array([pairs.weight @ by_own]))


def _by_row(pairs: Pairs, slope: Floats, rows: int) -> Floats:
    """Add up slopes in the margins to a gradient by row."""
    won, lost = (np.bincount(side, slope, rows).astype(np.float64, copy=False) for side in (pairs.better, pairs.worse))
    return won - lost
