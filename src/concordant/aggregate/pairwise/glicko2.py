"""Glicko-2: ratings with a deviation and a volatility, updated once per rating period.

An item has a rating m, a deviation d (the standard error of the rating) and a volatility. The games of a period are
processed together. The expected result against an opponent with rating m' and deviation d' is

    E = 1 / (1 + exp(-g (m - m'))),     g = 1 / sqrt(1 + 3 d'^2 / pi^2)

Ratings change in proportion to the sum of g (result - E), and more if the deviation is large. Games reduce the
deviation; the volatility increases it in every period, with or without games, up to that of a new item. Repeated
surprising results raise the volatility, at a rate limited by ``tau``. Internally, ratings are centred and divided by
173.7178, so that they look like Elo ratings.

Of two games a year apart the older one counts less, whereas Elo and TrueSkill consider only the number of games since.
A period should contain about ten games per item; ``auto`` is a month if times are dates, 1 if they are other numbers
and, without times, as many ballots as give each item ten games on average. A ballot of more than two items counts as
all its pairs, a tie as half a win for each side. The probability that one item beats another adds the variances of
both: Glicko-2 has no covariances, so ratings are independent by construction. ``ranking.history`` has the ratings at
the end of every period; ``forecasts`` uses those of the previous periods. Merged ballots are rejected, because their
order is lost.

Cost: linear in the compared pairs. Reference: M. E. Glickman, Example of the
Glicko-2 system, 2013; Dynamic paired comparison models with stochastic variances, Journal of Applied Statistics, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from concordant import kernels, views
from concordant.aggregate import options
from concordant.aggregate.pairwise._following import Following, in_order, unplayed
from concordant.aggregate.pairwise.trueskill import Beliefs
from concordant.ballots.segments import segment_index, sum_by
from concordant.kernels.bundles import GlickoRun
from concordant.kernels.models.glicko import NEVER, State, after_inactivity, expected
from concordant.method import Outcome
from concordant.models.fitted import ComparisonModel
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import snap
from concordant.results.histories import History
from concordant.support.dates import CALENDAR, calendar_numbers, period_ends
from concordant.types import AnyArray, Floats, Int64s

SCALE = 173.7178  # points per unit of the logistic scale
GAMES = 10  # of an item in a period, where nobody says how long periods are


@dataclass(frozen=True, kw_only=True)
class Glicko2(Following):
    """Ratings with deviation and volatility, updated once per rating period."""

    usual_name = "Glicko-2"
    waives = {
        "anonymity": "ratings depend on the order of the periods",
        "weight_is_repetition": "without times, repeated ballots may span two periods, a weighted ballot only one",
        "condorcet_consistency": "later games, and games against opponents with small deviations, count more",
    }
    aliases = {"glicko-2": {}}

    period: float | str = param(
        "auto",
        "length of a rating period: a calendar unit (day, week, …), or a number: of days, of time units if times are "
        "plain numbers, or of ballots if there are no times",
        low=1e-9,
        words=("auto", *CALENDAR),
    )
    tau: float = param(0.5, "constraint on changes in volatility; usually 0.3 to 1.2", low=0.0, high=10.0)
    start: float = param(1500.0, "initial rating")
    deviation: float = param(350.0, "initial rating deviation", low=1e-6, high=1e6)
    volatility: float = param(0.06, "initial volatility", low=1e-6, high=10.0)
    level: float = options.level()

    @property
    def log_odds(self) -> float | None:
        """Score difference that multiplies the odds of a win by e."""
        return SCALE

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the ratings at the end of the last period, with intervals."""
        played = self._played(prefs)
        deviation, half = played.deviation, self._half(played.deviation)
        scale = np.full(prefs.n_instances, 10 * max(1.0, abs(self.start)))
        score = snap(played.rating, segment_index(prefs.slot_ptr), scale)
        return Outcome(
            score=score,
            low=score - half,
            high=score + half,
            fit={"log_likelihood": played.log_likelihood, "periods": float(len(np.unique(played.walked.row_period)))},
            warnings=unplayed(prefs, played.games > 0, "keep their initial rating"),
            details={"stderr": deviation, "volatility": played.walked.volatility, "games": played.games},
            model=GlickoModel.of(prefs, score, deviation=deviation, errors=Beliefs(prefs.slot_ptr, deviation)),
            history=partial(self._history, prefs, played),
        )

    def _half(self, deviation: Floats) -> Floats:
        """Return the half-width of the confidence intervals."""
        return NormalDist().inv_cdf((1 + self.level) / 2) * deviation

    def _played(self, prefs: Preferences) -> _Played:
        """Process the games of all periods, and increase deviations up to the last period of each instance."""
        pairs = views.pairs(in_order(prefs))
        period = self._periods(prefs)
        order = np.argsort(period[pairs.ballot], kind="stable")
        ballot = pairs.ballot[order]
        first, second, weight = pairs.better[order], pairs.worse[order], prefs.weight[ballot]
        result = np.where(pairs.is_tie[order], 0.5, 1.0)
        start_sd, n = self.deviation / SCALE, prefs.n_slots
        walked = kernels.glicko_periods(
            first, second, result, weight, period[ballot], n, start_sd, self.volatility, self.tau
        )
        last = np.full(prefs.n_instances, NEVER)
        np.maximum.at(last, prefs.instance_of_ballot[ballot], period[ballot])
        state = State(walked.mean, walked.sd, walked.volatility)
        sd = after_inactivity(state, last[segment_index(prefs.slot_ptr)] - walked.seen, start_sd)
        chance = np.clip(walked.chance, 1e-300, 1 - 1e-16)
        log_chance = result * np.log(chance) + (1 - result) * np.log1p(-chance)
        return _Played(
            rating=self.start + SCALE * walked.mean,
            deviation=SCALE * sd,
            games=sum_by(first, weight, n) + sum_by(second, weight, n),
            log_likelihood=float(weight @ log_chance),
            walked=walked,
            ballot=ballot,
            period_of_ballot=period,
        )

    # ---- periods ----
    def _period(self, prefs: Preferences) -> float | str:
        return self.period if self.period != "auto" else ("month" if prefs.is_dated else 1.0)

    def _periods(self, prefs: Preferences) -> Int64s:
        """Return the period number of every ballot; empty periods are also numbered.

        Without times a period is a number of ballots, counted by instance.
        """
        if prefs.time is not None:
            return calendar_numbers(prefs.time, prefs.is_dated, self._period(prefs))
        instance, weight, n = prefs.instance_of_ballot, prefs.weight, prefs.n_instances
        if self.period == "auto":
            ballots, entries = (sum_by(instance, weight * factor, n) for factor in (1.0, np.diff(prefs.indptr)))
            length = GAMES * np.diff(prefs.slot_ptr) * ballots / np.maximum(entries, 1e-300)
        else:
            calendar_numbers(np.empty(0), False, self.period)  # refuses words of the calendar
            length = np.full(n, float(self.period))
        order = np.argsort(instance, kind="stable")
        total = np.cumsum(weight[order])
        weight_before = np.empty(prefs.n_ballots)  # before each ballot, in its instance
        weight_before[order] = (
            total - weight[order] - (np.append(0.0, np.cumsum(sum_by(instance, weight, n))))[instance[order]]
        )
        return np.asarray((weight_before + 1e-9) // np.maximum(length[instance], 1e-9)).astype(np.int64)

    # ---- over time ----
    def _history(self, prefs: Preferences, played: _Played) -> History:
        """Return the ratings at the end of every period an item played in, with intervals."""
        walked = played.walked
        instance = segment_index(prefs.slot_ptr)[walked.row_slot]
        if prefs.time is not None:
            time = period_ends(walked.row_period, prefs.is_dated, self._period(prefs))
        else:
            time = _last_ballots(prefs.instance_of_ballot, played.period_of_ballot, instance, walked.row_period)
        order = np.argsort(time, kind="stable")
        score, half = self.start + SCALE * walked.row_mean[order], self._half(SCALE * walked.row_sd[order])
        return History(
            items=prefs.items,
            item=prefs.slot_item[walked.row_slot[order]],
            time=time[order],
            score=score,
            low=score - half,
            high=score + half,
            is_dated=prefs.is_dated,
            instances=prefs.instances,
            instance=None if prefs.instances is None else instance[order].astype(np.int32),
        )

    def _predicted(self, prefs: Preferences, ballot: Int64s) -> Floats:
        """Return, for these two-item ballots, the win probability of the first entry before the ballot was cast."""
        played = self._played(prefs)
        chance = np.full(prefs.n_ballots, 0.5)  # of ballots that say nothing
        chance[played.ballot] = played.walked.chance
        return chance[ballot]


class _Played(NamedTuple):
    rating: Floats
    deviation: Floats
    games: Floats
    log_likelihood: float
    walked: GlickoRun
    ballot: Int64s  # of every game
    period_of_ballot: Int64s


def _last_ballots(instance: AnyArray, period: Int64s, row_instance: AnyArray, row_period: Int64s) -> Floats:
    """Return, for every row, the number (from 1) of the last ballot of its instance and period."""
    n_periods = int(period.max(initial=0)) + 1
    keys, place = np.unique(instance.astype(np.int64) * n_periods + period, return_inverse=True)
    last = np.zeros(len(keys))
    np.maximum.at(last, place, np.arange(1.0, len(period) + 1))
    return last[np.searchsorted(keys, row_instance.astype(np.int64) * n_periods + row_period)]


@dataclass(frozen=True, eq=False, repr=False)
class GlickoModel(ComparisonModel):
    """Ratings and deviations that predict the next game; a tie is half a win for each side."""

    deviation: Floats

    @property
    def has_ties(self) -> bool:
        """Whether a game can be drawn: a draw counts as half a win for each side."""
        return False

    def chances(self, first: Int64s, second: Int64s, order: Floats | float = 0.0) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities that the first slot of each pair wins, loses and ties (0); ``order`` is ignored."""
        lead = (self.score[first] - self.score[second]) / SCALE
        up = expected(lead, np.hypot(self.deviation[first], self.deviation[second]) / SCALE)
        return up, 1 - up, np.zeros(len(up))
