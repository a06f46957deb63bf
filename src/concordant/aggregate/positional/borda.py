"""Borda count: points for every candidate a ballot puts below.

With m candidates the item in position r of a ballot gets m - r points; tied items share the mean of their
positions. An item's score is its total over all ballots, weighted. It is the oldest rule that uses whole ballots,
costs one pass over the data, and is the right first answer for complete or nearly complete rankings.

Candidates a ballot does not mention stand, all tied, behind the mentioned ones (``missing="last"``). With
``missing="ignore"`` an item's score is the share of its comparisons it wins, ties counting half: the form that
suits pairwise votes, where silence says nothing. ``"auto"`` ignores for pairs and puts last otherwise.

Cost: linear in the ballots. Reference: J.-C. de Borda, Mémoire sur les élections au scrutin, 1781.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.method import Method
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class Borda(Method):
    """Total points: one for every candidate a ballot puts below, half for every tie."""

    missing: str = param(
        "auto",
        "what a ballot says of candidates it does not mention",
        choices=("auto", "last", "ignore"),
    )

    def scores(self, prefs: Preferences) -> Floats:
        """Return the points (or, ignoring missing items, the share of comparisons won) of every slot."""
        missing = views.resolve_missing(prefs, self.missing)
        wins, losses, ties = views.wins_and_losses(prefs, missing)
        points = wins + ties / 2
        if missing == "last":
            return points
        compared = wins + losses + ties
        return np.divide(points, compared, out=np.full(len(points), 0.5), where=compared > 0)
