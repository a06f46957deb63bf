"""Reciprocal rank fusion: sum over the ballots of 1 / (k + rank).

The rank is the position an engine gave (its raw rank when the data has one, else 1 plus the number of items in
better tiers). Lists that do not contain an item contribute nothing, so it needs no convention for missing items and
no comparable scores: the standard way to merge search results. A larger k flattens the weight of the top.

Cost: linear in the entries. Reference: Cormack, Clarke and Büttcher, SIGIR 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.method import Method
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class RRF(Method):
    """Sum of 1 / (k + rank) over the lists that contain the item."""

    k: float = param(60.0, "how far down the top's weight reaches", low=0.0)

    def scores(self, prefs: Preferences) -> Floats:
        """Return the fused score of every slot."""
        ranks = prefs.value if prefs.scale == "rank" else views.competition_ranks(prefs)
        gain = np.repeat(prefs.weight, np.diff(prefs.indptr)) / (self.k + ranks)
        return np.bincount(prefs.entry_slot, weights=gain, minlength=prefs.n_slots)
