"""Shared by methods that follow items over time: order of ballots, histories, and forecasts from earlier ballots.

A method that processes the ballots in order records the rating of every entry after its ballot (its *trail*). The
history is that trail with the times of the ballots; forecasts use the ratings before each ballot.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate.pairwise._recent import OverTime
from concordant.errors import InputError, arg
from concordant.models.notices import notice_on
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.results.histories import History
from concordant.support.dates import as_moment
from concordant.types import Bools, Floats, Int64s

MAX_PLAYS = 100_000_000  # games that weights may make of ballots


@dataclass(frozen=True, kw_only=True)
class Following(OverTime):
    """Base of methods that follow items over time."""

    likelihood_of = "games, each predicted from those before it"
    silence = "they did not play"
    needs = frozenset({"order"})

    def forecasts(self, prefs: Preferences, since: object = None) -> Floats:
        """Return, per ballot, the win probability of its first entry (the winner), predicted from earlier ballots only.

        It is NaN for ballots before ``since`` (a date, or a number if times are numbers), for ballots that do not rank
        exactly two items, and if one of the two never played before.
        """
        self.check_needs(prefs)
        in_order(prefs)
        played = np.diff(prefs.indptr) > 1
        has_past = previous_entry(prefs, np.repeat(played, np.diff(prefs.indptr))) >= 0
        first = prefs.indptr[:-1]
        begin = -np.inf if since is None else as_moment(since, prefs.is_dated)
        ballot = np.flatnonzero((np.diff(prefs.indptr) == 2) & (times(prefs) >= begin))
        ballot = ballot[has_past[first[ballot]] & has_past[first[ballot] + 1]]
        chance = np.full(prefs.n_ballots, np.nan)
        chance[ballot] = self._predicted(prefs, ballot)
        return chance

    @abstractmethod
    def _predicted(self, prefs: Preferences, ballot: Int64s) -> Floats:
        """Return, for these two-item ballots, the win probability of the first entry before the ballot was cast."""


def in_order(prefs: Preferences) -> Preferences:
    """Return the preferences unchanged; raise an error if the ballots of an instance are not sorted by time."""
    if prefs.time is not None:
        instance = prefs.instance_of_ballot
        late = np.flatnonzero((np.diff(prefs.time) < 0) & (instance[1:] == instance[:-1]))
        if len(late):
            raise InputError(
                f"Ballot {int(late[0]) + 2} is older than the ballot before it, but ratings are updated in "
                "ballot order: sort the ballots by time, or build the preferences with " + arg("time") + "."
            )
    return prefs


def replayed(prefs: Preferences) -> Preferences:
    """Return the preferences in order; raise an error if the weights would repeat too many games.

    A ballot of weight 2.5 is played three times in a row, the last time with weight 0.5. Methods that use weights
    directly (glicko2, bradley-terry) have no such limit.
    """
    plays = 0.0 if prefs.has_unit_weights else float(np.ceil(prefs.weight).sum())
    if plays > MAX_PLAYS:
        raise InputError(
            f"The weights repeat the ballots {plays:.3g} times, but at most {MAX_PLAYS:,} games can be replayed "
            f"one by one: divide the weights by a constant, or use bradley-terry or glicko2, which do not "
            f"repeat ballots."
        )
    return in_order(prefs)


def times(prefs: Preferences) -> Floats:
    """Return the time of each ballot; its number, from 1, if there are no times."""
    return prefs.time if prefs.time is not None else np.arange(1.0, prefs.n_ballots + 1)


def previous_entry(prefs: Preferences, has_played: Bools) -> Int64s:
    """Return, for every entry, the previous entry of the same slot in a game; -1 if there is none."""
    order = np.argsort(prefs.entry_slot, kind="stable")
    slot = prefs.entry_slot[order]
    last_played = np.where(has_played[order], np.arange(len(order)), -1)
    last = np.append(-1, np.maximum.accumulate(last_played)[:-1]) if len(last_played) else last_played
    is_same_slot = (last >= 0) & (slot[last] == slot)
    previous = np.empty(len(order), np.int64)
    previous[order] = np.where(is_same_slot, order[last], -1)
    return previous


def before(prefs: Preferences, trail: Floats, start: float) -> Floats:
    """Return the rating of every entry's item before its ballot.

    ``trail`` has the ratings after it, NaN without a game.
    """
    previous = previous_entry(prefs, ~np.isnan(trail))
    return np.where(previous >= 0, trail[previous], start)


def history_of(prefs: Preferences, score: Floats, low: Floats | None = None, high: Floats | None = None) -> History:
    """Return the history from values by entry; entries of ballots without a comparison (NaN) are left out."""
    rows = np.flatnonzero(~np.isnan(score))
    ballot = views.ballot_of_entry(prefs)[rows]
    moment = times(prefs)[ballot]
    order = np.argsort(moment, kind="stable")
    rows, ballot = rows[order], ballot[order]
    return History(
        items=prefs.items,
        item=prefs.item[rows],
        time=moment[order],
        score=score[rows],
        low=None if low is None else low[rows],
        high=None if high is None else high[rows],
        is_dated=prefs.is_dated,
        instances=prefs.instances,
        instance=None if prefs.instances is None else prefs.instance_of_ballot[ballot],
    )


def unplayed(prefs: Preferences, has_played: Bools, what: str) -> tuple[Notice, ...]:
    """Return a notice about items without games; ``what`` completes its sentence."""
    if has_played.all():
        return ()
    text = f"these items were never compared with others, so they {what}"
    return (notice_on(prefs, "never-compared", text, ~has_played),)
