"""Whole-history Bradley-Terry: scores that change over time, fitted to all earlier and later results together.

    P(a beats b at time t) = 1 / (1 + exp(-(s_a(t) - s_b(t))))

Each score follows a Gaussian random walk: its change over a period of length t has variance ``drift``² t, and the first
score of every item has a Gaussian prior with precision ``prior``. All scores at all times are fitted together (maximum
a posteriori), so a win counts more if the opponent later turns out to be strong, and every item has a curve of scores
with confidence intervals (``ranking.history``). Incremental ratings (elo, trueskill) never revise the past; a plain
bradley-terry fit treats all results as simultaneous.

Both parameters are chosen by marginal likelihood unless they are given, one for all instances, and reported in
``ranking.fit``. ``drift`` is the standard deviation of the change of a score in a year, or in one unit of time if times
are numbers; 0 keeps scores constant, as in bradley-terry. Scores are constant within a ``period``: by default every
distinct time (every day, for dates), or longer ones if there would be too many. A tie counts as half a win for each
side and as a whole comparison, so intervals are too wide if many games are tied. All pairs of a ballot with more than
two items count as independent, so intervals are then too narrow.

The ranking uses the scores at the end of the data (``score="last"``). Its intervals are relative to the mean of all
items; those of the history also include the common movement of all items since the start. An item without recent games
keeps its last score with an interval that widens over time. If times are dates, items without a result in the last 365
days are not ranked (``since`` changes the limit, ``all_items`` ranks every item); fit and history include all of them.
``score="low"`` ranks by the lower confidence bounds, so inactive items fall, and ``"peak"`` ranks all items by their
best score. ``ranking.model`` answers p_beats(a, b, time=...) and score_at(item, time). ``forecasts`` predicts every
comparison from earlier ones.

Cost: linear in the comparisons, about fifty passes over them; about three times that if the parameters are chosen.
Reference: R. Coulom, Whole-history rating: a Bayesian rating system for players of time-varying strength, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.aggregate.pairwise._recent import OverTime, moment_of
from concordant.errors import arg
from concordant.method import Outcome
from concordant.models.notices import OF_PAIRS, duel_standing, notice_on, standing_notices
from concordant.models.observations.duels import Counting
from concordant.models.time.course_forecasts import rolling
from concordant.models.time.courses import Compared, CourseErrors, CourseModel, Courses, end_of_slots, nodes_of, unit_of
from concordant.models.time.walks import fitted
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.support.dates import CALENDAR, shown_time
from concordant.types import Floats

TIE_OF_FITTED = 1e-9  # fitted scores this close are one score
TOP = 10  # ranks among which items that no longer play are worth a word


@dataclass(frozen=True, kw_only=True)
class WholeHistory(OverTime):
    """Bradley-Terry scores that follow a random walk over time, fitted to all results, with confidence intervals."""

    usual_name = "whole-history rating"
    likelihood_of = "comparisons, a tie counted as half a win each way"
    silence = "they did not play"
    needs = frozenset({"time"})
    aliases = {"whr": {}, "dynamic-bradley-terry": {}, "smoothed-bradley-terry": {}}
    waives = {
        "condorcet_consistency": "later results carry more information about the final scores than earlier ones",
    }

    drift: float | str = param(
        "auto",
        "standard deviation of a score's change per year (or unit of time); auto: by marginal likelihood",
        low=0.0,
        words=("auto",),
    )
    prior: float | str = param(
        "auto",
        "precision of the prior on an item's first score; auto: by marginal likelihood",
        low=1e-6,
        words=("auto",),
    )
    period: float | str = param(
        "auto",
        "period of constant scores: day, week, month, quarter, year, or a number (of days, if times are dates)",
        low=0.0,
        words=("auto", *CALENDAR),
    )
    score: str = param(
        "last",
        "rank by the latest score, its lower confidence bound, or the peak score",
        choices=("last", "low", "peak"),
    )
    level: float = options.level()

    @property
    def log_odds(self) -> float | None:
        """Score difference that multiplies the odds of a win by e."""
        return 1.0

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the scores at the end of the data, with intervals and the curves over time."""
        return self._outcome(prefs, self._courses(prefs))

    def forecasts(self, prefs: Preferences, since: object, *, every: str | float | None = None) -> Floats:
        """Return, for every ballot, the win probability of its first item, predicted from earlier ballots only.

        From ``since`` on, the model is refitted to all earlier data at the start of every period of length ``every``
        ("quarter" by default, or a twentieth of the remaining time); within a period, beliefs about the two items are
        updated ballot by ballot. Parameters that are "auto" are chosen once, from the data before ``since``. The result
        is NaN before ``since``, for ballots that do not compare exactly two items, and for items that were not compared
        before.
        """
        self.check_needs(prefs)
        moment = moment_of(prefs, since, "since")
        drift, prior = (None if isinstance(strength, str) else strength for strength in (self.drift, self.prior))
        return rolling(prefs, self.period, drift, prior, moment, every)

    def _courses(self, prefs: Preferences) -> Courses:
        """Fit the scores of all items over time."""
        compared = Compared.of(prefs)
        drift, prior = (None if isinstance(strength, str) else strength for strength in (self.drift, self.prior))
        nodes, end = nodes_of(prefs, compared, "all" if drift == 0 else self.period)
        return Courses(fitted(nodes, drift, prior), prefs.slot_ptr, end_of_slots(prefs, end), self.level)

    def recent(self, prefs: Preferences) -> float | None:
        """Return the maximum age of a recent result; None if all items are ranked, as by peak scores."""
        return None if self.score == "peak" else super().recent(prefs)

    def _outcome(self, prefs: Preferences, courses: Courses) -> Outcome:
        """Return the outcome: scores by the chosen rule, with intervals, notices and histories."""
        at_end = courses.at_end()
        errors = CourseErrors(courses, self.score)
        score = at_end
        if self.score == "peak":
            score = courses.peaks()[0]
        elif self.score == "low":
            low = errors.known().low
            assert low is not None
            score = low
        score = snap_scores(prefs, score, TIE_OF_FITTED, min_scale=1.0)
        walk = courses.walk
        standing = duel_standing(Counting().duels(prefs))
        warnings = standing_notices(prefs, standing, OF_PAIRS)
        if not walk.is_settled:
            text = "the fit did not converge, so the scores are approximate; give a larger prior or a smaller drift"
            warnings.append(notice_on(prefs, "no-convergence", text, np.ones(prefs.n_slots, bool)))
        if self.score == "last" and self.kept(prefs) is None:
            warnings += self._idle(prefs, courses, score)
        return Outcome(
            score=score,
            fit={
                "log_likelihood": walk.log_likelihood,
                "drift": walk.drift,
                "prior": walk.prior,
                "nodes": float(len(walk.nodes)),
            },
            warnings=tuple(warnings),
            uncertainty=errors,
            model=CourseModel.of(prefs, at_end, courses=courses, is_dated=prefs.is_dated, unit=unit_of(prefs)),
            history=partial(courses.history, prefs),
        )

    def _idle(self, prefs: Preferences, courses: Courses, score: Floats) -> list[Notice]:
        """Return a notice about top items whose variance is mostly due to the time since their last game."""
        last, walk = courses.last_played(), courses.walk
        variance_since = walk.drift**2 * np.nan_to_num(courses.end - last)
        variance_then = np.zeros(prefs.n_slots)
        variance_then[walk.nodes.slot[walk.nodes.is_last]] = walk.own_variances()[0][walk.nodes.is_last]
        order = np.lexsort((-score, views.instance_of_slot(prefs)))
        place = np.empty(prefs.n_slots, np.int64)
        place[order] = np.arange(prefs.n_slots) - prefs.slot_ptr[views.instance_of_slot(prefs)[order]]
        idle = (variance_since > variance_then) & (place < TOP) & (last < courses.end)
        if not idle.any():
            return []
        latest = shown_time(float(np.nanmax(last[idle])) * unit_of(prefs), prefs.is_dated)
        text = (
            f"of the top {TOP}, these have not played since {latest} or earlier (" + arg("since") + " leaves them out)"
        )
        return [notice_on(prefs, "no-longer-playing", text, idle)]
