"""Nanson's rule: eliminate all candidates with fewer Borda points than the mean, count anew, until nobody is below it.

Borda points are counted among the candidates that are still in, as net points (ballots that put a candidate before
another that is in minus those that put it behind), whose mean is 0. All that are below go out in one round; those who
go out together are ranked by their points in that round. When everybody left has exactly the mean, they stay tied,
and a warning names them.

A candidate that beats every other in a duel is always above the mean, so it wins. It needs fewer rounds than Baldwin's
rule; the two may elect different candidates where there is no such winner. (Nanson's own words allow to drop those at
the mean as well; here they stay, so that no tie is broken by dropping everybody.)

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

    def scores(self, prefs: Preferences) -> Outcome:
        """Return how many tiers are below every slot: later rounds higher, within a round more points."""
        rounds, points, columns = _rounds(prefs, NetPoints(prefs, self.missing))
        instance = views.instance_of_slot(prefs)
        is_last = rounds == len(columns)
        alone = np.bincount(instance[is_last], minlength=prefs.n_instances) < 2
        text = "everybody left has exactly the mean of the Borda points, so these stay tied"
        notices = tie_notice(prefs, "unbroken-ties", text, is_last & ~alone[instance])
        return Outcome(tiers_below(prefs, rounds, points), warnings=notices)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain who was below the mean in every round."""
        rounds, points, columns = _rounds(prefs, NetPoints(prefs, self.missing))
        words, sentences = Wording(prefs), []
        for number in range(len(columns)):
            out = rounds == number
            had = "points" if out.sum() > 1 else f"{words.number(points[out][0])} net points"
            goes = "goes" if out.sum() == 1 else "go"
            sentences.append(f"Round {number + 1}: {words.names(out)} {goes} out with {had} below the mean of 0.")
        if (left := rounds == len(columns)).sum() > 1:
            sentences.append(f"{words.names(left)} have exactly the mean of the points and stay tied.")
        caption = "Net points in every round (ballots that put a candidate before others still in, minus behind)"
        present = [rounds >= number for number in range(len(columns))]
        return [
            Reason(words.heading(ranking, "Nanson's rule"), tuple(sentences)),
            *rounds_table(words, ranking, caption, columns, present),
        ]


def _rounds(prefs: Preferences, net: NetPoints) -> tuple[Int64s, Floats, list[Floats]]:
    """Return the round every slot goes out in (the last for those who stay), its points then, and all points by
    round.
    """
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
