"""Plurality: the weight of the ballots that put an item first.

A ballot whose first tier holds several items gives each an equal share. A ballot that is nothing but an open tier
("the rest, order unsaid") names no first item. The simplest rule and the crudest: all but the first place is thrown
away, so similar candidates take votes from each other.

Cost: linear in the ballots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.gather import sum_by
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class Plurality(Method):
    """Weight of the ballots that put the item first, shared equally by tied ones."""

    silence = "they are not put first"
    waives = {"condorcet_consistency": "it does not look below the first place"}

    def scores(self, prefs: Preferences) -> Floats:
        """Return the first places of every slot."""
        groups = views.tiers(prefs)
        is_first = (groups.ptr[:-1] == prefs.indptr[groups.ballot]) & ~groups.is_open
        share = np.where(is_first, prefs.weight[groups.ballot] / groups.size, 0.0)
        return sum_by(prefs.entry_slot, share[groups.of_entry], prefs.n_slots)
