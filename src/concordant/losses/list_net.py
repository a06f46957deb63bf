"""ListNet (top-one): cross-entropy between the softmax of the labels and the softmax of the scores.

    loss = -sum_i p_i log q_i,    p = softmax(labels of the query), q = softmax(scores of the query)

p and q are the probabilities of each object being first. Unlike the other list losses it depends on the values of the
labels, not only on their order: grades 0 to 4 are suitable, larger numbers put all weight on the best. Convex, linear
time.

Reference: Z. Cao et al., Learning to rank: from pairwise approach to listwise approach, ICML 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from concordant import kernels
from concordant.losses.base import NOTHING, Evaluation, Loss
from concordant.losses.queries import Queries
from concordant.types import Floats


@dataclass(frozen=True)
class ListNetLoss(Loss):
    """Cross-entropy between the top-one probabilities of labels and scores."""

    name: ClassVar[str] = "list-net"

    def evaluate(self, scores: Floats, queries: Queries, own: Floats = NOTHING) -> Evaluation:
        """Return the summed loss and its gradient per position."""
        return Evaluation(*kernels.list_net(scores, queries.ptr, queries.tier, queries.label, queries.weight))

    def hessian_product(self, scores: Floats, queries: Queries, direction: Floats) -> Floats:
        """Return the Hessian times ``direction``."""
        return kernels.list_net_hessian_product(scores, queries.ptr, queries.weight, direction)
