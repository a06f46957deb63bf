"""Fit scores to observations by one of three strategies with the same optimum, whichever is cheapest.

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
from concordant.support import progress
from concordant.types import Floats, Int64s

SMALL_STEP = 1e-7  # after a full step this small the error is far smaller
ROUGH_STEP = 0.02  # where only the evidence of a prior is wanted
LONGEST = 10.0  # step of a single item, in rough steps, that a quadratic model of the evidence allows
MANY = 1_000  # scores; among fewer, each matters to the evidence
ROUGH_IN_BATCH = 1e-3


def fit(
    observed: Observed,
    prior: Prior,
    start: Sequence[Fit] | None = None,
    small_step: float = SMALL_STEP,
    strategy: str | Strategies | None = None,
    with_log_det: bool = False,
) -> list[Fit]:
    """Fit all instances; return a ``Fit`` per strategy: one for all small instances, one for each large instance.

    ``start`` is an earlier fit of the same observations (a warm start). The search ends with a step below
    ``small_step``. ``strategy`` is chosen by cost unless it is given, for all instances or for each. The
    log-determinant is computed only if ``with_log_det``.
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
    for instances in progress.steps([*groups, *(np.array([q]) for q in np.flatnonzero(~is_small).tolist())]):
        is_all = len(instances) == n
        part, slots = (observed, np.arange(int(observed.slot_ptr[-1]))) if is_all else observed.restrict(instances)
        part_prior, part_start = prior if is_all else prior.of(instances, slots), WarmStart()
        if warm_start is not None:
            part_start = WarmStart(
                warm_start.start[slots], warm_start.start_advantage[instances], warm_start.start_tie[instances]
            )
        for_fit, for_log_det, for_errors = strategies.of(instances[0])
        if for_fit == "batch":
            batch = part.batch(part_prior.belief, part_start, min(small_step, ROUGH_IN_BATCH), False)
            fits.append(Fit(instances, slots, part, part_prior, "batch", **{**batch._asdict(), "covariance": None}))
            continue
        objective = LARGE[for_fit].of(part, part_prior)
        coefficient = next(
            (earlier.coefficient for earlier in start or () if earlier.instances[0] == instances[0]), None
        )
        optimum = maximise(objective, _start_point(objective, part_start, coefficient), small_step)
        if with_log_det and for_log_det != for_fit:
            objective = LARGE[for_log_det].of(part, part_prior)
            objective.evaluate(optimum.point)
        log_det = objective.log_det() if with_log_det else 0.0
        fits.append(objective.fitted(optimum, (instances, slots, part, part_prior, for_errors), log_det))
    return fits


def one_step(observed: Observed, prior: Prior, start: Sequence[Fit], strategies: Strategies) -> list[Fit] | None:
    """Return an approximate fit of a large instance one Newton step away from another fit, with its log-determinant.

    The value at the new point comes from the quadratic model, without an evaluation, and the log-determinant from the
    previous point. None if the step is too long for an approximate fit, and for the strategy "batch".
    """
    if len(observed.slot_ptr) != 2:
        return None
    strategy, for_log_det, for_errors = strategies.of(0)
    if strategy == "batch":
        return None
    objective = LARGE[strategy].of(observed, prior)
    point = _start_point(objective, start[0].warm_start, start[0].coefficient)
    value, gradient = objective.evaluate(point), objective.gradient()
    step, is_exact = objective.step(gradient)
    longest, typical = float(np.abs(step).max()), float(np.sqrt(np.square(step).mean()))
    tolerated = LONGEST if step.size >= MANY else 1.0
    if not is_exact.all() or typical >= ROUGH_STEP or longest >= tolerated * ROUGH_STEP:
        return None
    if for_log_det != strategy:
        objective = LARGE[for_log_det].of(observed, prior)
        objective.evaluate(point)
    log_det = objective.log_det()
    new_point, new_value = point + step, value + 0.5 * (step * gradient).sum(axis=1)
    new_point[:, : objective.m] -= new_point[:, : objective.m].mean(axis=1, keepdims=True)
    optimum = Optimum(new_point, np.abs(gradient).max(axis=1), np.ones(1, np.int32))
    first = start[0]
    fitted = objective.fitted(optimum, (first.instances, first.slots, observed, prior, for_errors), log_det)
    log_prior = objective.prior.value(new_point)
    return [replace(fitted, value=new_value - log_prior, log_prior=log_prior)]


def _joined(fits: Sequence[Fit], slot_ptr: Int64s) -> WarmStart:
    """Return the optima of other fits as a warm start for all instances."""
    n = len(slot_ptr) - 1
    warm_start = WarmStart(np.zeros(int(slot_ptr[-1])), np.zeros(n), np.zeros(n))
    for part in fits:
        warm_start.start[part.slots], warm_start.start_advantage[part.instances] = part.score, part.advantage
        warm_start.start_tie[part.instances] = part.tie
    return warm_start


def with_errors(fitted: Fit, less: Floats | None = None, of_prior: float = 1.0) -> Fit:
    """Return a fit with the covariance of its scores, or if that is too large with their variances and draws.

    ``less`` is, by pair, its curvature minus its variance, ``of_prior`` the share of the prior's negative Hessian that
    counts (see ``tied.corrected``). Draws account for both; covariances are corrected later.
    """
    if fitted.strategy == "batch":
        batch = fitted.observed.batch(fitted.prior.belief, fitted.warm_start, SMALL_STEP, True)
        covariance, extra, is_definite = batch.covariance, batch.extra_variance, batch.is_definite
        size = np.diff(fitted.slot_ptr)
        instance = np.repeat(np.arange(len(size)), size)
        block_start = np.concatenate([[0], np.cumsum(size**2)])[:-1][instance]
        place = np.arange(len(instance)) - fitted.slot_ptr[:-1][instance]
        variance = np.maximum(covariance[block_start + place * (size[instance] + 1)], 0.0)
        return replace(fitted, covariance=covariance, variance=variance, extra_variance=extra, is_definite=is_definite)
    return fitted.objective(0).with_errors(fitted, less, of_prior)


def _start_point(objective: Large, warm_start: WarmStart, coefficient: Floats | None) -> Floats:
    """Return the starting point: an earlier fit, or the optimum of a sample if there are very many observations."""
    likelihood = objective.likelihood
    if len(warm_start.start):
        point = np.zeros((1, likelihood.size))
        point[0, : likelihood.m] = warm_start.start
        for name, place in likelihood.extras().items():
            point[0, place] = getattr(warm_start, f"start_{name}")[0]
        if coefficient is not None:
            point[0, likelihood.size - likelihood.n_coefficients :] = coefficient[0]
        return point
    sampled = likelihood.sample()
    if sampled is None:
        return likelihood.start()
    part, step = sampled
    weaker = replace(objective.prior.whole, ridge=objective.prior.whole.ridge / step).alone(part.m)
    return maximise(Products(part, weaker), part.start(), ROUGH_STEP).point
