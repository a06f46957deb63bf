"""Median rank: the middle of the positions the ballots give an item.

The score is minus the weighted median of the item's positions (1 is best, tied items share their mean position).
With an even number of ballots it is the mean of the lower and the upper median. Robust: a minority of extreme
ballots cannot move an item far. Coarse: with few ballots many items tie.

Candidates a ballot does not mention stand at the mean of the free positions (``missing="last"``), or the ballot does
not count for them (``"ignore"``; a candidate no ballot mentions then stands behind the last position). ``"auto"``
ignores for pairs and puts last otherwise.

Cost: a sort of the entries. Reference: R. Fagin, R. Kumar and D. Sivakumar, Efficient similarity search and
classification via rank aggregation, SIGMOD 2003.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.aggregate.common import weighted_median
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.segments import number_inside, pointer
from concordant.types import Floats, Int64s


@dataclass(frozen=True, kw_only=True)
class MedianRank(Method):
    """Smallest median position over the ballots."""

    waives = {"condorcet_consistency": "half of the ballots decide the median, whatever the others say"}

    missing: str = options.missing(choices=("auto", "last", "ignore"))

    def scores(self, prefs: Preferences) -> Floats:
        """Return minus the median position of every slot."""
        slot, position, weight = prefs.entry_slot, views.positions(prefs), views.weight_of_entry(prefs)
        if views.resolve_missing(prefs, self.missing) == "last":
            added = _left_out(prefs)
            slot, position, weight = (
                np.concatenate([own, more]) for own, more in zip((slot, position, weight), added, strict=True)
            )
        median = weighted_median(slot, position, weight, prefs.n_slots)
        size = np.diff(prefs.slot_ptr)
        return -np.where(np.isnan(median), np.repeat(size, size) + 1.0, median)


def _left_out(prefs: Preferences) -> tuple[Int64s, Floats, Floats]:
    """Return the positions of candidates left out as (slot, position, weight).

    Every candidate gets the position of every incomplete ballot, ballots with the same position together; those a
    ballot mentions have it taken out again by a negative weight.
    """
    size = np.diff(prefs.slot_ptr)
    instance = prefs.instance_of_ballot
    position = views.missing_positions(prefs)
    is_incomplete = np.diff(prefs.indptr) < size[instance]
    place, kind = np.unique(
        np.column_stack([instance[is_incomplete], position[is_incomplete]]), axis=0, return_inverse=True
    )
    weight = np.bincount(kind.reshape(-1), weights=prefs.weight[is_incomplete], minlength=len(place))
    owner = place[:, 0].astype(np.int64)
    repeats = size[owner]
    slot = np.repeat(prefs.slot_ptr[owner], repeats) + number_inside(pointer(repeats))
    ballot = views.ballot_of_entry(prefs)
    taken = is_incomplete[ballot]
    return (
        np.concatenate([slot, prefs.entry_slot[taken]]),
        np.concatenate([np.repeat(place[:, 1], repeats), position[ballot[taken]]]),
        np.concatenate([np.repeat(weight, repeats), -prefs.weight[ballot[taken]]]),
    )
