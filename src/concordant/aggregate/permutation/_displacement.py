"""Normalisers of Mallows models over displacements: the footrule sum |i - p(i)| and Spearman's sum (i - p(i))².

Both are permanents: Z(theta) sums exp(-theta d(p)) over all permutations p; the mean distance is -d log Z / d theta.

- **Footrule**, any number of items, exactly. At every cut between adjacent positions, h items cross in each
  direction, and the distance is twice the sum of h over the cuts. A recursion from left to right needs only h: G(h),
  the weighted number of partial permutations times h!, satisfies G'(h) = h P(h-1) + (2h+1) P(h) + (h+1) P(h+1) with
  P(h) = exp(-2 theta h) G(h). The recursion from the right is the same, and the two meet in the middle.
- **Spearman, up to 12 items**, exactly, from the number of permutations at every distance.
- **Spearman, theta >= 0.2**: items rarely move more than 8 positions. Permutations that move no item further than b are
  summed exactly, position by position, with the set of used values in a window of 2b as the state. Moving one item by d
  moves d others by one, so the truncation error is about 2 m exp(-theta (b+1)(b+2)).
- **Spearman, theta < 0.2 and more items**: the expansion of a permanent around its doubly stochastic scaling B, log Z =
  log m! - m log m - 2 sum log u - log det(I + J/m - B²)/2 (P. McCullagh, An asymptotic approximation for the permanent,
  2014). Its error is E(theta m²)/m + O(1/m²); E is estimated from smaller sizes with the same theta m², for which the
  exact value is known. Two sizes give two terms; the second is reported as the error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from itertools import combinations
from math import lgamma, log
from typing import NamedTuple

import numpy as np

from concordant.types import Bools, Floats, Int64s

COUNTED = 12  # items up to which the permutations of every Spearman distance are counted
NARROW = 0.2  # theta above which a window suffices
WIDEST = 8  # places an item may move in a window
LEFT_OUT = 25.0  # exp(-25) is what a window leaves out for every item, if it need not be too wide
DENSE = 400  # items up to which a determinant is computed; more are extrapolated
MANY = 48  # dispersions of one size that are worth a table
NODES = 40  # of each half of the table
TABLE_END = 0.45  # theta up to which a table pays: windows are narrow beyond
UNIFORM = 1e-4  # theta m² below which all permutations are almost equally likely
STEP = 2e-4  # relative, of numerical derivatives
CHUNK = 8_000_000  # numbers held at once


class Normaliser(NamedTuple):
    """log Z, the mean distance, and an error bound for log Z, at each dispersion theta."""

    log: Floats
    mean: Floats
    error: Floats


def normalisers(kind: str, theta: Floats, size: Int64s) -> Normaliser:
    """Return the normalisers over permutations of each size, each at its own theta."""
    values = np.zeros((3, len(theta)))
    for m in np.unique(size).tolist():
        has_size = size == m
        values[:, has_size] = normaliser(kind, theta[has_size], m)
    return Normaliser(*values)


def normaliser(kind: str, theta: Floats, m: int) -> Normaliser:
    """Return the normaliser over permutations of m items, for ``kind`` "footrule" or "spearman".

    Spearman: by counting for few items; otherwise by windows for large theta, by an expansion for small theta, or from
    a table for many values of theta.
    """
    if m < 2:
        return Normaliser(*np.zeros((3, len(theta))))
    if kind == "footrule":
        return _joined(theta, 8 * m, lambda part: _footrule(part, m))
    if m <= COUNTED:
        return _joined(theta, m**3, lambda part: _counted(part, m))
    values = np.empty((3, len(theta)))
    is_small = theta < NARROW
    is_tabled = theta < TABLE_END if (theta < TABLE_END).sum() > MANY else np.zeros(len(theta), bool)
    for is_chosen, solve in (
        (is_small & ~is_tabled, _smooth_each),
        (is_tabled, _from_table),
        (~is_small & ~is_tabled, _windowed),
    ):
        if is_chosen.any():
            values[:, is_chosen] = solve(theta[is_chosen], m)
    return Normaliser(*values)


def _joined(theta: Floats, width: int, solve: Callable[[Floats], Normaliser]) -> Normaliser:
    """Call ``solve`` for parts of theta, so that ``width`` numbers per theta fit into memory, and join the results."""
    step = max(1, CHUNK // width)
    parts = [solve(theta[start : start + step]) for start in range(0, len(theta), step)] or [solve(theta)]
    return Normaliser(*np.concatenate(parts, axis=1))


# ---- footrule ----
def _footrule(theta: Floats, m: int) -> Normaliser:
    """Run the recursion of G (see the module docstring) from both ends to the cut in the middle.

    Both ends follow the same recursion: the left one is kept after m // 2 steps, the right one after the others.
    """
    left, right = m // 2, m - m // 2
    h = np.arange(right + 2.0)
    decay = np.exp(-2 * theta[:, None] * h)
    ways, slope = np.zeros((2, len(theta), len(h)))  # G and dG/dtheta, with a column of zeros behind the last h
    ways[:, 0] = 1.0
    scale = np.zeros(len(theta))  # the logarithm of what ways and slope were divided by, lest they overflow
    middle = ways, slope, scale
    for step in range(1, right + 1):
        slope = decay * (slope - 2 * h * ways)
        ways = decay * ways
        ways, slope = _one_more(ways, h), _one_more(slope, h)
        top = ways.max(axis=1, keepdims=True)
        ways, slope, scale = ways / top, slope / top, scale + np.log(top[:, 0])
        if step == left:
            middle = ways, slope, scale
    joint = decay * middle[0] * ways
    total = joint.sum(axis=1)
    derivative = (decay * (middle[1] * ways + middle[0] * slope) - 2 * h * joint).sum(axis=1)
    return Normaliser(middle[2] + scale + np.log(total), -derivative / total, np.zeros(len(theta)))


def _one_more(ways: Floats, h: Floats) -> Floats:
    """Return (h P(h-1) + (2h+1) P(h) + (h+1) P(h+1)) for every h, a step of the recursion of G; ``ways`` is P."""
    grown = (2 * h + 1) * ways
    grown[:, 1:] += h[1:] * ways[:, :-1]
    grown[:, :-1] += h[1:] * ways[:, 1:]
    grown[:, -1] = 0.0
    return grown


# ---- Spearman: few items ----
def _counted(theta: Floats, m: int) -> Normaliser:
    """Return the normaliser for few items from the number of permutations at every Spearman distance."""
    distance, count = spearman_counts(m)
    weight = count * np.exp(-theta[:, None] * distance)
    total = weight.sum(axis=1)
    return Normaliser(np.log(total), weight @ distance / total, np.zeros(len(theta)))


@cache
def spearman_counts(m: int) -> tuple[Floats, Floats]:
    """Return the Spearman distances that occur between permutations of m items, and the number of permutations at each.

    Dynamic programming over the sets of values used by the first positions.
    """
    sets = np.arange(1 << m)
    size = ((sets[:, None] >> np.arange(m)) & 1).sum(axis=1)
    row_of_set = np.zeros(1 << m, np.int64)
    count = np.zeros((1, m * (m * m - 1) // 3 + 1))  # by the set of values taken, and the distance so far
    count[0, 0] = 1.0
    for place in range(m):
        sets_now = sets[size == place + 1]
        new_count = np.zeros((len(sets_now), count.shape[1]))
        for value in range(m):
            contains = np.flatnonzero((sets_now >> value) & 1)
            cost = (value - place) ** 2
            new_count[contains, cost:] += count[row_of_set[sets_now[contains] & ~(1 << value)], : count.shape[1] - cost]
        row_of_set[sets_now] = np.arange(len(sets_now))
        count = new_count
    distance = np.flatnonzero(count[0])
    return distance.astype(np.float64), count[0][distance]


# ---- Spearman: windows ----
def _windowed(theta: Floats, m: int) -> Normaliser:
    """Return the normaliser over permutations that move no item further than a window; it widens as theta falls."""
    values = np.empty((3, len(theta)))
    moves = np.arange(1, WIDEST + 1)
    enough = theta[:, None] * (moves + 1) * (moves + 2) >= LEFT_OUT
    furthest = np.minimum(np.where(enough.any(axis=1), moves[np.argmax(enough, axis=1)], WIDEST), m - 1)
    for b in np.unique(furthest).tolist():
        has_width = furthest == b
        states = len(_windows(b)[1])
        part = _joined(theta[has_width], states * (b + 1) * 3, lambda thetas, b=b: _in_window(thetas, m, b))  # type: ignore[misc]
        values[:, has_width] = part
    return Normaliser(*values)


def _in_window(theta: Floats, m: int, b: int) -> Normaliser:
    """Sum over permutations that move no item further than b, position by position, until the factor per position is
    constant.
    """
    begin, source, moved, is_allowed = _windows(b)
    cost = moved.astype(np.float64) ** 2
    weight = np.where(is_allowed, np.exp(-theta[:, None, None] * cost), 0.0)
    ways, slope = np.zeros((2, len(theta), len(source)))
    ways[:, begin] = 1.0
    scale = np.zeros(len(theta))
    current, growth = np.zeros((2, len(theta))), np.zeros((2, len(theta)))
    for place in range(1, m + 1):
        terms = weight * ways[:, source]
        slope = (weight * slope[:, source] - terms * cost).sum(axis=2)
        ways = terms.sum(axis=2)
        top = ways.max(axis=1, keepdims=True)
        ways, slope, scale = ways / top, slope / top, scale + np.log(top[:, 0])
        log_mean = np.stack([scale + np.log(ways[:, begin]), -slope[:, begin] / ways[:, begin]])
        last_growth, growth, current = growth, log_mean - current, log_mean
        if place > 3 * b and (np.abs(growth - last_growth) <= 1e-14 * np.abs(current)).all():
            current = current + (m - place) * growth
            break
    left_out = 2 * m * np.exp(-theta * (b + 1) * (b + 2)) if b < m - 1 else np.zeros(len(theta))
    return Normaliser(current[0], current[1], left_out)


@cache
def _windows(b: int) -> tuple[int, Int64s, Int64s, Bools]:
    """Return the start (and end) state, and for every state its predecessors, the distances moved, and which are valid.

    A state is the set of b used values among the 2b values around the next position; all earlier values are used.
    """
    states = np.array([sum(1 << k for k in taken) for taken in combinations(range(2 * b), b)])
    number = np.full(1 << (2 * b + 1), -1, np.int64)
    number[states] = np.arange(len(states))
    full = (states << 1) | 1  # seen from the place before, its furthest value taken
    values = np.arange(2 * b + 1)
    is_taken = (full[:, None] >> values) & 1 == 1
    predecessor = np.where(is_taken, number[full[:, None] & ~(1 << values)], -1)
    order = np.argsort(predecessor < 0, axis=1, kind="stable")[:, : b + 1]
    source = np.take_along_axis(predecessor, order, axis=1)
    return int(number[(1 << b) - 1]), np.maximum(source, 0), np.abs(order - b), source >= 0


# ---- Spearman: many items, far from unanimous ----
def _smooth_each(theta: Floats, m: int) -> Normaliser:
    """Return the corrected expansion for every theta."""
    rows = np.array([_expansion_corrected(value, m) for value in theta.tolist()])
    return Normaliser(*rows.T)


def _expansion_corrected(theta: float, m: int) -> tuple[float, float, float]:
    """Return log Z, the mean distance and the error: the expansion of the permanent plus a correction.

    The correction a/m + b/m² is extrapolated from two smaller sizes with the same theta m² whose exact value is known.

    """
    if theta * m**2 < UNIFORM:
        uniform = _nearly_uniform(np.array([theta]), m)
        return float(uniform[0][0]), float(uniform[1][0]), 0.0
    top = max(COUNTED, int(np.sqrt(theta / NARROW) * m))  # the largest size that is counted or fits a window
    low = top - max(1, round(0.15 * top))  # measured: with 0.3 errors double, with 0.5 they are ten times
    (miss_low, mean_low, error_low), (miss_top, mean_top, error_top) = _missed(theta, m, low), _missed(theta, m, top)
    extrapolation = (1 / m - 1 / top) / (1 / top - 1 / low)
    log_z, mean = _expansion(theta, m)
    value = log_z + (miss_top + extrapolation * (miss_top - miss_low)) / m
    error = abs(extrapolation * (miss_top - miss_low)) / m + max(error_low, error_top)
    return max(value, 0.0), mean + (mean_top + extrapolation * (mean_top - mean_low)) / m, error


def _nearly_uniform(theta: Floats, m: int) -> tuple[Floats, Floats]:
    """Return log Z and the mean distance for tiny theta, by the mean and variance over all permutations (Taylor
    series).
    """
    mean, variance = m * (m * m - 1) / 6, m**2 * (m + 1) ** 2 * (m - 1) / 36
    return lgamma(m + 1) - theta * mean + theta**2 * variance / 2, mean - theta * variance


def _missed(theta: float, m: int, size: int) -> tuple[float, float, float]:
    """Return ``size`` times the error of the expansion of log Z and the mean distance, and the error of the exact
    value.

    The smaller size has the same theta m². The mean is a derivative in theta, so its error is multiplied by d
    theta(size) / d theta(m) = (m / size)².
    """
    theta_ratio = (m / size) ** 2
    theta_at_size = np.array([theta * theta_ratio])
    exact = _counted(theta_at_size, size) if size <= COUNTED else _windowed(theta_at_size, size)
    log_z, mean = _expansion(float(theta_at_size[0]), size)
    return (
        size * (float(exact.log[0]) - log_z),
        size * (float(exact.mean[0]) - mean) * theta_ratio,
        float(exact.error[0]),
    )


def _expansion(theta: float, m: int) -> tuple[float, float]:
    """Return log Z by the expansion, and the mean distance by its numerical derivative."""
    low, middle, high = (_expanded(theta * (1 + side * STEP), m) for side in (-1, 0, 1))
    return middle, (low - high) / (2 * STEP * theta)


def _expanded(theta: float, m: int) -> float:
    """Return log Z by the expansion; for more than ``DENSE`` items it is extrapolated from smaller sizes."""
    if m <= DENSE:
        return _scaled_permanent(theta, m)
    if theta * DENSE**2 >= 80:  # the two ends do not feel each other: every item adds the same
        half, whole = (_scaled_permanent(theta, size) for size in (3 * DENSE // 4, DENSE))
        return whole + (m - DENSE) * (whole - half) / (DENSE - 3 * DENSE // 4)
    # With theta m² the same, log Z - log m! = F m + G + H/m + …
    sizes = np.array([DENSE // 2, 3 * DENSE // 4, DENSE])
    values = [_scaled_permanent(theta * (m / size) ** 2, size) - lgamma(size + 1) for size in sizes.tolist()]
    terms = np.linalg.solve(np.stack([sizes, np.ones(3), 1 / sizes], axis=1), values)
    return float(terms @ [m, 1.0, 1 / m]) + lgamma(m + 1)


def _scaled_permanent(theta: float, m: int) -> float:
    """Return the log of the permanent of exp(-theta (i - j)²), approximately.

    Sinkhorn scaling makes the matrix doubly stochastic; the permanent of that is about m! / m^m det(I + 1/m -
    S²)^(-1/2).
    """
    place = np.arange(m)
    weight = np.exp(-theta * (place[:, None] - place) ** 2.0)
    scaling = np.ones(m)
    for _ in range(200):
        change = 1 / np.sqrt(scaling * (weight @ scaling))
        scaling *= change
        if np.abs(change - 1).max() < 1e-14:
            break
    stochastic = weight * scaling[:, None] * scaling
    determinant = np.linalg.slogdet(np.eye(m) + 1 / m - stochastic @ stochastic)[1]
    return float(lgamma(m + 1) - m * log(m) - determinant / 2 - 2 * np.log(scaling).sum())


# ---- Spearman: many dispersions of one size ----
def _from_table(theta: Floats, m: int) -> Normaliser:
    """Return the normaliser by Chebyshev interpolation over log theta, for many values of theta and one size."""
    smallest = UNIFORM / m**2
    values = np.zeros((3, len(theta)))
    tiny = theta < smallest
    values[:2, tiny] = _nearly_uniform(theta[tiny], m)
    for low, high in ((smallest, NARROW), (NARROW, TABLE_END)):
        is_inside = (theta >= low) & (theta < high)
        if is_inside.any():
            log_mean, log_z, error = _table(m, low, high)
            t = 2 * np.log(theta[is_inside] / low) / np.log(high / low) - 1
            evaluate = np.polynomial.chebyshev.chebval
            values[:, is_inside] = evaluate(t, log_z), np.exp(evaluate(t, log_mean)), np.full(is_inside.sum(), error)
    return Normaliser(*values)


@lru_cache(maxsize=256)
def _table(m: int, low: float, high: float) -> tuple[Floats, Floats, float]:
    """Return Chebyshev series of log mean and log Z over log theta, and the largest error at their nodes."""
    cheb = np.polynomial.chebyshev
    nodes = cheb.chebpts1(NODES)
    theta = low * np.exp((nodes + 1) / 2 * np.log(high / low))
    exact = (_windowed if low >= NARROW else _smooth_each)(theta, m)
    series = [
        np.asarray(cheb.chebfit(nodes, values, NODES - 1), np.float64) for values in (np.log(exact.mean), exact.log)
    ]
    last = float(np.abs(series[1][-3:]).sum())  # what a series leaves out is about as large as its last terms
    return series[0], series[1], float(exact.error.max()) + last
