"""Copeland: the number of opponents an item beats by majority.

An item gets one point for every candidate that more ballots (by weight) rank below it than above it, and ``ties``
points (half by default) for every candidate it ties with, including those it was never compared with. A Condorcet
winner always comes first. Scores are coarse, so ties are common; use Schulze or ranked pairs to resolve cycles, and
Borda if the size of a majority should count.

With ``counts`` other than ``binary`` the strengths of the preferences decide a pairwise contest instead of the number
of ballots: ``difference`` sums differences of ranks or ratings, so one ballot that ranks a 200 places above b outweighs
a hundred that rank b one place above a. Ballots that do not rank both candidates are then ignored. This reproduces the
published Condorcet rows of the LETOR 4.0 aggregation sets (Volkovs, Larochelle and Zemel, 2012).

Cost: the pairwise counts, ballots x candidates² comparisons. Reference: A. H. Copeland, A reasonable social welfare
function, 1951; the rule goes back to Ramon Llull, Ars electionis, 1299.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from concordant.aggregate import options
from concordant.aggregate.explain.contests import Contest
from concordant.aggregate.majorities import weighed_majorities
from concordant.method import Method
from concordant.narrative.sentences import Scene, counted, number
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class Copeland(Method):
    """Number of pairwise majority wins, with half a point for each tie."""

    usual_name = "Copeland"
    matrices = 5
    by_parts = True

    ties: float = param(0.5, "points for a tie with an opponent", low=0.0, high=1.0)
    missing: str = options.missing()
    counts: str = options.counts(
        "binary",
        "weight of a ballot's preference: 1, the difference of ranks or ratings, or the difference of log ranks",
    )

    def scores(self, prefs: Preferences) -> Floats:
        """Return the points of every slot."""
        defeats, draws = weighed_majorities(prefs, self.missing, self.counts).duels
        return defeats + self.ties * draws

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the points of the top candidates by their pairwise contests."""
        scene = Scene(prefs, ranking, self.missing)
        contest = Contest(scene, weighed_majorities(prefs, self.missing, self.counts))
        first = scene.order[0]
        won, level = int(contest.beats[first].sum()), int((contest.margin[first] == 0).sum()) - 1
        points = f"{scene.names[first]} has {counted(float(ranking.score[first]), 'point')}: it beats {won:,} opponents"
        points += f" and ties with {level:,}, for {number(self.ties)} each." if level else "."
        return [contest.condorcet(), contest.records("Head-to-head results of the top candidates", [points])]
