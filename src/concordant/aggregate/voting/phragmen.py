"""Phragmén's sequential rule: each seat costs one unit of load, shared by its supporters; loads are kept balanced.

Electing candidate c adds a load of 1 to the ballots that approve of it, distributed so that all of them end with the
same load

    (1 + sum of the loads of these ballots) / number of these ballots

The candidate with the lowest such load is elected next. Groups get about their proportional share of the seats, as with
``sequential-pav``, with better guarantees for small cohesive groups. The order does not depend on ``seats``. Ties are
broken by the number of approvals, then by Borda points, then by the order of the list of candidates; warnings name the
candidates. Approvals are defined as in ``approval``. A ballot of weight w counts as w ballots.

Cost: at most candidates² x ballots; instances are solved one after another. Reference: E. Phragmén, Sur une méthode
nouvelle pour réaliser, dans les élections, la représentation proportionnelle des partis, 1894; S. Janson, Phragmén's
and Thiele's election methods, 2016.
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

    usual_name = "Sequential Phragmén"
    aliases = {"sequential-phragmen": {}, "seqphragmen": {}}
    title = "Phragmén's rule"
    principle = (
        "Each seat adds a load of 1, shared by the ballots that approve; the candidate with the lowest "
        "load is elected next."
    )

    def choose(self, ballots: Approvals) -> Chosen:
        """Elect candidates one by one, each time the one whose supporters end with the lowest load.

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
