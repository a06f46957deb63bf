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

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from concordant import kernels
from concordant.aggregate import options
from concordant.aggregate.explain.contests import Contest, shortest_chain
from concordant.aggregate.majorities import majorities, strength, tiers_below
from concordant.method import Method
from concordant.narrative.sentences import NAMED, Scene, number
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class Schulze(Method):
    """Strongest paths of majorities (beatpaths); undefeated candidates share the first tier."""

    aliases = {"beatpath": {}, "beat-path": {}}
    matrices = 8
    by_parts = True

    strength: str = param(
        "winning-votes", "measure of the strength of a majority", choices=("winning-votes", "margins")
    )
    missing: str = options.missing()

    def scores(self, prefs: Preferences) -> Floats:
        """Return the number of tiers below every slot."""
        majority = majorities(prefs, self.missing)
        path = kernels.strongest_paths(prefs.slot_ptr, strength(majority, self.strength))
        opposite = kernels.transpose_matrices(prefs.slot_ptr, path)
        return tiers_below(majority, path > opposite)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the order by the strongest paths between the first places, and against those that beat the first."""
        contest = Contest(Scene(prefs, ranking, self.missing), majorities(prefs, self.missing))
        chains = _Chains(contest, self.strength)
        return [
            contest.condorcet(),
            contest.neighbours("The strongest chains", chains.between),
            *chains.against_winners(),
            contest.records("Duels of the first places"),
        ]


class _Chains:
    """The strongest chains of majorities between two candidates, in words."""

    def __init__(self, contest: Contest, kind: str) -> None:
        self.contest, self.kind = contest, kind
        flat = strength(contest.found, kind)
        m = len(contest.scene.order)
        self.link = flat.reshape(m, m)
        self.path = kernels.strongest_paths(contest.found.slot_ptr, flat).reshape(m, m)

    def between(self, one: int, two: int) -> list[str]:
        """Return a sentence on which of two neighbours in the ranking is above the other, and by which paths."""
        names, path_down, path_up = self.contest.scene.names, self.path[one, two], self.path[two, one]
        if path_down > path_up:
            return [f"{names[one]} stands above {names[two]}: {self._told(one, two)}; {self._told(two, one)}."]
        if path_down == path_up:
            opening = f"Neither of {names[one]} and {names[two]} stands above the other: "
            if not path_down:
                return [f"{opening}no chain of majorities leads from one to the other.{self._lower(one, two)}"]
            return [
                f"{opening}{self._told(one, two)}; {self._told(two, one)}, which is as strong.{self._lower(one, two)}"
            ]
        return [
            f"{names[two]} stands above {names[one]} ({self._told(two, one)}), yet not higher: others stand above it."
        ]

    def against_winners(self) -> list[Reason]:
        """Explain why candidates that beat the first one directly do not come before it."""
        scene, contest = self.contest.scene, self.contest
        first = scene.order[0]
        victors = [slot for slot in scene.order[2:] if contest.beats[slot, first]]
        if not victors:
            return []
        sentences = [
            f"{contest.duel(slot, first)}, and yet {scene.names[first]} "
            f"{'stands above it' if self.path[first, slot] > self.path[slot, first] else 'is not below it'}: "
            f"{self._told(first, slot)}; {self._told(slot, first)}."
            for slot in victors[:NAMED]
        ]
        return [Reason(f"Who beats {scene.names[first]} directly", sentences)]

    def _lower(self, one: int, two: int) -> str:
        """Return why ``two`` ranks lower than ``one`` although neither is above the other."""
        scene = self.contest.scene
        if scene.rank[one] == scene.rank[two]:
            return " They share a rank."
        above = np.flatnonzero(self.path[:, two] > self.path[two])
        who = [scene.names[slot] for slot in scene.order if slot in set(above.tolist())][:1]
        return f" {scene.names[two]} stands lower because {who[0]} stands above it." if who else ""

    def _told(self, one: int, two: int) -> str:
        """Return a phrase on the strongest path from ``one`` to ``two``."""
        names, path_strength = self.contest.scene.names, float(self.path[one, two])
        if not path_strength:
            return f"no chain of majorities leads from {names[one]} to {names[two]}"
        slots = shortest_chain(self.link >= path_strength, one, two)
        if len(slots) == 2:
            return f"{self.contest.duel(one, two)} (strength {number(path_strength)})"
        weakest = min(pairwise(slots), key=lambda pair: self.link[pair])
        return (
            f"the strongest chain from {names[one]} to {names[two]} is {self.contest.chain(slots)}, as strong as its "
            f"weakest link, {names[weakest[0]]} over {names[weakest[1]]} ({number(path_strength)})"
        )
