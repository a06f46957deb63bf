"""What HodgeRank and SVP share: scores that explain the mean preference of every compared pair."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from concordant.aggregate.common import snap_scores
from concordant.aggregate.matrices import TIE_OF_SOLVED, comparisons, group_notices, stacks
from concordant.method import Method, Outcome
from concordant.preferences import Preferences
from concordant.types import Floats


class Explained(NamedTuple):
    """Scores (instances x items), the preferences they stand for, and what a miss of each pair weighs."""

    score: Floats
    preference: Floats
    weight: Floats


class ExplainsPreferences(Method):
    """Scores with the share of the squared preferences that they leave unexplained, as ``residual`` in the fit."""

    matrices = 15
    by_parts = True
    silence = "they are not compared"
    waives = {"condorcet_consistency": "large differences count more than majorities"}
    residual: ClassVar[str] = "residual"
    counts: str

    @abstractmethod
    def explain(self, compared: Floats, mean: Floats, shared: Floats) -> Explained:
        """Explain stacked matrices: how often pairs were compared, their mean preference, who can be compared."""

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the scores and, in ``fit``, the share of the preferences left unexplained."""
        found = comparisons(prefs, self.counts)
        score = np.zeros(prefs.n_slots)
        left = total = 0.0
        for stack in stacks(prefs.slot_ptr):
            compared = stack.take(found.compared)
            mean = stack.take(found.net) / np.where(compared > 0, compared, 1.0)
            own = self.explain(compared, mean, stack.sharing(found.group))
            score[stack.slots] = own.score
            left += float((own.weight * (mean - own.preference) ** 2).sum())
            total += float((own.weight * mean**2).sum())
        return Outcome(
            snap_scores(prefs, score, TIE_OF_SOLVED),
            fit={self.residual: left / total if total > 0 else 0.0},
            warnings=group_notices(prefs, found.group),
        )
