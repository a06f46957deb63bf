"""ListMLE: the Plackett-Luce negative log-likelihood of the order of a query's objects.

    loss = sum_i [ log sum_{j >= i} exp(f_j) - f_i ],    objects i = 1, 2, … from the best label to the worst

Objects with equal labels are not ordered by the data. They are used in layout order (input order, or shuffled by the
caller), or with ``ties="best"`` in the most likely order at the current scores, which is by decreasing score. Linear
time (O(n log n) for "best"); convex, except for "best", which is a minimum of convex losses.

Reference: F. Xia et al., Listwise approach to learning to rank: theory and algorithm, ICML 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from concordant import kernels
from concordant.kernels.codes import Duel
from concordant.kernels.links import chances
from concordant.losses.base import NOTHING, Evaluation, Loss
from concordant.losses.queries import Queries
from concordant.types import Floats


@dataclass(frozen=True)
class ListMLELoss(Loss):
    """Plackett-Luce negative log-likelihood of the order; ``is_best`` orders tied objects by decreasing score.

    Parameters
    ----------
    is_best : bool, default False
        Whether tied objects are in their most likely order, by decreasing score, instead of the given order.
    """

    name: ClassVar[str] = "list-mle"

    is_best: bool = False

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss and its gradient per position."""
        return Evaluation(*kernels.list_mle(scores, *queries.layout, self.is_best))

    def hessian_product(self, scores: Floats, queries: Queries, direction: Floats) -> Floats:
        """Return the Hessian times ``direction``."""
        return kernels.list_mle_hessian_product(
            scores, queries.ptr, queries.tier, queries.weight, self.is_best, direction
        )

    def probabilities(self, margin: Floats, own: Floats = NOTHING) -> Floats:
        """Return the probabilities of a win, a tie and a loss at margins; the model has no ties."""
        win, loss, tie = chances(Duel.BRADLEY_TERRY, margin, NOTHING)
        return np.column_stack([win, tie, loss])
