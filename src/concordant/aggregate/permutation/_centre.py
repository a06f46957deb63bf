"""The centre of a Mallows model and the distances of ballots to it, over all instances at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from concordant import kernels, views
from concordant.aggregate.distance.footrule import Footrule
from concordant.aggregate.distance.kemeny import Kemeny
from concordant.aggregate.distance.local_search import LocalSearch
from concordant.aggregate.positional.borda import Borda
from concordant.ballots.segments import places, segment_index, sum_by
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.types import Bools, Floats, Int64s

SMALL = 12  # candidates up to which the exact Kemeny solver finds the centre
ENTRIES_AT_ONCE = 5_000_000
MAX_SHAKES, PAIRS_SHAKEN = 200, 200_000_000  # local search looks at all pairs after every shake


def centre(prefs: Preferences, distance: str, missing: str) -> Int64s:
    """Return the slots, best first in each instance, in the order with the smallest total distance to the ballots.

    For the Kendall distance the order is exact for small instances and found by local search otherwise.
    """
    method: Method
    if distance == "footrule":
        method = Footrule(missing=missing)
    elif distance == "spearman":
        method = Borda(missing=missing)
    elif np.diff(prefs.slot_ptr).max(initial=0) <= SMALL:
        method = Kemeny(missing=missing, time_limit=None)
    else:
        largest = int(np.diff(prefs.slot_ptr).max())
        method = LocalSearch(missing=missing, shakes=min(MAX_SHAKES, PAIRS_SHAKEN // largest**2))
    return method.rank(prefs).order


@dataclass(frozen=True)
class CentredBallots:
    """Ballots relative to the centre: the position (0 best) of every entry's item in the centre."""

    prefs: Preferences
    place: Int64s
    ballot: Int64s
    size: Int64s
    """The number of items each ballot ranks."""
    is_strict: Bools
    """Whether each ballot is free of ties."""

    @property
    def local(self) -> Floats:
        """The position (1 is best) of every entry among the items of its ballot, in the order of the centre."""
        return np.asarray(places(self.prefs.indptr, np.lexsort((self.place, self.ballot))) + 1.0, np.float64)

    def distances(self, kind: str) -> Floats:
        """Return the distance of every ballot to the centre, restricted to the ballot's items."""
        if kind == "kendall":
            by_entry = inversions(self)[0]
        else:
            shift = views.positions(self.prefs) - self.local
            by_entry = np.abs(shift) if kind == "footrule" else shift**2
        return sum_by(self.ballot, by_entry, len(self.size))

    def lengths(self) -> Lengths:
        """Return the distinct ballot lengths of each instance, with the total weight of the ballots of each length."""
        prefs, size = self.prefs, np.maximum(self.size, 1)
        width = int(size.max(initial=1)) + 1
        key, key_of_ballot = np.unique(prefs.instance_of_ballot.astype(np.int64) * width + size, return_inverse=True)
        return Lengths(key // width, key % width, sum_by(key_of_ballot.reshape(-1), prefs.weight, len(key)))


class Lengths(NamedTuple):
    """Ballot lengths: instance, number of ranked items, and total weight of the ballots of this length."""

    instance: Int64s
    size: Int64s
    weight: Floats


def against(prefs: Preferences, order: Int64s) -> CentredBallots:
    """Return the ballots relative to the centre, given as slots, best first."""
    return seen_from(prefs, places(prefs.slot_ptr, order))


def seen_from(prefs: Preferences, place: Int64s) -> CentredBallots:
    """Return the ballots relative to a centre in which every slot has this position (0 best)."""
    groups = views.tiers(prefs)
    tied = np.bincount(groups.ballot[groups.size > 1], minlength=prefs.n_ballots) > 0
    return CentredBallots(prefs, place[prefs.entry_slot], segment_index(prefs.indptr), np.diff(prefs.indptr), ~tied)


def inversions(centred: CentredBallots) -> tuple[Floats, Floats]:
    """Return (before, compared) by entry, the stages of the (generalised) Mallows model.

    ``compared`` counts the ballot's items that come after the entry's item in the centre, ``before`` those of them that
    the ballot ranks above it, ties half.
    """
    before, compared = np.zeros(len(centred.place)), np.zeros(len(centred.place))
    place = centred.local.astype(np.int64) - 1
    for m in np.unique(centred.size[centred.is_strict]).tolist():
        ballots = np.flatnonzero(centred.is_strict & (centred.size == m))
        step = max(1, ENTRIES_AT_ONCE // max(m, 1))
        for start in range(0, len(ballots), step):
            entry = centred.prefs.indptr[ballots[start : start + step], None] + np.arange(m)
            before[entry], compared[entry] = _strict_inversions(place[entry])
    _add_tied_inversions(centred, before, compared)
    return before, compared


def _strict_inversions(place: Int64s) -> tuple[Floats, Floats]:
    """Return ``before`` and ``compared`` of ballots without ties, from the Lehmer code of the reversed ballots.

    ``place`` has a row per ballot: the positions of its items in the centre.
    """
    m = place.shape[1]
    code = kernels.lehmer_encode(np.ascontiguousarray(m - 1 - place[:, ::-1], np.int32))
    return np.take_along_axis(code, m - 1 - place, axis=1).astype(np.float64), (m - 1 - place).astype(np.float64)


def _add_tied_inversions(centred: CentredBallots, before: Floats, compared: Floats) -> None:
    """Add the counts of ballots with ties to ``before`` and ``compared``, pair by pair."""
    if centred.is_strict.all():
        return
    for first, second, is_tie in views.pairs_of_entries(centred.prefs, np.flatnonzero(~centred.is_strict)):
        # The pair belongs to the stage of the item the centre puts first.
        is_discordant = centred.place[second] < centred.place[first]
        stage = np.where(is_discordant, second, first)
        low, high = (int(stage.min()), int(stage.max()) + 1) if len(stage) else (0, 0)
        before[low:high] += sum_by(stage - low, np.where(is_tie, 0.5, is_discordant), high - low)
        compared[low:high] += np.bincount(stage - low, minlength=high - low)
