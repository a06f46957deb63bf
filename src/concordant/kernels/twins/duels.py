"""Duels and the score models fitted to them, in NumPy (twin of duels.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.codes import Duel
from concordant.types import Bytes, Floats, Int32s, Int64s

__all__ = ["ballot_slopes", "duel_terms", "fit_duels", "laplacian", "laplacian_product"]

BRADLEY_TERRY, THURSTONE, DAVIDSON, RAO_KUPPER = Duel
MAX_NEWTON = 100
NEWTON_STEP = 1e-9
PAIRS_AT_ONCE = 1_000_000
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
    x = np.array(tie)
    value, slope, curve, slope_x, curve_x, cross = TERMS[model](d, x, won, lost, tied)
    n = len(score)
    gradient = np.asarray(np.bincount(first, slope, n) - np.bincount(second, slope, n), np.float64)
    total_slope = float(slope_x.sum())
    bent = float(curve_x.sum()) + float(_bend_of_tie(model, x, np.array(total_slope)))
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


def ballot_slopes(
    indptr: Int64s,
    slot: Int64s,
    tier: Int32s,
    level: Floats,
    shown: Int32s,
    is_open: Bytes,
    instance: Int32s,
    score: Floats,
    advantage: Floats,
    tie: Floats,
    model: int,
) -> tuple[Floats, Floats]:
    """Return derivatives of the log-likelihood of single ballots, all pairs of a ballot together.

    By entry that of its item's score, by ballot those of the advantage and the tie parameter. A pair counts the
    difference of its levels (or once), nothing inside the last tier of an open ballot. ``level``, ``shown`` and
    ``is_open`` may be empty.
    """
    size = np.diff(indptr)
    slope, extra = np.zeros(len(slot)), np.zeros((len(size), 2))
    for m in np.unique(size[size > 1]).tolist():
        ahead, behind = np.triu_indices(m, 1)
        own = np.flatnonzero(size == m)
        at_once = max(1, PAIRS_AT_ONCE // len(ahead))
        for ballot in np.split(own, range(at_once, len(own), at_once)):
            first, second = (indptr[ballot][:, None] + place for place in (ahead, behind))
            is_tie = tier[first] == tier[second]
            amount = np.abs(level[first] - level[second]) if len(level) else np.ones(first.shape)
            if len(is_open):
                last = tier[indptr[ballot + 1] - 1]
                amount = amount * ~((tier[first] == last[:, None]) & is_tie & (is_open[ballot] > 0)[:, None])
            lead = np.sign(shown[second] - shown[first]) if len(shown) else np.zeros(first.shape)
            d = score[slot[first]] - score[slot[second]] + lead * advantage[instance[ballot]][:, None]
            x = np.broadcast_to(tie[instance[ballot]][:, None], d.shape)
            terms = TERMS[model](*(v.ravel() for v in (d, x, amount * ~is_tie, 0 * amount, amount * is_tie)))
            on_lead, on_tie = terms[1].reshape(d.shape), terms[3].reshape(d.shape)
            for entry, sign in ((first, 1.0), (second, -1.0)):
                slope += np.bincount(entry.ravel(), sign * on_lead.ravel(), len(slot))
            extra[ballot, 0], extra[ballot, 1] = (lead * on_lead).sum(axis=1), on_tie.sum(axis=1)
    return slope, extra


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
    with_errors: bool,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats, Int32s]:
    """Fit the model to every instance by Newton's method.

    Returns (score, advantage and tie parameter by instance, covariance blocks, variances of the two parameters,
    log-likelihood, largest gradient entry, log-determinant of the negative Hessian without the direction "all scores
    up by the same", iterations); without errors there are no covariances and variances.
    """
    n = len(slot_ptr) - 1
    size = np.diff(slot_ptr)
    cell_ptr = np.concatenate([[0], np.cumsum(size**2)])
    score, covariance = np.zeros(int(slot_ptr[-1])), np.zeros(int(cell_ptr[-1]) if with_errors else 0)
    advantage, tie, value, slack, log_det = np.zeros((5, n))
    extra_variance, iterations = np.zeros((n, 2)), np.zeros(n, np.int32)
    owner = np.repeat(np.arange(n), np.diff(duel_ptr))
    for m in np.unique(size[size > 0]).tolist():
        own = np.flatnonzero(size == m)  # instances of one size go together
        rows = np.flatnonzero(size[owner] == m)
        base = slot_ptr[owner[rows]]
        batch = _Batch(
            (np.searchsorted(own, owner[rows]), first[rows] - base, second[rows] - base),
            (won[rows], lost[rows], tied[rows]),
            order[rows] if len(order) else None,
            m,
            model,
            is_gamma,
            ridge[own],
            ridge_extra[own],
        )
        point, value[own], slack[own], iterations[own], hessian, along = _newton(batch)
        log_det[own] = np.linalg.slogdet(hessian)[1] - np.log(along)
        score[slot_ptr[own][:, None] + np.arange(m)] = point[:, :m]
        if batch.order is not None:
            advantage[own] = point[:, m]
        if batch.has_tie:
            tie[own] = point[:, -1]
        if not with_errors:
            continue
        inverse = np.linalg.inv(hessian)
        if batch.order is not None:
            extra_variance[own, 0] = inverse[:, m, m]
        if batch.has_tie:
            extra_variance[own, 1] = inverse[:, -1, -1]
        block = inverse[:, :m, :m]
        mean = block.mean(axis=2)
        centred = block - mean[:, :, None] - mean[:, None, :] + mean.mean(axis=1)[:, None, None]
        covariance[cell_ptr[own][:, None] + np.arange(m * m)] = centred.reshape(len(own), -1)
    return score, advantage, tie, covariance, extra_variance, value, slack, log_det, iterations


class _Batch:
    """Instances of one size; the parameters of each are its scores, then the advantage, then the tie parameter."""

    def __init__(
        self,
        rows: tuple[Int64s, Int64s, Int64s],
        counts: tuple[Floats, Floats, Floats],
        order: Floats | None,
        m: int,
        model: int,
        is_gamma: bool,
        ridge: Floats,
        ridge_extra: Floats,
    ) -> None:
        self.owner, self.first, self.second = rows
        self.counts, self.order = counts, order
        self.m, self.model, self.is_gamma = m, model, is_gamma
        self.ridge, self.ridge_extra = ridge[:, None], ridge_extra[:, None]
        self.has_tie = model >= DAVIDSON
        self.size, self.n = m + (order is not None) + self.has_tie, len(ridge)

    def start(self) -> Floats:
        point = np.zeros((self.n, self.size))
        if self.has_tie:
            ties = self.by_instance(self.counts[2])
            total = ties + self.by_instance(self.counts[0]) + self.by_instance(self.counts[1])
            share = np.divide(ties, total, out=np.zeros(self.n), where=total > 0)
            inside = np.clip(share, 1e-9, 1 - 1e-9)
            point[:, -1] = np.clip(np.log(2 * inside / (1 - inside)), -5, 5)
        return point

    def terms(self, point: Floats) -> Terms:
        d = point[self.owner, self.first] - point[self.owner, self.second]
        if self.order is not None:
            d = d + self.order * point[self.owner, self.m]
        return TERMS[self.model](d, point[self.owner, -1] if self.has_tie else np.zeros(len(d)), *self.counts)

    def penalty(self, point: Floats) -> Floats:
        s, extra = point[:, : self.m], point[:, self.m :]
        on_scores = s - np.exp(np.minimum(s, 700)) + 1 if self.is_gamma else -0.5 * s**2
        return np.asarray((self.ridge * on_scores).sum(axis=1) - (0.5 * self.ridge_extra * extra**2).sum(axis=1))

    def value(self, point: Floats) -> Floats:
        return self.by_instance(self.terms(point)[0]) + self.penalty(point)

    def expand(self, point: Floats, is_exact: bool = False) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the log-likelihoods, gradients and negative Hessians (exact, or definite) of the penalised ones.

        Also the curvature along "all scores up by the same", 1 where that is a part of the model.
        """
        m, n = self.m, self.size
        value, slope, curve, slope_x, curve_x, cross = self.terms(point)
        gradient, hessian = np.zeros((self.n, n)), np.zeros((self.n, n, n))
        cell = (self.owner * m + self.first) * m + self.second
        off = np.bincount(cell, curve, self.n * m * m).reshape(self.n, m, m)
        off = off + off.transpose(0, 2, 1)
        degree, on_scores = off.sum(axis=2), np.arange(m)
        hessian[:, :m, :m] = -off
        hessian[:, on_scores, on_scores] += degree
        gradient[:, :m] = self._by_slot(slope)
        if self.order is not None:
            gradient[:, m] = self.by_instance(self.order * slope)
            hessian[:, m, m] = self.by_instance(self.order**2 * curve)
            hessian[:, m, :m] = hessian[:, :m, m] = self._by_slot(self.order * curve)
        if self.has_tie:
            gradient[:, -1] = self.by_instance(slope_x)
            bend = _bend_of_tie(self.model, point[:, -1], gradient[:, -1])
            hessian[:, -1, -1] = self.by_instance(curve_x) + (bend if is_exact else np.maximum(bend, 0.0))
            hessian[:, -1, :m] = hessian[:, :m, -1] = self._by_slot(cross)
            if self.order is not None:
                hessian[:, -1, m] = hessian[:, m, -1] = self.by_instance(self.order * cross)
        s = point[:, :m]
        worth = np.exp(s) if self.is_gamma else np.ones_like(s)
        gradient[:, :m] += self.ridge * (1 - worth) if self.is_gamma else -self.ridge * s
        hessian[:, on_scores, on_scores] += self.ridge * worth
        gradient[:, m:] -= self.ridge_extra * point[:, m:]
        hessian[:, np.arange(m, n), np.arange(m, n)] += self.ridge_extra
        along = np.ones(self.n)
        if not self.is_gamma:
            spread = degree.sum(axis=1)
            level = np.where(spread > 0, spread / m**2, 1.0)
            hessian[:, :m, :m] += level[:, None, None]
            along = level * m + self.ridge[:, 0]
        return self.by_instance(value), gradient, hessian, along

    def by_instance(self, by_row: Floats) -> Floats:
        return np.asarray(np.bincount(self.owner, by_row, self.n), np.float64)

    def _by_slot(self, by_row: Floats) -> Floats:
        up, down = (
            np.bincount(self.owner * self.m + place, by_row, self.n * self.m) for place in (self.first, self.second)
        )
        return np.asarray(up - down).reshape(self.n, self.m)


def _newton(batch: _Batch) -> tuple[Floats, Floats, Floats, Int32s, Floats, Floats]:
    """Climb in all instances at once; each stops when its own step is small."""
    point = batch.start()
    value, gradient, hessian, along = batch.expand(point)
    penalised = value + batch.penalty(point)
    is_active, iterations = np.ones(batch.n, bool), np.zeros(batch.n, np.int32)
    for _ in range(MAX_NEWTON):
        iterations += is_active
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        rise, share = (step * gradient).sum(axis=1), is_active.astype(np.float64)
        for _ in range(60):
            trial = point + share[:, None] * step
            if not batch.is_gamma:
                trial[:, : batch.m] -= trial[:, : batch.m].mean(axis=1, keepdims=True)
            needed = penalised + 1e-4 * share * rise - 1e-12 * (1 + np.abs(penalised))
            too_far = is_active & ~(batch.value(trial) >= needed)
            if not too_far.any():
                break
            share[too_far] /= 2
        point = np.where(is_active[:, None], trial, point)
        value, gradient, hessian, along = batch.expand(point)
        penalised = value + batch.penalty(point)
        is_active &= ~((share == 1.0) & (np.abs(step).max(axis=1) < NEWTON_STEP))
        if not is_active.any():
            break
    slack = np.abs(gradient).max(axis=1)
    if batch.has_tie:
        exact = batch.expand(point, is_exact=True)[2]
        is_definite = np.linalg.eigvalsh(exact)[:, 0] > 0  # else the search did not quite end at a maximum
        hessian = np.where(is_definite[:, None, None], exact, hessian)
    return point, value, slack, iterations, hessian, along


# ---- the models: value and derivatives by row; curves and cross are negated second derivatives ----
def _bradley_terry(d: Floats, _: Floats, won: Floats, lost: Floats, tied: Floats) -> Terms:
    a, b, none = won + tied / 2, lost + tied / 2, np.zeros(len(d))
    e = np.exp(-np.abs(d))
    p = 1 / (1 + e)
    q = e * p
    log_p = -np.log1p(e)
    log_q = log_p - np.abs(d)
    up = d >= 0
    value = np.where(up, a * log_p + b * log_q, a * log_q + b * log_p)
    return value, a - (a + b) * np.where(up, p, q), (a + b) * p * q, none, none, none


def _thurstone(d: Floats, _: Floats, won: Floats, lost: Floats, tied: Floats) -> Terms:
    from scipy.special import log_ndtr

    a, b, none = won + tied / 2, lost + tied / 2, np.zeros(len(d))
    log_density = -0.5 * d**2 - 0.5 * np.log(2 * np.pi)
    log_up, log_down = log_ndtr(d), log_ndtr(-d)
    up, down = np.exp(log_density - log_up), np.exp(log_density - log_down)
    curve = a * up * (up + d) + b * down * (down - d)
    return a * log_up + b * log_down, a * up - b * down, curve, none, none, none


def _davidson(d: Floats, x: Floats, won: Floats, lost: Floats, tied: Floats) -> Terms:
    n = won + lost + tied
    top = np.maximum(np.abs(d) / 2, x)
    up, down, even = np.exp(d / 2 - top), np.exp(-d / 2 - top), np.exp(x - top)
    z = up + down + even
    up, down, even = up / z, down / z, even / z
    gap = (up - down) / 2
    value = (won - lost) * d / 2 + tied * x - n * (top + np.log(z))
    curve = n * ((up + down) / 4 - gap**2)
    return value, (won - lost) / 2 - n * gap, curve, tied - n * even, n * even * (1 - even), -n * even * gap


def _rao_kupper(d: Floats, x: Floats, won: Floats, lost: Floats, tied: Floats) -> Terms:
    c = np.logaddexp(0.0, x)
    a, b, p, q = won + tied, lost + tied, _sigmoid(d - c), _sigmoid(-d - c)
    # P(tie) = (e^(2c) - 1) P(win) P(loss), and e^(2c) - 1 = e^x (2 + e^x)
    dc, factor, dfactor = _sigmoid(x), x + np.logaddexp(np.log(2.0), x), 2 / (1 + np.exp(-c))
    up, down = a * p * (1 - p), b * q * (1 - q)
    value = -a * np.logaddexp(0, c - d) - b * np.logaddexp(0, c + d) + tied * factor
    slope_x = tied * dfactor - dc * (a * (1 - p) + b * (1 - q))
    curve_x = tied * (dfactor * np.exp(-c)) ** 2 + dc**2 * (up + down)
    return value, a * (1 - p) - b * (1 - q), up + down, slope_x, curve_x, dc * (down - up)


def _bend_of_tie(model: int, x: Floats, slope_x: Floats) -> Floats:
    return np.asarray(-(1 - _sigmoid(x)) * slope_x) if model == RAO_KUPPER else np.zeros_like(x)


def _sigmoid(z: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0, -z)))


TERMS = (_bradley_terry, _thurstone, _davidson, _rao_kupper)
