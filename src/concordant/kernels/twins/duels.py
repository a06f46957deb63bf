"""Duels and the score models fitted to them, in NumPy (twin of duels.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.types import Floats, Int32s, Int64s

__all__ = ["duel_terms", "fit_duels", "laplacian", "laplacian_product"]

BRADLEY_TERRY, THURSTONE, DAVIDSON, RAO_KUPPER = range(4)
MAX_NEWTON = 100
NEWTON_STEP = 1e-9
Terms = tuple[Floats, Floats, Floats, Floats, Floats, Floats]


def duel_terms(
    first: Int32s,
    second: Int32s,
    won: Floats,
    lost: Floats,
    tied: Floats,
    order: Floats,
    score: Floats,
    advantage: float,
    tie: float,
    model: int,
) -> tuple[float, Floats, Floats, Floats, Floats, float, float]:
    """Return (value, gradient by slot, slope, curve and cross by row, slope and curve of the tie parameter)."""
    d = score[first] - score[second]
    if len(order):
        d = d + order * advantage
    value, slope, curve, slope_x, curve_x, cross = _TERMS[model](d, tie, won, lost, tied)
    n = len(score)
    gradient = np.asarray(np.bincount(first, slope, n) - np.bincount(second, slope, n), np.float64)
    total_slope = float(slope_x.sum())
    bent = float(curve_x.sum()) + _bend_of_tie(model, tie, total_slope)
    return float(value.sum()), gradient, slope, curve, cross, total_slope, bent


def laplacian(first: Int32s, second: Int32s, weight: Floats, size: int) -> Floats:
    """Return the dense matrix of sum_r weight[r] (e_i - e_j)(e_i - e_j)'."""
    off = np.bincount(first.astype(np.int64) * size + second, weight, size * size).reshape(size, size)
    off = off + off.T
    return np.asarray(np.diag(off.sum(axis=1)) - off)


def laplacian_product(first: Int32s, second: Int32s, weight: Floats, x: Floats) -> Floats:
    """Return that matrix times the columns of ``x`` without building it."""
    from scipy.sparse import coo_array

    n = len(x)
    off = coo_array((weight, (first, second)), shape=(n, n)).tocsr()
    degree = np.bincount(first, weight, n) + np.bincount(second, weight, n)
    return np.asarray(degree[:, None] * x - off @ x - off.T @ x)


def fit_duels(
    slot_ptr: Int64s,
    duel_ptr: Int64s,
    first: Int32s,
    second: Int32s,
    won: Floats,
    lost: Floats,
    tied: Floats,
    order: Floats,
    model: int,
    is_gamma: bool,
    ridge: Floats,
    ridge_extra: Floats,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Int32s]:
    """Fit the model to every instance by Newton's method.

    Returns (score, advantage and tie parameter by instance, covariance blocks, variances of the two parameters,
    log-likelihood, largest gradient entry, iterations).
    """
    n = len(slot_ptr) - 1
    size = np.diff(slot_ptr)
    cell_ptr = np.concatenate([[0], np.cumsum(size**2)])
    score, covariance = np.zeros(int(slot_ptr[-1])), np.zeros(int(cell_ptr[-1]))
    advantage, tie, value, slack = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    extra_variance, iterations = np.zeros((n, 2)), np.zeros(n, np.int32)
    for q in np.flatnonzero(size).tolist():
        rows = slice(duel_ptr[q], duel_ptr[q + 1])
        problem = _Problem(
            (first[rows] - slot_ptr[q], second[rows] - slot_ptr[q]),
            (won[rows], lost[rows], tied[rows]),
            order[rows] if len(order) else None,
            int(size[q]),
            model,
            is_gamma,
            float(ridge[q]),
            float(ridge_extra[q]),
        )
        point, value[q], slack[q], iterations[q], inverse = _newton(problem)
        m = problem.m
        score[slot_ptr[q] : slot_ptr[q + 1]] = point[:m]
        if problem.order is not None:
            advantage[q], extra_variance[q, 0] = point[m], inverse[m, m]
        if problem.has_tie:
            tie[q], extra_variance[q, 1] = point[-1], inverse[-1, -1]
        own = inverse[:m, :m]
        mean = own.mean(axis=1)
        covariance[cell_ptr[q] : cell_ptr[q + 1]] = (own - mean[:, None] - mean[None, :] + mean.mean()).reshape(-1)
    return score, advantage, tie, covariance, extra_variance, value, slack, iterations


class _Problem:
    """One instance; its parameters are the scores, then the advantage, then the tie parameter."""

    def __init__(
        self,
        pairs: tuple[Int64s, Int64s],
        counts: tuple[Floats, Floats, Floats],
        order: Floats | None,
        m: int,
        model: int,
        is_gamma: bool,
        ridge: float,
        ridge_extra: float,
    ) -> None:
        self.first, self.second = pairs
        self.counts, self.order = counts, order
        self.m, self.model, self.is_gamma = m, model, is_gamma
        self.ridge, self.ridge_extra = ridge, ridge_extra
        self.has_tie = model >= DAVIDSON
        self.size = m + (order is not None) + self.has_tie

    def start(self) -> Floats:
        point = np.zeros(self.size)
        if self.has_tie:
            ties, total = self.counts[2].sum(), sum(count.sum() for count in self.counts)
            share = ties / total if total > 0 else 0.0
            inside = 0 < share < 1
            point[-1] = np.clip(np.log(2 * share / (1 - share)), -5, 5) if inside else (-5.0 if share <= 0 else 5.0)
        return point

    def terms(self, point: Floats) -> Terms:
        d = point[self.first] - point[self.second]
        if self.order is not None:
            d = d + self.order * point[self.m]
        return _TERMS[self.model](d, float(point[-1]) if self.has_tie else 0.0, *self.counts)

    def penalty(self, point: Floats) -> float:
        s, extra = point[: self.m], point[self.m :]
        on_scores = (s - np.exp(s) + 1).sum() if self.is_gamma else -0.5 * (s**2).sum()
        return float(self.ridge * on_scores - 0.5 * self.ridge_extra * (extra**2).sum())

    def value(self, point: Floats) -> float:
        return float(self.terms(point)[0].sum()) + self.penalty(point)

    def expand(self, point: Floats) -> tuple[float, Floats, Floats]:
        """Return the log-likelihood, and gradient and negative Hessian of the penalised one."""
        m, n = self.m, self.size
        value, slope, curve, slope_x, curve_x, cross = self.terms(point)
        gradient, hessian = np.zeros(n), np.zeros((n, n))
        hessian[:m, :m] = laplacian(self.first, self.second, curve, m)  # type: ignore[arg-type]
        gradient[:m] = self._by_slot(slope)
        if self.order is not None:
            gradient[m] = self.order @ slope
            hessian[m, m] = self.order**2 @ curve
            hessian[m, :m] = hessian[:m, m] = self._by_slot(self.order * curve)
        if self.has_tie:
            gradient[-1] = slope_x.sum()
            hessian[-1, -1] = curve_x.sum() + _bend_of_tie(self.model, float(point[-1]), float(gradient[-1]))
            hessian[-1, :m] = hessian[:m, -1] = self._by_slot(cross)
            if self.order is not None:
                hessian[-1, m] = hessian[m, -1] = self.order @ cross
        spread = float(np.trace(hessian[:m, :m]))
        s, on_scores = point[:m], np.arange(m)
        worth = np.exp(s) if self.is_gamma else np.ones(m)
        gradient[:m] += self.ridge * (1 - worth) if self.is_gamma else -self.ridge * s
        hessian[on_scores, on_scores] += self.ridge * worth
        gradient[m:] -= self.ridge_extra * point[m:]
        hessian[np.arange(m, n), np.arange(m, n)] += self.ridge_extra
        if not self.is_gamma:
            hessian[:m, :m] += spread / m**2 if spread > 0 else 1.0
        return float(value.sum()), gradient, hessian

    def _by_slot(self, by_row: Floats) -> Floats:
        return np.asarray(np.bincount(self.first, by_row, self.m) - np.bincount(self.second, by_row, self.m))


def _newton(problem: _Problem) -> tuple[Floats, float, float, int, Floats]:
    point = problem.start()
    value, gradient, hessian = problem.expand(point)
    penalised = value + problem.penalty(point)
    iteration = 0
    while iteration < MAX_NEWTON:
        iteration += 1
        step = np.linalg.solve(hessian, gradient)
        rise, size = float(step @ gradient), 1.0
        for _ in range(60):
            trial = point + size * step
            if not problem.is_gamma:
                trial[: problem.m] -= trial[: problem.m].mean()
            if problem.value(trial) >= penalised + 1e-4 * size * rise - 1e-12 * (1 + abs(penalised)):
                break
            size /= 2
        point = trial
        value, gradient, hessian = problem.expand(point)
        penalised = value + problem.penalty(point)
        if size == 1.0 and np.abs(step).max() < NEWTON_STEP:
            break
    return point, value, float(np.abs(gradient).max()), iteration, np.asarray(np.linalg.inv(hessian), np.float64)


# ---- the models: value and derivatives by row; curves and cross are negated second derivatives ----
def _bradley_terry(d: Floats, _: float, won: Floats, lost: Floats, tied: Floats) -> Terms:
    a, b, none = won + tied / 2, lost + tied / 2, np.zeros(len(d))
    e = np.exp(-np.abs(d))
    p = 1 / (1 + e)
    q = e * p
    log_p = -np.log1p(e)
    log_q = log_p - np.abs(d)
    up = d >= 0
    value = np.where(up, a * log_p + b * log_q, a * log_q + b * log_p)
    return value, a - (a + b) * np.where(up, p, q), (a + b) * p * q, none, none, none


def _thurstone(d: Floats, _: float, won: Floats, lost: Floats, tied: Floats) -> Terms:
    from scipy.special import log_ndtr

    a, b, none = won + tied / 2, lost + tied / 2, np.zeros(len(d))
    log_density = -0.5 * d**2 - 0.5 * np.log(2 * np.pi)
    log_up, log_down = log_ndtr(d), log_ndtr(-d)
    up, down = np.exp(log_density - log_up), np.exp(log_density - log_down)
    curve = a * up * (up + d) + b * down * (down - d)
    return a * log_up + b * log_down, a * up - b * down, curve, none, none, none


def _davidson(d: Floats, x: float, won: Floats, lost: Floats, tied: Floats) -> Terms:
    n = won + lost + tied
    top = np.maximum(np.abs(d) / 2, x)
    up, down, even = np.exp(d / 2 - top), np.exp(-d / 2 - top), np.exp(x - top)
    z = up + down + even
    up, down, even = up / z, down / z, even / z
    gap = (up - down) / 2
    value = (won - lost) * d / 2 + tied * x - n * (top + np.log(z))
    curve = n * ((up + down) / 4 - gap**2)
    return value, (won - lost) / 2 - n * gap, curve, tied - n * even, n * even * (1 - even), -n * even * gap


def _rao_kupper(d: Floats, x: float, won: Floats, lost: Floats, tied: Floats) -> Terms:
    c = np.logaddexp(0.0, x)
    a, b, p, q = won + tied, lost + tied, _sigmoid(d - c), _sigmoid(-d - c)
    shrink, dc = -np.expm1(-2 * c), float(_sigmoid(np.array([x]))[0])
    above = np.logaddexp(np.log(2.0), x)
    slope_c = -a * (1 - p) - b * (1 - q) + 2 * tied / shrink
    curve_c = a * p * (1 - p) + b * q * (1 - q) + 4 * tied * (1 - shrink) / shrink**2
    value = -a * np.logaddexp(0, c - d) - b * np.logaddexp(0, c + d) + tied * (x + above)
    curve, cross = a * p * (1 - p) + b * q * (1 - q), dc * (b * q * (1 - q) - a * p * (1 - p))
    return value, a * (1 - p) - b * (1 - q), curve, slope_c * dc, curve_c * dc**2, cross


def _bend_of_tie(model: int, x: float, slope_x: float) -> float:
    return max(0.0, -(1 - float(_sigmoid(np.array([x]))[0])) * slope_x) if model == RAO_KUPPER else 0.0


def _sigmoid(z: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0, -z)))


_TERMS = (_bradley_terry, _thurstone, _davidson, _rao_kupper)
