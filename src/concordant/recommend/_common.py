"""Non-personalised recommenders: one score per item, the same for all agents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from concordant.recommend._base import Progress, Recommender, Watched
from concordant.recommend._observed import Observed
from concordant.support.state import Kind, floats
from concordant.types import Floats, Int32s, Int64s


@dataclass(frozen=True, kw_only=True)
class CommonRecommender(Recommender):
    """Base class of non-personalised recommenders: all agents get the same list, without items that they have seen."""

    learns: ClassVar[Mapping[str, Kind]] = {**Recommender.learns, "item_score": floats("items")}

    @abstractmethod
    def _item_score(self, observed: Observed) -> Floats:
        """Return the score of every item."""

    def _learn(
        self, observed: Observed, quality: Watched | None, start: Any, progress: Progress | None
    ) -> dict[str, Any]:
        return {"item_score": self._item_score(observed)}  # there are no sweeps to choose from

    def _scores(self, agents: Int64s) -> Floats:
        return np.tile(self._known("item_score"), (len(agents), 1))

    def _pair_scores(self, agent: Int32s, item: Int32s) -> Floats:
        score = self._known("item_score")
        return np.append(score, score.min(initial=0.0))[item]  # an unknown item scores like the worst

    def _fold(self, observed: Observed) -> dict[str, Any]:
        return {}
