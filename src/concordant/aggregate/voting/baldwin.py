"""Baldwin's rule: eliminate the candidate with the lowest Borda score, recalculate, and repeat until one is left.

In every round Borda points are counted among the continuing candidates, as net points (for each other continuing
candidate, the ballots that rank the candidate above it minus those that rank it below). This gives the same order on
complete ballots and does not penalise candidates that fewer ballots rank. Candidates are ranked by the round of their
elimination. Ties are broken by the most recent earlier round in which the candidates differ. Candidates that are still
tied are eliminated together and share a rank. Warnings name the candidates of both kinds of ties.

A Condorcet winner always has more than the mean of the points, so it is never eliminated. Unlike the Borda count, the
rule is not easily manipulated by nominating many weak candidates.

Cost: the pairwise counts, then candidates². Reference: J. M. Baldwin, The technique of the Nanson preferential majority
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

    usual_name = "Baldwin"

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the round (from 0) in which every slot is eliminated."""
        net = NetPoints(prefs, self.missing)
        elimination = eliminate(prefs, net.among, np.zeros(prefs.n_slots), net.scale)
        return Outcome(elimination.rounds.astype(np.float64), warnings=elimination.notices(prefs, "net points"))

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain which candidate has the fewest points in every round."""
        net, words = NetPoints(prefs, self.missing), Wording(prefs)
        columns, sentences = [], []
        for number, (is_left, out) in enumerate(words.rounds(ranking.score), 1):
            if out.sum() < is_left.sum():
                points = net.among(is_left)
                columns.append(points)
                fewest = words.number(points[out].min())
                sentences.append(f"Round {number}: {words.names(out)} {words.goes(out)} with {fewest} net points.")
        caption = "Net points in every round (ballots that rank the candidate above others, minus below)"
        return eliminated(words, ranking, "Baldwin's rule", columns, sentences, caption)
