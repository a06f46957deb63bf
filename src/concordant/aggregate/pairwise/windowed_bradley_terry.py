"""Windowed Bradley-Terry: a separate bradley-terry fit to the most recent results at the end of every period.

At the end of every ``period`` the results of the last ``window`` of time are fitted separately, and earlier ones are
ignored; with ``half_life`` the weight of a result halves whenever its age increases by this length of time. The
curve of an item (``ranking.history``) is its score in successive windows. The method is simple to explain and makes
no assumption about how scores change, but it forgets everything before the window, and a short window is noisy:
whole-history uses the same results more efficiently. All windows are instances of one batched fit with a common
prior (chosen by marginal likelihood, ``ranking.fit["prior"]``). The scores of a window are relative to the mean of
the items that played in it.

The ranking contains the items of the last window (all items if times are numbers and no ``window`` is given; ``since``
and ``all_items`` change this). Items that are not in it keep the score of the last window they were in.

Cost: that of bradley-terry, with every result counted once per window that contains it. Reference: R. A. Bradley and M.
E. Terry, Rank analysis of incomplete block designs, Biometrika, 1952.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.aggregate.pairwise._recent import OverTime, played
from concordant.aggregate.pairwise.bradley_terry import BradleyTerry
from concordant.ballots.segments import max_by, pointer, spans
from concordant.errors import ParameterError, arg
from concordant.kernels.links import BRADLEY_TERRY
from concordant.method import Outcome
from concordant.models.fitted import PairModel
from concordant.models.notices import OF_PAIRS, duel_standing, notice_on, standing_notices
from concordant.models.observations.duels import Counting
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking, Uncertainty
from concordant.results.histories import History
from concordant.support.brief import Brief
from concordant.support.dates import CALENDAR, periods
from concordant.types import Floats, Int64s

DAYS = {"day": 1.0, "week": 7.0, "month": 30.4375, "quarter": 91.3125, "year": 365.25}
MAX_WINDOWS = 120  # above which "auto" takes longer periods
TIE_OF_FITTED = 1e-9


@dataclass(frozen=True, kw_only=True)
class WindowedBradleyTerry(OverTime):
    """Bradley-Terry scores of the latest time window, with a history of all earlier windows."""

    usual_name = "Windowed Bradley-Terry"
    likelihood_of = "comparisons, once for every window they are in"
    silence = "they did not play"
    needs = frozenset({"time"})
    aliases = {"windowed": {}}
    waives = {
        "condorcet_consistency": "results before the window are forgotten",
        "instances_are_independent": "the last window ends with the last result of all instances",
    }

    since: str | None = options.since("the last window")
    window: float | str = param(
        "auto",
        "length of the window: day, week, month, quarter, year, or a number (of days, if times are dates); "
        "auto is a year, or a tenth of the time span",
        low=0.0,
        words=("auto", *CALENDAR),
    )
    period: float | str = param(
        "auto",
        "interval between fits: day, week, month, quarter, year, or a number",
        low=0.0,
        words=("auto", *CALENDAR),
    )
    half_life: float | None = param(None, "half-life of a result's weight (in days, if times are dates)", low=1e-9)
    prior: float | str = param(
        "auto",
        "precision of the prior (regularisation); auto: by marginal likelihood",
        low=0.0,
        words=("auto",),
    )
    level: float = options.level()

    @property
    def log_odds(self) -> float | None:
        """Score difference that multiplies the odds of a win by e."""
        return 1.0

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the score of every item in its last window, with the curves over all windows."""
        assert prefs.time is not None
        windows = Windows.of(prefs, self._length(prefs), self._period(prefs), self.half_life)
        ranking = BradleyTerry(prior=self.prior, level=self.level).rank(windows.prefs)
        windowed = Windowed(prefs, windows, ranking)
        score = snap_scores(prefs, windowed.last_known(ranking.score), TIE_OF_FITTED, min_scale=1.0)
        keep = self.kept(prefs)
        absent = (windowed.end_of_slot < windows.end.max(initial=-np.inf)) & (True if keep is None else keep)
        text = "these items are not in the last window, so they keep the score of their own last window (0 if none)"
        notices = [notice_on(prefs, "not-in-window", text, absent)] if absent.any() else []
        n = prefs.n_instances
        return Outcome(
            score=score,
            fit={"log_likelihood": (ranking.fit or {})["log_likelihood"], "prior": (ranking.fit or {})["prior"]},
            warnings=(*windowed.disconnected(), *notices),
            uncertainty=windowed,
            model=PairModel.of(prefs, score, link=BRADLEY_TERRY, advantage=np.zeros(n), tie=np.zeros(n)),
            history=windowed.history,
        )

    def recent(self, prefs: Preferences) -> float | None:
        """Return the length of a window; None if times are numbers and no length is given."""
        if not prefs.is_dated and self.window == "auto":
            return None
        return self._length(prefs) * (1 - 1e-9)  # what is older by its whole length is not in a window

    def moments(self, prefs: Preferences) -> Floats:
        """Return the end of every ballot's period."""
        number, end = periods(played(prefs), prefs.is_dated, self._period(prefs))
        return np.asarray(end[number])

    def _length(self, prefs: Preferences) -> float:
        """Return the length of a window in the unit of the times."""
        assert prefs.time is not None
        if self.window == "auto":
            return DAYS["year"] if prefs.is_dated else _share(prefs.time, 10)
        if isinstance(self.window, str):
            if not prefs.is_dated:
                raise ParameterError(
                    arg("window", self.window)
                    + " needs dates, but the times are plain numbers: give the length as a number, in the same unit."
                )
            return DAYS[self.window]
        if self.window == 0:
            raise ParameterError(arg("window", 0) + " is out of range: give a number above 0.")
        return self.window

    def _period(self, prefs: Preferences) -> str | float:
        """Return the period; "auto" is the shortest of the calendar with at most ``MAX_WINDOWS`` windows."""
        assert prefs.time is not None
        if self.period != "auto":
            return self.period
        if not prefs.is_dated:
            return _share(prefs.time, MAX_WINDOWS)
        short_enough = [period for period in CALENDAR if len(periods(prefs.time, True, period)[1]) <= MAX_WINDOWS]
        return (*short_enough, "year")[0]


def _share(time: Floats, parts: int) -> float:
    """Return the time span divided by ``parts``, but at least the floating-point spacing of the largest time."""
    return max(float(np.ptp(time)) / parts, 1e-9, 1e-12 * float(np.abs(time).max(initial=0.0)))


@dataclass(frozen=True, eq=False, repr=False)
class Windows(Brief):
    """The results of every window as a separate instance, with the end and the original instance of each window."""

    prefs: Preferences
    end: Floats
    instance: Int64s

    @classmethod
    def of(cls, prefs: Preferences, length: float, period: str | float, half_life: float | None) -> Windows:
        """Cut preferences into overlapping windows of this length, one ending with each period; each is an instance."""
        assert prefs.time is not None
        number, end = periods(prefs.time, prefs.is_dated, period)
        order = np.argsort(end[number], kind="stable")
        sorted_end = end[number][order]
        low, high = (np.searchsorted(sorted_end, edge, side="right") for edge in (end - length, end))
        ballots = order[spans(low, high)]
        window = np.repeat(np.arange(len(end)), high - low)
        key = window * prefs.n_instances + prefs.instance_of_ballot[ballots]
        present, instance = np.unique(key, return_inverse=True)
        weight = prefs.weight[ballots]
        if half_life is not None:
            weight = weight * 0.5 ** ((end[window] - end[number[ballots]]) / half_life)
        sizes = np.diff(prefs.indptr)[ballots]
        entries = spans(prefs.indptr[ballots], prefs.indptr[ballots + 1])
        window_prefs = Preferences(
            prefs.items,
            pointer(sizes),
            prefs.item[entries],
            prefs.tier[entries],
            weight=weight,
            open=None if prefs.open is None else prefs.open[ballots],
            instances=[f"window {k + 1}" for k in range(len(present))],
            instance=instance,
            form=prefs.said_form,
        )
        return cls(window_prefs, end[present // prefs.n_instances], present % prefs.n_instances)


@dataclass(frozen=True, eq=False, repr=False)
class Windowed(Brief):
    """The fits of all windows by candidate: the last window of each, and the curves."""

    prefs: Preferences
    windows: Windows
    ranking: Ranking

    @cached_property
    def slot(self) -> Int64s:
        """For every slot of every window, its slot in the original preferences."""
        whole, cut, n = self.prefs, self.windows.prefs, len(self.prefs.items)
        key = views.instance_of_slot(whole) * n + whole.slot_item
        order = np.argsort(key)
        wanted = self.windows.instance[views.instance_of_slot(cut)] * n + cut.slot_item
        return np.asarray(order[np.searchsorted(key[order], wanted)])

    @cached_property
    def end(self) -> Floats:
        """For every slot of every window, the end of the window."""
        return self.windows.end[views.instance_of_slot(self.windows.prefs)]

    @cached_property
    def end_of_slot(self) -> Floats:
        """The end of the last window of every candidate; minus infinity if there is none."""
        return max_by(self.slot, self.end, self.prefs.n_slots, -np.inf)

    def last_known(self, values: Floats, lacking: float = 0.0) -> Floats:
        """Return the value of each candidate in its last window; ``lacking`` if it was in no window."""
        out = np.full(self.prefs.n_slots, lacking)
        last = self.end == self.end_of_slot[self.slot]
        out[self.slot[last]] = values[last]
        return out

    def known(self) -> Uncertainty:
        """Return the intervals of every candidate in its last window."""
        low, high = self.ranking.slot_low, self.ranking.slot_high
        assert low is not None
        assert high is not None
        widest = max(float(np.abs(high - low).max(initial=0.0)), 1.0)  # who was in none: as unsure as anybody
        return Uncertainty(
            self.last_known(low, -widest), self.last_known(high, widest), apart=self.errors_of_differences
        )

    @cached_property
    def last(self) -> Int64s:
        """The slot of every candidate in its last window; -1 if it was in no window."""
        return self.last_known(np.arange(len(self.slot), dtype=np.float64), -1.0).astype(np.int64)

    def errors_of_differences(self, slot: int) -> Floats:
        """Return the standard errors of the differences between a slot and all candidates of its instance.

        They are the joint errors of one window; NaN for candidates with a different last window.
        """
        whole, cut = self.prefs.slot_ptr, self.windows.prefs.slot_ptr
        q, window = (
            int(np.searchsorted(ptr, s, side="right")) - 1 for ptr, s in ((whole, slot), (cut, self.last[slot]))
        )
        last = self.last[whole[q] : whole[q + 1]]
        errors = np.full(len(last), np.nan)
        if window < 0:
            return errors
        start, stop = int(cut[window]), int(cut[window + 1])
        known = self.ranking.uncertainty.known()
        joint = None if known.apart is None else known.apart(int(self.last[slot]))
        if joint is None:
            stderr = known.details["stderr"]
            joint = np.sqrt(stderr[start:stop] ** 2 + stderr[self.last[slot]] ** 2)
        is_same_window = (last >= start) & (last < stop)
        errors[is_same_window] = joint[last[is_same_window] - start]
        return errors

    def disconnected(self) -> tuple[Notice, ...]:
        """Return notices about items that are not connected to the others in the last window of their instance."""
        windows = self.windows
        latest = max_by(windows.instance, windows.end, self.prefs.n_instances, -np.inf)
        is_latest = windows.end == latest[windows.instance]
        cut = windows.prefs.subset(
            is_latest[windows.prefs.instance_of_ballot], is_latest[views.instance_of_slot(windows.prefs)]
        )
        texts = {"disconnected": OF_PAIRS["disconnected"]}
        return tuple(standing_notices(cut, duel_standing(Counting().duels(cut)), texts))

    def history(self) -> History:
        """Return the scores of all windows."""
        prefs, low, high = self.prefs, self.ranking.slot_low, self.ranking.slot_high
        order = np.lexsort((self.slot, self.end))
        slot = self.slot[order]
        return History(
            prefs.items,
            prefs.slot_item[slot],
            self.end[order],
            self.ranking.score[order],
            None if low is None else low[order],
            None if high is None else high[order],
            prefs.is_dated,
            prefs.instances,
            None if prefs.instances is None else views.instance_of_slot(prefs)[slot].astype(np.int32),
        )
