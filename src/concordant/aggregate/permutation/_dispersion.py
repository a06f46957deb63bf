"""Dispersion of Mallows models: expected distances as functions of theta = -log(phi), and their inverses.

The stage that places an item among n creates k discordant pairs with probability proportional to phi^k, so its mean is
1/(e^theta - 1) - n/(e^(n theta) - 1). The Kendall distance of a permutation of m items is the sum over n = 1..m. The
footrule and Spearman distances have no such form: see ``_displacement``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from concordant.types import AnyArray, Floats, Int64s

MAX_THETA = 40.0
MIN_THETA = 1e-12
MAX_ROUNDS = 100


def mean_discordant(theta: Floats, n: AnyArray) -> Floats:
    """Return the mean number of discordant pairs of a stage with n places: 1 / (e^theta - 1) - n / (e^(n theta) -
    1).
    """
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


def solve_falling(expected: Callable[[Floats], Floats], observed: Floats) -> Floats:
    """Return, for each observed value, the theta in [0, MAX_THETA] at which the decreasing ``expected`` equals it.

    Chandrupatla's method (bisection or inverse quadratic interpolation), on logarithms of both, in which the expected
    distance is nearly linear.
    """
    n = len(observed)
    target = np.log(np.maximum(observed, 1e-300))

    def excess(t: Floats) -> Floats:
        return np.log(np.maximum(expected(np.exp(t)), 1e-300)) - target

    b, a = np.full(n, np.log(MIN_THETA)), np.full(n, np.log(MAX_THETA))
    is_zero, is_largest = expected(np.zeros(n)) <= observed, expected(np.exp(a)) >= observed
    c, f_a, f_b = a, excess(a), excess(b)
    f_c, share = f_a, np.full(n, 0.5)
    for _ in range(MAX_ROUNDS):
        x = a + share * (b - a)
        f_x = excess(x)
        same = np.sign(f_x) == np.sign(f_a)
        c, f_c = np.where(same, a, b), np.where(same, f_a, f_b)
        b, f_b = np.where(same, b, a), np.where(same, f_b, f_a)
        a, f_a = x, f_x
        tolerance = 1e-12 * (1 + np.abs(a)) / np.maximum(np.abs(b - c), 1e-300)
        if ((tolerance > 0.5) | (f_a == 0) | is_zero | is_largest).all():
            break
        share = np.clip(_next_share(a, b, c, f_a, f_b, f_c), np.minimum(tolerance, 0.5), np.maximum(1 - tolerance, 0.5))
    nearest = np.where(np.abs(f_a) <= np.abs(f_b), a, b)
    return np.where(is_zero, 0.0, np.where(is_largest, MAX_THETA, np.exp(nearest)))


def _next_share(a: Floats, b: Floats, c: Floats, f_a: Floats, f_b: Floats, f_c: Floats) -> Floats:
    """Return the next point between a (0) and b (1): by inverse quadratic interpolation if safe, else 1/2."""
    with np.errstate(divide="ignore", invalid="ignore"):
        xi, phi = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
        safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        share = f_a / (f_b - f_a) * f_c / (f_b - f_c)
        share += (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
    return np.where(safe & np.isfinite(share), share, 0.5)


def mean_kendall(theta: Floats, row: Int64s, size: Int64s) -> Floats:
    """Return the mean Kendall distance of permutations of ``size`` items under theta[row]."""
    return _sum_stages(mean_discordant, theta, row, size)


def log_kendall(theta: Floats, row: Int64s, size: Int64s) -> Floats:
    """Return the log of the Mallows normaliser for the Kendall distance, for ``size`` items and theta[row]."""
    return _sum_stages(log_places, theta, row, size)


def _sum_stages(stage: Callable[[Floats, AnyArray], Floats], theta: Floats, row: Int64s, size: Int64s) -> Floats:
    """Return the sum of stage(theta[row], n) over n = 1 .. size for every row; each distinct row is computed once."""
    largest = int(size.max(initial=1))
    total = np.empty(len(size))
    distinct, place = np.unique(row, return_inverse=True)
    step = max(1, 4_000_000 // largest)
    for start in range(0, len(distinct), step):
        part = distinct[start : start + step]
        sums = np.cumsum(stage(theta[part, None], np.arange(1, largest + 1)[None, :]), axis=1)
        is_here = (place >= start) & (place < start + step)
        total[is_here] = sums[place[is_here] - start, size[is_here] - 1]
    return total


def chance_discordant(theta: Floats, above: Int64s, below: Int64s) -> Floats:
    """Return, for pairs of positions in the centre, the probability that a ballot reverses their order.

    Repeated insertion: items are inserted from the last position of the centre to the first (``theta`` has a stage for
    every position), each below v of those already inserted. The new item is below an item with r others above it if v >
    r; otherwise r increases by one. Only the distribution of r for every item in ``below`` is kept.
    """
    m = len(theta)
    lower, row = np.unique(below, return_inverse=True)
    p_before = np.zeros((len(lower), m + 1))
    discordant = np.zeros(len(above))
    for place in range(m - 1, -1, -1):
        n = m - place
        weight = np.exp(-theta[place] * np.arange(n))
        at_most = np.cumsum(weight) / weight.sum()
        is_here = above == place
        discordant[is_here] = p_before[row[is_here], :n] @ (1 - at_most)
        inserted = np.flatnonzero(lower > place)
        moved_back = p_before[inserted, :n] * at_most
        p_before[inserted, :n] -= moved_back
        p_before[inserted, 1 : n + 1] += moved_back
        p_before[lower == place, :n] = weight / weight.sum()
    return discordant
