"""Borda count: one point for every candidate that a ballot ranks lower.

With m candidates, the item at position r of a ballot gets m - r points; tied items share the mean of their positions.
The score of an item is the weighted sum over all ballots. Borda is the oldest rule that uses complete ballots, needs
one pass over the data, and is a good first choice for complete or nearly complete rankings.

Candidates that a ballot does not mention, or puts in an open last tier ("the rest"), share the mean of the free
positions (``missing="last"``). With ``missing="ignore"`` the score is the share of its comparisons that an item wins,
with ties as half a win: this suits pairwise votes, in which a missing item carries no information. ``"auto"`` ignores
missing items for pairs and ranks them last otherwise.

Cost: linear in the ballots. Reference: J.-C. de Borda, Mémoire sur les élections au scrutin, 1781.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from concordant import kernels, views
from concordant.aggregate import options
from concordant.ballots.segments import sum_by
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE, Ranking, snap
from concordant.results.explanation import Reason
from concordant.types import Floats, Int32s

if TYPE_CHECKING:
    from concordant.narrative.sentences import Scene


@dataclass(frozen=True, kw_only=True)
class Borda(Method):
    """Sum of points over ballots: one for each candidate ranked below, half for each tie."""

    usual_name = "Borda count"
    apart = True
    aliases = {"borda-count": {}}
    waives = {"condorcet_consistency": "many second places can outweigh a majority of first places"}

    missing: str = options.missing(choices=("auto", "last", "ignore"))

    def scores(self, prefs: Preferences) -> Floats:
        """Return the points (or, ignoring missing items, the share of comparisons won) of every slot."""
        missing = views.resolve_missing(prefs, self.missing)
        return _points(prefs) if missing == "last" else _share_won(prefs)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the points by the positions of the top items, or by their comparisons if missing ones are ignored."""
        from concordant.aggregate.positional._places import places_reason
        from concordant.narrative.sentences import Scene, number

        scene = Scene(prefs, ranking, self.missing)
        lead = super().reasons(prefs, ranking)
        if views.resolve_missing(prefs, self.missing) == "ignore":
            return [*lead, _comparisons(scene)]
        m, total = len(scene.order), float(prefs.weight.sum())
        points = [float(ranking.score[slot]) for slot in scene.top]
        sentences = [
            f"The item at position r of a ballot gets {m:,} - r points; tied items get the points of their mean "
            f"position."
        ]
        if (np.diff(prefs.indptr) < m).any() or prefs.open is not None:
            sentences.append("Items that a ballot leaves out share the mean of its free positions.")
        mean = [f"{m - point / total:.3f}" if total else "-" for point in points]
        return [
            *lead,
            places_reason(scene, sentences, [("mean position", mean), ("points", [number(x) for x in points])]),
        ]


def _comparisons(scene: Scene) -> Reason:
    """List the comparisons that the top items won, lost and tied."""
    from concordant.narrative.sentences import number

    counts_by_kind = views.wins_and_losses(scene.prefs, "ignore")
    rows = [
        [
            str(scene.rank[slot]), scene.names[slot], *(number(float(counts[slot])) for counts in counts_by_kind),
            f"{scene.ranking.score[slot]:.1%}",
        ]
        for slot in scene.top
    ]  # fmt: skip
    header = ["rank", "item", "won", "lost", "tied", "share won"]
    sentences = ["The score is the share of its comparisons that an item wins, ties counting half."]
    return Reason("Comparisons", sentences, header, rows, frozenset(range(6)) - {1})


def _points(prefs: Preferences) -> Floats:
    """Return the sum of the points: with m candidates, position p of a ballot is worth m - p.

    Every candidate first gets the points of an unranked item from each ballot; ranked ones also get the difference to
    the points of their position.
    """
    candidates = np.diff(prefs.slot_ptr)
    left_out = views.missing_positions(prefs)
    points_left_out = prefs.weight * (candidates[prefs.instance_of_ballot] - left_out)
    base = sum_by(prefs.instance_of_ballot, points_left_out, prefs.n_instances)
    sizes = np.diff(prefs.indptr)
    gain = np.repeat(left_out, sizes) - views.positions(prefs)
    if not prefs.has_unit_weights:
        gain *= np.repeat(prefs.weight, sizes)
    points = np.repeat(base, candidates) + sum_by(prefs.entry_slot, gain, prefs.n_slots)
    if views.has_whole_weights(prefs):
        return points
    return snap(points, views.instance_of_slot(prefs), views.total_weight(prefs) * candidates)


def _share_won(prefs: Preferences) -> Floats:
    """Return the share of its comparisons that every slot won, ties as half; 1/2 if it has none."""
    wins, losses, ties = views.wins_and_losses(prefs, "ignore")
    compared = wins + losses + ties
    share = np.full(len(wins), 0.5)
    np.divide(wins + ties / 2, compared, out=share, where=compared > 0)
    return share


def borda_levels(prefs: Preferences, missing: str) -> Int32s:
    """Return integers in the order of the Borda scores of the slots, equal for tied scores."""
    score = borda_points(prefs, missing)
    order, rank = kernels.order_segments(score, prefs.slot_ptr, TIE_TOLERANCE)
    level = np.empty(len(score), np.int32)
    level[order] = -rank
    return level


def borda_points(prefs: Preferences, missing: str) -> Floats:
    """Return the Borda score of every slot; "last-free" counts as "last"."""
    return Borda(missing="last" if missing == "last-free" else missing).scores(prefs)
