"""Methods with a history rank current items: by default those with a result in the last 365 days of the data.

An item that stopped playing keeps its last score and would stay in the current ranking forever. If times are dates,
items without a result in the last 365 days of their instance are left out of the ranking; fit, model and history
include all items. If times are plain numbers (rounds, seasons), all items are ranked unless ``since`` or a
``window`` is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.ballots.segments import max_by
from concordant.errors import InputError, ParameterError, arg
from concordant.method import Method
from concordant.models.notices import named, notice_on
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.support.dates import as_times, shown_time
from concordant.types import Bools, Floats

RECENT = 365.0  # days


@dataclass(frozen=True, kw_only=True)
class OverTime(Method):
    """Base of methods with a history."""

    since: str | None = options.since()
    all_items: bool = options.all_items()

    def rank(self, prefs: Preferences) -> Ranking:
        """Rank the candidates with recent results, those with results since a given time, or all."""
        self.check_needs(prefs)
        keep = self.kept(prefs)
        ranking = super().rank(prefs)
        if keep is None or keep.all():
            return ranking
        ranked = set(prefs.items.take(np.unique(prefs.slot_item[keep])))
        kept_notices = [notice for notice in ranking.notices if not notice.items or ranked.intersection(notice.items)]
        return replace(
            ranking.only(keep), notices=(*kept_notices, notice_on(prefs, "not-recent", self._told(prefs, keep), ~keep))
        )

    def of_everybody(self) -> Self:
        """Return a copy that ranks every item, for comparisons with other rankings."""
        if self.since is not None:
            raise ParameterError(
                arg("since", self.since) + " excludes items, but all items must be ranked here: leave it out."
            )
        return replace(self, all_items=True).with_learnt(**self.learnt)

    def kept(self, prefs: Preferences) -> Bools | None:
        """Return, for each slot, whether it is ranked; None if all are."""
        if self.all_items and self.since is not None:
            both = arg("all_items", True) + " and " + arg("since", self.since)
            raise ParameterError(both + " contradict each other: use one of them.")
        if self.since is not None:
            keep = seen(prefs, played(prefs)) >= moment_of(prefs, self.since, "since")
            if not keep.any():
                since = arg("since", shown=str(self.since))
                raise InputError("No item has a result on or after " + since + ": give an earlier time, or omit it.")
            return keep
        length = None if self.all_items or prefs.time is None else self.recent(prefs)
        return None if length is None else _is_recent(prefs, self.moments(prefs), length)

    def recent(self, prefs: Preferences) -> float | None:
        """Return the maximum age of a recent result, in the unit of the times; None if all items are ranked."""
        return RECENT if prefs.is_dated else None

    def moments(self, prefs: Preferences) -> Floats:
        """Return the time at which every ballot counts as seen."""
        return played(prefs)

    def _told(self, prefs: Preferences, keep: Bools) -> str:
        """Return the text of the notice about items that are not ranked."""
        n_left_out, n = int((~keep).sum()), len(keep)
        text = f"{n_left_out:,} of {n:,} items {'is' if n_left_out == 1 else 'are'} not ranked: no result "
        if self.since is not None:
            text += f"since {shown_time(moment_of(prefs, self.since, 'since'), prefs.is_dated)}"
        else:
            text += f"in the last {self.recent(prefs):g}{' days' if prefs.is_dated else ''} of the data"
        advice = arg("since") + " changes the limit, " + arg("all_items", True) + " ranks every item"
        return f"{text} (" + advice + f"){_emptied(prefs, keep)}"


def _emptied(prefs: Preferences, keep: Bools) -> str:
    """Name the instances without any ranked item; the empty string if there are none."""
    n_left = np.bincount(views.instance_of_slot(prefs)[keep], minlength=prefs.n_instances)
    empty = np.flatnonzero((n_left == 0) & (np.diff(prefs.slot_ptr) > 0))
    if prefs.instances is None or not len(empty):
        return ""
    labels = named(prefs.instances.take(empty))
    subject = "1 instance has" if len(empty) == 1 else f"{len(empty):,} instances have"
    return f"; {subject} no item left and {'is' if len(empty) == 1 else 'are'} not ranked: {labels}; items not ranked"


def played(prefs: Preferences) -> Floats:
    """Return the time at which each ballot was cast."""
    if prefs.time is None:
        raise ParameterError(arg("since") + " needs the time of each ballot: give it with " + arg("time") + ".")
    return prefs.time


def seen(prefs: Preferences, moment: Floats) -> Floats:
    """Return the time of every slot's last comparison; minus infinity if it has none. ``moment`` is by ballot."""
    entries = views.has_opponents(prefs)
    when = moment[views.ballot_of_entry(prefs)[entries]]
    return max_by(prefs.entry_slot[entries], when, prefs.n_slots, -np.inf)


def _is_recent(prefs: Preferences, moment: Floats, length: float) -> Bools:
    """Return whether each slot is on a ballot within ``length`` of the last one of its instance.

    All slots of an instance without known times are recent.
    """
    last = seen(prefs, moment)
    instance = views.instance_of_slot(prefs)
    end = max_by(instance, last, prefs.n_instances, -np.inf)[instance]
    return np.asarray((end == -np.inf) | (last >= end - length))


def moment_of(prefs: Preferences, moment: object, name: str) -> float:
    """Convert a date or number to a time as in the preferences; ``name`` is the parameter in the error."""
    time, is_dated = as_times([moment])
    if np.isnan(time[0]) or is_dated != prefs.is_dated:
        wanted = "a date such as 2024-05-31" if prefs.is_dated else "a number, like the times"
        raise ParameterError(arg(name, moment) + f" is not a valid time: give {wanted}.")
    return float(time[0])
