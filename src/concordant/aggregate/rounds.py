"""Shared by rules with elimination rounds: first and last places, eliminations, and tiers by several keys.

All instances go through their rounds together, so a thousand instances take as many steps as the longest one. Every
round eliminates the lowest candidate. Ties are broken by the most recent earlier round in which the candidates differ,
then by Borda points. Candidates that are still tied are eliminated together and share a rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate.majorities import tie_notice
from concordant.ballots.segments import first_of, is_new, spans, sum_by
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE, Notice, snap
from concordant.support import progress
from concordant.types import AnyArray, Bools, Bytes, Floats, Int64s


class Papers:
    """The ballots of all instances, restricted to the continuing candidates in each round."""

    def __init__(self, prefs: Preferences) -> None:
        self.n_ballots, self.n_slots = prefs.n_ballots, prefs.n_slots
        named = np.flatnonzero(views.is_named(prefs))
        self.slot: Int64s = prefs.entry_slot[named]
        self.ballot: Int64s = views.ballot_of_entry(prefs)[named]
        self.tier = prefs.tier[named]
        self.weight: Floats = prefs.weight
        self.instance = prefs.instance_of_ballot
        self.instance_of_slot = views.instance_of_slot(prefs)
        self.total = views.total_weight(prefs)

    def tops(self, is_left: Bools) -> tuple[Int64s, Int64s, Floats]:
        """Return the top continuing slots of each ballot: (ballot, slot, share of its weight); ties share equally."""
        return self._shared(np.flatnonzero(is_left[self.slot]), 1)

    def _shared(self, entry: Int64s, step: int) -> tuple[Int64s, Int64s, Floats]:
        """Return the first (step 1) or last (step -1) tier of each ballot: (ballot, slot, share of weight)."""
        entry = entry[::step]
        ballot, tier = self.ballot[entry], self.tier[entry]
        starts = is_new(ballot)
        chosen = tier == tier[np.flatnonzero(starts)][np.cumsum(starts) - 1] if len(entry) else np.empty(0, bool)
        ballot, slot = ballot[chosen], self.slot[entry[chosen]]
        return ballot, slot, self.weight[ballot] / np.bincount(ballot, minlength=self.n_ballots)[ballot]

    def first_places(self, is_left: Bools) -> Floats:
        """Return the weight of the ballots that rank each continuing slot first; tied slots share a ballot."""
        _, slot, share = self.tops(is_left)
        return self._snapped(sum_by(slot, share, self.n_slots))

    def last_places(self, is_left: Bools) -> Floats:
        """Return the weight of the ballots that rank each continuing slot last; unranked slots share a ballot.

        Every slot gets a share from every ballot that leaves some slots unranked; it is subtracted for those the ballot
        ranks.
        """
        entry = np.flatnonzero(is_left[self.slot])
        size = np.bincount(self.instance_of_slot[is_left], minlength=len(self.total))
        unnamed = size[self.instance] - np.bincount(self.ballot[entry], minlength=self.n_ballots)
        share = np.where(unnamed > 0, self.weight / np.maximum(unnamed, 1), 0.0)
        if_unnamed = sum_by(self.instance, share, len(self.total))[self.instance_of_slot]
        votes = if_unnamed - sum_by(self.slot[entry], share[self.ballot[entry]], self.n_slots)
        _, slot, share_of_last = self._shared(entry[unnamed[self.ballot[entry]] == 0], -1)
        return np.where(is_left, self._snapped(votes + sum_by(slot, share_of_last, self.n_slots)), 0.0)

    def _snapped(self, votes: Floats) -> Floats:
        """Make votes equal if they differ only by rounding."""
        return snap(votes, self.instance_of_slot, self.total)


@dataclass(frozen=True)
class Elimination:
    """The round (from 0) in which each slot is eliminated, and the slots tied for last (see ``eliminate``)."""

    rounds: Int64s
    tie: Bytes
    """1 for a slot whose tie was broken by earlier rounds or Borda points, 2 for one eliminated with others."""

    def notices(self, prefs: Preferences, what: str) -> tuple[Notice, ...]:
        """Return notices about broken and unbroken ties; ``what`` names the tied quantity."""
        together = f"candidates tied in {what} of all rounds and in Borda points and were eliminated together"
        settled = f"candidates tied in {what}; earlier rounds or Borda points decided who was eliminated first"
        return (
            *tie_notice(prefs, "unbroken-ties", together, self.tie == 2),
            *tie_notice(prefs, "broken-ties", settled, self.tie == 1),
        )


def eliminate(
    prefs: Preferences, standing: Callable[[Bools], Floats], fallback: AnyArray, scale: Floats
) -> Elimination:
    """Eliminate the lowest slot of every instance, round by round, until none is left.

    ``standing`` returns the value of every slot among those left; values of an instance that differ by less than
    1e-12 times its ``scale`` count as equal. Ties are broken by earlier rounds, most recent first, then by
    ``fallback``.
    """
    instance = views.instance_of_slot(prefs)
    tolerance = TIE_TOLERANCE * scale
    rounds, tie = np.zeros(prefs.n_slots, np.int64), np.zeros(prefs.n_slots, np.uint8)
    is_left, history = np.ones(prefs.n_slots, bool), []
    while is_left.any():
        history.append(standing(is_left))
        equal = out = _lowest(history[-1], is_left, instance, tolerance)
        for values in [*history[-2::-1], fallback.astype(np.float64)]:
            if out.sum() == len(np.unique(instance[out])):
                break
            out = _lowest(values, out, instance, tolerance)
        n_equal, n_out = (np.bincount(instance[group], minlength=len(scale))[instance] for group in (equal, out))
        tie[equal & (n_equal > n_out)] = np.maximum(tie[equal & (n_equal > n_out)], 1)
        tie[out & (n_out > 1)] = 2
        rounds[out] = len(history) - 1
        is_left = is_left & ~out
    return Elimination(rounds, tie)


def _lowest(values: Floats, among: Bools, instance: Int64s, tolerance: Floats) -> Bools:
    """Return which of the slots ``among`` have the lowest value in their instance, within the tolerance."""
    minimum = np.full(len(tolerance), np.inf)
    np.minimum.at(minimum, instance[among], values[among])
    return among & (values <= (minimum + tolerance)[instance])


def tiers_below(prefs: Preferences, *keys: AnyArray) -> Floats:
    """Return the number of tiers below every slot in its instance; keys are compared in order, higher is better."""
    instance = views.instance_of_slot(prefs)
    order = np.lexsort((*keys[::-1], instance))
    level = np.cumsum(is_new(*(key[order] for key in keys)))
    below = np.empty(prefs.n_slots)
    below[order] = level - level[first_of(prefs.slot_ptr)]
    return below


def majority_line(papers: Papers, votes: Floats) -> Floats:
    """Return half of the continuing votes in each instance; a majority is more than this."""
    return sum_by(papers.instance_of_slot, votes, len(papers.total)) / 2


def ballot_tables(
    prefs: Preferences, is_kept: Bools, value: AnyArray, empty: object
) -> Iterator[tuple[slice, Int64s, AnyArray]]:
    """Iterate over instances: (slots, ballots, table of ballots x slots with the values of the kept entries)."""
    by_instance = dict(views.ballots_by_instance(prefs))
    for q in progress.steps(range(prefs.n_instances)):
        slots = slice(int(prefs.slot_ptr[q]), int(prefs.slot_ptr[q + 1]))
        ballots = by_instance.get(q, np.empty(0, np.int64))
        entry = spans(prefs.indptr[ballots], prefs.indptr[ballots + 1])
        row = np.repeat(np.arange(len(ballots)), np.diff(prefs.indptr)[ballots])
        table = np.full((len(ballots), slots.stop - slots.start), empty, value.dtype)
        kept = is_kept[entry]
        table[row[kept], prefs.entry_slot[entry[kept]] - slots.start] = value[entry[kept]]
        yield slots, ballots, table


def distinct_rows(table: AnyArray, weight: Floats) -> tuple[AnyArray, Floats]:
    """Merge equal rows of a table and add their weights."""
    if not table.size:
        return table, weight
    whole = np.ascontiguousarray(table)
    rows = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).reshape(-1)
    _, first, index = np.unique(rows, return_index=True, return_inverse=True)
    return whole[first], sum_by(index.reshape(-1), weight, len(first))
