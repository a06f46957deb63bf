"""CoFiRank: maximum-margin matrix factorisation for ranking, f(u, i) = p_u · q_i, with one of three losses.

regression   half the squared error of the ratings after subtracting their mean
ordinal      squared hinge over the pairs an agent rates differently, max(0, 1 - lead)², the mean over its pairs times
             its number of ratings
ndcg         a convex bound on 1 - NDCG: the largest sum of loss and lead over all orders of an agent's items

each plus ``ridge`` / 2 (|p|² + |q|²). The original alternates bundle methods over both sides. Here both sides are
solved with quadratic approximations, as in the other factorisations. This is exact for regression; ordinal uses the
smooth squared hinge instead of the hinge; ndcg, which is not smooth, takes subgradient steps whose length decreases
with the square root of the sweeps, each by an assignment of items to ranks (for agents with over 100 ratings, of 100
sampled ones).

Cost of a sweep: O(ratings · factors²) plus a sort for regression and ordinal; for ndcg, up to cubic in the ratings per
agent.
Reference: M. Weimer, A. Karatzoglou, Q. Le and A. Smola, CoFi Rank: maximum margin matrix factorization for
collaborative ranking, NIPS 2007.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from concordant.params import param
from concordant.recommend._factors import AlternatingRecommender
from concordant.recommend._losses import Loss, NDCGLoss, PairLoss, RatingLoss
from concordant.recommend._observed import Observed


@dataclass(frozen=True, kw_only=True)
class CoFiRank(AlternatingRecommender):
    """Maximum-margin matrix factorisation with a regression, ordinal or NDCG loss."""

    loss: str = param("ndcg", "loss to minimise", choices=("regression", "ordinal", "ndcg"))
    depth: int = param(10, "rank cutoff of NDCG", low=1)
    ridge: float | str = param(10.0, "ridge (L2) penalty on the factors", low=1e-6)
    biases: bool = param(False, "include agent and item biases")

    @property
    def _has_noise(self) -> bool:
        return False

    @property
    def _centre(self) -> Callable[[Observed], float]:
        return super()._centre if self.loss == "regression" else lambda _: 0.0

    def _loss(self, noise: float) -> Loss:
        if self.loss == "regression":
            return RatingLoss(name=self.name)
        return PairLoss() if self.loss == "ordinal" else NDCGLoss(depth=self.depth, seed=self.seed)
