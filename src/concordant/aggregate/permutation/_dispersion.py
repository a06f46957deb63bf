"""Dispersion of Mallows models: expected distances as functions of theta = -log(phi), and their inverses.

The stage that places an item among n turns k of the n - 1 others around with probability proportional to phi^k, so its
mean is 1/(e^theta - 1) - n/(e^(n theta) - 1); the Kendall distance of a permutation of m items is the sum over
n = 1..m. The footrule and Spearman distances have no such form: their means come from all permutations of up to seven
items, and from Metropolis sampling for more, interpolated between sizes (per item they hardly depend on the size).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import permutations

import numpy as np

from concordant.types import AnyArray, Floats, Int64s

MOST_THETA = 40.0
ENUMERATED = 7
SIZES = (8, 11, 15, 20, 28, 40, 56, 80, 112, 160)
GRID = 24
CHAINS = 16
SWEEPS = (20, 60)  # before counting, and counted


def mean_turned(theta: Floats, n: AnyArray) -> Floats:
    """Return the mean number of turned pairs of a stage with n places."""
    theta, n = np.broadcast_arrays(np.asarray(theta, np.float64), np.asarray(n, np.float64))
    small = theta * n < 1e-3
    safe = np.where(small, 1.0, theta)
    exact = 1 / np.expm1(safe) - n / np.expm1(np.minimum(safe * n, 700.0))
    return np.asarray(np.where(small, (n - 1) / 2 - (n * n - 1) * theta / 12, exact))


def log_places(theta: Floats, n: AnyArray) -> Floats:
    """Return log(sum_{k < n} exp(-theta k)), the normaliser of a stage."""
    theta, n = np.broadcast_arrays(np.asarray(theta, np.float64), np.asarray(n, np.float64))
    small = theta * n < 1e-6
    safe = np.where(small, 1.0, theta)
    exact = np.log(-np.expm1(-safe * n)) - np.log(-np.expm1(-safe))
    return np.asarray(np.where(small, np.log(np.maximum(n, 1.0)) - theta * (n - 1) / 2, exact))


def solve_increasing(excess: Callable[[Floats], Floats], n: int) -> Floats:
    """Find, for each of n unknowns, the theta in [0, MOST_THETA] where a falling function crosses zero."""
    low, high = np.zeros(n), np.full(n, MOST_THETA)
    at_zero = excess(low) <= 0
    for _ in range(60):
        middle = (low + high) / 2
        is_above = excess(middle) > 0
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return np.where(at_zero, 0.0, (low + high) / 2)


def mean_kendall(theta: Floats, row: Int64s, size: Int64s) -> Floats:
    """Return the mean Kendall distance of permutations of ``size`` items, with theta of ``row``."""
    most = int(size.max(initial=1))
    total = np.empty(len(row))
    step = max(1, 4_000_000 // most)
    for start in range(0, len(row), step):
        part = slice(start, start + step)
        stages = np.cumsum(mean_turned(theta[row[part], None], np.arange(1, most + 1)[None, :]), axis=1)
        total[part] = stages[np.arange(len(stages)), size[part] - 1]
    return total


def log_kendall(theta: Floats, row: Int64s, size: Int64s) -> Floats:
    """Return the logarithm of the normaliser for the Kendall distance."""
    return np.array(
        [log_places(theta[q], np.arange(1, m + 1)).sum() for q, m in zip(row.tolist(), size.tolist(), strict=True)]
    )


# ---- footrule and Spearman ----
@lru_cache(maxsize=64)
def mean_distance_table(kind: str, m: int, seed: int) -> tuple[Floats, Floats]:
    """Return (theta grid, mean distance there) for permutations of m items."""
    theta = np.concatenate([[0.0], np.geomspace(1e-3, 8.0, GRID - 1)])
    if kind == "spearman":
        theta = theta / max(m, 1)
    if m <= ENUMERATED:
        every = np.array(list(permutations(range(m)))).reshape(-1, m)
        distance = distance_of(kind, every - np.arange(m))
        weight = np.exp(-theta[:, None] * distance)
        return theta, np.asarray((weight @ distance) / weight.sum(axis=1))
    return theta, _sampled_means(kind, m, theta, np.random.default_rng(seed))


def distance_of(kind: str, shift: AnyArray) -> Floats:
    """Return the distance of rows of displacements."""
    cost = np.abs(shift) if kind == "footrule" else shift.astype(np.float64) ** 2
    return np.asarray(cost.sum(axis=-1), np.float64)


def _sampled_means(kind: str, m: int, theta: Floats, rng: np.random.Generator) -> Floats:
    """Metropolis sampling by swaps, all temperatures at once, from the identity."""
    rows = np.arange(len(theta) * CHAINS)
    by_chain = np.repeat(theta, CHAINS)
    state = np.tile(np.arange(m), (len(rows), 1))

    def cost(shift: AnyArray) -> AnyArray:
        return np.abs(shift) if kind == "footrule" else shift * shift

    total = np.zeros(len(rows))
    for sweep in range(sum(SWEEPS)):
        for _ in range(m):
            i, j = rng.integers(0, m, (2, len(rows)))
            a, b = state[rows, i], state[rows, j]
            change = cost(b - i) + cost(a - j) - cost(a - i) - cost(b - j)
            accept = np.log(np.maximum(rng.random(len(rows)), 1e-300)) < -by_chain * change
            state[rows, i], state[rows, j] = np.where(accept, b, a), np.where(accept, a, b)
        if sweep >= SWEEPS[0]:
            total += distance_of(kind, state - np.arange(m))
    means = (total / SWEEPS[1]).reshape(len(theta), CHAINS).mean(axis=1)
    means[0] = (m * m - 1) / 3 if kind == "footrule" else m * (m * m - 1) / 6
    return np.asarray(np.minimum.accumulate(means))


def mean_distance(kind: str, theta: Floats, row: Int64s, size: Int64s, seed: int) -> Floats:
    """Return the mean distance of permutations of ``size`` items, with theta of ``row``."""
    out = np.empty(len(row))
    for m in np.unique(size).tolist():
        at = np.flatnonzero(size == m)
        own = theta[row[at]]
        if m <= ENUMERATED or m in SIZES:
            grid, means = mean_distance_table(kind, m, seed)
            out[at] = _interpolate(grid, means, own)
            continue
        above = next((s for s in SIZES if s > m), SIZES[-1])
        below = max([ENUMERATED, *(s for s in SIZES if s < m)])
        part = (m - below) / (above - below) if above > below else 0.0
        per_item = [_interpolate(*mean_distance_table(kind, s, seed), own) / s for s in (below, above)]
        out[at] = m * ((1 - part) * per_item[0] + part * per_item[1])
    return out


def _interpolate(grid: Floats, means: Floats, theta: Floats) -> Floats:
    inside = np.interp(theta, grid, means)
    # Far out only neighbours are swapped, each with a chance that falls like exp(-2 theta).
    return np.where(theta > grid[-1], means[-1] * np.exp(-2 * (theta - grid[-1])), inside)


def log_distance(kind: str, theta: float, m: int, seed: int) -> float:
    """Return the logarithm of the normaliser: log m! minus the integral of the mean distance over theta."""
    grid = np.linspace(0.0, theta, 200)
    means = mean_distance(kind, grid, np.arange(200), np.full(200, m), seed)
    return float(np.log(np.arange(1, m + 1)).sum() - np.trapezoid(means, grid))
