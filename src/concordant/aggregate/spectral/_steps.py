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
CHECK_EVERY = 10  # steps beyond these
PRECISION = 1e-15  # of the residual, relative to what the matrix makes of the solution


def solve_by_steps(
    multiply: Callable[[Floats], Floats], right: Floats, diagonal: Floats, max_steps: int = 0
) -> Floats | None:
    """Return x with multiply(x) = right by GMRES with a diagonal preconditioner; None if it needs too many steps.

    The least-squares problem of the steps so far is updated by a rotation per step.
    """
    max_steps = max_steps or MAX_STEPS
    first = right / diagonal
    size = float(np.linalg.norm(first))
    basis = np.empty((max_steps + 1, len(right)))
    basis[0] = first / size
    triangle, rotation = np.zeros((max_steps, max_steps)), np.empty((max_steps, 2))
    target = np.zeros(max_steps + 1)
    target[0], square = size, 0.0
    for k in range(max_steps):
        vector = multiply(basis[k]) / diagonal
        column = np.zeros(k + 2)
        for _ in range(2):  # twice is enough to be orthogonal
            projection = basis[: k + 1] @ vector
            column[: k + 1] += projection
            vector = vector - projection @ basis[: k + 1]
        column[k + 1] = length = float(np.linalg.norm(vector))
        square += float(column @ column)
        for j, (cosine, sine) in enumerate(rotation[:k].tolist()):
            upper, lower = column[j], column[j + 1]
            column[j], column[j + 1] = cosine * upper + sine * lower, cosine * lower - sine * upper
        radius = float(np.hypot(column[k], length))
        rotation[k] = cosine, sine = (column[k] / radius, length / radius) if radius else (1.0, 0.0)
        column[k] = radius
        triangle[: k + 1, k] = column[: k + 1]
        target[k], target[k + 1] = cosine * target[k], -sine * target[k]
        if radius and (k < MAX_STEPS or k % CHECK_EVERY == 0):
            weight = np.linalg.solve(triangle[: k + 1, : k + 1], target[: k + 1])
            if abs(target[k + 1]) <= PRECISION * (size + np.sqrt(square) * np.linalg.norm(weight)):
                return np.asarray(weight @ basis[: k + 1])
        if not length:
            return None
        basis[k + 1] = vector / length
    return None
