"""The consensus of all agents as a list for everybody, by any method of aggregation.

A method of ``concordant methods`` (by default the multinomial preference model, which weighs how often an item was
preferred by how much is known of it) ranks all items from all ballots; a newcomer gets its head, an agent with a
history what it has not seen of it. It is the non-personal list of Volkovs and Zemel.

Cost: that of the method. Reference: M. Volkovs and R. Zemel, A flexible generative model for preference aggregation,
WWW 2012.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from concordant import registry
from concordant.params import param
from concordant.preferences import Preferences
from concordant.recommend._base import Progress, Recommender, Watched
from concordant.recommend._common import CommonRecommender
from concordant.recommend._observed import Observed


@dataclass(frozen=True, kw_only=True)
class ConsensusRecommender(CommonRecommender):
    """The consensus of all agents by a method of aggregation, the same for everybody."""

    aliases: ClassVar = {"consensus": {}}

    aggregator: str = param("mpm", "method of aggregation, by its name")

    def fit(
        self,
        prefs: Preferences,
        *,
        validation: Preferences | None = None,
        metric: str = "ndcg@10",
        start: Recommender | None = None,
        progress: Progress | None = None,
    ) -> ConsensusRecommender:
        """Return a copy that knows the consensus; nothing is chosen by ``validation`` here, or reported."""
        ranking = registry.make(self.aggregator).rank(prefs.replace(instance=None, instances=None))
        fitted = super().fit(prefs, validation=validation, metric=metric, start=start, progress=progress)
        score = np.full(prefs.n_items, float(ranking.score.min(initial=0.0)))
        score[ranking.slot_item] = ranking.score
        return fitted.with_learnt(item_score=score)

    def _learn(
        self,
        observed: Observed,
        quality: Watched | None,
        start: Any,
        progress: Progress | None,
    ) -> dict[str, Any]:
        return {}
