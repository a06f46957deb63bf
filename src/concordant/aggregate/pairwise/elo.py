"""Elo: ratings that change after every game by the difference between actual and expected result.

    expected = 1 / (1 + 10^(-(r_a - r_b) / spread)),     r_a <- r_a + stake (result - expected)

The result is 1, 1/2 or 0, and the rating of b changes by the same amount in the opposite direction. Elo is cheap,
incremental, and follows items that change over time; but the ratings depend on the order of the games and have no
standard errors. For a fixed set of games bradley-terry uses the data more efficiently.

A ballot with more than two items is played as all its pairs at once, with the stake divided among the opponents.
``advantage`` is added to the rating of the item that was first (shown first, or at home): the left side of a table with
columns left and right. A table of winners and losers alone does not show which item was first.

``margin`` multiplies the stake by the margin of victory d, if the points of both sides are known: "goals" by the index
of the World Football Elo Ratings (1 for a draw or one goal, 1.5 for two, (11 + d) / 8 for d >= 3), "log" by
FiveThirtyEight's ln(d + 1) 2.2 / (2.2 + 0.001 lead), where the lead is that of the winner before the game, with the
advantage (d is at least 1, and the factor of a draw is 2.2 ln 2). A game without points counts once.

``ranking.history`` has the ratings over time, ``forecasts`` the predictions made before each game. Merged ballots are
rejected, because their order is lost. The log-likelihood in the fit is that of the predictions made before each game,
so it is comparable with the held-out likelihood of other models.

Cost: one pass over the ballots. Reference: A. E. Elo, The rating of chessplayers, past and present, 1978.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from concordant import kernels, views
from concordant.aggregate.pairwise._following import Following, before, history_of, replayed, unplayed
from concordant.ballots.segments import segment_index
from concordant.kernels.links import BRADLEY_TERRY, chances
from concordant.method import Outcome
from concordant.models.fitted import PairModel
from concordant.models.observations.duels import Counting, order_of_sides
from concordant.models.observations.margins import margins, unknown_margins
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking, snap
from concordant.results.explanation import Reason
from concordant.results.histories import History
from concordant.results.scales import line_of
from concordant.types import Floats, Int64s

LEAD_CORRECTION = 0.4  # 0.001 per rating point at the usual spread of 400


@dataclass(frozen=True, kw_only=True)
class Elo(Following):
    """Ratings updated after each game by the difference between actual and expected result."""

    usual_name = "Elo"
    waives = {
        "anonymity": "ratings depend on the order of the games",
        "condorcet_consistency": "later games count more than earlier ones",
    }

    renamed = {"scale": "spread"}

    stake: float = param(32.0, "K-factor: maximum rating change in a game", low=0.0)
    spread: float = param(400.0, "rating difference at which a win is ten times as likely as a loss", low=1e-9)
    start: float = param(1500.0, "initial rating")
    advantage: float = param(0.0, "rating advantage of the item shown first (or at home)")
    margin: str = param("none", "how the margin of victory multiplies the stake", choices=("none", "goals", "log"))

    def needed(self) -> frozenset[str]:
        """Return the requirements: margins require the points of both sides."""
        return self.needs if self.margin == "none" else self.needs | {"points"}

    @property
    def log_odds(self) -> float | None:
        """Score difference that multiplies the odds of a win by e."""
        return self.spread / float(np.log(10.0))

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the ratings after all games."""
        rating, games, value, _ = self._played(prefs, has_trail=False)
        n = prefs.n_instances
        score = snap(rating, segment_index(prefs.slot_ptr), np.full(n, 10 * max(1.0, abs(self.start))))
        rate = np.log(10.0) / self.spread
        model = PairModel.of(
            prefs,
            score * rate,
            link=BRADLEY_TERRY,
            advantage=np.full(n, self.advantage * rate),
            tie=np.zeros(n),
            counting=Counting(),
        )
        return Outcome(
            score=score,
            fit={"log_likelihood": value},
            warnings=(*unplayed(prefs, games > 0, "keep their initial rating"), *self._unknown_margins(prefs)),
            details={"games": games},
            model=model,
            history=partial(self._history, prefs),
        )

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain ratings by the records of the top items and the rating changes of their most recent games."""
        from concordant.aggregate.pairwise._games import games_reasons
        from concordant.narrative.sentences import Scene

        factor, shift = line_of(ranking)
        start = factor * self.start + shift
        played = games_reasons(Scene(prefs, ranking), start, lambda part: factor * self.scores(part).score + shift)
        return [*super().reasons(prefs, ranking), *played]

    def _history(self, prefs: Preferences) -> History:
        return history_of(prefs, self._played(prefs, has_trail=True)[3])

    def _played(self, prefs: Preferences, has_trail: bool) -> tuple[Floats, Floats, float, Floats]:
        """Return ratings and games by slot, the log-likelihood of the forecasts, and the rating after each entry.

        The last is empty unless ``has_trail``.
        """
        ballots = views.ballots(replayed(prefs))
        correction = LEAD_CORRECTION / self.spread if self.margin == "log" else 0.0
        return kernels.elo_stream(
            ballots,
            self._shown(prefs),
            self._factors(prefs),
            self.start,
            self.stake,
            self.spread,
            self.advantage,
            correction,
            has_trail,
        )

    def _factors(self, prefs: Preferences) -> Floats:
        """Return the factor of the stake of every ballot; empty if margins are not used."""
        if self.margin == "none":
            return np.empty(0)
        margin = np.abs(margins(prefs))
        if self.margin == "goals":
            factor = np.select([margin < 1.5, margin < 2.5], [1.0, 1.5], (11 + margin) / 8)
        else:
            factor = np.log1p(np.maximum(margin, 1.0))
        return np.where(np.isnan(margin), 1.0, factor)

    def _unknown_margins(self, prefs: Preferences) -> tuple[Notice, ...]:
        return () if self.margin == "none" else unknown_margins(prefs, "counted with a factor of 1")

    def _shown(self, prefs: Preferences) -> Floats:
        return order_of_sides(prefs, "An advantage").astype(np.float64) if self.advantage else np.empty(0)

    def _predicted(self, prefs: Preferences, ballot: Int64s) -> Floats:
        """Return, for these two-item ballots, the win probability of the first entry before the ballot was cast."""
        rating = before(prefs, self._played(prefs, has_trail=True)[3], self.start)
        first, shown = prefs.indptr[ballot], self._shown(prefs)
        lead = rating[first] - rating[first + 1]
        if len(shown):
            lead += self.advantage * np.sign(shown[first + 1] - shown[first])
        return chances(BRADLEY_TERRY, lead * np.log(10.0) / self.spread, np.zeros(len(lead)))[0]
