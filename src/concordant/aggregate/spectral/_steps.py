"""Iterative solution (GMRES) of linear systems with many candidates.

If most candidates are compared with each other, the system preconditioned by its diagonal is well conditioned, and the
generalised minimal residual method needs about ten matrix products of candidates² each, whereas a direct solution takes
candidates³. If more steps are needed than allowed, it stops, and the caller solves the system directly.

Reference: Y. Saad and M. Schultz, GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear
systems, SIAM Journal on Scientific and Statistical Computing, 1986.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from concordant.types import Floats

WORTH_STEPS = 300  # candidates
MAX_STEPS = 60
PRECISION = 1e-15  # of the residual, relative to what the matrix makes of the solution


def solve_by_steps(multiply: Callable[[Floats], Floats], right: Floats, diagonal: Floats) -> Floats | None:
    """Return x with multiply(x) = right by GMRES with a diagonal preconditioner; None if it needs too many steps."""
    first = right / diagonal
    size = float(np.linalg.norm(first))
    basis = np.empty((MAX_STEPS + 1, len(right)))
    basis[0] = first / size
    hessenberg = np.zeros((MAX_STEPS + 1, MAX_STEPS))
    for k in range(MAX_STEPS):
        vector = multiply(basis[k]) / diagonal
        for _ in range(2):  # twice is enough to be orthogonal
            projection = basis[: k + 1] @ vector
            hessenberg[: k + 1, k] += projection
            vector = vector - projection @ basis[: k + 1]
        hessenberg[k + 1, k] = length = float(np.linalg.norm(vector))
        target = np.zeros(k + 2)
        target[0] = size
        weight, *_ = np.linalg.lstsq(hessenberg[: k + 2, : k + 1], target)
        residual = np.linalg.norm(target - hessenberg[: k + 2, : k + 1] @ weight)
        if residual <= PRECISION * (size + np.linalg.norm(hessenberg[: k + 2, : k + 1]) * np.linalg.norm(weight)):
            return np.asarray(weight @ basis[: k + 1])
        basis[k + 1] = vector / length
    return None
