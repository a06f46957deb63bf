"""ListNet: cross-entropy between the top-one probabilities of labels and scores.

Minimise the cross-entropy between softmax(labels) and softmax(scores) of every query. The values of the labels matter,
not only their order: grades from 0 to 4 are suitable. The loss is convex, and an evaluation takes linear time.
Reference: Z. Cao et al., Learning to rank: from pairwise approach to listwise approach, ICML 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.learn._gradient import RidgeRanker
from concordant.losses.list_net import ListNetLoss


@dataclass(eq=False, repr=False)
class ListNet(RidgeRanker):
    """Listwise cross-entropy between top-one probabilities (ListNet)."""

    def _loss(self) -> ListNetLoss:
        return ListNetLoss()
