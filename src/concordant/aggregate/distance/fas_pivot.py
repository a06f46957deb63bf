"""FAS-Pivot: quicksort by majority, around random pivots.

A random candidate is the pivot; candidates that the majority prefers to it go left, the others right, and both sides
are sorted recursively. The best of ``repeats`` runs is kept, or the best input ballot (``pick-a-perm``) if its cost is
lower; together this guarantees 11/7 of the optimum in expectation. The method is fast and simple; local-search gives
better results at a similar cost.

Cost: the pairwise counts, then candidates² per run. Reference: N. Ailon, M. Charikar and A. Newman, Aggregating
inconsistent information: ranking and clustering, Journal of the ACM, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.aggregate import options
from concordant.aggregate.distance._inputs import better_of
from concordant.aggregate.distance._outcome import ByDistance, draws_by_place
from concordant.params import param
from concordant.preferences import Preferences
from concordant.solvers.ordering.costs import PairCosts
from concordant.types import Int64s


@dataclass(frozen=True, kw_only=True)
class FasPivot(ByDistance):
    """Quicksort by majority with random pivots, best of several runs."""

    usual_name = "FAS-Pivot"
    waives = {"neutrality": "the pivots are drawn by position in the input"}

    repeats: int = param(10, "number of runs; the best result is kept", low=1, high=1e5)
    pick: bool = param(True, "return the best input ballot if its cost is lower")
    missing: str = options.missing()
    seed: int | None = param(0, "seed for the pivots", low=0)

    def tiers(self, prefs: Preferences, costs: PairCosts) -> Int64s:
        """Return the positions of the best run, or of the best ballot."""
        chance = costs.chance_before()
        priority = draws_by_place(self.seed, self.repeats, costs)
        orders = kernels.pivot_orders(costs.slot_ptr, chance, priority, np.zeros((self.repeats, 0)))
        tier = costs.best_of(costs.places(orders))
        return better_of(prefs, costs, tier) if self.pick else tier
