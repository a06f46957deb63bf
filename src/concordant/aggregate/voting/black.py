"""Black's rule: the Condorcet winner if there is one, otherwise the Borda winner.

A Condorcet winner comes first. The other candidates, or all candidates if there is no Condorcet winner, are ranked by
their Borda points. The rule combines both traditions: majorities if they produce a winner, points if they are cyclic.
``fit`` contains the share of instances with a Condorcet winner.

Cost: the pairwise counts. Reference: D. Black, The theory of committees and elections, 1958.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.aggregate.explain.wording import Wording, score_table
from concordant.aggregate.majorities import Majorities, majorities
from concordant.aggregate.positional.borda import borda_levels, borda_points
from concordant.aggregate.rounds import tiers_below
from concordant.method import Method, Outcome
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Bools


@dataclass(frozen=True, kw_only=True)
class Black(Method):
    """The Condorcet winner if there is one, otherwise the candidate with the highest Borda score."""

    usual_name = "Black"
    matrices = 5
    by_parts = True

    missing: str = options.missing()

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of tiers below every slot."""
        wins_all = _wins_all(prefs, majorities(prefs, self.missing))
        fit = {"condorcet_winners": float(wins_all.sum()) / max(int((np.diff(prefs.slot_ptr) > 0).sum()), 1)}
        return Outcome(tiers_below(prefs, wins_all, borda_levels(prefs, self.missing)), fit=fit)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Name the Condorcet winner or, if there is none, the candidate with the most points."""
        words, majority = Wording(prefs), majorities(prefs, self.missing)
        wins_all, points = _wins_all(prefs, majority), borda_points(prefs, self.missing)
        if wins_all.any():
            slot = int(np.flatnonzero(wins_all)[0])
            first = int(majority.row_start[slot])
            margin = np.delete(majority.margin[first : first + len(words.labels)], slot)
            closest = f", by {words.number(margin.min())} votes or more" if len(margin) else ""
            sentence = (
                f"{words.labels[slot]} is the Condorcet winner: it beats every other candidate head-to-head{closest}."
            )
            remark = "The others are ranked by their Borda points."
        else:
            best = words.best(ranking)
            has = "has" if best.sum() == 1 else "have"
            sentence = (
                f"No candidate beats every other head-to-head, so Borda points decide: {words.names(best)} {has} "
            )
            sentence += f"the most, {words.number(points[best][0])}."
            remark = "Majorities at the top are cyclic or tied."
        columns = [[words.number(value) for value in column] for column in (*majority.duels, points)]
        return [
            Reason(words.heading(ranking, "Black's rule"), (sentence, remark)),
            score_table(words, ranking, ["wins", "draws", "Borda points"], columns),
        ]


def _wins_all(prefs: Preferences, majority: Majorities) -> Bools:
    """Return, for every slot, whether it beats all others of its instance."""
    return np.asarray(majority.duels[0] == np.diff(prefs.slot_ptr)[views.instance_of_slot(prefs)] - 1)
