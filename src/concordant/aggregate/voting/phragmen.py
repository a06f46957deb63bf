"""Phragmén's sequential rule: every seat costs one unit, shared by those who approve, and the load must stay even.

Electing a candidate puts a load of 1 on the ballots that approve of it, spread so that the highest load is as low as
possible: afterwards all of them carry (1 + what they carried) / how many they are. Next is elected whom this makes
lightest. Groups get about their share of the seats, as with ``sequential-pav``, with better guarantees for small
cohesive groups. The order does not depend on ``seats``. Of several that are equally light the one more ballots approve
of is taken, then the one with more Borda points, then the one that comes first in the list of
candidates. Warnings name them.

What counts as approved: what ``approval`` counts. A ballot of weight w is w ballots.

Cost: candidates² x ballots at most; instances one after the other. Reference: E. Phragmén, Sur une méthode nouvelle
pour réaliser, dans les élections, la représentation proportionnelle des partis, 1894; S. Janson, Phragmén's and
Thiele's election methods, 2016.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate.voting._committees import Approvals, Chosen, CommitteeRule, one_by_one
from concordant.types import Bools

EQUAL = 1e-10  # loads this close, relative to the lightest, are one


@dataclass(frozen=True, kw_only=True)
class Phragmen(CommitteeRule):
    """Committee built sequentially by the candidate with the smallest maximum load on its supporters."""

    aliases = {"sequential-phragmen": {}, "seqphragmen": {}}
    title = "Phragmén's rule"
    principle = "Each seat costs 1, shared by the ballots that approve; the next goes to whom that makes lightest."

    def choose(self, ballots: Approvals) -> Chosen:
        """Elect one candidate after the other, each time the one whose approving ballots end with the lightest load.

        The load after election is (1 + sum of weight * load over approving ballots) / their weight.
        """
        load = np.zeros(len(ballots.weight))
        support = ballots.support

        def best(is_left: Bools) -> tuple[Bools, float]:
            load_after = (1 + (ballots.weight * load) @ ballots.table) / np.maximum(support, 1e-300)
            lightest = float(load_after[is_left].min())
            return is_left & (load_after <= lightest * (1 + EQUAL)), lightest

        def take(chosen: int, lightest: float) -> None:
            load[ballots.table[:, chosen]] = lightest

        return one_by_one(ballots, self.seats, best, take)
