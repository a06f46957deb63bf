"""Ordered-partition matrix factorisation: latent factors that explain the ranking with ties of each agent.

f(u, i) = mean + b_u + c_i + p_u · q_i. The items that an agent rates equally form sets X_1 > X_2 > …, chosen one after
the other from the remaining items, each with a probability in proportion to the mean worth exp(f) of its members:

    L_u = sum_k log(sum_{X_k} exp(f)) - log(sum_{R_k} exp(f))

The objective -beta L + (1 - beta) / 2 sum (r - f)² + ridge / 2 (|p|² + |q|²) is minimised using quadratic bounds on L,
alternating between the two sides; the sums of an agent run backwards over its tiers, in time linear in its ratings.
Unlike in the Plackett-Luce model, ties are modelled, and no order is imposed within them.

Both sides share one ridge. The paper has two, l1 |p|² + l2 |q|², but scaling p up and q down by the same factor leaves
every score unchanged, so only their product matters: the optimum is the same as with ridge = 2 sqrt(l1 l2) on both
sides.

By default (``ridge="auto"``), the precisions of priors and noise are estimated from the data, and scores are posterior
means (variational Bayes); L then has the weight beta / (1 - beta) relative to the likelihood of the ratings. A numeric
``ridge`` gives the posterior mode. beta=1 needs no ratings, only an order with ties.

The published model is f = p · q, a point estimate of 100 factors with beta 0.01, which starts from factors drawn
uniformly from [0, sqrt(largest rating / factors) / 2]: ``OrderedPartitionMF(factors=100, beta=0.01, ridge=…,
biases=False, centred=False, initial="uniform")``. The paper does not state l1 and l2. It uses gradient ascent; here
the two sides are solved in turn.

Cost: per sweep O(ratings · factors² + (agents + items) · factors³). Reference: T. Tran, D. Phung and S. Venkatesh,
Modelling human preferences for ranking and collaborative filtering: a probabilistic ordered partition approach,
Knowledge and Information Systems 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from concordant.params import param
from concordant.recommend._factors import AlternatingRecommender
from concordant.recommend._losses import Loss, RatingLoss
from concordant.recommend._observed import Observed
from concordant.types import AnyArray


@dataclass(frozen=True, kw_only=True)
class OrderedPartitionMF(AlternatingRecommender):
    """Latent factors that maximise the likelihood of each agent's ranking with ties."""

    aliases: ClassVar = {"pmop": {}}
    is_strict: ClassVar[bool] = False  # whether items are chosen one by one, whatever ties there are

    beta: float = param(
        0.2, "weight of the likelihood of tiers; the squared error has weight 1 - beta", low=0.0, high=1.0
    )

    centred: bool = param(True, "subtract the mean rating first")
    initial: str = param(
        "normal", "distribution of the initial factors; uniform: positive, as published", choices=("normal", "uniform")
    )

    @property
    def _has_noise(self) -> bool:
        return self.beta < 1

    @property
    def _centre(self) -> Callable[[Observed], float]:
        return super()._centre if self.beta < 1 and self.centred else lambda _: 0.0

    def _first_sides(self, rng: np.random.Generator, observed: Observed, scale: float) -> tuple[AnyArray, AnyArray]:
        """Return the rows to start from: small normal ones, or both sides uniform on [0, sqrt(largest / factors) / 2].

        Without ratings (beta 1), the largest is taken as 1.
        """
        if self.initial == "normal":
            return super()._first_sides(rng, observed, scale)
        largest = float(observed.ratings(self.name).max()) if self.beta < 1 else 1.0
        high = max(largest, 0.0) ** 0.5 / self.factors**0.5 / 2
        return self._uniform_rows(rng, len(observed.agents), high), self._uniform_rows(rng, len(observed.items), high)

    def _uniform_rows(self, rng: np.random.Generator, n: int, high: float) -> AnyArray:
        """Return n rows of factors between 0 and ``high``, without bias."""
        rows = np.zeros((n, self._width))
        rows[:, :-1] = rng.uniform(0.0, high, (n, self.factors))
        return rows.astype(self._dtype)

    def _loss(self, noise: float) -> Loss:
        """Return the loss; in a variational fit, squared errors are weighted by the noise precision."""
        squared, listwise = 1 - self.beta, self.beta
        if self.ridge == "auto" and squared:
            squared, listwise = noise, listwise / squared
        return RatingLoss(squared=squared, listwise=listwise, is_strict=self.is_strict, name=self.name)

    def _loss_for_start(self, noise: float) -> Loss:
        """Return least squares if there are ratings: with ties the listwise loss is not convex."""
        return RatingLoss(squared=noise) if self.beta < 1 else self._loss(noise)
