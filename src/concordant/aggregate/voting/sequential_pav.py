"""Sequential proportional approval voting: the best committee found by adding one candidate at a time.

A ballot that approves of k who are elected already counts 1 / (k + 1): the candidate with the largest total is elected
next. Ballots lose weight as they are served, so groups get about their share of the seats. The order does not depend on
``seats``: who is elected with fewer seats keeps the seat with more. Of several with equal totals the one more ballots
approve of is taken, then the one with more Borda points, then the one that comes first in the list of
candidates. Warnings name them.

Use it for many candidates, or where an order is wanted; ``pav`` finds the best committee of one size. Used in Sweden in
1909. What counts as approved: what ``approval`` counts.

Cost: candidates² x ballots at most; instances one after the other. Reference: T. N. Thiele, Om flerfoldsvalg, 1895.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate.voting._committees import Approvals, Chosen, CommitteeRule, one_by_one
from concordant.types import Bools


@dataclass(frozen=True, kw_only=True)
class SequentialPAV(CommitteeRule):
    """Committee built sequentially by approvals, with less weight for ballots already represented."""

    aliases = {"seqpav": {}, "thiele": {}}
    title = "sequential PAV"
    principle = "Each seat goes to whom the ballots count most for; one that has k of the elected counts 1/(k+1)."

    def choose(self, ballots: Approvals) -> Chosen:
        """Elect one candidate after the other, each time the one with the most approvals, ballots weighted 1 / (1 +
        served).
        """
        served = np.zeros(len(ballots.weight))

        def best(is_left: Bools) -> tuple[Bools, float]:
            gain = (ballots.weight / (1 + served)) @ ballots.table
            largest = float(gain[is_left].max())
            return is_left & (gain >= largest - ballots.slack), largest

        def take(chosen: int, gain: float) -> None:  # noqa: ARG001
            served[:] += ballots.table[:, chosen]

        return one_by_one(ballots, self.seats, best, take)
