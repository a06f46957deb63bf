"""Sequential proportional approval voting: a committee built by adding one candidate at a time.

A ballot that approves of k elected candidates counts 1 / (k + 1), and the candidate with the largest total is elected
next. Ballots lose weight as they are represented, so groups get about their proportional share of the seats. The order
does not depend on ``seats``: a candidate elected with fewer seats is also elected with more. Ties are broken by the
number of approvals, then by Borda points, then by the order of the list of candidates; warnings name the candidates.

Use it for many candidates, or if you need an order; ``pav`` finds the best committee of a given size. It was used in
Sweden in 1909. Approvals are defined as in ``approval``.

Cost: at most candidates² x ballots; instances are solved one after another. Reference: T. N. Thiele, Om flerfoldsvalg,
1895.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate.voting._committees import Approvals, Chosen, CommitteeRule, one_by_one
from concordant.types import Bools


@dataclass(frozen=True, kw_only=True)
class SequentialPAV(CommitteeRule):
    """Committee built sequentially by approvals, with less weight for ballots already represented."""

    usual_name = "Sequential proportional approval voting"
    aliases = {"seqpav": {}, "thiele": {}}
    title = "sequential PAV"
    principle = "Each seat goes to the candidate with the most votes; a ballot with k approved members counts 1/(k+1)."

    def choose(self, ballots: Approvals) -> Chosen:
        """Elect candidates one by one, by approvals; a ballot with k elected members has weight 1 / (1 + k)."""
        served = np.zeros(len(ballots.weight))

        def best(is_left: Bools) -> tuple[Bools, float]:
            gain = (ballots.weight / (1 + served)) @ ballots.table
            largest = float(gain[is_left].max())
            return is_left & (gain >= largest - ballots.slack), largest

        def take(chosen: int, gain: float) -> None:  # noqa: ARG001
            served[:] += ballots.table[:, chosen]

        return one_by_one(ballots, self.seats, best, take)
