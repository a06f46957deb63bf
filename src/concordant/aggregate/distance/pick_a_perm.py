"""Pick-a-Perm: the best of the input rankings, or a random one.

Because the Kemeny distance is a metric, a random ballot costs at most twice the optimum in expectation, and the best
one never more than that. ``choice="best"`` finds the exact minimum over all ballots; ``"random"`` is the published
method, drawn with ``seed`` in proportion to the weights. Candidates that the ballot leaves out share the last tier. Its
ties are kept (``result="weak"``) or broken by net wins.

Cost: the pairwise counts, then candidates² per ballot for the best one. Reference: N. Ailon, M. Charikar and A. Newman,
Aggregating inconsistent information: ranking and clustering, Journal of the ACM, 2008.
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

    usual_name = "Pick-a-Perm"
    waives = {
        "neutrality": "it returns one of several best ballots, and ties may be broken by input order",
        "condorcet_consistency": "the Condorcet winner may be first on no ballot",
    }

    choice: str = param("best", "ballot to return", choices=("best", "random"))
    result: str = options.result("weak")
    missing: str = options.missing()
    seed: int | None = param(0, "seed for the random choice", low=0)

    def tiers(self, prefs: Preferences, costs: PairCosts) -> Int64s:
        """Return the tiers of the chosen ballot."""
        if self.choice == "best":
            ballot = best_ballots(prefs, costs)
        else:
            ballot = draw_ballots(prefs, float(np.random.default_rng(self.seed).random()))
        tier = tiers_of(prefs, ballot)
        return tier if self.result == "weak" else costs.places(costs.orders(tier))
