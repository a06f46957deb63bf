"""Consensus ranking of all agents as a non-personalised recommender, by any aggregation method.

A method of ``concordant methods`` ranks all items from all ballots (by default the multinomial preference model, which
takes into account how much is known about each item). A new agent is recommended the top items of this ranking; any
other agent, the top items that it has not seen. This is the non-personalised list of Volkovs and Zemel.

Cost: that of the method. Reference: M. Volkovs and R. Zemel, A flexible generative model for preference aggregation,
WWW 2012.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from concordant import registry
from concordant.params import param
from concordant.recommend._common import CommonRecommender
from concordant.recommend._observed import Observed
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class ConsensusRecommender(CommonRecommender):
    """Consensus of all agents by an aggregation method, the same list for everyone."""

    aliases: ClassVar = {"consensus": {}}

    aggregator: str = param("mpm", "name of the aggregation method")

    def _item_score(self, observed: Observed) -> Floats:
        """Return the score of every item in the consensus ranking; items that it leaves out get the lowest score."""
        assert observed.prefs is not None
        ranking = (
            registry.make(self.aggregator).of_everybody().rank(observed.prefs.replace(instance=None, instances=None))
        )
        score = np.full(len(observed.items), float(ranking.score.min(initial=0.0)))
        score[ranking.slot_item] = ranking.score
        return score
