"""Fitting scores to observations: three strategies with the same optimum, of which the cheapest is chosen.

- batch: many small instances in one kernel call, Newton's method with small dense matrices
- matrix: one instance, Newton's method with dense Cholesky factors (LAPACK)
- products: one instance, Newton's method with conjugate gradients on the observations; nothing dense is ever built
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from concordant.kernels.bundles import WarmStart
from concordant.kernels.newton import Optimum, maximise
from concordant.models.likelihoods.observed import Observed
from concordant.models.likelihoods.priors import Prior
from concordant.models.solve.costs import STRATEGIES, Strategies, same_strategy, strategies_of
from concordant.models.solve.objectives import LARGE, Fit, Large, Products
from concordant.types import Floats, Int64s

SMALL_STEP = 1e-7  # after a full step this small the error is far smaller
ROUGH_STEP = 0.02  # where only the evidence of a prior is wanted
ROUGH_IN_BATCH = 1e-3


def fit(
    observed: Observed,
    prior: Prior,
    start: Sequence[Fit] | None = None,
    small_step: float = SMALL_STEP,
    strategy: str | Strategies | None = None,
    with_log_det: bool = False,
) -> list[Fit]:
    """Fit all instances; parts differ in how they were solved.

    ``start`` is an earlier fit of the same observations to begin with; a search ends with a step below ``small_step``;
    ``strategy`` is chosen by cost unless it is given, for all instances or each. The log-determinant is found only
    where it is wanted.
    """
    n = len(observed.slot_ptr) - 1
    if isinstance(strategy, Strategies):
        strategies = strategy
    else:
        strategies = same_strategy(strategy, n) if strategy else strategies_of(observed, prior, with_log_det)
    warm_start = None if start is None else _joined(start, observed.slot_ptr)
    is_small = strategies.fit == STRATEGIES.index("batch")
    groups = [np.flatnonzero(is_small)] if is_small.any() else []
    fits = []
    for instances in [*groups, *(np.array([q]) for q in np.flatnonzero(~is_small).tolist())]:
        whole = len(instances) == n
        own, slots = (observed, np.arange(int(observed.slot_ptr[-1]))) if whole else observed.restrict(instances)
        here, from_here = prior if whole else prior.of(instances, slots), WarmStart()
        if warm_start is not None:
            from_here = WarmStart(
                warm_start.start[slots], warm_start.start_advantage[instances], warm_start.start_tie[instances]
            )
        for_fit, for_log_det, for_errors = strategies.of(instances[0])
        if for_fit == "batch":
            batch = own.batch(here.belief, from_here, min(small_step, ROUGH_IN_BATCH), False)
            fits.append(Fit(instances, slots, own, here, "batch", **{**batch._asdict(), "covariance": None}))
            continue
        objective = LARGE[for_fit].of(own, here)
        coefficient = next((one.coefficient for one in start or () if one.instances[0] == instances[0]), None)
        found = maximise(objective, _start_point(objective, from_here, coefficient), small_step)
        if with_log_det and for_log_det != for_fit:
            objective = LARGE[for_log_det].of(own, here)
            objective.evaluate(found.point)
        log_det = objective.log_det() if with_log_det else 0.0
        fits.append(objective.fitted(found, (instances, slots, own, here, for_errors), log_det))
    return fits


def one_step(observed: Observed, prior: Prior, start: Sequence[Fit], strategies: Strategies) -> list[Fit] | None:
    """Return a rough fit of a large instance one Newton step from another, with its log-determinant.

    The rise to the new point is that of a parabola, so that nothing is evaluated there, and the determinant that of the
    point before. None where that is too rough, the step being longer than a rough fit may end with, and where instances
    go in batches.
    """
    if len(observed.slot_ptr) != 2:
        return None
    strategy, for_log_det, for_errors = strategies.of(0)
    if strategy == "batch":
        return None
    objective = LARGE[strategy].of(observed, prior)
    point = _start_point(objective, start[0].warm_start, start[0].coefficient)
    here, gradient = objective.evaluate(point), objective.gradient()
    step, is_exact = objective.step(gradient)
    if not is_exact.all() or np.abs(step).max() >= ROUGH_STEP:
        return None
    if for_log_det != strategy:
        objective = LARGE[for_log_det].of(observed, prior)
        objective.evaluate(point)
    log_det = objective.log_det()
    there, top = point + step, here + 0.5 * (step * gradient).sum(axis=1)
    there[:, : objective.m] -= there[:, : objective.m].mean(axis=1, keepdims=True)
    optimum = Optimum(there, np.abs(gradient).max(axis=1), np.ones(1, np.int32))
    first = start[0]
    found = objective.fitted(optimum, (first.instances, first.slots, observed, prior, for_errors), log_det)
    log_prior = objective.prior.value(there)
    return [replace(found, value=top - log_prior, log_prior=log_prior)]


def _joined(fits: Sequence[Fit], slot_ptr: Int64s) -> WarmStart:
    """Return where other fits ended, for all instances."""
    n = len(slot_ptr) - 1
    warm_start = WarmStart(np.zeros(int(slot_ptr[-1])), np.zeros(n), np.zeros(n))
    for one in fits:
        warm_start.start[one.slots], warm_start.start_advantage[one.instances] = one.score, one.advantage
        warm_start.start_tie[one.instances] = one.tie
    return warm_start


def with_errors(fitted: Fit, less: Floats | None = None, of_prior: float = 1.0) -> Fit:
    """Return a fit with the covariance of its scores, or where that is too large their variances and draws.

    ``less`` is by pair how much less than its curve it varies, ``of_prior`` how much of the prior's curvature counts
    (``tied.corrected``): draws are made so, covariances are corrected later.
    """
    if fitted.strategy == "batch":
        found = fitted.observed.batch(fitted.prior.belief, fitted.warm_start, SMALL_STEP, True)
        covariance, extra, is_definite = found.covariance, found.extra_variance, found.is_definite
        size = np.diff(fitted.slot_ptr)
        owner = np.repeat(np.arange(len(size)), size)
        start = np.concatenate([[0], np.cumsum(size**2)])[:-1][owner]
        place = np.arange(len(owner)) - fitted.slot_ptr[:-1][owner]
        variance = np.maximum(covariance[start + place * (size[owner] + 1)], 0.0)
        return replace(fitted, covariance=covariance, variance=variance, extra_variance=extra, is_definite=is_definite)
    return fitted.objective(0).with_errors(fitted, less, of_prior)


def _start_point(objective: Large, warm_start: WarmStart, coefficient: Floats | None) -> Floats:
    """Return where to begin: at an earlier fit or, of very many observations, where one of some of them ends."""
    likelihood = objective.likelihood
    if len(warm_start.start):
        point = np.zeros((1, likelihood.size))
        point[0, : likelihood.m] = warm_start.start
        for name, place in likelihood.extras().items():
            point[0, place] = getattr(warm_start, f"start_{name}")[0]
        if coefficient is not None:
            point[0, likelihood.size - likelihood.n_coefficients :] = coefficient[0]
        return point
    some = likelihood.sample()
    if some is None:
        return likelihood.start()
    part, step = some
    weaker = replace(objective.prior.whole, ridge=objective.prior.whole.ridge / step).alone(part.m)
    return maximise(Products(part, weaker), part.start(), ROUGH_STEP).point
