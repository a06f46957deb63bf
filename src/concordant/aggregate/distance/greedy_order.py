"""Greedy ordering (Cohen, Schapire and Singer): repeatedly place the candidate with the largest net preference.

The preference f(i, j) is the share of the ballots with both candidates that rank i above j, ties counting one half, and
1/2 where no ballot compares them. The consensus should maximise the agreement

    AGREE = sum of f(i, j) over the pairs with i above j,

which is NP-hard. The greedy algorithm takes the candidate with the largest net preference, the sum over the remaining
candidates j of f(i, j) - f(j, i), removes it and repeats; it reaches at least half of the maximum agreement. With
``components=True`` it first separates the strongly connected components of the majority graph, which keeps the
guarantee and is optimal where majorities have no cycle. ``kemeny`` finds the optimum and proves it; the learner
``pairwise-ranker`` orders the predictions of a classifier by the same algorithm.

Cost: the pairwise counts, then candidates². Reference: W. Cohen, R. Schapire and Y. Singer, Learning to order things,
JAIR 10, 1999.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.aggregate import options
from concordant.aggregate.distance._outcome import ByDistance
from concordant.params import param
from concordant.preferences import Preferences
from concordant.solvers.ordering.costs import PairCosts
from concordant.solvers.ordering.greedy import component_orders, greedy_orders
from concordant.types import Floats, Int64s


@dataclass(frozen=True, kw_only=True)
class GreedyOrder(ByDistance):
    """Repeated choice of the candidate with the largest net preference over the remaining ones (Cohen's algorithm)."""

    usual_name = "Greedy order (Cohen)"
    aliases = {"cohen": {}, "greedy": {}}
    waives = {
        "neutrality": "candidates with equal net preference are placed in input order",
        "condorcet_consistency": "the net preference of a Condorcet winner need not be the largest",
    }

    components: bool = param(False, "order the strongly connected components of the majority graph first")
    missing: str = options.missing()

    def tiers(self, prefs: Preferences, costs: PairCosts) -> Int64s:
        """Return the position of every slot in the greedy order."""
        order = component_orders if self.components else greedy_orders
        return costs.places(order(costs.slot_ptr, preference_shares(costs)))


def preference_shares(costs: PairCosts) -> Floats:
    """Return, for every two candidates, the share of the comparing ballots that prefer the first, ties one half."""
    prefer_row, prefer_column = kernels.transpose_matrices(costs.slot_ptr, costs.before), costs.before
    total = prefer_row + prefer_column
    return np.asarray(np.divide(prefer_row, total, out=np.full(len(total), 0.5), where=total > 0))
