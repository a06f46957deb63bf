"""Minimax (Simpson-Kramer): the candidate whose worst pairwise defeat is smallest.

The score is minus the size of the worst defeat. ``strength`` selects the measure: the margin (default; negative if the
item beats everyone), the votes of the winning side ("winning-votes", 0 without a defeat), or the votes against the item
in any contest, lost or not ("opposition", which may fail to elect a Condorcet winner). Minimax is simple to explain.
Unlike Schulze and ranked pairs it may elect a candidate outside the Smith set.

Cost: the pairwise counts. References: P. B. Simpson, On defining areas of voter choice, 1969; G. H. Kramer, A dynamical
model of political equilibrium, 1977.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant.aggregate import options
from concordant.aggregate.explain.contests import Contest
from concordant.aggregate.majorities import Majorities, majorities
from concordant.ballots.segments import number_inside
from concordant.method import Method
from concordant.narrative.sentences import Scene, number
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class Minimax(Method):
    """Size of the worst pairwise defeat, smallest first."""

    aliases = {"simpson": {}, "simpson-kramer": {}}
    matrices = 5
    by_parts = True

    strength: str = param(
        "margins", "measure of the size of a defeat", choices=("margins", "winning-votes", "opposition")
    )
    missing: str = options.missing()

    def scores(self, prefs: Preferences) -> Floats:
        """Return minus the worst defeat of every slot."""
        majority = majorities(prefs, self.missing)
        return np.asarray(0.0 - np.maximum.reduceat(self._suffered(prefs, majority), majority.row_start))

    def _suffered(self, prefs: Preferences, majority: Majorities) -> Floats:
        """Return the size of each slot's defeat by each opponent (flat m x m)."""
        if self.strength == "margins":
            suffered = -majority.margin
        elif self.strength == "opposition":
            suffered = majority.opposition.copy()
        else:
            suffered = np.where(majority.margin < 0, majority.opposition, 0.0)
        size = np.diff(prefs.slot_ptr)
        diagonal = majority.row_start + number_inside(prefs.slot_ptr)
        suffered[diagonal] = np.where(np.repeat(size, size) > 1, -np.inf, 0.0)  # nobody is their own opponent
        return suffered

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """List the worst defeat of each of the top candidates."""
        scene, majority = Scene(prefs, ranking, self.missing), majorities(prefs, self.missing)
        contest, m = Contest(scene, majority), len(scene.order)
        suffered = self._suffered(prefs, majority).reshape(m, m)
        measure = {
            "margins": "the largest margin against it (negative if it beats everyone)",
            "winning-votes": "the most votes of an opponent that beats it",
            "opposition": "the most votes of any opponent",
        }[self.strength]
        sentences = [f"The worst defeat of a candidate is {measure}; the smallest wins."] if m > 1 else []
        for slot in scene.top if m > 1 else []:
            worst = int(np.argmax(suffered[slot]))
            figure = number(suffered[slot, worst])
            sentences.append(
                f"{scene.names[slot]}: {figure}, against {scene.names[worst]} ({contest.duel(slot, worst)})."
            )
        worst_defeats = [Reason("Worst defeats", sentences)] if sentences else []
        return [contest.condorcet(), *worst_defeats, contest.records("Head-to-head results of the top candidates")]
