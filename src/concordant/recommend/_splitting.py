"""Hold-out split of the ratings of every agent, for validation and testing."""

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
    """Hold out some ratings of every agent at random.

    Parameters
    ----------
    prefs : Preferences
        Ratings or rankings by agents.
    share : float, default 0.1
        Share of each agent's ratings to hold out: at least two of them, because a single item cannot be ranked, and
        none for agents with fewer than four.
    seed : int, default 0
        Seed for the random choice.
    count : int, optional
        Number of ratings to hold out per agent, but never all, instead of ``share``.

    Returns
    -------
    rest : Preferences
        The remaining ratings.
    held_out : Preferences
        The held-out ratings. Both parts have the same items and agents.

    Raises
    ------
    InputError
        If every agent has too few ratings to hold any out.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.Preferences.from_ratings(["ann"] * 4, ["w", "x", "y", "z"], [5, 3, 4, 1])
    >>> train, test = cc.recommend.split(prefs, 0.5)
    >>> len(train.item), len(test.item)
    (2, 2)
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
        raise InputError("Every user has too few ratings to hold any out: give more ratings per user.")
    return taken(prefs, observed, ~drawn), taken(prefs, observed, drawn)


def taken(prefs: Preferences, observed: Observed, keep: Bools) -> Preferences:
    """Return the preferences with only these entries, in the order of ``observed``; all items and agents remain."""
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
