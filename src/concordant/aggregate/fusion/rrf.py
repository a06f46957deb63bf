"""Reciprocal rank fusion: sum over the ballots of 1 / (k + rank).

The rank is the position an engine gave (its raw rank when the data has one, else 1 plus the number of items in
better tiers). Lists that do not contain an item, or only in an open last tier ("the rest"), contribute nothing, so it
needs no convention for missing items and no comparable scores: the standard way to merge search results. A larger k
flattens the weight of the top.

Cost: linear in the entries. Reference: Cormack, Clarke and Büttcher, SIGIR 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate._shared import is_named
from concordant.errors import InputError
from concordant.gather import sum_by
from concordant.method import Method
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class RRF(Method):
    """Sum of 1 / (k + rank) over the lists that contain the item."""

    silence = "the list adds nothing to their score"
    waives = {"condorcet_consistency": "the top of a list counts for more than a majority further down"}

    k: float = param(60.0, "how far down the top's weight reaches", low=0.0)

    def scores(self, prefs: Preferences) -> Floats:
        """Return the fused score of every slot."""
        ranks = prefs.value if prefs.scale == "rank" else None
        if ranks is None:
            ranks = views.competition_ranks(prefs)
        elif len(ranks) and self.k + ranks.min() <= 0:
            raise InputError(
                f"rrf divides by k + rank, and with k={self.k:g} the rank {ranks.min():g} makes that "
                f"{self.k + ranks.min():g}: give a larger k, or ranks that start at 1."
            )
        gain = self.k + ranks
        np.divide(1.0 if prefs.has_unit_weights else views.weight_of_entry(prefs), gain, out=gain)
        if prefs.open is not None:
            gain[~is_named(prefs)] = 0.0
        return sum_by(prefs.entry_slot, gain, prefs.n_slots)
