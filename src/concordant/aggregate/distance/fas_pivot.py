"""FAS-Pivot: quicksort by majority, around random pivots.

A random candidate is the pivot; those the majority puts before it go left, the others right, and both sides are sorted
in the same way. The best of ``repeats`` runs is kept, and an input ballot instead if the best of them is cheaper
(``pick-a-perm``), which together guarantees 11/7 of the optimum in expectation. Fast and simple; local-search is
better at a similar price.

Cost: the pairwise counts, then candidates² a run. Reference: N. Ailon, M. Charikar and A. Newman, Aggregating
inconsistent information: ranking and clustering, Journal of the ACM, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.aggregate.distance._inputs import better_of
from concordant.aggregate.distance._outcome import MISSING_CHOICES, MISSING_DOC, finish
from concordant.method import Method, Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.solvers.ordering.costs import pair_costs


@dataclass(frozen=True, kw_only=True)
class FasPivot(Method):
    """Majority quicksort around random pivots, the best of several runs."""

    matrices = 8
    waives = {"neutrality": "the pivots are drawn by place in the input"}

    repeats: int = param(10, "how many runs; the best is kept", low=1)
    pick: bool = param(True, "take the best input ballot if it is cheaper")
    missing: str = param("auto", MISSING_DOC, choices=MISSING_CHOICES)
    seed: int | None = param(0, "seed of the pivots")

    def scores(self, prefs: Preferences) -> Outcome:
        """Return how many candidates every slot leaves behind, and the total distance."""
        costs = pair_costs(prefs, self.missing)
        reverse = kernels.transpose_matrices(costs.slot_ptr, costs.before)
        chance = np.where(costs.before < reverse, 1.0, np.where(costs.before > reverse, 0.0, 0.5))
        priority = np.random.default_rng(self.seed).random((self.repeats, int(np.diff(costs.slot_ptr).max())))
        within = np.arange(len(costs.first_slot)) - costs.first_slot
        rows = np.ascontiguousarray(priority[:, within])  # the same draws for every instance
        orders = kernels.pivot_orders(costs.slot_ptr, chance, rows, np.zeros((self.repeats, 0)))
        tier = costs.best_of(costs.places(orders))
        return finish(prefs, costs, better_of(prefs, costs, tier) if self.pick else tier)
