"""Baldwin's rule: eliminate the candidate with the fewest Borda points, count anew, until one is left.

In every round the Borda points are counted among the candidates that are still in, as net points (ballots that put a
candidate before another that is in minus those that put it behind, over all of them): the same order on complete
ballots, and fair to candidates that fewer ballots name. Candidates are ranked by the round they go out in. Of several
with the fewest points the one goes out that had fewer in the latest earlier round where they differ; those still equal
go out together and stay tied. Warnings name both kinds.

A candidate that beats every other in a duel always has more than the mean of the points, so it is never eliminated.
Unlike the Borda count itself it cannot be swayed by many hopeless candidates being nominated around a friend.

Cost: the pairwise counts, then candidates³. Reference: J. M. Baldwin, The technique of the Nanson preferential majority
system of election, Proceedings of the Royal Society of Victoria, 1926.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant.aggregate.explain.wording import Wording, eliminated
from concordant.aggregate.rounds import eliminate
from concordant.aggregate.voting._borda_rounds import BordaRounds, NetPoints
from concordant.method import Outcome
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason


@dataclass(frozen=True, kw_only=True)
class Baldwin(BordaRounds):
    """Elimination of the candidate with the lowest Borda score, recalculated in every round."""

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the round every slot goes out in, from 0."""
        net = NetPoints(prefs, self.missing)
        elimination = eliminate(prefs, net.among, np.zeros(prefs.n_slots), net.scale)
        return Outcome(elimination.rounds.astype(np.float64), warnings=elimination.notices(prefs, "net points"))

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain who had the fewest points in every round."""
        net, words = NetPoints(prefs, self.missing), Wording(prefs)
        columns, sentences = [], []
        for number, (is_left, out) in enumerate(words.rounds(ranking.score), 1):
            if out.sum() < is_left.sum():
                points = net.among(is_left)
                columns.append(points)
                fewest = words.number(points[out].min())
                sentences.append(f"Round {number}: {words.names(out)} {words.goes(out)} out with {fewest} net points.")
        caption = "Net points in every round (ballots that put a candidate before others still in, minus behind)"
        return eliminated(words, ranking, "Baldwin's rule", columns, sentences, caption)
