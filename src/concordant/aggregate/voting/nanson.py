"""Nanson's rule: eliminate all candidates below the mean Borda score, recalculate, and repeat.

Borda points are counted among the continuing candidates, as net points (for each other continuing candidate, the
ballots that rank the candidate above it minus those that rank it below), whose mean is 0. All candidates below the mean
are eliminated in one round and ranked by their points in that round. If all remaining candidates have exactly the mean,
they stay tied, and a warning names them.

A Condorcet winner is always above the mean, so it wins. The rule needs fewer rounds than Baldwin's; the two may elect
different candidates if there is no Condorcet winner. (Nanson also allows candidates at the mean to be eliminated; here
they continue, so that no tie is broken by eliminating everyone.)

Cost: the pairwise counts, then rounds x candidates². Reference: E. J. Nanson, Methods of election, Transactions and
Proceedings of the Royal Society of Victoria, 1882.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate.explain.wording import Wording, rounds_table
from concordant.aggregate.majorities import tie_notice
from concordant.aggregate.rounds import tiers_below
from concordant.aggregate.voting._borda_rounds import BordaRounds, NetPoints
from concordant.method import Outcome
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Bools, Floats, Int64s


@dataclass(frozen=True, kw_only=True)
class Nanson(BordaRounds):
    """Elimination of all candidates with a Borda score below the mean, recalculated in every round."""

    usual_name = "Nanson"

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of tiers below every slot: by round of elimination, then by points."""
        rounds, points, columns = _rounds(prefs, NetPoints(prefs, self.missing))
        instance = views.instance_of_slot(prefs)
        is_last = rounds == len(columns)
        alone = np.bincount(instance[is_last], minlength=prefs.n_instances) < 2
        text = "all remaining candidates have exactly the mean of the Borda points, so they stay tied"
        notices = tie_notice(prefs, "unbroken-ties", text, is_last & ~alone[instance])
        return Outcome(tiers_below(prefs, rounds, points), warnings=notices)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain which candidates are below the mean in every round."""
        rounds, points, columns = _rounds(prefs, NetPoints(prefs, self.missing))
        words, sentences = Wording(prefs), []
        for number in range(len(columns)):
            out = rounds == number
            had = "net points" if out.sum() > 1 else f"{words.number(points[out][0])} net points,"
            goes = "is" if out.sum() == 1 else "are"
            sentences.append(
                f"Round {number + 1}: {words.names(out)} {goes} eliminated with {had} below the mean of 0."
            )
        if (left := rounds == len(columns)).sum() > 1:
            sentences.append(f"{words.names(left)} have exactly the mean of the points and stay tied.")
        caption = "Net points in every round (ballots that rank the candidate above others, minus below)"
        present = [rounds >= number for number in range(len(columns))]
        return [
            Reason(words.heading(ranking, "Nanson's rule"), tuple(sentences)),
            *rounds_table(words, ranking, caption, columns, present),
        ]


def _rounds(prefs: Preferences, net: NetPoints) -> tuple[Int64s, Floats, list[Floats]]:
    """Return the round of elimination of every slot (the last for survivors), its points then, and all points."""
    is_left: Bools = np.ones(prefs.n_slots, bool)
    rounds, points = np.zeros(prefs.n_slots, np.int64), np.zeros(prefs.n_slots)
    columns: list[Floats] = []
    while True:
        net_points = net.among(is_left)
        out = is_left & (net_points < 0)
        if not out.any():
            rounds[is_left] = len(columns)
            return rounds, points, columns
        rounds[out], points[out] = len(columns), net_points[out]
        columns.append(net_points)
        is_left = is_left & ~out
