"""Base of HodgeRank and SVP: scores fitted to the mean preference of every compared pair."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from concordant.aggregate.common import snap_scores
from concordant.aggregate.matrices import TIE_OF_SOLVED, comparisons, group_notices, stacks
from concordant.method import Method, Outcome
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import AnyArray, Floats, Int32s

CELLS_OF_ROWS = 200_000  # of the matrices, looked at together


class Explained(NamedTuple):
    """Scores (instances x items), the preferences they predict, in blocks of rows, and the weights of the residuals."""

    score: Floats
    preference: Callable[[slice], Floats]
    weight: AnyArray

    def residual(self, mean: Floats) -> tuple[float, float]:
        """Return the weighted residual and total sums of squares; ``mean`` are the mean preferences."""
        unexplained = total = 0.0
        step = max(1, CELLS_OF_ROWS // (mean.shape[0] * mean.shape[2]))
        for start in range(0, mean.shape[1], step):
            rows = slice(start, start + step)
            preferences, weight = mean[:, rows], self.weight[:, rows]
            unexplained += float((weight * (preferences - self.preference(rows)) ** 2).sum())
            total += float((weight * preferences**2).sum())
        return unexplained, total


class ExplainsPreferences(Method):
    """Base of methods that report the unexplained share of the squared preferences as ``residual`` in the fit."""

    matrices = 15
    by_parts = True
    silence = "they are not compared"
    waives = {"condorcet_consistency": "large differences count more than majorities"}
    residual: ClassVar[str] = "residual"
    counts: str

    @abstractmethod
    def explain(self, compared: Floats, mean: Floats, group: Int32s) -> Explained:
        """Fit scores to stacked matrices of comparison counts and mean preferences; ``group`` is by item."""

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the scores and, in ``fit``, the unexplained share of the squared preferences."""
        matrices = comparisons(prefs, self.counts)
        score = np.zeros(prefs.n_slots)
        unexplained = total = 0.0
        for stack in stacks(prefs.slot_ptr):
            compared = stack.take(matrices.compared)
            mean = stack.take(matrices.net) / np.maximum(compared, 1.0 * (compared == 0))
            explained = self.explain(compared, mean, matrices.group[stack.slots])
            score[stack.slots] = explained.score
            unexplained, total = (
                sum(sums) for sums in zip((unexplained, total), explained.residual(mean), strict=True)
            )
        return Outcome(
            snap_scores(prefs, score, TIE_OF_SOLVED),
            fit={self.residual: unexplained / total if total > 0 else 0.0},
            warnings=group_notices(prefs, matrices.group),
        )

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the lead, and state the share of the preferences that scores cannot explain."""
        fit = self.scores(prefs).fit or {}
        share = f"{fit.get(self.residual, 0.0):.1%}"
        sentences = [f"The scores leave {share} of the squared preferences unexplained."]
        if self.residual == "cyclic_residual":
            sentences = [
                f"{share} of the squared preferences are cyclic (a above b above c above a), which no scores "
                f"can explain: 0% is perfectly consistent, 100% entirely cyclic."
            ]
        return [*super().reasons(prefs, ranking), Reason("Consistency of the preferences", sentences)]
