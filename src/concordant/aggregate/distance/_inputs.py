"""Input ballots as candidate consensus rankings, and the one with the smallest cost."""

from __future__ import annotations

import numpy as np

from concordant import kernels, views
from concordant.ballots.segments import max_by
from concordant.preferences import Preferences
from concordant.solvers.ordering.costs import PairCosts
from concordant.types import Int64s


def best_ballots(prefs: Preferences, costs: PairCosts) -> Int64s:
    """Return, for every instance, the ballot with the smallest cost as a consensus (-1 if there is no ballot).

    The choice among ballots of equal cost does not depend on their order.
    """
    cost = kernels.ballot_totals(views.ballots(prefs), costs.before, costs.tied)  # each as the consensus
    lowest_cost = -max_by(prefs.instance_of_ballot, -cost, prefs.n_instances, -np.inf)
    ballots = np.flatnonzero(cost == lowest_cost[prefs.instance_of_ballot])
    best = np.full(prefs.n_instances, -1, np.int64)
    for q, equals in views.ballots_by_instance(prefs, ballots):
        best[q] = equals[0] if len(equals) == 1 else in_canonical_order(prefs, q, equals)[0]
    return best


def in_canonical_order(prefs: Preferences, q: int, ballots: Int64s) -> Int64s:
    """Sort ballots of instance q by their content, so that a choice among them does not depend on their order."""
    sizes = np.diff(prefs.indptr)[ballots]
    entry = np.repeat(prefs.indptr[:-1][ballots] - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
    first, stop = prefs.slot_ptr[q : q + 2].tolist()
    rank_of = np.zeros((len(ballots), stop - first))  # 0: left out
    ranks = views.competition_ranks(prefs)
    rank_of[np.repeat(np.arange(len(ballots)), sizes), prefs.entry_slot[entry] - first] = ranks[entry]
    return np.asarray(ballots[np.lexsort(rank_of.T)])


def draw_ballots(prefs: Preferences, uniform: float) -> Int64s:
    """Draw one ballot per instance with probability proportional to weight, from one uniform number for all."""
    drawn = np.full(prefs.n_instances, -1, np.int64)
    for q, ballots in views.ballots_by_instance(prefs):
        ordered = in_canonical_order(prefs, q, ballots)
        cumulative = np.cumsum(prefs.weight[ordered])
        drawn[q] = ordered[min(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"), len(ordered) - 1)]
    return drawn


def tiers_of(prefs: Preferences, ballot_by_instance: Int64s) -> Int64s:
    """Return the tier of each slot on the ballot chosen for its instance.

    All slots are tied if no ballot was chosen.
    """
    tier = np.full(prefs.n_slots, np.iinfo(np.int64).max)
    is_chosen = np.zeros(prefs.n_ballots, bool)
    is_chosen[ballot_by_instance[ballot_by_instance >= 0]] = True
    entries = is_chosen[views.ballot_of_entry(prefs)]
    tier[prefs.entry_slot[entries]] = prefs.tier[entries]
    return tier


def better_of(prefs: Preferences, costs: PairCosts, tier: Int64s) -> Int64s:
    """Return, for every instance, the cheaper of the ranking given and the best ballot.

    Ties of the ballot are broken by net wins; then adjacent items are swapped if a majority prefers the opposite order
    (local Kemenisation), which never increases the cost.
    """
    ballot = best_ballots(prefs, costs)
    order = costs.orders(tiers_of(prefs, ballot))
    improved = kernels.insertion_orders(costs.slot_ptr, costs.before, order[None, :])[0]
    return costs.best_of(np.stack([tier, costs.places(improved)]))
