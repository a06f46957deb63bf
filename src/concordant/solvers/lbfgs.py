"""Limited-memory quasi-Newton minimisation (SciPy's L-BFGS-B), the default for smooth losses.

The first trial step has length 1. If features are so large that the line search finds no decrease, the descent restarts
with a shorter first step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from concordant.support import progress
from concordant.types import Floats

FIRST_STEPS = (1.0, 1e-3, 1e-6, 1e-9)
FLAT = 1e-12  # slope, against a value of 1, that is only rounding

Function = Callable[[Floats], tuple[float, Floats]]
Watch = Callable[[int, Floats, float], bool]  # (iteration, point, value) -> go on?


@dataclass(frozen=True)
class Minimum:
    """The result of a minimisation."""

    point: Floats
    value: float
    iterations: int
    is_converged: bool


class _Stopped(Exception):  # noqa: N818
    pass


def minimise(function: Function, start: Floats, *, tolerance: float, max_iterations: int, watch: Watch) -> Minimum:
    """Minimise until the value improves by less than ``tolerance`` relative to it, or ``watch`` returns False.

    If the line search cannot lower the value at all, it is repeated with a shorter first step.
    """
    with progress.stage("optimising") as step:
        for length in FIRST_STEPS:
            search = _Search(function, length, reported(watch, step))
            minimum = search.run(start, tolerance, max_iterations)
            if minimum.iterations or search.began_flat:
                break
    return minimum


def reported(watch: Watch, step: progress.Stage) -> Watch:
    """Return a function that reports each iteration as progress, and then calls ``watch``."""

    def report(iteration: int, point: Floats, value: float) -> bool:
        step(f"iteration {iteration}")
        return watch(iteration, point, value)

    return report


class _Search:
    """One descent, in coordinates scaled so that the first step has length ``unit``."""

    def __init__(self, function: Function, unit: float, watch: Watch) -> None:
        """Prepare a descent whose first step has length ``unit``."""
        self.function, self.unit, self.watch = function, unit, watch
        self.first_value = np.inf
        self.began_flat = False
        self.iterations = 0

    def run(self, start: Floats, tolerance: float, max_iterations: int) -> Minimum:
        """Descend from ``start``; the minimum returned is in the original coordinates."""
        from scipy.optimize import minimize

        options = {
            "maxiter": max_iterations,
            "maxfun": 10 * max_iterations + 20,
            "ftol": tolerance,
            "gtol": 0.0,
            "maxcor": 20,
        }
        self.last, self.value = start, np.inf
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # a step that goes too far is taken back
                result = minimize(
                    self.evaluate, start / self.unit, jac=True, method="L-BFGS-B", callback=self.see, options=options
                )
        except _Stopped:
            return Minimum(self.last, self.value, self.iterations, True)
        if not self.iterations:
            return Minimum(start, self.first_value, 0, self.began_flat)
        return Minimum(result.x * self.unit, float(result.fun), self.iterations, result.status == 0)

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        """Return value and gradient in scaled coordinates; record whether the first gradient is 0 up to rounding."""
        value, gradient = self.function(point * self.unit)
        if self.first_value == np.inf:
            self.first_value = value
            self.began_flat = float(np.abs(gradient).max(initial=0.0)) <= FLAT * max(1.0, abs(value))
        return value, gradient * self.unit

    def see(self, intermediate_result: object) -> None:
        """Count a finished iteration and store its point; stop if ``watch`` returns False."""
        value = float(intermediate_result.fun)  # type: ignore[attr-defined]
        if self.iterations == 0 and not value < self.first_value:  # the first step did not lower the value
            return
        self.iterations += 1
        self.last, self.value = intermediate_result.x * self.unit, value  # type: ignore[attr-defined]
        if not self.watch(self.iterations, self.last, value):
            raise _Stopped
