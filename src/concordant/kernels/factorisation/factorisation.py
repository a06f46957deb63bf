"""Ratings as products of hidden factors: scores, and rows of one side with the other fixed (of factorisation.cpp)."""

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
    """Return the score of every entry: the mean, both biases and the product of the factors."""
    own, theirs = row[segment_of(ptr)], other_row[other]
    product = np.einsum("ed,ed->e", own[:, :-1], theirs[:, :-1])
    return np.asarray(mean + (own[:, -1] + theirs[:, -1] + product).astype(np.float64))


def ridge_rows(
    side: Side,
    terms: Terms,
    other_row: AnyArray,
    other_spread: AnyArray,
    ridge: Floats,
    mean: float,
    threads: int,  # noqa: ARG001
) -> Rows:
    """Return the rows of a side that minimise their quadratic losses plus ``ridge`` w² / 2, the other side fixed.

    Where the other side has covariances (a lower triangle per row), the loss is its mean under them, and the rows have
    covariances, too.
    """
    size = other_row.shape[1]
    row, spread, doubt, log_det = _zeros(side, size, other_spread)
    for start, stop in _pieces(side.ptr):
        piece = _Piece(side, terms, other_row, mean, start, stop)
        data = piece.sums((piece.x[:, :, None] * piece.x[:, None, :]) * piece.curve[:, None, None])
        right, at = piece.sums(piece.target[:, None] * piece.x), slice(start, stop)
        if not spread.shape[1]:
            precision = data + np.diag(ridge)
            row[at], log_det[at] = _solved(precision, right)
            continue
        theirs = _unpacked(piece.sums(piece.curve[:, None] * other_spread[piece.other].astype(np.float64)), size)
        data[:, :-1, :-1] += theirs[:, :-1, :-1]
        right[:, :-1] -= theirs[:, -1, :-1]
        row[at], log_det[at] = _solved(data + np.diag(ridge), right)
        own = np.linalg.inv(data + np.diag(ridge))
        spread[at] = own[:, *np.tril_indices(size)]
        factors = row[at, :-1]
        doubt[at] = (data * own).sum(axis=(1, 2)) + theirs[:, -1, -1] + 2 * (factors * theirs[:, -1, :-1]).sum(axis=1)
        doubt[at] += np.einsum("na,nab,nb->n", factors, theirs[:, :-1, :-1], factors)
    return Rows(row.astype(other_row.dtype), spread.astype(other_row.dtype), doubt, log_det)


def _zeros(side: Side, size: int, other_spread: AnyArray) -> Rows:
    """Return the rows of a side before anything is known of them."""
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
    """Return what ``ridge_rows`` does, nearly: some steps of conjugate gradients, and variances only (or nothing)."""
    size = other_row.shape[1]
    row, spread, doubt, log_det = _zeros(side, size, other_spread)
    for start, stop in _pieces(side.ptr):
        piece, at = _Piece(side, terms, other_row, mean, start, stop), slice(start, stop)
        theirs = np.zeros((stop - start, size))
        if spread.shape[1]:
            theirs = piece.sums(piece.curve[:, None] * other_spread[piece.other].astype(np.float64))
        own = ridge + theirs * (np.arange(size) < size - 1)
        diagonal = own + piece.sums(piece.curve[:, None] * piece.x**2)
        row[at] = _descended(piece, own, diagonal, begin.start[at].astype(np.float64), begin.max_steps)
        log_det[at] = np.log(diagonal).sum(axis=1)
        if spread.shape[1]:
            spread[at] = 1 / diagonal
            doubt[at] = ((diagonal - ridge) / diagonal).sum(axis=1) + theirs[:, -1]
            doubt[at] += (row[at, :-1] ** 2 * theirs[:, :-1]).sum(axis=1)
    return Rows(row.astype(other_row.dtype), spread.astype(other_row.dtype), doubt, log_det)


def pair_steps(
    agent: Int32s, better: Int32s, worse: Int32s, of_agent: AnyArray, of_item: AnyArray, rate: float, shrink: float
) -> tuple[AnyArray, AnyArray, float]:
    """Take a stochastic step on log(1 + exp(-lead)) for every pair in turn; return both sides and the summed loss."""
    agents, items, loss, keep = of_agent.copy(), of_item.copy(), 0.0, of_agent.dtype.type(1 - rate * shrink)
    for u, i, j in zip(agent.tolist(), better.tolist(), worse.tolist(), strict=True):
        w, good, bad = agents[u, :-1].copy(), items[i].copy(), items[j].copy()
        lead = float(good[-1] - bad[-1] + w @ (good[:-1] - bad[:-1]))
        loss += float(np.logaddexp(0.0, -lead))
        step = of_agent.dtype.type(rate * np.exp(-np.logaddexp(0.0, lead)))
        agents[u, :-1] = keep * w + step * (good[:-1] - bad[:-1])
        items[i] = keep * good + step * np.append(w, 1)
        items[j] = keep * bad - step * np.append(w, 1)
    return agents, items, loss


class _Piece:
    """The entries of some rows of a side: the other rows, the part of the right-hand side, the curvature."""

    def __init__(self, side: Side, terms: Terms, other_row: AnyArray, mean: float, start: int, stop: int) -> None:
        begin, end = int(side.ptr[start]), int(side.ptr[stop])
        entry = side.entry[begin:end]
        self.ptr, self.other = side.ptr[start : stop + 1] - begin, side.other[begin:end]
        theirs = other_row[self.other].astype(np.float64)
        self.x, self.curve = theirs.copy(), np.broadcast_to(terms.curve, len(terms.target))[entry]
        self.x[:, -1] = 1.0
        self.target = terms.target[entry] - self.curve * (mean + theirs[:, -1])

    def sums(self, values: Floats) -> Floats:
        """Add up the values of the entries of every row."""
        total = np.zeros((len(self.ptr) - 1, *values.shape[1:]))
        filled = np.flatnonzero(np.diff(self.ptr))
        if len(filled):
            total[filled] = np.add.reduceat(values, self.ptr[:-1][filled], axis=0)
        return total

    def product(self, v: Floats) -> Floats:
        """Multiply the sum of curve x x' of every row by a vector each."""
        along = np.einsum("ed,ed->e", self.x, v[segment_of(self.ptr)])
        return self.sums((self.curve * along)[:, None] * self.x)


def _pieces(ptr: Int64s) -> list[tuple[int, int]]:
    """Cut rows into pieces of so many entries, or of a row."""
    bounds, n = [0], len(ptr) - 1
    while bounds[-1] < n:
        reached = int(np.searchsorted(ptr, ptr[bounds[-1]] + _ENTRIES, side="right")) - 1
        bounds.append(min(n, max(bounds[-1] + 1, reached)))
    return list(pairwise(bounds))


def _solved(precision: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Solve a system for every row; return the log-determinants, too."""
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


def _descended(piece: _Piece, own: Floats, diagonal: Floats, w: Floats, max_steps: int) -> Floats:
    """Take steps of conjugate gradients, preconditioned by the diagonal, for all rows at once."""
    rest = piece.sums(piece.target[:, None] * piece.x) - piece.product(w) - own * w
    along = scaled = rest / diagonal
    size = (rest * scaled).sum(axis=1)
    for _ in range(max_steps):
        image = piece.product(along) + own * along
        bend = (along * image).sum(axis=1)
        moves = (size > 0) & (bend > 0)
        length = np.divide(size, bend, out=np.zeros_like(size), where=moves)[:, None]
        w, rest = w + length * along, rest - length * image
        scaled = rest / diagonal
        left = (rest * scaled).sum(axis=1)
        along = scaled + np.divide(left, size, out=np.zeros_like(size), where=moves)[:, None] * along
        size = left
    return w
