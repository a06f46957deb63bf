"""Rolling predictions of time-varying scores: each comparison is predicted from the earlier ones.

At the start of each period the model is refitted to all earlier comparisons, with a warm start. Within a period the
normal posteriors of two items are updated after each comparison between them: their variances grow with the time since
they last played, and the new means are the posterior mode given the result (Laplace approximation). Cost: a fit of
about three Newton steps per period, and a constant per ballot.
"""

from __future__ import annotations

from math import exp, isnan, pi, sqrt

import numpy as np

from concordant.errors import ParameterError, arg
from concordant.models.time.courses import Compared, nodes_of, unit_of
from concordant.models.time.walks import ROUGH_STEP, Nodes, Walk, fitted
from concordant.preferences import Preferences
from concordant.support.dates import periods
from concordant.types import Bools, Floats, Int64s

STRETCHES = 20  # where times are numbers and nothing was said
MODE_STEPS = 4


def rolling(
    prefs: Preferences,
    period: str | float,
    drift: float | None,
    prior: float | None,
    since: float,
    every: str | float | None,
) -> Floats:
    """Return, for every ballot, the probability that its first item wins, given earlier ballots; NaN if unknown.

    Drift and prior that are None are chosen from the data before ``since``, where predictions begin. ``every`` is the
    length of the periods between refits.
    """
    assert prefs.time is not None
    out = np.full(prefs.n_ballots, np.nan)
    order = np.argsort(prefs.time, kind="stable")
    ahead = order[np.searchsorted(prefs.time[order], since) :]
    if not len(ahead):
        return out
    if every is None:
        every = "quarter" if prefs.is_dated else max(float(np.ptp(prefs.time[ahead])) / STRETCHES, 1e-9)
    compared = Compared.of(prefs)
    nodes, end = nodes_of(prefs, compared, period)
    stretch = periods(prefs.time[ahead], prefs.is_dated, every)[0]
    moment = prefs.time / unit_of(prefs)
    score, was_past = np.zeros(len(nodes)), np.zeros(len(nodes), bool)
    begins = moment_of_nodes(nodes, compared, moment, end)
    for ballots in np.split(ahead, np.flatnonzero(np.diff(stretch)) + 1):
        past = begins < moment[ballots[0]]
        past_nodes = some_nodes(nodes, past)
        _carry(score, past & ~was_past, nodes.is_first)
        was_past = past
        if drift is None or prior is None:
            if not len(past_nodes):
                raise ParameterError("There are no comparisons before " + arg("since") + ": give drift and prior.")
            walk = fitted(past_nodes, drift, prior, score[past])
            drift, prior = walk.drift, walk.prior
        else:
            walk = Walk(past_nodes, drift, prior).maximise(score[past], ROUGH_STEP)
        score[past] = walk.score
        out[ballots] = _followed(prefs, Beliefs(walk, prefs.n_slots), ballots, np.maximum(end, moment))
    return out


def moment_of_nodes(nodes: Nodes, compared: Compared, moment: Floats, end: Floats) -> Floats:
    """Return, for every node, the time of the last comparison in its period; after it, the node is in the past."""
    # A period of comparisons ends at the time of its nodes: the latest moment in it is the same for all of them.
    ends = np.unique(end)
    latest = np.full(len(ends), -np.inf)
    np.maximum.at(latest, np.searchsorted(ends, end[compared.ballot]), moment[compared.ballot])
    return latest[np.searchsorted(ends, nodes.time)]


def some_nodes(nodes: Nodes, keep: Bools) -> Nodes:
    """Return the selected nodes and the comparisons between them, renumbered."""
    new_number = (np.cumsum(keep) - 1).astype(np.int32)
    rows = keep[nodes.first]
    first, second = new_number[nodes.first[rows]], new_number[nodes.second[rows]]
    return Nodes(nodes.slot[keep], nodes.time[keep], nodes.gap[keep], first, second, nodes.won[rows], nodes.total[rows])


def _carry(score: Floats, is_added: Bools, is_first: Bools) -> None:
    """Initialise new nodes with the score of their candidate's previous node, in place."""
    source = np.where(is_added & ~is_first, 0, np.arange(len(score)))
    score[:] = score[np.maximum.accumulate(source)]


class Beliefs:
    """The normal posterior of every slot: mean, variance, and the time it last played (NaN: never)."""

    def __init__(self, walk: Walk, n_slots: int) -> None:
        nodes, last = walk.nodes, walk.nodes.is_last
        mean, variance, last_time = np.zeros(n_slots), np.full(n_slots, 1 / walk.prior), np.full(n_slots, np.nan)
        mean[nodes.slot[last]], last_time[nodes.slot[last]] = walk.score[last], nodes.time[last]
        variance[nodes.slot[last]] = walk.own_variances()[0][last]
        self.mean, self.variance, self.seen = mean.tolist(), variance.tolist(), last_time.tolist()
        self.rate = walk.drift**2

    def is_known(self, slot: int) -> bool:
        """Return whether a slot was compared before."""
        return not isnan(self.seen[slot])

    def age(self, slot: int, now: float) -> None:
        """Add the variance of the random walk since the slot last played."""
        if self.is_known(slot):
            self.variance[slot] += self.rate * max(now - self.seen[slot], 0.0)
        self.seen[slot] = now

    def chance(self, a: int, b: int) -> float:
        """Return the probability that slot a beats slot b (MacKay's approximation for normal scores)."""
        lead = self.mean[a] - self.mean[b]
        return _logistic(lead / sqrt(1 + pi / 8 * (self.variance[a] + self.variance[b])))

    def learn(self, a: int, b: int, result: float, weight: float) -> None:
        """Update both scores to their posterior mode given a result (1, 1/2 or 0 for a), by Newton's method."""
        lead, total = self.mean[a] - self.mean[b], self.variance[a] + self.variance[b]
        mode = lead
        for _ in range(MODE_STEPS):
            p = _logistic(mode)
            mode -= (mode - lead - total * weight * (result - p)) / (1 + total * weight * p * (1 - p))
        p = _logistic(mode)
        curve = weight * p * (1 - p)
        gain, reduction = (mode - lead) / total, curve / (1 + total * curve)
        self.mean[a] += self.variance[a] * gain
        self.mean[b] -= self.variance[b] * gain
        self.variance[a] -= self.variance[a] ** 2 * reduction
        self.variance[b] -= self.variance[b] ** 2 * reduction


def _followed(prefs: Preferences, beliefs: Beliefs, ballots: Int64s, now: Floats) -> list[float]:
    """Predict each ballot in order before updating on it; NaN if an item is new."""
    out, start, size = [], prefs.indptr[:-1], np.diff(prefs.indptr)
    slot, tier = prefs.entry_slot, prefs.tier
    for k in ballots.tolist():
        chance = float("nan")
        if size[k] == 2:
            entry = int(start[k])
            a, b = int(slot[entry]), int(slot[entry + 1])
            both_known = beliefs.is_known(a) and beliefs.is_known(b)
            beliefs.age(a, float(now[k]))
            beliefs.age(b, float(now[k]))
            if both_known:
                chance = beliefs.chance(a, b)
            beliefs.learn(a, b, 0.5 if tier[entry] == tier[entry + 1] else 1.0, float(prefs.weight[k]))
        out.append(chance)
    return out


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))
