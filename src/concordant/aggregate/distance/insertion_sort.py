"""Insertion sort by majority, in random order.

Each candidate is inserted at the end of the ranking so far and moves up while a majority prefers it to the one above.
The result is locally Kemeny optimal: swapping two adjacent candidates does not improve it. The best of ``repeats``
random insertion orders is kept. The method is a weak baseline, and a quick way to obtain many different local
optima.

Cost: the pairwise counts, then at most candidates² per run. Reference: C. Dwork, R. Kumar, M. Naor and D. Sivakumar,
Rank aggregation methods for the web, WWW 2001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import kernels, views
from concordant.aggregate import options
from concordant.aggregate.distance._outcome import ByDistance, draws_by_place
from concordant.params import param
from concordant.preferences import Preferences
from concordant.solvers.ordering.costs import PairCosts
from concordant.types import Int64s


@dataclass(frozen=True, kw_only=True)
class InsertionSort(ByDistance):
    """Insertion sort by majority in random order, best of several runs."""

    waives = {"neutrality": "the insertion orders are drawn by position in the input"}

    repeats: int = param(10, "number of insertion orders; the best result is kept", low=1, high=1e5)
    missing: str = options.missing()
    seed: int | None = param(0, "seed for the insertion orders", low=0)

    def tiers(self, prefs: Preferences, costs: PairCosts) -> Int64s:
        """Return the positions of the best run."""
        instance = views.instance_of_slot(prefs)
        draws = draws_by_place(self.seed, self.repeats, costs)
        sequence = np.stack([np.lexsort((row, instance)) - costs.first_slot for row in draws])
        return costs.best_of(costs.places(kernels.insertion_orders(costs.slot_ptr, costs.before, sequence)))
