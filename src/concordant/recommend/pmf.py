"""Probabilistic matrix factorisation: ratings as inner products of latent factors of agents and items.

    r(u, i) = mean + b_u + c_i + p_u · q_i + noise,

with Gaussian noise and Gaussian priors on the biases b, c and the factors p, q. The maximum a posteriori estimate
minimises half the squared error plus half of ``ridge`` times the squares of the factors and ``bias_ridge`` times those
of the biases. With the items fixed this is a small least-squares problem for every agent, and vice versa, so the two
sides are solved in turn (alternating least squares): every step is exact, and there is no learning rate.

``ridge="auto"`` models the uncertainty of both sides (variational Bayes, Lim and Teh 2007): the prior precision of
every factor and the noise variance are estimated from the data, and superfluous factors vanish. It costs about twice as
much, needs no tuning, and ranks held-out ratings better if agents have rated few items.

Cost: per sweep O(ratings · factors² + (agents + items) · factors³). Reference: R. Salakhutdinov and A. Mnih,
Probabilistic matrix factorization, NIPS 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.params import param
from concordant.recommend._factors import AlternatingRecommender
from concordant.recommend._losses import Loss, RatingLoss


@dataclass(frozen=True, kw_only=True)
class PMF(AlternatingRecommender):
    """Probabilistic matrix factorisation: ratings as products of latent factors, by least squares."""

    ridge: float | str = param(
        12.0,
        "ridge (L2) penalty on the factors; auto: estimated by variational Bayes, with posterior mean scores",
        low=1e-6,
        words=("auto",),
    )
    sweeps: int = param(30, "maximum number of alternating sweeps", low=1)

    def _loss(self, noise: float) -> Loss:
        return RatingLoss(squared=noise)
