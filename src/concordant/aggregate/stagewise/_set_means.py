"""Ordered partitions with geometric and other set means, fitted by a learning-to-rank loss with ballots as queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import views
from concordant.ballots.segments import segment_index, sum_by
from concordant.errors import arg
from concordant.losses.ordered_partitions import ExtremePartitionLoss, OrderedPartitionLoss
from concordant.losses.queries import Queries
from concordant.losses.subset_enumeration import LARGEST, EnumeratedPartitionLoss
from concordant.losses.subset_sampling import SampledPartitionLoss
from concordant.models.likelihoods.priors import Prior, relative
from concordant.models.notices import notice_on
from concordant.models.observations.completed import with_missing
from concordant.models.uncertainty import NO_ERRORS, simultaneous
from concordant.preferences import Preferences
from concordant.ranking import Uncertainty
from concordant.scorers.table import Table
from concordant.solvers.lbfgs import minimise
from concordant.solvers.objective import Objective
from concordant.support import progress
from concordant.support.brief import Brief
from concordant.types import Floats, Int64s

MEANS = ("arithmetic", "geometric", "harmonic", "maximum", "minimum")
EXTREME = ("maximum", "minimum")
MAX_STEPS, PRECISION = 1000, 1e-15
SAMPLES, STOCHASTIC_STEPS, SLOWER = 4, 400, 50  # of stochastic descent: sets drawn, steps, steps until half as long
NEWTON_STEPS, LONGEST, LARGEST_NEWTON = 8, 1e-2, 100  # of polishing: steps, their length, and parameters
CLOSE = (0.1, 0.03, 0.01, 1e-3)  # distances below which scores may be tied
WIDTH = 1e-4  # of the differences that give second derivatives
NOT_SMOOTH = "the likelihood has kinks where scores are equal, so there are no standard errors: use " + arg(
    "mean", "arithmetic"
)
SAMPLED = (
    f"some ballots rank more than {LARGEST} items, so sets are sampled: scores are approximate, without standard errors"
)


def ballot_queries(prefs: Preferences, missing: str) -> tuple[Queries, Int64s]:
    """Return ballots as queries, and the slot of every row.

    The label of an open last tier is 0, so that it does not count as a choice; all other labels are 1.
    """
    filled = with_missing(prefs, missing)
    groups = views.tiers(filled)
    ballot = views.ballot_of_entry(filled)
    first = np.searchsorted(groups.ballot, np.arange(filled.n_ballots))
    tier = (groups.of_entry - first[ballot]).astype(np.int32)
    label = np.where(groups.is_open[groups.of_entry], 0.0, 1.0)
    rows = np.arange(len(tier), dtype=np.int64)
    queries = Queries(filled.indptr.astype(np.int64), tier, label, filled.weight, rows)
    return queries, filled.entry_slot.astype(np.int64)


def loss_of(mean: str, queries: Queries, seed: int) -> OrderedPartitionLoss:
    """Return the loss for a set mean, exact if possible; stages with label 0 do not contribute."""
    if mean in EXTREME:
        return ExtremePartitionLoss(rank_weighting=True, is_maximum=mean == "maximum")
    if np.diff(queries.ptr).max(initial=0) <= LARGEST:
        return EnumeratedPartitionLoss(rank_weighting=True, is_harmonic=mean == "harmonic")
    return SampledPartitionLoss(rank_weighting=True, is_harmonic=mean == "harmonic", samples=SAMPLES, seed=seed)


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Brief):
    """The negative log-posterior of the scores (one per slot), up to a constant, with its gradient."""

    loss: OrderedPartitionLoss
    queries: Queries
    slot: Int64s
    prior: Prior
    slot_ptr: Int64s

    @cached_property
    def objective(self) -> Objective:
        """The loss as a function of the scores."""
        return Objective(Table(int(self.slot_ptr[-1])), self.loss, self.slot, self.queries)

    def __call__(self, score: Floats) -> tuple[float, Floats]:
        """Return the negative log-posterior and its gradient."""
        value, gradient = self.objective.sums(score)
        return value - self.log_prior(score), gradient - self.prior.slope(score, self.slot_ptr)

    def log_prior(self, score: Floats) -> float:
        """Return the log-density of the prior, up to a constant."""
        size = np.diff(self.slot_ptr)
        instance = np.repeat(np.arange(len(size)), size)
        on_scores = relative(score, instance, size) if self.prior.is_gamma else -0.5 * score**2
        return float(self.prior.ridge[instance] @ on_scores)

    def log_likelihood(self, score: Floats) -> float:
        """Return the normalised log-likelihood of all ballots, if the normaliser is exact."""
        return self.loss.weighted_log_likelihood(score[self.slot], self.queries)

    def centred(self, score: Floats) -> Floats:
        """Return the scores centred to mean 0 in every instance."""
        size = np.diff(self.slot_ptr)
        instance = np.repeat(np.arange(len(size)), size)
        mean = np.bincount(instance, score, len(size)) / np.maximum(size, 1)
        return np.asarray(score - mean[instance])

    def fitted(self, start: Floats) -> tuple[Floats, int]:
        """Minimise from a start (the optimum of the arithmetic mean); return the scores and the number of steps."""
        if not self.loss.is_exact:
            return self._descended(start), STOCHASTIC_STEPS
        found = minimise(self, start, tolerance=PRECISION, max_iterations=MAX_STEPS, watch=lambda *_: True)
        score = self.centred(found.point)
        return (self._polished(score) if self.loss.is_smooth else self._tied(score)), found.iterations

    def _polished(self, score: Floats) -> Floats:
        """Improve the scores by Newton steps in instances with a definite Hessian, while the objective decreases."""
        for _ in range(NEWTON_STEPS):
            gradient, step = self(score)[1], np.zeros(len(score))
            for q, covariance in enumerate(self.covariances(score)):
                span = slice(int(self.slot_ptr[q]), int(self.slot_ptr[q + 1]))
                if covariance is not None:
                    step[span] = covariance @ gradient[span]
            trial = self.centred(score - step)
            if np.abs(step).max(initial=0.0) > LONGEST or not self(trial)[0] <= self(score)[0] + 1e-9:
                return score
            score = trial
            if np.abs(step).max(initial=0.0) < 1e-11:
                return score
        return score

    def _tied(self, score: Floats) -> Floats:
        """Return scores in which nearly equal ones are tied, if the optimum under these ties has a lower objective.

        With fixed ties the objective is smooth, so its minimum can be found precisely.
        """
        value = self(score)[0]
        for distance in CLOSE:
            group = _groups(score, self.slot_ptr, distance)
            n = int(group.max(initial=-1)) + 1
            size = np.bincount(group, minlength=n)

            def reduced(point: Floats, group: Int64s = group, n: int = n) -> tuple[float, Floats]:
                value, gradient = self(point[group])
                return value, sum_by(group, gradient, n)

            start = np.bincount(group, score, n) / size
            found = minimise(reduced, start, tolerance=PRECISION, max_iterations=MAX_STEPS, watch=lambda *_: True)
            if found.value <= value + 1e-9 * max(1.0, abs(value)):
                return self.centred(_newton(reduced, found.point)[group])
        return score

    def _descended(self, start: Floats) -> Floats:
        """Return the mean iterate over the second half of stochastic gradient descent with decreasing step sizes."""
        score, total = start.copy(), np.zeros_like(start)
        size = np.diff(self.slot_ptr)
        weight = np.bincount(self.slot, np.repeat(self.queries.weight, np.diff(self.queries.ptr)), len(start))
        scale = np.maximum(weight + np.repeat(self.prior.ridge, size), 1e-300)
        for step in progress.steps(range(STOCHASTIC_STEPS), "optimising"):
            score = self.centred(score - self(score)[1] / scale / (1 + step / SLOWER))
            total += score * (2 * step >= STOCHASTIC_STEPS)
        return np.asarray(total / (STOCHASTIC_STEPS - STOCHASTIC_STEPS // 2))

    def covariances(self, score: Floats) -> list[Floats | None]:
        """Return the covariance of the scores of every instance; None where the Hessian is not definite.

        The Hessian is computed by finite differences of gradients, one score of every instance at a time, because
        instances do not interact.
        """
        size, first = np.diff(self.slot_ptr), self.slot_ptr[:-1]
        hessians = [np.zeros((m, m)) for m in size.tolist()]
        for k in range(int(size.max(initial=0))):
            moved = np.zeros(len(score))
            moved[(first + k)[size > k]] = WIDTH
            change = (self(score + moved)[1] - self(score - moved)[1]) / (2 * WIDTH)
            for q in np.flatnonzero(size > k).tolist():
                hessians[q][k] = change[self.slot_ptr[q] : self.slot_ptr[q + 1]]
        return [_inverse(hessian) for hessian in hessians]


def _newton(function: Callable[[Floats], tuple[float, Floats]], point: Floats) -> Floats:
    """Improve a point by Newton steps along directions of positive curvature, while the objective decreases."""
    if len(point) > LARGEST_NEWTON:
        return point
    unit = np.eye(len(point)) * WIDTH
    for _ in range(NEWTON_STEPS):
        value, gradient = function(point)
        rows = [function(point + move)[1] - function(point - move)[1] for move in unit]
        curvature, direction = np.linalg.eigh((np.array(rows) + np.array(rows).T) / (4 * WIDTH))
        kept = curvature > 1e-6 * max(1.0, curvature.max(initial=0.0))
        step = direction[:, kept] @ ((gradient @ direction[:, kept]) / curvature[kept])
        if np.abs(step).max(initial=0.0) > LONGEST or not function(point - step)[0] <= value + 1e-9:
            return point
        point = point - step
    return point


def _groups(score: Floats, slot_ptr: Int64s, distance: float) -> Int64s:
    """Number the groups of nearly equal scores in each instance: adjacent scores differ by at most ``distance``."""
    instance = segment_index(slot_ptr)
    order = np.lexsort((score, instance))
    starts = np.ones(len(score), bool)
    starts[1:] = (np.diff(score[order]) > distance) | (np.diff(instance[order]) > 0)
    group = np.empty(len(score), np.int64)
    group[order] = np.cumsum(starts) - 1
    return group


def _inverse(hessian: Floats) -> Floats | None:
    """Return the inverse of a Hessian with the direction of equal scores projected out; None if it is not definite."""
    m = len(hessian)
    if m < 2:
        return np.zeros((m, m))
    centre = np.eye(m) - 1 / m
    value, vector = np.linalg.eigh(centre @ (hessian + hessian.T) @ centre / 2)
    along = np.abs(vector.sum(axis=0)).argmax()  # the direction of equal scores
    kept = np.arange(m) != along
    if value[kept].min() <= 1e-6 * max(1.0, value[kept].max()):
        return None
    return np.asarray((vector[:, kept] / value[kept]) @ vector[:, kept].T)


@dataclass(frozen=True, eq=False, repr=False)
class SetMeanErrors(Brief):
    """The uncertainty of the scores, computed on first access, or a notice if it does not exist."""

    prefs: Preferences
    posterior: Posterior
    score: Floats
    level: float

    def known(self) -> Uncertainty:
        """Return intervals and standard errors, or a notice that explains why they do not exist."""
        return self._known

    @cached_property
    def _known(self) -> Uncertainty:
        every = np.ones(len(self.score), bool)
        if not self.posterior.loss.is_smooth or not self.posterior.loss.is_exact:
            text = SAMPLED if self.posterior.loss.is_smooth else NOT_SMOOTH
            return Uncertainty(warnings=(notice_on(self.prefs, "no-errors", text, every),))
        variances = [None if one is None else np.diag(one) for one in self.posterior.covariances(self.score)]
        if any(one is None for one in variances):
            return Uncertainty(warnings=(notice_on(self.prefs, "no-errors", NO_ERRORS, every),))
        stderr = np.sqrt(np.maximum(np.concatenate([one for one in variances if one is not None]), 0.0))
        half = simultaneous(self.level) * stderr
        return Uncertainty(self.score - half, self.score + half, {"stderr": stderr})
