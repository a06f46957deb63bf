"""Dual coordinate descent for ranking SVMs: one multiplier per pair (NumPy reference of coordinate.cpp)."""

from __future__ import annotations

from concordant.types import AnyArray, Floats, Int64s

__all__ = ["pair_descent_gram", "pair_descent_linear"]


def pair_descent_linear(
    X: AnyArray, better: Int64s, worse: Int64s, cap: Floats, order: Int64s, multiplier: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """Update the multipliers of pairs in ``order``; return them and the weights w = sum_p a_p (x_i - x_j)."""
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
    """Update the multipliers of pairs in ``order`` given the Gram matrix; return them and the scores per row."""
    multiplier, scores = multiplier.copy(), scores.copy()
    for p in order.tolist():
        i, j = better[p], worse[p]
        square = float(gram[i, i] - gram[i, j] - gram[j, i] + gram[j, j])
        moved = _move(multiplier, p, cap, float(scores[i] - scores[j]), square)
        if moved:
            scores += moved * (gram[i] - gram[j])
    return multiplier, scores


def _move(multiplier: Floats, p: int, cap: Floats, margin: float, square: float) -> float:
    """Set multiplier p to its optimum between 0 and its cap; return the change.

    ``margin`` is the current w'(x_i - x_j), ``square`` is |x_i - x_j|².
    """
    old = float(multiplier[p])
    optimum = old + (1 - margin) / square if square > 0 else float(cap[p])
    multiplier[p] = min(max(optimum, 0.0), float(cap[p]))
    return float(multiplier[p]) - old
