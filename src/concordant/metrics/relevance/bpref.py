"""Binary preference (bpref)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import BinaryMetric
from concordant.types import Floats


@dataclass(frozen=True)
class Bpref(BinaryMetric):
    """Mean share of judged irrelevant documents below each relevant one; unjudged documents are ignored.

    ``1/R sum_r (1 - min(n_r, R)/min(R, N))`` for R relevant and N judged irrelevant documents, of which n_r stand
    above the relevant document r (Buckley and Voorhees 2004, as trec_eval counts). A negative label is unjudged.
    """

    def averaged(self, lists: Lists) -> Floats:
        """Return bpref; the irrelevant documents of a tie that stand above a relevant one are 0, 1, …, m alike."""
        hit = lists.ranked >= self.threshold
        poor = (lists.ranked >= 0) & (lists.ranked < self.threshold)
        relevant = self._relevant(lists)
        judged_poor = lists.count_judged((lists.judged >= 0) & (lists.judged < self.threshold))
        query_of_tie = lists.query[lists.tie_start[:-1]]
        above, beside, most = lists.before_tie(poor), lists.in_tie(poor), relevant[query_of_tie]
        below_most = np.clip(most - above, 0.0, beside + 1.0)
        counted = below_most * above + below_most * (below_most - 1) / 2 + (beside + 1 - below_most) * most
        penalty = counted / (beside + 1) / np.maximum(np.minimum(relevant, judged_poor), 1.0)[query_of_tie]
        return np.bincount(query_of_tie, lists.in_tie(hit) * (1.0 - penalty), lists.n) / relevant
