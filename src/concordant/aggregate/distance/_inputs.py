"""Input ballots as consensus rankings: which of them costs least."""

from __future__ import annotations

import numpy as np

from concordant import kernels, views
from concordant.aggregate.distance._costs import PairCosts
from concordant.preferences import Preferences
from concordant.types import Floats, Int64s

def ballot_costs(prefs: Preferences, costs: PairCosts) -> Floats:
    """Return what every ballot costs as the consensus of its own instance, in units."""
    return kernels.ballot_totals(
        prefs.slot_ptr,
        prefs.instance_of_ballot,
        prefs.indptr,
        prefs.entry_slot,
        prefs.tier,
        costs.before,
        costs.tied,
    )


def best_ballots(prefs: Preferences, costs: PairCosts) -> tuple[Int64s, Floats]:
    """Return the cheapest ballot of every instance (-1 where there is none) and what it costs, in units."""
    cost = ballot_costs(prefs, costs)
    order = np.lexsort((np.arange(len(cost)), cost, prefs.instance_of_ballot))
    instance, first = np.unique(prefs.instance_of_ballot[order], return_index=True)
    best, least = np.full(prefs.n_instances, -1, np.int64), np.full(prefs.n_instances, np.inf)
    best[instance], least[instance] = order[first], cost[order[first]]
    return best, least


def tiers_of(prefs: Preferences, ballot_by_instance: Int64s) -> Int64s:
    """Return the tiers of one ballot per instance; all tied where there is none."""
    tier = np.full(prefs.n_slots, np.iinfo(np.int64).max)
    chosen = ballot_by_instance[ballot_by_instance >= 0]
    is_chosen = np.zeros(prefs.n_ballots, bool)
    is_chosen[chosen] = True
    entries = is_chosen[views.ballot_of_entry(prefs)]
    tier[prefs.entry_slot[entries]] = prefs.tier[entries]
    return tier


def better_of(prefs: Preferences, costs: PairCosts, tier: Int64s) -> Int64s:
    """Return, for every instance, the ranking given or the best ballot, its ties broken by net wins, if cheaper."""
    ballot, _ = best_ballots(prefs, costs)
    picked = costs.places(costs.orders(tiers_of(prefs, ballot)))
    return costs.best_of(np.stack([tier, picked]))
