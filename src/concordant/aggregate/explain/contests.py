"""Duels of one instance in words: who beats whom, chains of majorities, circles, and who beats everybody.

What the majority rules say of their rankings is put together from these sentences.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from concordant.aggregate.majorities import Majorities, smith_tiers
from concordant.narrative.sentences import Scene, listed, number, ordinal
from concordant.results.explanation import Reason
from concordant.types import Bools, Floats

LONGEST_CHAIN = 8  # links that a sentence tells one by one


def shortest_chain(links: Bools, start: int, end: int) -> list[int]:
    """Return the shortest chain of links from start to end, empty where there is none.

    From a node to itself it is the shortest circle.
    """
    before = np.full(len(links), -1)
    unseen = np.ones(len(links), bool)
    unseen[start] = start == end
    waiting = deque([start])
    while waiting and unseen[end]:
        here = waiting.popleft()
        following = np.flatnonzero(links[here] & unseen)
        before[following], unseen[following] = here, False
        waiting.extend(following.tolist())
    if unseen[end]:
        return []
    chain = [end, int(before[end])]
    while chain[-1] != start:
        chain.append(int(before[chain[-1]]))
    return chain[::-1]


@dataclass(frozen=True, eq=False)
class Contest:
    """The duels of one instance, with its ranking."""

    scene: Scene
    found: Majorities

    @cached_property
    def support(self) -> Floats:
        """The weight of ballots for the row against the column."""
        return self._square(self.found.support)

    @cached_property
    def margin(self) -> Floats:
        """By how much the row wins against the column."""
        return self._square(self.found.margin)

    @cached_property
    def beats(self) -> Bools:
        """Whether the row wins against the column."""
        return self.margin > 0

    def _square(self, flat: Floats) -> Floats:
        m = len(self.scene.order)
        return flat.reshape(m, m)

    def figures(self, one: int, two: int) -> str:
        """Write a duel as its counts: 57-43."""
        return f"{number(self.support[one, two])}-{number(self.support[two, one])}"

    def duel(self, one: int, two: int) -> str:
        """Say how a duel ended."""
        a, b = self.scene.names[one], self.scene.names[two]
        if not self.support[one, two] + self.support[two, one]:
            return f"{a} and {b} are not compared"
        if self.margin[one, two] == 0:
            return f"{a} and {b} are level {self.figures(one, two)}"
        return f"{a} {'beats' if self.beats[one, two] else 'loses to'} {b} {self.figures(one, two)}"

    def chain(self, slots: Sequence[int]) -> str:
        """Say a chain of duels, link by link."""
        links = list(pairwise(slots))
        said = [self.duel(*link) for link in links[:LONGEST_CHAIN]]
        return ", ".join(said) + (f" and {len(links) - LONGEST_CHAIN:,} more" if len(links) > LONGEST_CHAIN else "")

    # ---- reasons ----
    def condorcet(self) -> Reason:
        """Say whether somebody beats everybody and, if nobody does, which candidates majorities cannot tell apart."""
        scene, n = self.scene, len(self.scene.order)
        winners = np.flatnonzero(self.beats.sum(axis=1) == n - 1)
        title = "Direct comparisons"
        if n == 1:
            return Reason(title, [f"{scene.names[0]} is the only candidate."])
        if len(winners):
            winner = int(winners[0])
            closest = int(np.argmin(np.where(np.arange(n) == winner, np.inf, self.margin[winner])))
            said = [
                f"{scene.names[winner]} beats every other candidate (a Condorcet winner), {scene.names[closest]} by "
                f"the least: {self.figures(winner, closest)}."
            ]
            if scene.rank[winner] > 1:
                said.append(f"Here it is {ordinal(scene.rank[winner])}.")
            return Reason(title, said)
        top = set(np.flatnonzero(smith_tiers(self.found) == 0).tolist())
        smith = [slot for slot in scene.order if slot in top]
        said = ["No candidate beats every other."]
        names = listed([scene.names[slot] for slot in smith])
        if len(smith) < n:
            said.append(f"The smallest group whose members beat everyone outside (the Smith set) is {names}.")
        else:
            said.append(f"No group beats everyone outside, so majorities alone exclude nobody: {names}.")
        circles = (shortest_chain(self.beats, slot, slot) for slot in smith[:3])
        circle = next((circle for circle in circles if circle), [])
        if circle:
            said.append(f"Majorities go in a circle there: {self.chain(circle)}.")
        else:
            said.append("Some of them are level with each other, so that no majority decides between them.")
        return Reason(title, said)

    def records(self, title: str, sentences: Sequence[str] = ()) -> Reason:
        """Tell how many duels the first ones win, draw and lose, and the worst defeat of each."""
        scene, rows = self.scene, []
        for slot in scene.top:
            own = self.margin[slot]
            lost = np.flatnonzero(own < 0)
            worst = int(lost[np.argmin(own[lost])]) if len(lost) else -1
            defeat = f"by {scene.names[worst]} {self.figures(worst, slot)}" if worst >= 0 else "none"
            counts = [int((own > 0).sum()), int((own == 0).sum()) - 1, len(lost)]
            rows.append([str(scene.rank[slot]), scene.names[slot], *(f"{count:,}" for count in counts), defeat])
        header = ["rank", "item", "won", "drawn", "lost", "worst defeat"]
        return Reason(title, list(sentences), header, rows, frozenset({0, 2, 3, 4}))

    def neighbours(self, title: str, told: Callable[[int, int], list[str]]) -> Reason:
        """Tell of the first places two by two."""
        return Reason(title, [sentence for pair in self.scene.neighbours for sentence in told(*pair)])
