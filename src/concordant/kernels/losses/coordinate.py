"""Coordinate descent on the dual of ranking machines: one multiplier per pair (better row, worse row)."""

from __future__ import annotations

from concordant.types import AnyArray, Floats, Int64s

__all__ = ["pair_descent_gram", "pair_descent_linear"]


def pair_descent_linear(
    X: AnyArray, better: Int64s, worse: Int64s, cap: Floats, order: Int64s, multiplier: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """Step through pairs in ``order``; return the multipliers and the weights sum a_p (x_i - x_j) that they make."""
    multiplier, weight = multiplier.copy(), weight.copy()
    for p in order.tolist():
        difference = X[better[p]].astype(float) - X[worse[p]]
        moved = _move(multiplier, p, cap, float(difference @ weight), float(difference @ difference))
        if moved:
            weight += moved * difference
    return multiplier, weight


def pair_descent_gram(
    gram: Floats, better: Int64s, worse: Int64s, cap: Floats, order: Int64s, multiplier: Floats, scores: Floats
) -> tuple[Floats, Floats]:
    """Step through pairs in ``order`` with the inner products of all rows; return multipliers and scores per row."""
    multiplier, scores = multiplier.copy(), scores.copy()
    for p in order.tolist():
        i, j = better[p], worse[p]
        square = float(gram[i, i] - gram[i, j] - gram[j, i] + gram[j, j])
        moved = _move(multiplier, p, cap, float(scores[i] - scores[j]), square)
        if moved:
            scores += moved * (gram[i] - gram[j])
    return multiplier, scores


def _move(multiplier: Floats, p: int, cap: Floats, margin: float, square: float) -> float:
    """Move multiplier p to its best value between 0 and its cap; return the change.

    ``margin`` is w'(x_i - x_j) now, ``square`` is |x_i - x_j|².
    """
    old = float(multiplier[p])
    optimum = old + (1 - margin) / square if square > 0 else float(cap[p])
    multiplier[p] = min(max(optimum, 0.0), float(cap[p]))
    return float(multiplier[p]) - old
