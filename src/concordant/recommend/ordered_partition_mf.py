"""Ordered-partition matrix factorisation: hidden factors that explain in which order an agent's tiers were chosen.

f(u, i) = mean + b_u + c_i + p_u · q_i. The items an agent rates alike form sets X_1 > X_2 > …, chosen one after the
other from those that remain, a set with chances in proportion to the mean worth exp(f) of its members:

    L_u = sum_k log(sum_{X_k} exp(f)) - log(sum_{R_k} exp(f))

Minimised is -beta L + (1 - beta) / 2 sum (r - f)² + ridge / 2 (|p|² + |q|²), by quadratics that bound L from below, one
side after the other; per agent the sums run backwards over its tiers, linear in the number of its ratings. Ties are no
noise here, as they are for Plackett and Luce, and no order is invented inside them.

One ridge serves both sides: with ridges l and m on p and q, making one side larger and the other smaller leads to the
same scores as their geometric mean on both.

By default (``ridge="auto"``) strengths of priors and noise are found from the data, and scores are means over what is
uncertain of both sides (variational Bayes); L then counts beta / (1 - beta) times beside the likelihood of the ratings.
A given ``ridge`` fits the mode. beta=1 needs no ratings, only an order with ties; the published beta is 0.01.

Cost: per sweep O(ratings · factors² + (agents + items) · factors³). Reference: T. Tran, D. Phung and S. Venkatesh,
Modelling human preferences for ranking and collaborative filtering: a probabilistic ordered partition approach,
Knowledge and Information Systems 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from concordant.params import param
from concordant.recommend._factors import AlternatingRecommender
from concordant.recommend._losses import Loss, RatingLoss
from concordant.recommend._observed import Observed


@dataclass(frozen=True, kw_only=True)
class OrderedPartitionMF(AlternatingRecommender):
    """Latent factors that maximise the likelihood of each agent's ranking with ties."""

    aliases: ClassVar = {"pmop": {}}
    is_strict: ClassVar[bool] = False  # whether items are chosen one by one, whatever ties there are

    beta: float = param(0.2, "weight of the likelihood of tiers; the rest is squared error", low=0.0, high=1.0)

    @property
    def _has_noise(self) -> bool:
        return self.beta < 1

    @property
    def _centre(self) -> Callable[[Observed], float]:
        return super()._centre if self.beta < 1 else lambda _: 0.0

    def _loss(self, noise: float) -> Loss:
        """Return the loss; of a variational fit squared errors are weighted by the noise precision."""
        squared, listwise = 1 - self.beta, self.beta
        if self.ridge == "auto" and squared:
            squared, listwise = noise, listwise / squared
        return RatingLoss(squared=squared, listwise=listwise, is_strict=self.is_strict, name=self.name)

    def _loss_for_start(self, noise: float) -> Loss:
        """Return least squares if there are ratings: with ties the listwise loss is not convex."""
        return RatingLoss(squared=noise) if self.beta < 1 else self._loss(noise)
