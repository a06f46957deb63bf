"""The centre of a Mallows model and the distances of ballots to it, over all instances at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from concordant import kernels, views
from concordant.aggregate.distance.footrule import Footrule
from concordant.aggregate.distance.kemeny import Kemeny
from concordant.aggregate.distance.local_search import LocalSearch
from concordant.aggregate.positional.borda import Borda
from concordant.gather import segment_index, sum_by
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.types import Bools, Floats, Int64s

MISSING_CHOICES = ("auto", "last", "ignore")
MISSING_DOC = "what a ballot says of candidates it does not mention, when the centre is sought"
SMALL = 12  # candidates up to which the exact Kemeny solver finds the centre
ENTRIES_AT_ONCE = 5_000_000
MOST_SHAKES, PAIRS_SHAKEN = 200, 200_000_000  # local search looks at all pairs after every shake


def centre(prefs: Preferences, distance: str, missing: str) -> Int64s:
    """Return slots, best first in each instance, in the order with the least total distance to the ballots.

    For the Kendall distance the order is exact where that is cheap, and found by local search elsewhere.
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
        method = LocalSearch(missing=missing, shakes=min(MOST_SHAKES, PAIRS_SHAKEN // largest**2))
    return method.rank(prefs).order


@dataclass(frozen=True)
class Against:
    """Ballots as seen from the centre: the place (0 best) that the centre gives the item of every entry."""

    prefs: Preferences
    place: Int64s
    ballot: Int64s
    size: Int64s
    """How many items each ballot ranks."""
    is_strict: Bools
    """Per ballot: whether it ties nothing."""

    @property
    def local(self) -> Floats:
        """The position (1 best) of every entry among the items of its ballot, in the order of the centre."""
        order = np.lexsort((self.place, self.ballot))
        local = np.empty(len(order))
        local[order] = np.arange(len(order)) - np.repeat(self.prefs.indptr[:-1], self.size) + 1.0
        return local


def against(prefs: Preferences, order: Int64s) -> Against:
    """Look at the ballots from the centre."""
    place = np.empty(prefs.n_slots, np.int64)
    place[order] = np.arange(prefs.n_slots) - np.repeat(prefs.slot_ptr[:-1], np.diff(prefs.slot_ptr))
    groups = views.tiers(prefs)
    tied = np.bincount(groups.ballot[groups.size > 1], minlength=prefs.n_ballots) > 0
    return Against(prefs, place[prefs.entry_slot], segment_index(prefs.indptr), np.diff(prefs.indptr), ~tied)


def inversions(seen: Against) -> tuple[Floats, Floats]:
    """Return, for every entry, how many items the centre puts after it the ballot puts before it (ties half), of how
    many the two compare: the stages of the (generalised) Mallows model.
    """
    before, compared = np.zeros(len(seen.place)), np.zeros(len(seen.place))
    place = seen.local.astype(np.int64) - 1
    for m in np.unique(seen.size[seen.is_strict]).tolist():
        ballots = np.flatnonzero(seen.is_strict & (seen.size == m))
        step = max(1, ENTRIES_AT_ONCE // max(m, 1))
        for start in range(0, len(ballots), step):
            entry = seen.prefs.indptr[ballots[start : start + step], None] + np.arange(m)
            before[entry], compared[entry] = _strict_inversions(place[entry])
    _add_tied_inversions(seen, before, compared)
    return before, compared


def _strict_inversions(place: Int64s) -> tuple[Floats, Floats]:
    """Return both for ballots without ties, rows of their items' places in the centre: backwards, a Lehmer code."""
    m = place.shape[1]
    code = kernels.lehmer_encode(np.ascontiguousarray(m - 1 - place[:, ::-1], np.int32))
    return np.take_along_axis(code, m - 1 - place, axis=1).astype(np.float64), (m - 1 - place).astype(np.float64)


def _add_tied_inversions(seen: Against, before: Floats, compared: Floats) -> None:
    """Add those of ballots with ties, pair by pair."""
    prefs, size = seen.prefs, np.where(seen.is_strict, 0, seen.size)
    if not size.any():
        return
    groups = views.tiers(prefs)
    is_open = groups.is_open[groups.of_entry]
    after = np.where(seen.is_strict[seen.ballot], 0, prefs.indptr[seen.ballot + 1] - np.arange(len(prefs.item)) - 1)
    chunk = np.cumsum(size.astype(np.float64) ** 2 / 2) // ENTRIES_AT_ONCE
    bounds = np.append(np.flatnonzero(np.diff(chunk, prepend=-1.0)), len(size))
    for low, high in pairwise(prefs.indptr[bounds].tolist()):
        later = after[low:high]
        first = np.repeat(np.arange(low, high), later)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
        is_tie = groups.of_entry[first] == groups.of_entry[second]
        used = ~(is_tie & is_open[first])
        first, second, is_tie = first[used], second[used], is_tie[used]
        # The pair belongs to the stage of the item the centre puts first.
        is_turned = seen.place[second] < seen.place[first]
        owner = np.where(is_turned, second, first) - low
        before[low:high] += sum_by(owner, np.where(is_tie, 0.5, is_turned), high - low)
        compared[low:high] += np.bincount(owner, minlength=high - low)


def position_score(prefs: Preferences, order: Int64s) -> Floats:
    """Return a score that falls by one from place to place of the centre."""
    size = np.diff(prefs.slot_ptr)
    score = np.empty(prefs.n_slots)
    score[order] = np.repeat(prefs.slot_ptr[1:], size) - np.arange(prefs.n_slots, dtype=np.float64) - 1
    return score
