"""Schulze: candidates are compared by the strongest paths of majorities between them (beatpaths).

A path is a sequence of majorities from one candidate to another; its strength is that of its weakest link. Candidate a
defeats b if the strongest path from a to b is stronger than the strongest path from b to a. This relation is transitive
but may leave candidates incomparable. Undefeated candidates come first, tied (often a single winner), next those
defeated by the first tier only, and so on; the score is the number of tiers below.

Winners are always in the Smith set, and the rule is independent of clones; it is the most widely used Condorcet method.
``strength`` measures a majority by its winning votes ("winning-votes", as Schulze recommends) or by its margin.

Cost: the pairwise counts, a sort of all pairs, then at most candidates³/64. Reference: M. Schulze, A new monotonic,
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

    usual_name = "Schulze"
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
        """Explain the order by the strongest paths between the top candidates and to those that beat the winner."""
        contest = Contest(Scene(prefs, ranking, self.missing), majorities(prefs, self.missing))
        chains = _Chains(contest, self.strength)
        return [
            contest.condorcet(),
            contest.neighbours("Strongest paths", chains.between),
            *chains.against_winners(),
            contest.records("Head-to-head results of the top candidates"),
        ]


class _Chains:
    """The strongest paths of majorities between two candidates, in words."""

    def __init__(self, contest: Contest, kind: str) -> None:
        self.contest, self.kind = contest, kind
        flat = strength(contest.found, kind)
        m = len(contest.scene.order)
        self.link = flat.reshape(m, m)
        self.path = kernels.strongest_paths(contest.found.slot_ptr, flat).reshape(m, m)

    def between(self, one: int, two: int) -> list[str]:
        """Return a sentence on which of two adjacent candidates defeats the other, and by which paths."""
        names, path_down, path_up = self.contest.scene.names, self.path[one, two], self.path[two, one]
        if path_down > path_up:
            return [f"{names[one]} defeats {names[two]}: {self._told(one, two)}; {self._told(two, one)}."]
        if path_down == path_up:
            opening = f"Neither of {names[one]} and {names[two]} defeats the other: "
            if not path_down:
                return [f"{opening}there is no path of majorities between them.{self._lower(one, two)}"]
            return [
                f"{opening}{self._told(one, two)}; {self._told(two, one)}. Both paths are equally "
                f"strong.{self._lower(one, two)}"
            ]
        return [
            f"{names[two]} defeats {names[one]} ({self._told(two, one)}) but is not ranked higher, because "
            f"others defeat it."
        ]

    def against_winners(self) -> list[Reason]:
        """Explain why candidates that beat the winner head-to-head are not ranked above it."""
        scene, contest = self.contest.scene, self.contest
        first = scene.order[0]
        victors = [slot for slot in scene.order[2:] if contest.beats[slot, first]]
        if not victors:
            return []
        sentences = [
            f"{contest.duel(slot, first)}, but {scene.names[first]} "
            f"{'defeats it by paths' if self.path[first, slot] > self.path[slot, first] else 'is not defeated by it'}: "
            f"{self._told(first, slot)}; {self._told(slot, first)}."
            for slot in victors[:NAMED]
        ]
        return [Reason(f"Candidates that beat {scene.names[first]} head-to-head", sentences)]

    def _lower(self, one: int, two: int) -> str:
        """Return why ``two`` ranks lower than ``one`` although neither defeats the other."""
        scene = self.contest.scene
        if scene.rank[one] == scene.rank[two]:
            return " They share a rank."
        above = np.flatnonzero(self.path[:, two] > self.path[two])
        who = [scene.names[slot] for slot in scene.order if slot in set(above.tolist())][:1]
        return f" {scene.names[two]} ranks lower because {who[0]} defeats it." if who else ""

    def _told(self, one: int, two: int) -> str:
        """Return a phrase on the strongest path from ``one`` to ``two``."""
        names, path_strength = self.contest.scene.names, float(self.path[one, two])
        if not path_strength:
            return f"there is no path from {names[one]} to {names[two]}"
        slots = shortest_chain(self.link >= path_strength, one, two)
        if len(slots) == 2:
            return f"{self.contest.duel(one, two)} (strength {number(path_strength)})"
        weakest = min(pairwise(slots), key=lambda pair: self.link[pair])
        return (
            f"the strongest path from {names[one]} to {names[two]} is {self.contest.chain(slots)}, with the "
            f"weakest link {names[weakest[0]]} over {names[weakest[1]]} ({number(path_strength)})"
        )
