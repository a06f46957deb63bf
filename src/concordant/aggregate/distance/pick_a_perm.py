"""Pick-a-Perm: one of the input rankings, at random or the best.

A random ballot costs at most twice the optimum in expectation, the best one at most twice for sure, because the Kemeny
distance is a metric. ``choice="best"`` finds the exact minimum over all ballots; ``"random"`` is the published method,
drawn with ``seed`` in proportion to the weights. Candidates the ballot leaves out share the last tier. Its ties stay
(``result="weak"``) or are broken by net wins.

Cost: the pairwise counts, then candidates² per ballot for the best, nothing for a random one. Reference: N. Ailon, M.
Charikar and A. Newman, Aggregating inconsistent information: ranking and clustering, Journal of the ACM, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate import options
from concordant.aggregate.distance._inputs import best_ballots, draw_ballots, tiers_of
from concordant.aggregate.distance._outcome import ByDistance
from concordant.params import param
from concordant.preferences import Preferences
from concordant.solvers.ordering.costs import PairCosts
from concordant.types import Int64s


@dataclass(frozen=True, kw_only=True)
class PickAPerm(ByDistance):
    """One of the input rankings: the closest to all of them, or a random one."""

    waives = {
        "neutrality": "of several best ballots it takes one, and ties may be broken by place in the input",
        "condorcet_consistency": "no ballot need begin with the Condorcet winner",
    }

    choice: str = param("best", "ballot to return", choices=("best", "random"))
    result: str = options.result("weak")
    missing: str = options.missing()
    seed: int | None = param(0, "seed of the random choice", low=0)

    def tiers(self, prefs: Preferences, costs: PairCosts) -> Int64s:
        """Return the tiers of the ballot taken."""
        if self.choice == "best":
            ballot = best_ballots(prefs, costs)
        else:
            ballot = draw_ballots(prefs, float(np.random.default_rng(self.seed).random()))
        tier = tiers_of(prefs, ballot)
        return tier if self.result == "weak" else costs.places(costs.orders(tier))
