"""Ranked pairs: lock in majorities from the strongest to the weakest, skipping those that would close a cycle.

Majorities are taken by decreasing ``strength`` (margin, or votes for); of equal ones first the one with fewer votes
against it, then the one whose winner, then whose loser, does better (worse) by Borda. Majorities that are equal in
all this are taken together: those that contradict each other are left out, and the candidates may stay tied, with a
warning. The score counts the candidates below in the locked order, with half for those on a level. Like Schulze it
elects from the Smith set and is not hurt by clones; its winner is easier to justify step by step.

Cost: the pairwise counts, a sort of all pairs, and candidates²/64 steps for every majority that adds something.
Reference: T. N. Tideman, Independence of clones as a criterion for voting rules, Social Choice and Welfare, 1987.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.aggregate.voting._helpers import (
    MISSING_CHOICES,
    MISSING_DOC,
    Majorities,
    borda_levels,
    majorities,
    strength,
    tie_notice,
)
from concordant.method import Method, Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats, Int32s, Int64s


@dataclass(frozen=True, kw_only=True)
class RankedPairs(Method):
    """Majorities locked from the strongest to the weakest unless they contradict stronger ones."""

    strength: str = param("margins", "how the strength of a majority is measured", choices=("margins", "winning-votes"))
    missing: str = param("auto", MISSING_DOC, choices=MISSING_CHOICES)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return how many candidates every slot stands above in the locked order, half for those on a level."""
        found = majorities(prefs, self.missing)
        pairs = _sorted_pairs(found, strength(found, self.strength), borda_levels(prefs, self.missing))
        above, below, dropped = kernels.lock_pairs(prefs.slot_ptr, *pairs)
        size = np.diff(prefs.slot_ptr)
        level = np.repeat(size, size) - 1 - above - below
        text = "equally strong majorities contradict each other and were left out"
        return Outcome(below + level / 2, warnings=tie_notice(prefs, dropped > 0, text))


def _sorted_pairs(found: Majorities, strengths: Floats, borda: Int32s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Return the majorities, strongest first: (ptr by instance, winner slot, loser slot, group of equal ones)."""
    size = np.diff(found.slot_ptr)
    pair = np.flatnonzero(strengths > 0)
    winner = np.searchsorted(found.row_start, pair, side="right") - 1
    instance = np.repeat(np.arange(len(size)), size)[winner]
    loser = found.slot_ptr[instance] + pair - found.row_start[winner]
    keys = (borda[loser], -borda[winner], found.opposition[pair], -strengths[pair], instance)
    order = np.lexsort(keys)
    differs = np.zeros(len(pair), bool)
    for key in keys:
        differs[1:] |= np.diff(key[order]) != 0
    pair_ptr = np.searchsorted(instance[order], np.arange(len(size) + 1)).astype(np.int64)
    return pair_ptr, winner[order], loser[order], np.cumsum(differs)
