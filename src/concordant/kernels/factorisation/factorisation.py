"""Latent factor models: scores, and least-squares updates of one side (NumPy reference of factorisation.cpp)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from concordant.kernels.bundles import Rows, Side, StepsFrom, Terms
from concordant.kernels.layouts import segment_of
from concordant.types import AnyArray, Floats, Int32s, Int64s

__all__ = ["factor_scores", "pair_steps", "ridge_rows", "ridge_steps"]

_ENTRIES = 1 << 16  # whose matrices are held at once
_NUDGE = 1e-8  # added to a matrix that rounding made indefinite, relative to its largest entry


def factor_scores(
    ptr: Int64s,
    other: Int32s,
    row: AnyArray,
    other_row: AnyArray,
    mean: float,
    threads: int,  # noqa: ARG001 - the compiled one needs it
) -> Floats:
    """Return the score of every entry: the mean plus both biases (the last columns) plus the product of the factors."""
    own_row, paired_row = row[segment_of(ptr)], other_row[other]
    product = np.einsum("ed,ed->e", own_row[:, :-1], paired_row[:, :-1])
    return np.asarray(mean + (own_row[:, -1] + paired_row[:, -1] + product).astype(np.float64))


def ridge_rows(
    side: Side,
    terms: Terms,
    other_row: AnyArray,
    other_spread: AnyArray,
    ridge: Floats,
    mean: float,
    threads: int,  # noqa: ARG001
) -> Rows:
    """Return the rows of a side that minimise their quadratic losses plus ``ridge`` w² / 2, given the other side.

    If the other side has covariances (a lower triangle per row), the expected loss is minimised, and the rows have
    covariances as well.
    """
    size = other_row.shape[1]
    row, spread, doubt, log_det = _zeros(side, size, other_spread)
    for start, stop in _pieces(side.ptr):
        piece = _Piece(side, terms, other_row, mean, start, stop)
        curvature = piece.sums((piece.x[:, :, None] * piece.x[:, None, :]) * piece.curve[:, None, None])
        right, rows = piece.sums(piece.target[:, None] * piece.x), slice(start, stop)  # right-hand side of the system
        if not spread.shape[1]:
            precision = curvature + np.diag(ridge)
            row[rows], log_det[rows] = _solved(precision, right)
            continue
        other_variance = _unpacked(
            piece.sums(piece.curve[:, None] * other_spread[piece.other].astype(np.float64)), size
        )
        # E[x x'] = mean mean' + covariance; the covariance of factors and bias moves the right-hand side
        curvature[:, :-1, :-1] += other_variance[:, :-1, :-1]
        right[:, :-1] -= other_variance[:, -1, :-1]
        row[rows], log_det[rows] = _solved(curvature + np.diag(ridge), right)
        covariance = np.linalg.inv(curvature + np.diag(ridge))
        spread[rows] = covariance[:, *np.tril_indices(size)]
        # expected curvature times the variance of the score (factors uncertain on both sides, the other side's bias)
        factors = row[rows, :-1]
        doubt[rows] = (
            (curvature * covariance).sum(axis=(1, 2))
            + other_variance[:, -1, -1]
            + 2 * (factors * other_variance[:, -1, :-1]).sum(axis=1)
        )
        doubt[rows] += np.einsum("na,nab,nb->n", factors, other_variance[:, :-1, :-1], factors)
    return Rows(row.astype(other_row.dtype), spread.astype(other_row.dtype), doubt, log_det)


def _zeros(side: Side, size: int, other_spread: AnyArray) -> Rows:
    """Return rows of zeros for a side."""
    n = len(side.ptr) - 1
    return Rows(np.zeros((n, size)), np.zeros((n, other_spread.shape[1])), np.zeros(n), np.zeros(n))


def ridge_steps(
    side: Side,
    terms: Terms,
    other_row: AnyArray,
    other_spread: AnyArray,
    ridge: Floats,
    mean: float,
    begin: StepsFrom,
    threads: int,  # noqa: ARG001
) -> Rows:
    """Approximate ``ridge_rows`` by a few conjugate gradient steps, with variances only (or none)."""
    size = other_row.shape[1]
    row, spread, doubt, log_det = _zeros(side, size, other_spread)
    for start, stop in _pieces(side.ptr):
        piece, rows = _Piece(side, terms, other_row, mean, start, stop), slice(start, stop)
        other_variance = np.zeros((stop - start, size))
        if spread.shape[1]:
            other_variance = piece.sums(piece.curve[:, None] * other_spread[piece.other].astype(np.float64))
        own_precision = ridge + other_variance * (np.arange(size) < size - 1)
        diagonal = own_precision + piece.sums(piece.curve[:, None] * piece.x**2)
        row[rows] = _descended(piece, own_precision, diagonal, begin.start[rows].astype(np.float64), begin.max_steps)
        log_det[rows] = np.log(diagonal).sum(axis=1)
        if spread.shape[1]:
            spread[rows] = 1 / diagonal
            doubt[rows] = ((diagonal - ridge) / diagonal).sum(axis=1) + other_variance[:, -1]
            doubt[rows] += (row[rows, :-1] ** 2 * other_variance[:, :-1]).sum(axis=1)
    return Rows(row.astype(other_row.dtype), spread.astype(other_row.dtype), doubt, log_det)


def pair_steps(
    agent: Int32s, better: Int32s, worse: Int32s, of_agent: AnyArray, of_item: AnyArray, rate: float, shrink: float
) -> tuple[AnyArray, AnyArray, float]:
    """Take a stochastic gradient step on log(1 + exp(-difference)) for each pair; return both sides and the loss.

    The last column of a row is its bias; every step shrinks the rows it touches by 1 - rate * shrink.
    """
    agents, items, loss, keep = of_agent.copy(), of_item.copy(), 0.0, of_agent.dtype.type(1 - rate * shrink)
    for u, i, j in zip(agent.tolist(), better.tolist(), worse.tolist(), strict=True):
        w, better_row, worse_row = agents[u, :-1].copy(), items[i].copy(), items[j].copy()
        lead = float(better_row[-1] - worse_row[-1] + w @ (better_row[:-1] - worse_row[:-1]))
        loss += float(np.logaddexp(0.0, -lead))
        step = of_agent.dtype.type(rate * np.exp(-np.logaddexp(0.0, lead)))
        agents[u, :-1] = keep * w + step * (better_row[:-1] - worse_row[:-1])
        items[i] = keep * better_row + step * np.append(w, 1)
        items[j] = keep * worse_row - step * np.append(w, 1)
    return agents, items, loss


class _Piece:
    """The entries of some rows of a side: their other rows ``x`` (1 for the bias), right-hand sides and curvatures."""

    def __init__(self, side: Side, terms: Terms, other_row: AnyArray, mean: float, start: int, stop: int) -> None:
        """Collect the entries of rows start … stop - 1."""
        begin, end = int(side.ptr[start]), int(side.ptr[stop])
        entry = side.entry[begin:end]
        self.ptr, self.other = side.ptr[start : stop + 1] - begin, side.other[begin:end]
        paired_row = other_row[self.other].astype(np.float64)
        self.x, self.curve = paired_row.copy(), np.broadcast_to(terms.curve, len(terms.target))[entry]
        self.x[:, -1] = 1.0
        self.target = terms.target[entry] - self.curve * (mean + paired_row[:, -1])

    def sums(self, values: Floats) -> Floats:
        """Add up the values of the entries of every row."""
        total = np.zeros((len(self.ptr) - 1, *values.shape[1:]))
        filled = np.flatnonzero(np.diff(self.ptr))
        if len(filled):
            total[filled] = np.add.reduceat(values, self.ptr[:-1][filled], axis=0)
        return total

    def product(self, v: Floats) -> Floats:
        """Multiply, for every row, the sum of curve x x' over its entries by a vector."""
        projection = np.einsum("ed,ed->e", self.x, v[segment_of(self.ptr)])
        return self.sums((self.curve * projection)[:, None] * self.x)


def _pieces(ptr: Int64s) -> list[tuple[int, int]]:
    """Cut rows into pieces (start, stop) of at most ``_ENTRIES`` entries, or of one row."""
    bounds, n = [0], len(ptr) - 1
    while bounds[-1] < n:
        last = int(np.searchsorted(ptr, ptr[bounds[-1]] + _ENTRIES, side="right")) - 1
        bounds.append(min(n, max(bounds[-1] + 1, last)))
    return list(pairwise(bounds))


def _solved(precision: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Solve a linear system for every row; return solutions and log-determinants.

    If rounding makes a matrix indefinite, a growing multiple of the identity is added.
    """
    size, largest = precision.shape[1], np.abs(precision).max(axis=(1, 2), initial=0.0)
    nudge = np.zeros(len(precision))
    while True:
        matrix = precision + nudge[:, None, None] * np.eye(size)
        sign, log_det = np.linalg.slogdet(matrix)
        bad = (sign <= 0) & (nudge < largest)
        if not bad.any():
            return np.asarray(np.linalg.solve(matrix, right[:, :, None])[:, :, 0], np.float64), log_det
        nudge = np.where(bad, np.maximum(10 * nudge, _NUDGE * largest), nudge)


def _unpacked(triangle: Floats, size: int) -> Floats:
    """Return symmetric matrices from their lower triangles."""
    full = np.zeros((len(triangle), size, size))
    rows, columns = np.tril_indices(size)
    full[:, rows, columns] = full[:, columns, rows] = triangle
    return full


def _descended(piece: _Piece, own_precision: Floats, diagonal: Floats, w: Floats, max_steps: int) -> Floats:
    """Take preconditioned conjugate gradient steps for all rows at once, from w; ``diagonal`` is the preconditioner."""
    residual = piece.sums(piece.target[:, None] * piece.x) - piece.product(w) - own_precision * w
    direction = scaled = residual / diagonal
    square = (residual * scaled).sum(axis=1)
    for _ in range(max_steps):
        image = piece.product(direction) + own_precision * direction
        curvature = (direction * image).sum(axis=1)
        moves = (square > 0) & (curvature > 0)
        length = np.divide(square, curvature, out=np.zeros_like(square), where=moves)[:, None]
        w, residual = w + length * direction, residual - length * image
        scaled = residual / diagonal
        new_square = (residual * scaled).sum(axis=1)
        direction = scaled + np.divide(new_square, square, out=np.zeros_like(square), where=moves)[:, None] * direction
        square = new_square
    return w
