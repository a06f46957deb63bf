"""Complete ballots by adding the candidates that they do not mention."""

from __future__ import annotations

import numpy as np

from concordant.errors import arg
from concordant.preferences import Preferences
from concordant.support import memory


def with_missing(prefs: Preferences, missing: str) -> Preferences:
    """Return the same ballots, each completed with the candidates it does not rank.

    ``last-free`` adds them as an open last tier, not compared with each other; ``last`` ties them in the last place;
    ``ignore`` leaves them out. In an open ballot they join the last tier.
    """
    if missing == "ignore":
        return prefs
    size = np.diff(prefs.indptr)
    candidates = np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
    memory.require(
        48 * float(candidates.sum()),
        f"Keeping {int(candidates.max(initial=0)):,} candidates in the denominators of {prefs.n_ballots:,} ballots",
        "use " + arg("missing", "ignore"),
    )
    is_open = np.zeros(prefs.n_ballots, bool) if prefs.open is None else prefs.open
    if (size == candidates).all():
        return prefs
    indptr = np.concatenate([[0], np.cumsum(candidates)])
    ballot = np.repeat(np.arange(prefs.n_ballots), candidates)
    first = prefs.slot_ptr[prefs.instance_of_ballot]
    number_in_instance = prefs.entry_slot - np.repeat(first, size)
    entry = np.full(int(indptr[-1]), np.iinfo(np.int64).max)
    entry[np.repeat(indptr[:-1], size) + number_in_instance] = np.arange(len(prefs.item))
    order = np.lexsort((entry, ballot))
    entry_in_order = entry[order]
    is_named = entry_in_order < np.iinfo(np.int64).max
    slot = np.arange(int(indptr[-1])) - np.repeat(indptr[:-1] - first, candidates)
    last_tier = np.zeros(prefs.n_ballots, np.int64)
    last_tier[size > 0] = prefs.tier[prefs.indptr[1:][size > 0] - 1]
    # An open ballot's own last tier is already the rest: the unmentioned join it.
    tier_of_missing = np.where(is_open & (size > 0), last_tier, last_tier + 1)[ballot]
    tier = np.where(is_named, np.append(prefs.tier, 0)[np.where(is_named, entry_in_order, -1)], tier_of_missing)
    return Preferences(
        prefs.items,
        indptr,
        prefs.slot_item[slot[order]],
        tier,
        weight=prefs.weight,
        agents=prefs.agents,
        agent=prefs.agent,
        instances=prefs.instances,
        instance=prefs.instance,
        open=is_open | ((size < candidates) & (missing == "last-free")),
        slot_ptr=prefs.slot_ptr,
        slot_item=prefs.slot_item,
    )
