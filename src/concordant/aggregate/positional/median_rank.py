"""Median rank: the median of an item's positions over the ballots.

The score is minus the weighted median of the item's positions (1 is best, tied items share their mean position). With
an even number of ballots it is the mean of the lower and the upper median. The median is robust: a minority of extreme
ballots cannot move an item far. It is also coarse: with few ballots many items tie.

Candidates that a ballot does not mention get the mean of the free positions (``missing="last"``), or the ballot is
ignored for them (``"ignore"``; a candidate on no ballot then comes after the last position). ``"auto"`` ignores
missing items for pairs and ranks them last otherwise.

Cost: linear in the entries if all ballots have the same weight, otherwise a sort of the entries. Reference: R. Fagin,
R. Kumar and D. Sivakumar, Efficient similarity search and classification via rank aggregation, SIGMOD 2003.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import kernels, views
from concordant.aggregate import options
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class MedianRank(Method):
    """Median position over the ballots, smallest first."""

    waives = {"condorcet_consistency": "half of the ballots determine the median, whatever the others rank"}

    missing: str = options.missing(choices=("auto", "last", "ignore"))

    def scores(self, prefs: Preferences) -> Floats:
        """Return minus the median position of every slot."""
        placed = views.placed(prefs, views.resolve_missing(prefs, self.missing))
        median = kernels.weighted_medians(*placed, prefs.n_slots)
        size = np.diff(prefs.slot_ptr)
        return -np.where(np.isnan(median), np.repeat(size, size) + 1.0, median)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the median position by the positions of the top items on the ballots."""
        from concordant.aggregate.positional._places import places_reason
        from concordant.narrative.sentences import Scene, number

        scene = Scene(prefs, ranking, self.missing)
        sentences = [
            "At least half of the ballots rank an item at its median position or better, and at least "
            "half there or worse."
        ]
        if views.resolve_missing(prefs, self.missing) == "last" and (np.diff(prefs.indptr) < len(scene.order)).any():
            sentences.append("Items that a ballot leaves out share the mean of its free positions.")
        median = [number(-float(ranking.score[slot])) for slot in scene.top]
        return [*super().reasons(prefs, ranking), places_reason(scene, sentences, [("median position", median)])]
