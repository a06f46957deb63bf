"""Fits of choices without second derivatives: quasi-Newton steps, and the classical MM algorithm.

Newton's method is faster wherever it was measured; these are here to compare with.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from concordant.kernels.newton import TIGHT, climb
from concordant.models.likelihoods.observed import ObservedStages, StageLikelihood
from concordant.models.likelihoods.priors import LargePrior, Prior
from concordant.models.solve.objectives import Fit, Matrix
from concordant.models.solve.strategies import SMALL_STEP, fit
from concordant.types import Floats

MAX_STEPS = 5000


def fit_by(solver: str, observed: ObservedStages, prior: Prior) -> list[Fit]:
    """Fit every instance by ``lbfgs`` or ``mm``."""
    fits = []
    for q in range(len(observed.slot_ptr) - 1):
        own, slots = observed.restrict(np.array([q]))
        here = prior.of(np.array([q]), slots)
        if len(slots) < 2:  # nothing to search for
            fits += [replace(one, instances=np.array([q]), slots=slots) for one in fit(own, here, way="batch")]
            continue
        objective = Matrix.of(own, here)
        # Sums over many choices are not exact: so much of their weight may be left of a derivative.
        tolerance = max(TIGHT, 1e-15 * len(own.stages.slot)) * float(own.total[0] + here.ridge[0])
        search = _by_lbfgs if solver == "lbfgs" else _by_mm
        point, steps = search(objective, tolerance)
        found = climb(objective, point, SMALL_STEP)  # what is left to do is at most a step
        found = found._replace(iterations=found.iterations + np.int32(steps))
        fits.append(objective.fitted(found, (np.array([q]), slots, own, here, "matrix"), 0.0))
    return fits


def _by_lbfgs(objective: Matrix, tolerance: float) -> tuple[Floats, int]:
    """Climb by SciPy's L-BFGS, in scores scaled so that items seen often and rarely converge together."""
    from scipy.optimize import minimize

    start = objective.likelihood.start()
    objective.evaluate(start)
    scale = np.sqrt(np.maximum(objective.likelihood.diagonal() + objective.prior.diagonal(start), 1e-300))

    def descend(scaled: Floats) -> tuple[float, Floats]:
        value = objective.evaluate((scaled / scale)[None])
        return -float(value[0]), -objective.gradient()[0] / scale

    options = {"maxiter": MAX_STEPS, "maxfun": MAX_STEPS, "ftol": 0.0, "gtol": tolerance / scale.max(), "maxcor": 12}
    found = minimize(descend, np.zeros(len(scale)), jac=True, method="L-BFGS-B", options=options)
    point = found.x / scale
    return (point - point.mean())[None], int(found.nit)


def _by_mm(objective: Matrix, tolerance: float) -> tuple[Floats, int]:
    """Climb by Hunter's MM steps: an item's worth is its wins over its rate; the prior bends that by an equation."""
    likelihood, prior = objective.likelihood, objective.prior
    assert isinstance(likelihood, StageLikelihood)
    point = likelihood.start()
    for steps in range(MAX_STEPS):
        objective.evaluate(point)
        if np.abs(objective.gradient()).max() <= tolerance:
            return point, steps
        new = _mm_step(likelihood, prior, point)
        point = (new - new.mean())[None]
    return point, MAX_STEPS


def _mm_step(likelihood: StageLikelihood, prior: LargePrior, point: Floats) -> Floats:
    worth, rate, strength = likelihood.worth, likelihood.rate, float(prior.strength[0, 0])
    wins = likelihood.stages.wins + worth * likelihood.gain
    if prior.is_gamma:
        return np.asarray(np.log((wins + strength) / (rate + strength * len(worth) / worth.sum())))
    # wins = rate * exp(s) + strength * s for every item, by Newton's method on a concave function
    score, rate = point[0], rate * np.exp(-point.max())
    for _ in range(60):
        growth = rate * np.exp(score)
        step = (wins - growth - strength * score) / np.maximum(growth + strength, 1e-300)
        score = score + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-14 * (1 + np.abs(score).max()):
            break
    return np.asarray(score)
