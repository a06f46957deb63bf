"""Time-varying scores at any time: means, variances and win probabilities.

Between two nodes a random walk is a Brownian bridge; before the first and after the last node its mean is constant and
its variance grows with time. The win probability integrates over the uncertainty: for a score difference d with mean m
and variance v, E[1 / (1 + e^-d)] is about 1 / (1 + e^-(m / sqrt(1 + pi v / 8))). The variance of a difference comes
from the joint posterior: the difference of two candidates that met often is known precisely even if neither score
is. Scores are relative to the mean of all first scores. The intervals of a ranking at the end also exclude the
common movement of all scores since then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from concordant import views
from concordant.ballots.segments import max_by, pointer, segment_index
from concordant.errors import InputError, arg
from concordant.models.fitted import ComparisonModel, decided_pairs
from concordant.models.time.walks import LARGEST_DENSE, Nodes, Walk
from concordant.models.uncertainty import simultaneous
from concordant.preferences import Preferences
from concordant.ranking import Uncertainty
from concordant.results.histories import History
from concordant.support.brief import Brief
from concordant.support.dates import as_times, periods
from concordant.types import Bools, Floats, Int64s

YEAR = 365.25  # days: the unit of time where there are dates
MAX_NODES = 400_000  # above which time is cut more coarsely
COARSER = ("day", "week", "month", "quarter", "year")
FEWER = (1_000, 300, 100, 30, 10, 3, 1)  # periods, where times are numbers
MIN_SOLVED, SOLVED = 8, 20_000_000  # moments of candidates solved for exactly, and the cells this may fill
SOLVED_TO = 1e-9  # accuracy of such a solution
LEAD_DRAWS = 32  # of the posterior, from which the variances of more leads than that are estimated
AT_ONCE = 4_000_000  # cells of leads times draws


# ---- from ballots to nodes ----
@dataclass(frozen=True, repr=False)
class Compared(Brief):
    """All pairs that ballots compare: their slots, ties, weights and periods."""

    ahead: Int64s
    behind: Int64s
    is_tie: Bools
    weight: Floats
    ballot: Int64s

    @classmethod
    def of(cls, prefs: Preferences) -> Compared:
        """List all pairs of all ballots."""
        first, second, is_tie = next(views.pairs_of_entries(prefs, at_once=np.inf))
        ballot = views.ballot_of_entry(prefs)[first]
        return cls(prefs.entry_slot[first], prefs.entry_slot[second], is_tie, prefs.weight[ballot], ballot)


def end_of_slots(prefs: Preferences, end: Floats) -> Floats:
    """Return, by slot, the time at which the data of its instance end; ``end`` is the end of every ballot's period."""
    last = max_by(prefs.instance_of_ballot, end, prefs.n_instances, -np.inf)
    return np.asarray(np.where(np.isfinite(last), last, end.max(initial=0.0))[views.instance_of_slot(prefs)])


def unit_of(prefs: Preferences) -> float:
    """Return the length of the unit of time: a year for dates, else 1."""
    return YEAR if prefs.is_dated else 1.0


def nodes_of(prefs: Preferences, compared: Compared, period: str | float) -> tuple[Nodes, Floats]:
    """Group comparisons by candidate and period into nodes; also return the end of every ballot's period.

    "auto" tries each distinct time (each day for dates) and then longer periods until there are few enough nodes; "all"
    is a single period. Ends are in units of time.
    """
    assert prefs.time is not None
    for choice in _choices(prefs, period):
        if choice == "all":
            end, number = prefs.time.max(initial=-np.inf)[None][: prefs.n_ballots], np.zeros(prefs.n_ballots, np.int64)
        elif choice is None:
            end, number = np.unique(prefs.time, return_inverse=True)
        else:
            number, end = periods(prefs.time, prefs.is_dated, choice)
        period_of_pair, unit = number[compared.ballot], unit_of(prefs)
        node_key = np.concatenate([compared.ahead, compared.behind]) * max(len(end), 1) + np.tile(period_of_pair, 2)
        if period != "auto" or len(node_key) <= MAX_NODES or len(np.unique(node_key)) <= MAX_NODES:
            break
    nodes = Nodes.of(compared.ahead, compared.behind, compared.is_tie, compared.weight, period_of_pair, end / unit)
    return nodes, end[number] / unit


def _choices(prefs: Preferences, period: str | float) -> list[str | float | None]:
    """Return the periods to try, shortest first; None means that each distinct time is a period."""
    if period != "auto":
        return [period]
    if prefs.is_dated:
        return list(COARSER)
    assert prefs.time is not None
    span = float(np.ptp(prefs.time)) if len(prefs.time) else 0.0
    return [None, *(span / n for n in FEWER if span > 0)]


# ---- at any moment ----
@dataclass(frozen=True, eq=False, repr=False)
class Interpolation(Brief):
    """Scores of candidates at times between nodes: (1 - share) left + share right, plus the variance of the bridge.

    Candidates without nodes are not ``known``; their left, right and share are undefined.
    """

    known: Bools
    left: Int64s
    right: Int64s
    share: Floats
    own: Floats

    def mixed(self, by_node: Floats, which: Int64s) -> Floats:
        """Return a row for each time in ``which`` (by number), interpolated between the rows of the adjacent nodes.

        Rows of candidates without nodes are 0.
        """
        out = np.zeros((len(which), by_node.shape[1]))
        has_nodes = self.known[which]
        place = (np.cumsum(self.known) - 1)[which[has_nodes]]
        share = self.share[place, None]
        out[has_nodes] = (1 - share) * by_node[self.left[place]] + share * by_node[self.right[place]]
        return out


@dataclass(frozen=True, eq=False, repr=False)
class Courses(Brief):
    """The scores of all candidates over time, in units of time (years, or the given unit).

    ``end`` is, by slot, the time at which the data of its instance end.
    """

    walk: Walk
    slot_ptr: Int64s
    end: Floats
    level: float

    @cached_property
    def node_ptr(self) -> Int64s:
        """The nodes of every slot."""
        return pointer(np.bincount(self.walk.nodes.slot, minlength=int(self.slot_ptr[-1])))

    @cached_property
    def _shift(self) -> Floats:
        """By slot: the variance of the common movement of all scores of its instance."""
        size = np.diff(self.slot_ptr)
        return np.repeat(1 / (np.maximum(size, 1) * self.walk.prior), size)

    @cached_property
    def variances(self) -> tuple[Floats, Floats]:
        """The variance of every node, and the covariance with the node before it."""
        variance, covariance = self.walk.variances()
        shift = self._shift[self.walk.nodes.slot]
        return np.maximum(variance - shift, 0.0), np.where(self.walk.nodes.is_first, 0.0, covariance - shift)

    def at(self, slot: Int64s, time: Floats | float) -> tuple[Floats, Floats]:
        """Return the mean and the variance of the scores of some slots, each at a given time."""
        around = self._interpolated(slot, time)
        known, left, right, share, variance_at = around.known, around.left, around.right, around.share, around.own
        variance_at[~known] -= self._shift[slot[~known]]
        if known.any():
            node_variance, covariance = self.variances
            covariance_left_right = np.where(right > left, covariance[right], 0.0)
            variance_at[known] += (1 - share) ** 2 * node_variance[left] + share**2 * node_variance[right]
            variance_at[known] += 2 * share * (1 - share) * covariance_left_right
        return around.mixed(self.walk.score[:, None], np.arange(len(slot)))[:, 0], variance_at

    def means(self, slot: Int64s, time: Floats | float) -> Floats:
        """Return the mean of the scores of some slots, each at a given time."""
        return self._interpolated(slot, time).mixed(self.walk.score[:, None], np.arange(len(slot)))[:, 0]

    def _interpolated(self, slot: Int64s, time: Floats | float) -> Interpolation:
        """Return the nodes adjacent to each time of a slot, and the variance of the walk between or beyond them.

        Slots without nodes have the variance 1 / prior.
        """
        nodes = self.walk.nodes
        time = np.broadcast_to(np.asarray(time, np.float64), slot.shape)
        variance = np.full(len(slot), 1 / self.walk.prior)
        first, last = self.node_ptr[slot], self.node_ptr[slot + 1] - 1
        is_known = last >= first
        time, first, last = time[is_known], first[is_known], last[is_known]
        ends = np.unique(nodes.time)
        key = nodes.slot * (len(ends) + 1) + np.searchsorted(ends, nodes.time, side="right")
        wanted = slot[is_known] * (len(ends) + 1) + np.searchsorted(ends, time, side="right")
        left = np.maximum(np.searchsorted(key, wanted, side="right") - 1, first)
        right = np.maximum(left, np.minimum(left + 1, last))
        gap = np.where(right > left, nodes.gap[right], 1.0)
        share = np.where(right > left, np.clip((time - nodes.time[left]) / gap, 0.0, 1.0), 0.0)
        outside = np.maximum(np.maximum(nodes.time[left] - time, time - nodes.time[right]), 0.0)
        bridge = np.where(right > left, share * (1 - share) * gap, 0.0)
        variance[is_known] = self.walk.drift**2 * (bridge + outside)
        return Interpolation(is_known, left, right, share, variance)

    def lead_variances(self, first: Int64s, second: Int64s, time: Floats | float, solved: int = SOLVED) -> Floats:
        """Return the variance of the score difference of each pair of slots of an instance, at a given time.

        Exact for few distinct pairs of candidate and time (``solved`` cells) or few nodes; otherwise estimated from
        posterior draws.
        """
        times, when = np.unique(np.broadcast_to(np.asarray(time, np.float64), first.shape), return_inverse=True)
        keys, place = np.unique(np.concatenate([first, second]) * len(times) + np.tile(when, 2), return_inverse=True)
        first_key, second_key = place.reshape(2, -1)
        around = self._interpolated(keys // max(len(times), 1), times[keys % max(len(times), 1)])
        variance = around.own[first_key] + around.own[second_key]
        nodes = len(self.walk.nodes)
        if nodes > LARGEST_DENSE and len(keys) <= max(MIN_SOLVED, solved // nodes):
            joint = self._joint(around)
            return np.asarray(
                variance
                + np.maximum(
                    joint[first_key, first_key] + joint[second_key, second_key] - 2 * joint[first_key, second_key], 0.0
                )
            )
        root = self._root
        step = max(AT_ONCE // max(root.shape[1], 1), 1)
        for start in range(0, len(first_key), step):
            chunk = slice(start, start + step)
            variance[chunk] += (
                (around.mixed(root, first_key[chunk]) - around.mixed(root, second_key[chunk])) ** 2
            ).sum(axis=1)
        return np.asarray(variance)

    def _joint(self, around: Interpolation) -> Floats:
        """Return the joint covariance of candidates at given times (a linear solve each), without bridge variances."""
        joint = np.zeros((len(around.own), len(around.own)))
        for row, left, right, share in zip(
            np.flatnonzero(around.known).tolist(), around.left, around.right, around.share, strict=True
        ):
            unit = np.zeros(len(self.walk.nodes))
            unit[left] += 1 - share
            unit[right] += share
            joint[row] = around.mixed(self.walk.solve(unit, SOLVED_TO)[:, None], np.arange(len(joint)))[:, 0]
        return (joint + joint.T) / 2

    @cached_property
    def _root(self) -> Floats:
        """The matrix R (a row per node) with R Rᵀ the covariance of the nodes: exact for few nodes, else from draws."""
        if len(self.walk.nodes) <= LARGEST_DENSE:
            return self.walk.root()
        return np.asarray(self.walk.conditional_means(LEAD_DRAWS)[0].T / np.sqrt(LEAD_DRAWS))

    def last_played(self) -> Floats:
        """Return the time at which every slot last played; NaN for those that never did."""
        out = np.full(int(self.slot_ptr[-1]), np.nan)
        is_last = self.walk.nodes.is_last
        out[self.walk.nodes.slot[is_last]] = self.walk.nodes.time[is_last]
        return out

    def at_end(self) -> Floats:
        """Return the score of every slot at the end: its last score, or 0 if it never played."""
        out, nodes = np.zeros(int(self.slot_ptr[-1])), self.walk.nodes
        out[nodes.slot[nodes.is_last]] = self.walk.score[nodes.is_last]
        return out

    def peaks(self) -> tuple[Floats, Floats]:
        """Return the highest score of every slot over time, and its variance."""
        nodes, score = self.walk.nodes, self.walk.score
        order = np.lexsort((score, nodes.slot))
        best = order[nodes.is_last]  # the nodes of a slot stay together, so its last place holds its highest score
        peak, variance = self.at(np.arange(len(self.end)), self.end)
        peak[nodes.slot[best]], variance[nodes.slot[best]] = score[best], self.variances[0][best]
        return peak, variance

    def standing(self) -> tuple[Floats, Floats]:
        """Return the score of every slot at the end, and its variance given the mean score of its instance then.

        The common movement of all scores since the beginning is uncertain, but does not affect the order.
        """
        slots = np.arange(len(self.end))
        mean, variance = self.at(slots, self.end)
        variance += self._shift
        nodes, walk = self.walk.nodes, self.walk
        instance = segment_index(self.slot_ptr)
        share = 1 / np.maximum(np.diff(self.slot_ptr), 1)[instance]
        last = np.flatnonzero(nodes.is_last)
        share_of_node = np.zeros(len(nodes))
        share_of_node[last] = share[nodes.slot[last]]
        with_mean = share / walk.prior  # the covariance with the mean: of those who never played, and of the others
        walk_since = walk.drift**2 * (self.end[nodes.slot[last]] - nodes.time[last])
        with_mean[nodes.slot[last]] = share[nodes.slot[last]] * walk_since
        if len(last):
            with_mean[nodes.slot[last]] += walk.solve(share_of_node, 1e-6)[last]
        of_mean = np.bincount(instance, share * with_mean, len(self.slot_ptr) - 1)
        return mean, np.maximum(variance - with_mean**2 / of_mean[instance], 0.0)

    def difference(self, a: int, b: int) -> tuple[float, float]:
        """Return the score difference of two slots at the end, and its standard error."""
        first, second = np.array([a]), np.array([b])
        lead = self.at_end()[a] - self.at_end()[b]
        return float(lead), float(np.sqrt(self.lead_variances(first, second, self.end[first])[0]))

    def errors_of_differences(self, slot: int) -> Floats:
        """Return the standard errors at the end of the differences between a slot and all candidates of its instance.

        Exact for the candidates with the closest scores; with many nodes the others are estimated from draws.
        """
        q = int(np.searchsorted(self.slot_ptr, slot, side="right")) - 1
        slots = np.arange(self.slot_ptr[q], self.slot_ptr[q + 1])
        variance = self.lead_variances(np.full(len(slots), slot), slots, self.end[slot], solved=0)
        score = self.at_end()
        near = np.argsort(np.abs(score[slots] - score[slot]), kind="stable")
        near = near[slots[near] != slot][: MIN_SOLVED - 1]
        variance[near] = self.lead_variances(np.full(len(near), slot), slots[near], self.end[slot])
        variance[slots == slot] = 0.0
        return np.sqrt(variance)

    def history(self, prefs: Preferences) -> History:
        """Return the score of every candidate at the end of every period it played in, with confidence intervals."""
        nodes = self.walk.nodes
        order = np.lexsort((nodes.slot, nodes.time))
        slot, score = nodes.slot[order], self.walk.score[order]
        half = simultaneous(self.level) * np.sqrt(self.variances[0][order])
        instance = None if prefs.instances is None else views.instance_of_slot(prefs)[slot].astype(np.int32)
        return History(
            prefs.items,
            prefs.slot_item[slot],
            nodes.time[order] * unit_of(prefs),
            score,
            score - half,
            score + half,
            prefs.is_dated,
            prefs.instances,
            instance,
        )


@dataclass(frozen=True, eq=False, repr=False)
class CourseErrors(Brief):
    """The confidence intervals of the ranked scores, computed on first access."""

    courses: Courses
    kind: str

    def known(self) -> Uncertainty:
        """Return confidence intervals and standard errors."""
        return self._known

    @cached_property
    def _known(self) -> Uncertainty:
        """Compute confidence intervals and standard errors of the peaks, or of the scores at the end."""
        courses = self.courses
        mean, variance = courses.peaks() if self.kind == "peak" else courses.standing()
        error = np.sqrt(variance)
        half = simultaneous(courses.level) * error
        apart = None if self.kind == "peak" else courses.errors_of_differences
        return Uncertainty(mean - half, mean + half, {"stderr": error}, apart=apart)


# ---- questions ----
@dataclass(frozen=True, eq=False, repr=False)
class CourseModel(ComparisonModel):
    """A fitted model with time-varying scores, by default evaluated at the end of the data."""

    courses: Courses
    is_dated: bool
    unit: float = field(default=1.0)

    @property
    def has_ties(self) -> bool:
        """Whether the model has a tie outcome: no, a tie counts as half a win for each item."""
        return False

    def chances(self, first: Int64s, second: Int64s, order: Floats | float = 0.0) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities that the first slot of each pair wins, loses and ties at the end of the data."""
        return self.chances_at(first, second, self.courses.end[first])

    def chances_at(self, first: Int64s, second: Int64s, time: Floats | float) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities that the first slot of each pair wins, loses and ties at times in units of time."""
        first_mean, second_mean = (self.courses.means(slot, time) for slot in (first, second))
        up = expected_chance(first_mean - second_mean, self.courses.lead_variances(first, second, time))
        return up, 1 - up, np.zeros(len(up))

    def p_beats(self, a: object, b: object, instance: object = None, *, time: object = None) -> float:
        """Return the probability that ``a`` beats ``b``, at a given time or at the end of the data.

        Parameters
        ----------
        a, b : label
            The two items.
        instance : label, optional
            Name of the instance; required if the model has several.
        time : date or number, optional
            The time; by default the end of the data.

        Returns
        -------
        float
            The probability, averaged over the uncertainty of the scores.
        """
        first, second = self._pair(a, b, instance)
        when = self.courses.end[first] if time is None else self._moment(time)
        return float(self.chances_at(first, second, when)[0][0])

    def score_at(self, item: object, time: object, instance: object = None) -> tuple[float, float]:
        """Return the score of an item at a given time, and its standard error.

        Parameters
        ----------
        item : label
            The item.
        time : date or number
            The time.
        instance : label, optional
            Name of the instance; required if the model has several.

        Returns
        -------
        tuple of float
            The score and its standard error.
        """
        mean, doubt = self.courses.at(np.array([self.slot(item, instance)]), self._moment(time))
        return float(mean[0]), float(np.sqrt(doubt[0]))

    def difference(self, a: object, b: object, instance: object = None) -> tuple[float, float]:
        """Return the score of ``a`` minus that of ``b`` at the end of the data, and its standard error."""
        return self.courses.difference(self.slot(a, instance), self.slot(b, instance))

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other preferences, each comparison at its time (or at the end of the data).

        Each comparison is predicted separately, averaged over the uncertainty of the scores. A tie counts as half a win
        for each item, and candidates unknown to this model are left out.
        """
        (up, down, _), is_tie, weight = self._predicted(prefs)
        tiny = np.finfo(float).tiny
        up, down = np.log(np.maximum(up, tiny)), np.log(np.maximum(down, tiny))
        return float((weight * np.where(is_tie, (up + down) / 2, up)).sum())

    def pair_log_likelihood(self, prefs: Preferences) -> tuple[float, float]:
        """Return the log-probability of the strict pairs of other preferences, each at its time, and their weight."""
        chances, is_tie, weight = self._predicted(prefs)
        return decided_pairs(chances, weight * ~is_tie, np.zeros(len(weight)))

    def _predicted(self, prefs: Preferences) -> tuple[tuple[Floats, Floats, Floats], Bools, Floats]:
        """Return the probabilities of all pairs of known candidates, winner first, at their times; ties; weights."""
        compared, slot = Compared.of(prefs), self.slots_of(prefs)
        first, second = slot[compared.ahead], slot[compared.behind]
        known = (first >= 0) & (second >= 0)
        when = self.courses.end[first[known]]
        if prefs.time is not None:
            self._check(prefs.is_dated)
            when = prefs.time[compared.ballot[known]] / self.unit
        chances = self.chances_at(first[known], second[known], when)
        return chances, compared.is_tie[known], compared.weight[known]

    def _moment(self, moment: object) -> float:
        """Return a date or number in the model's unit of time; reject other values."""
        time, is_dated = as_times([moment])
        if np.isnan(time[0]):
            raise InputError(arg("time", moment) + " is not a valid time: give a date such as 2024-05-31, or a number.")
        self._check(is_dated)
        return float(time[0]) / self.unit

    def _check(self, is_dated: bool) -> None:
        """Reject dates if the model was fitted to numbers, and numbers if it was fitted to dates."""
        if is_dated != self.is_dated:
            was, got = ("dates", "numbers") if self.is_dated else ("numbers", "dates")
            raise InputError(f"The times of this model are {was}: give {was}, not {got}.")


def expected_chance(lead: Floats, variance: Floats) -> Floats:
    """Return the win probability for normal score differences with this mean and variance (MacKay's approximation)."""
    scaled = lead / np.sqrt(1 + np.pi / 8 * variance)
    small = np.exp(-np.abs(scaled))
    return np.asarray(np.where(scaled >= 0, 1.0, small) / (1 + small))
