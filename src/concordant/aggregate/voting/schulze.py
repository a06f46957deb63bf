"""Schulze: the strongest chains of majorities decide.

A path from one candidate to another goes through majorities; it is as strong as its weakest link. One candidate
stands above another if the strongest path to it is stronger than the strongest path back. This relation has no
cycles but may leave candidates incomparable. First come all that nobody stands above, tied (often a single winner),
next those that only the first stand above, and so on; the score is the number of tiers below. The winners are
always in the Smith set, clones of a candidate do no harm, and it is the most widely used rule of its kind.
``strength`` measures a majority by the votes for it ("winning-votes", as Schulze advises) or by its margin.

Cost: the pairwise counts, a sort of all pairs, then candidates³/64 at most. Reference: M. Schulze, A new monotonic,
clone-independent, reversal symmetric, and Condorcet-consistent single-winner election method, Social Choice and
Welfare, 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant import kernels
from concordant.aggregate import options
from concordant.aggregate.majorities import majorities, strength, tiers_below
from concordant.method import Method
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class Schulze(Method):
    """Strongest chains of majorities; candidates that nobody stands above share the first tier."""

    aliases = {"beatpath": {}, "beat-path": {}}
    matrices = 8
    by_parts = True

    strength: str = param(
        "winning-votes", "how the strength of a majority is measured", choices=("winning-votes", "margins")
    )
    missing: str = options.missing()

    def scores(self, prefs: Preferences) -> Floats:
        """Return the number of tiers below every slot."""
        found = majorities(prefs, self.missing)
        path = kernels.strongest_paths(prefs.slot_ptr, strength(found, self.strength))
        back = kernels.transpose_matrices(prefs.slot_ptr, path)
        return tiers_below(found, path > back)
