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

    ``1/R sum_r (1 - min(n_r, R)/min(R, N))`` for R relevant and N judged irrelevant documents, of which n_r rank above
    the relevant document r (Buckley and Voorhees 2004, as in trec_eval). Documents with negative labels are unjudged.
    """

    def averaged(self, lists: Lists) -> Floats:
        """Return bpref, averaged over all orders of tied documents.

        Of the m irrelevant documents of a tie, 0, 1, …, m are above a relevant one with equal probability.
        """
        is_relevant = lists.ranked >= self.threshold
        is_irrelevant = (lists.ranked >= 0) & (lists.ranked < self.threshold)
        relevant = self._relevant(lists)
        judged_poor = lists.count_judged((lists.judged >= 0) & (lists.judged < self.threshold))
        query_of_tie = lists.query[lists.tie_start[:-1]]
        above, in_tie, cap = lists.before_tie(is_irrelevant), lists.in_tie(is_irrelevant), relevant[query_of_tie]
        n_below_cap = np.clip(cap - above, 0.0, in_tie + 1.0)
        # the sum of min(above + k, cap) over k = 0 … in_tie
        counted = n_below_cap * above + n_below_cap * (n_below_cap - 1) / 2 + (in_tie + 1 - n_below_cap) * cap
        penalty = counted / (in_tie + 1) / np.maximum(np.minimum(relevant, judged_poor), 1.0)[query_of_tie]
        return np.bincount(query_of_tie, lists.in_tie(is_relevant) * (1.0 - penalty), lists.n) / relevant
