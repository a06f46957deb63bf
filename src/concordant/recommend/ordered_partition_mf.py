"""Ordered-partition matrix factorisation: latent factors that explain the ranking with ties of each agent.

f(u, i) = mean + b_u + c_i + p_u · q_i. The items that an agent rates equally form sets X_1 > X_2 > …, chosen one after
the other from the remaining items, each with a probability in proportion to the mean worth exp(f) of its members:

    L_u = sum_k log(sum_{X_k} exp(f)) - log(sum_{R_k} exp(f))

The objective -beta L + (1 - beta) / 2 sum (r - f)² + ridge / 2 (|p|² + |q|²) is minimised by quadratic bounds of L,
alternating between the two sides; the sums of an agent run backwards over its tiers, in time linear in its ratings.
Unlike in the Plackett-Luce model, ties are modelled, and no order is imposed within them.

Both sides share one ridge: ridges l and m on p and q give the same scores as their geometric mean on both, because the
scale of one side can be moved to the other. By default (``ridge="auto"``), the precisions of priors and noise are
estimated from the data, and scores are posterior means (variational Bayes); L then has the weight beta / (1 - beta)
relative to the likelihood of the ratings. A numeric ``ridge`` gives the posterior mode. beta=1 needs no ratings, only
an order with ties; the published beta is 0.01.

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
        """Return the loss; in a variational fit, squared errors are weighted by the noise precision."""
        squared, listwise = 1 - self.beta, self.beta
        if self.ridge == "auto" and squared:
            squared, listwise = noise, listwise / squared
        return RatingLoss(squared=squared, listwise=listwise, is_strict=self.is_strict, name=self.name)

    def _loss_for_start(self, noise: float) -> Loss:
        """Return least squares if there are ratings: with ties the listwise loss is not convex."""
        return RatingLoss(squared=noise) if self.beta < 1 else self._loss(noise)
