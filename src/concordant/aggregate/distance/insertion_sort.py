"""InsertionSort comparison: insert candidates in random order, each rising while the majority agrees.

A candidate starts at the end of the ranking so far and moves up past the one above as long as more ballots prefer it to
that one. The result is locally Kemeny optimal: no two neighbours should change places. The best of ``repeats`` random
insertion orders is kept. A weak baseline, and a quick way to many different local optima.

Cost: the pairwise counts, then candidates² a run at most. Reference: C. Dwork, R. Kumar, M. Naor and D. Sivakumar, Rank
aggregation methods for the web, WWW 2001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.aggregate.distance._outcome import MISSING_CHOICES, MISSING_DOC, finish
from concordant.gather import segment_index
from concordant.method import Method, Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.solvers.ordering.costs import pair_costs


@dataclass(frozen=True, kw_only=True)
class InsertionSort(Method):
    """Insertion in random order while the majority agrees, the best of several runs."""

    matrices = 8
    waives = {"neutrality": "the insertion orders are drawn by place in the input"}

    repeats: int = param(10, "how many insertion orders; the best result is kept", low=1)
    missing: str = param("auto", MISSING_DOC, choices=MISSING_CHOICES)
    seed: int | None = param(0, "seed of the insertion orders")

    def scores(self, prefs: Preferences) -> Outcome:
        """Return how many candidates every slot leaves behind, and the total distance."""
        costs = pair_costs(prefs, self.missing)
        draw = np.random.default_rng(self.seed).random((self.repeats, int(np.diff(costs.slot_ptr).max())))
        within = np.arange(len(costs.first_slot)) - costs.first_slot
        instance = segment_index(costs.slot_ptr)
        sequence = np.stack([np.lexsort((row[within], instance)) - costs.first_slot for row in draw])
        orders = kernels.insertion_orders(costs.slot_ptr, costs.before, sequence)
        return finish(prefs, costs, costs.best_of(costs.places(orders)))
