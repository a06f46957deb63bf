"""Ratings held out for validation and tests: some of every agent's."""

from __future__ import annotations

import numpy as np

from concordant.errors import InputError, ParameterError, arg
from concordant.preferences import Preferences
from concordant.recommend._observed import Observed
from concordant.types import Bools

FEWEST = 4  # ratings of an agent of which a share may be held out


def split(
    prefs: Preferences, share: float = 0.1, *, count: int | None = None, seed: int = 0
) -> tuple[Preferences, Preferences]:
    """Draw some ratings of every agent: return the others, and those.

    ``share`` of an agent's ratings are drawn, but at least two, because one alone cannot be ranked well or badly, and
    none of an agent with fewer than four; or ``count`` of each agent, never all. Both parts know the same items and
    agents.
    """
    if count is None and not 0 < share < 1:
        raise ParameterError(arg("share", share) + " is out of range: give a number between 0 and 1, such as 0.1.")
    if count is not None and count < 1:
        raise ParameterError(arg("count", count) + " is out of range: give a whole number of at least 1.")
    observed = Observed.of(prefs)
    size = np.diff(observed.by_agent.ptr)
    if count is None:
        n_drawn = np.where(size < FEWEST, 0, np.maximum(2, np.rint(share * size)))
    else:
        n_drawn = np.full(len(size), count)
    n_drawn = np.minimum(n_drawn, np.maximum(size - 1, 0))
    place = np.lexsort((np.random.default_rng(seed).random(len(observed.item)), observed.agent))
    drawn = np.zeros(len(place), bool)
    drawn[place] = np.arange(len(place)) - np.repeat(observed.by_agent.ptr[:-1], size) < np.repeat(n_drawn, size)
    if not drawn.any():
        raise InputError("Nothing can be held out: every agent has too few ratings.")
    return taken(prefs, observed, ~drawn), taken(prefs, observed, drawn)


def taken(prefs: Preferences, observed: Observed, keep: Bools) -> Preferences:
    """Return the preferences with only these entries, in the order of ``observed``; items and agents stay known."""
    size = np.bincount(observed.ballot[keep], minlength=len(observed.weight))
    value = observed.value
    if value is not None and prefs.scale != "rating":
        value = -value
    filled = size > 0
    return Preferences(
        prefs.items,
        np.concatenate([[0], np.cumsum(size[filled])]),
        observed.item[keep],
        observed.tier[keep],
        value=None if value is None else value[keep],
        scale=prefs.scale,
        weight=observed.weight[filled],
        agents=prefs.agents,
        agent=observed.agent_of_ballot[filled],
        form=prefs.said_form,
    )
