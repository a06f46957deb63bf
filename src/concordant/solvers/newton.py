"""Truncated Newton minimisation: few passes over the data for smooth losses with a linear model.

Each step solves H d = -g by conjugate gradients, with a loose tolerance far from the minimum (the residual need only
fall to the square root of the progress so far), followed by a backtracking line search. A product with H costs as much
as one evaluation, and the number of steps hardly depends on the number of features. For the squared hinge, which is
piecewise quadratic, a few steps reach the exact minimum.

Reference: S. Nash, A survey of truncated-Newton methods, J. Comp. Appl. Math. 2000; for ranking: O. Chapelle,
S. Keerthi, Efficient algorithms for ranking with SVMs, Information Retrieval 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from concordant.solvers.lbfgs import Minimum, Watch
from concordant.support import progress
from concordant.types import Floats

ROUNDING = 1e-14  # of a value, about what a sum of many terms is off
SUFFICIENT = 1e-4  # share of the first-order decrease a step must reach
MAX_PRODUCTS = 250  # per step
FLAT = 1e-8  # slope, against a value of 1, where no lower value may be found


class Smooth(Protocol):
    """A twice differentiable function, such as ``solvers.objective.Objective``."""

    def __call__(self, point: Floats, /) -> tuple[float, Floats]:
        """Return value and gradient."""

    def hessian(self, point: Floats, /) -> Callable[[Floats], Floats]:
        """Return the Hessian as a function that multiplies a direction."""


def minimise_newton(
    objective: Smooth, start: Floats, *, tolerance: float, max_iterations: int, watch: Watch
) -> Minimum:
    """Minimise until the value improves by less than ``tolerance`` relative to it, or ``watch`` returns False."""
    point = start.copy()
    value, gradient = objective(point)
    first_slope = float(np.linalg.norm(gradient))
    for iteration in progress.iterations(range(1, max_iterations + 1), "optimising"):
        slope = float(np.linalg.norm(gradient))
        if not np.isfinite(slope):
            return Minimum(point, value, iteration - 1, False)
        if slope <= np.finfo(float).eps * max(first_slope, 1.0):
            return Minimum(point, value, iteration - 1, True)
        step = _direction(objective.hessian(point), gradient, min(0.1, np.sqrt(slope / first_slope)) * slope)
        lower = _search(objective, point, value, gradient, step)
        if lower is None:  # nothing lower within rounding; if that is so from the start, something is wrong
            return Minimum(point, value, iteration - 1, iteration > 1 or slope <= FLAT * max(1.0, abs(value)))
        last, (point, value, gradient) = value, lower
        if not watch(iteration, point, value):
            return Minimum(point, value, iteration, True)
        if last - value <= tolerance * max(abs(last), abs(value), 1.0):
            return Minimum(point, value, iteration, True)
    return Minimum(point, value, max_iterations, False)


def _direction(hessian_times: Callable[[Floats], Floats], gradient: Floats, target: float) -> Floats:
    """Solve H d = -g by conjugate gradients until the residual is below ``target`` or the curvature is not positive."""
    step, residual = np.zeros_like(gradient), -gradient
    direction, square = residual.copy(), float(gradient @ gradient)
    for products in range(min(MAX_PRODUCTS, 2 * len(gradient) + 10)):
        product = hessian_times(direction)
        curvature = float(direction @ product)
        if curvature <= 1e-15 * float(direction @ direction):  # flat or bent downwards: no minimum this way
            return step if products else direction
        length = square / curvature
        step += length * direction
        residual -= length * product
        last, square = square, float(residual @ residual)
        if np.sqrt(square) <= target:
            break
        direction = residual + square / last * direction
    return step


def _search(
    objective: Smooth, point: Floats, value: float, gradient: Floats, step: Floats
) -> tuple[Floats, float, Floats] | None:
    """Backtracking line search with Armijo's condition; return point, value and gradient, or None.

    Near the minimum rounding dominates the value but not the gradient: a full step that leaves the value unchanged
    within rounding and at least halves the gradient is accepted.
    """
    slope, rounding = float(gradient @ step), ROUNDING * max(abs(value), 1.0)
    for halvings in range(40):
        new = point + step
        new_value, new_gradient = objective(new)
        if new_value <= value + SUFFICIENT * slope and new_value < value:
            return new, new_value, new_gradient
        is_flatter = float(np.linalg.norm(new_gradient)) <= float(np.linalg.norm(gradient)) / 2
        if not halvings and is_flatter and abs(new_value - value) <= rounding:
            return new, new_value, new_gradient
        step, slope = step / 2, slope / 2
    return None
