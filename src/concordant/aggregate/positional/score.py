"""Score voting (range voting): the sum or the mean of a candidate's ratings.

Every ballot rates the candidates. With ``total="sum"`` a candidate gets 0 from each ballot that does not rate it; with
``"mean"`` such a ballot is ignored (this is ``mean-rating`` without its prior; a candidate without ratings gets the
overall mean). Ratings are used as given, so voters need a common scale. If the values are ranks, the rating is max(0,
number of candidates + 1 - rank).

Cost: linear in the ratings. Reference: W. D. Smith, Range voting, 2000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate.common import snap_scores
from concordant.aggregate.explain.wording import Wording, score_table
from concordant.aggregate.positional.mean_rating import MeanRating
from concordant.ballots.segments import sum_by
from concordant.method import Method, Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class Score(Method):
    """Sum or mean of the ratings."""

    usual_name = "Score voting"
    silence = "they get 0 from the ballot, or if total is mean, the ballot does not count for them"
    needs = frozenset({"values"})
    waives = {"condorcet_consistency": "a few strong opinions can outweigh a majority"}
    aliases = {"range": {}, "range-voting": {}, "score-voting": {}}

    total: str = param("sum", "sum or mean of the ratings", choices=("sum", "mean"))

    def scores(self, prefs: Preferences) -> Floats | Outcome:
        """Return the sum or mean of the ratings of every slot."""
        if self.total == "sum":
            return rating_sums(prefs)
        outcome = MeanRating(prior_count=0.0).scores(prefs)
        return Outcome(outcome.score, warnings=outcome.warnings)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the ranking by the sum or mean of the ratings."""
        words, best = Wording(prefs), Wording.best(ranking)
        count = views.ranked_weight(prefs)
        total = "sum" if self.total == "sum" else "mean"
        each = " each" if best.sum() > 1 else ""
        sentence = (
            f"{words.names(best)}: the {total} of the ratings is {words.number(ranking.score[best][0])}{each}, from "
            f"{words.number(count[best].max())} of {words.number(prefs.weight.sum())} ballots. No other "
            f"candidate has more."
        )
        columns = [[words.number(value) for value in column] for column in (ranking.score, count)]
        return [
            Reason(words.heading(ranking, "score voting"), (sentence,)),
            score_table(words, ranking, [f"{total} of ratings", "rated by"], columns),
        ]


def rating_sums(prefs: Preferences) -> Floats:
    """Return the sum of the ratings of every slot; ranks are converted to number of candidates + 1 - rank."""
    assert prefs.value is not None
    value = prefs.value
    if prefs.scale != "rating":
        value = np.maximum(np.diff(prefs.slot_ptr)[views.entry_instances(prefs)] + 1 - value, 0.0)
    return snap_scores(prefs, sum_by(prefs.entry_slot, value * views.weight_of_entry(prefs), prefs.n_slots))
