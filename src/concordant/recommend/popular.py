"""Popularity baseline: the items on most ballots, or those with the highest mean rating after shrinkage.

By ``count``, the score of an item is the number of ballots (by weight) that contain it. By ``rating``, it is the mean
rating, shrunk towards the mean of all ratings by ``doubt`` pseudo-ratings, so that an item with a single high rating
does not lead the list.

Cost: linear in the ratings. Use it as a baseline for other recommenders, and for agents without a history (cold start).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.params import param
from concordant.recommend._common import CommonRecommender
from concordant.recommend._observed import Observed
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class Popular(CommonRecommender):
    """Items on the most ballots, or with the highest mean rating."""

    by: str = param("count", "measure of popularity", choices=("count", "rating"))
    doubt: float = param(
        5.0, "number of pseudo-ratings per item, at the overall mean, if popularity is measured by rating", low=0.0
    )

    def _item_score(self, observed: Observed) -> Floats:
        """Return the number of ballots of every item, or its mean rating shrunk towards the mean of all ratings."""
        weight, n = observed.weight_by_entry, len(observed.items)
        count: Floats = np.bincount(observed.item, weight, minlength=n).astype(np.float64)
        if self.by == "count":
            return count
        value = observed.ratings(self.name)
        mean = float(np.average(value, weights=weight))
        total = np.bincount(observed.item, weight * value, minlength=n) + self.doubt * mean
        total_count = count + self.doubt
        return np.asarray(np.divide(total, total_count, out=np.full(n, mean), where=total_count > 0))
