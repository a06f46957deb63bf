"""Ranked pairs: lock in majorities from the strongest to the weakest, skipping those that would close a cycle.

Majorities are taken by decreasing ``strength`` (margin, or votes for); of equal ones first the one with fewer votes
against it, then the one whose winner, then whose loser, does better (worse) by Borda. Majorities that are equal in
all this are taken together: those that contradict each other are left out, and the candidates may stay tied. Where
another rule for equally strong majorities would give another order, a warning says so and names the candidates.

First come all that nobody stands above in the locked order, tied if there are several (drawn pairs lock nothing), next
those that only the first stand above, and so on; the score is the number of tiers below. Like Schulze it elects
from the Smith set and, ties aside, is not hurt by clones; its winner is easy to justify step by step.

Cost: the pairwise counts, a sort of all pairs, then candidates³/64 at most.
Reference: T. N. Tideman, Independence of clones as a criterion for voting rules, Social Choice and Welfare, 1987.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.aggregate import options
from concordant.aggregate.majorities import majorities, strength, tie_notice, tiers_below
from concordant.aggregate.positional.borda import borda_levels
from concordant.method import Method, Outcome
from concordant.params import param
from concordant.preferences import Preferences


@dataclass(frozen=True, kw_only=True)
class RankedPairs(Method):
    """Majorities locked from the strongest to the weakest unless they contradict stronger ones."""

    aliases = {"tideman": {}}
    matrices = 9
    by_parts = True

    strength: str = param("margins", "how the strength of a majority is measured", choices=("margins", "winning-votes"))
    missing: str = options.missing()

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of tiers below every slot in the locked order."""
        found = majorities(prefs, self.missing)
        strengths, borda = strength(found, self.strength), borda_levels(prefs, self.missing)
        is_above, dropped, contested = kernels.lock_pairs(prefs.slot_ptr, strengths, found.opposition, borda)
        is_dropped = np.repeat(dropped > 0, np.diff(prefs.slot_ptr))
        text = "equally strong majorities contradict each other"
        return Outcome(
            tiers_below(found, is_above),
            warnings=(
                *tie_notice(prefs, "unbroken-ties", f"{text} and were left out", contested & is_dropped),
                *tie_notice(prefs, "broken-ties", f"{text}; votes against and Borda decided", contested & ~is_dropped),
            ),
        )
