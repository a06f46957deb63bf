"""Limited-memory quasi-Newton minimisation (SciPy's L-BFGS-B), the default for smooth losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from concordant.types import Floats

Function = Callable[[Floats], tuple[float, Floats]]
Watch = Callable[[int, Floats, float], bool]  # (iteration, point, value) -> go on?


@dataclass(frozen=True)
class Minimum:
    """Where a search ended."""

    point: Floats
    value: float
    iterations: int
    is_converged: bool


class _Stopped(Exception):  # noqa: N818
    pass


def minimise(function: Function, start: Floats, *, tolerance: float, max_iterations: int, watch: Watch) -> Minimum:
    """Descend until the value improves by less than ``tolerance`` relative, or ``watch`` says stop."""
    from scipy.optimize import minimize

    iterations, last, value = 0, start, np.inf

    def see(intermediate_result: object) -> None:
        nonlocal iterations, last, value
        iterations += 1
        last, value = intermediate_result.x.copy(), float(intermediate_result.fun)  # type: ignore[attr-defined]
        if not watch(iterations, last, value):
            raise _Stopped

    options = {
        "maxiter": max_iterations,
        "maxfun": 10 * max_iterations + 20,
        "ftol": tolerance,
        "gtol": 0.0,
        "maxcor": 20,
    }
    try:
        found = minimize(function, start, jac=True, method="L-BFGS-B", callback=see, options=options)
    except _Stopped:
        return Minimum(last, value, iterations, True)
    return Minimum(found.x, float(found.fun), iterations, found.status == 0)
