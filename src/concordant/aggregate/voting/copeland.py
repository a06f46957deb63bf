"""Copeland: how many opponents an item beats by majority.

An item gets one point for every candidate that more ballots (by weight) put behind it than before it, and ``ties``
points (half by default) for every candidate it is level with, including those it was never compared with. A
candidate that beats all others is always first. Scores are coarse, so ties are common; use Schulze or ranked pairs
to separate cycles, Borda when the size of a majority should count.

Cost: the pairwise counts, ballots x candidates² comparisons. Reference: A. H. Copeland, A reasonable social welfare
function, 1951; the rule goes back to Ramon Llull, Ars electionis, 1299.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.voting._helpers import MISSING_CHOICES, MISSING_DOC, majorities
from concordant.method import Method
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class Copeland(Method):
    """Number of opponents beaten by majority, with half a point for every tie."""

    ties: float = param(0.5, "points for an opponent that is neither beaten nor lost to", low=0.0, high=1.0)
    missing: str = param("auto", MISSING_DOC, choices=MISSING_CHOICES)

    def scores(self, prefs: Preferences) -> Floats:
        """Return the points of every slot."""
        found = majorities(prefs, self.missing)
        return found.defeats + self.ties * found.draws
