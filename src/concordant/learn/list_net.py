"""ListNet: match the chances to be first.

Minimise the cross entropy between softmax(labels) and softmax(scores) of every query: each row should come first as
often as its label deserves. The size of labels counts, not only their order: grades 0 to 4 suit it. A convex loss in
linear time. Reference: Z. Cao et al., Learning to rank: from pairwise approach to listwise approach, ICML 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.learn._gradient import RidgeRanker
from concordant.losses.list_net import ListNetLoss


@dataclass(eq=False, repr=False)
class ListNet(RidgeRanker):
    """Listwise cross-entropy of the probabilities of being first (ListNet)."""

    def _loss(self) -> ListNetLoss:
        return ListNetLoss()
