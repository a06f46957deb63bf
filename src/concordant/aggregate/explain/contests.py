"""Pairwise contests of one instance in words: head-to-head results, paths of majorities, cycles, Condorcet winners.

The explanations of the Condorcet methods are built from these sentences.
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
    """Return the shortest path of links from start to end (breadth-first search), empty if there is none.

    From a node to itself it is the shortest cycle.
    """
    predecessor = np.full(len(links), -1)
    is_unseen = np.ones(len(links), bool)
    is_unseen[start] = start == end
    waiting = deque([start])
    while waiting and is_unseen[end]:
        node = waiting.popleft()
        neighbours = np.flatnonzero(links[node] & is_unseen)
        predecessor[neighbours], is_unseen[neighbours] = node, False
        waiting.extend(neighbours.tolist())
    if is_unseen[end]:
        return []
    chain = [end, int(predecessor[end])]
    while chain[-1] != start:
        chain.append(int(predecessor[chain[-1]]))
    return chain[::-1]


@dataclass(frozen=True, eq=False)
class Contest:
    """The pairwise contests of one instance, with its ranking."""

    scene: Scene
    found: Majorities

    @cached_property
    def support(self) -> Floats:
        """The weight of the ballots that prefer row to column."""
        return self._square(self.found.support)

    @cached_property
    def margin(self) -> Floats:
        """The margin of row over column."""
        return self._square(self.found.margin)

    @cached_property
    def beats(self) -> Bools:
        """Whether row beats column."""
        return self.margin > 0

    def _square(self, flat: Floats) -> Floats:
        m = len(self.scene.order)
        return flat.reshape(m, m)

    def figures(self, one: int, two: int) -> str:
        """Return the votes of a pairwise contest as text, such as 57-43."""
        return f"{number(self.support[one, two])}-{number(self.support[two, one])}"

    def duel(self, one: int, two: int) -> str:
        """Return a phrase with the result of a pairwise contest and its votes."""
        a, b = self.scene.names[one], self.scene.names[two]
        if not self.support[one, two] + self.support[two, one]:
            return f"{a} and {b} are not compared"
        if self.margin[one, two] == 0:
            return f"{a} and {b} tie {self.figures(one, two)}"
        return f"{a} {'beats' if self.beats[one, two] else 'loses to'} {b} {self.figures(one, two)}"

    def chain(self, slots: Sequence[int]) -> str:
        """Return a phrase that lists the results along a path of majorities."""
        links = list(pairwise(slots))
        phrases = [self.duel(*link) for link in links[:LONGEST_CHAIN]]
        return ", ".join(phrases) + (f" and {len(links) - LONGEST_CHAIN:,} more" if len(links) > LONGEST_CHAIN else "")

    # ---- reasons ----
    def condorcet(self) -> Reason:
        """Name the Condorcet winner or, if there is none, the Smith set and a cycle of majorities in it."""
        scene, n = self.scene, len(self.scene.order)
        winners = np.flatnonzero(self.beats.sum(axis=1) == n - 1)
        title = "Direct comparisons"
        if n == 1:
            return Reason(title, [f"{scene.names[0]} is the only candidate."])
        if len(winners):
            winner = int(winners[0])
            closest = int(np.argmin(np.where(np.arange(n) == winner, np.inf, self.margin[winner])))
            sentences = [
                f"{scene.names[winner]} beats every other candidate (a Condorcet winner). Its closest contest "
                f"is {self.figures(winner, closest)} against {scene.names[closest]}."
            ]
            if scene.rank[winner] > 1:
                sentences.append(f"In this ranking it is {ordinal(scene.rank[winner])}.")
            return Reason(title, sentences)
        top = set(np.flatnonzero(smith_tiers(self.found) == 0).tolist())
        smith = [slot for slot in scene.order if slot in top]
        sentences = ["No candidate beats every other (there is no Condorcet winner)."]
        names = listed([scene.names[slot] for slot in smith])
        if len(smith) < n:
            sentences.append(f"The smallest group whose members beat everyone outside (the Smith set) is {names}.")
        else:
            sentences.append(
                f"The smallest group whose members beat everyone outside (the Smith set) contains "
                f"all candidates: {names}."
            )
        cycles = (shortest_chain(self.beats, slot, slot) for slot in smith[:3])
        cycle = next((cycle for cycle in cycles if cycle), [])
        if cycle:
            sentences.append(f"Its majorities form a cycle: {self.chain(cycle)}.")
        else:
            sentences.append("Some of its members tie with each other, so no majority decides between them.")
        return Reason(title, sentences)

    def records(self, title: str, sentences: Sequence[str] = ()) -> Reason:
        """List the wins, draws and losses of the top candidates, and the worst defeat of each."""
        scene, rows = self.scene, []
        for slot in scene.top:
            margins = self.margin[slot]
            lost = np.flatnonzero(margins < 0)
            worst = int(lost[np.argmin(margins[lost])]) if len(lost) else -1
            defeat = f"by {scene.names[worst]} {self.figures(worst, slot)}" if worst >= 0 else "none"
            counts = [int((margins > 0).sum()), int((margins == 0).sum()) - 1, len(lost)]
            rows.append([str(scene.rank[slot]), scene.names[slot], *(f"{count:,}" for count in counts), defeat])
        header = ["rank", "item", "won", "drawn", "lost", "worst defeat"]
        return Reason(title, list(sentences), header, rows, frozenset({0, 2, 3, 4}))

    def neighbours(self, title: str, told: Callable[[int, int], list[str]]) -> Reason:
        """Explain the order of each pair of adjacent items at the top; ``told`` returns the sentences for two slots."""
        return Reason(title, [sentence for pair in self.scene.neighbours for sentence in told(*pair)])
