"""Hinge, squared hinge, rank regression and exponential losses (NumPy reference of margins.cpp).

The pairs of small queries are enumerated, for all queries at once; large queries use sorting or cumulative sums.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from concordant.kernels.layouts import over_pairs, preference_steps
from concordant.types import Floats, Int32s, Int64s

__all__ = [
    "exponential_hessian_product",
    "exponential_terms",
    "hinge_terms",
    "regress_terms",
    "squared_hinge_hessian_product",
    "squared_hinge_terms",
]

_LARGE = 1024  # a query of more positions is worth a few array operations of its own
_FEW = 128  # objects whose pairs are looked at one by one
_WIDEST = 600.0  # beyond this exponent a pair goes on along its tangent


def regress_terms(score: Floats, ptr: Int64s, tier: Int32s, weight: Floats, margin: float) -> tuple[float, Floats]:
    """Sum (margin - d)^2 over pairs: value and gradient by position."""

    def of_pairs(better: Int64s, worse: Int64s) -> tuple[Floats, Floats]:
        excess = margin - (score[better] - score[worse])
        return excess * excess, -2 * excess

    def of_query(span: slice) -> tuple[float, Floats]:
        """Return the same for a whole query, from sums over the better and the worse tiers of every position."""
        f = score[span] - score[span].mean()
        key, ones = f - margin, np.ones(len(f))  # a pair costs (f_worse - key_better)^2
        as_worse = _over_better(ones, tier[span]) * f - _over_better(key, tier[span])
        as_better = _over_worse(f, tier[span]) - _over_worse(ones, tier[span]) * key
        return float(f @ as_worse - key @ as_better), 2 * (as_worse - as_better)

    return _over_queries(ptr, tier, weight, of_pairs, of_query)


def exponential_terms(score: Floats, ptr: Int64s, tier: Int32s, weight: Floats) -> tuple[float, Floats]:
    """Sum e^-d over pairs: value and gradient by position."""

    def of_pairs(better: Int64s, worse: Int64s) -> tuple[Floats, Floats]:
        """Return the loss of pairs and its derivative in the margin, along the tangent beyond ``_WIDEST``."""
        x = score[worse] - score[better]
        bounded = np.minimum(x, _WIDEST)
        power = np.exp(bounded)
        return power * (1 + (x - bounded)), -power

    def of_query(span: slice) -> tuple[float, Floats] | None:
        """Return the same for a whole query, from sums over better and worse tiers; None if it may overflow."""
        odds = _odds(score[span])
        if odds is None:
            return None
        as_worse = odds * _over_better(1 / odds, tier[span])
        return float(as_worse.sum()), as_worse - _over_worse(odds, tier[span]) / odds

    return _over_queries(ptr, tier, weight, of_pairs, of_query)


def exponential_hessian_product(score: Floats, ptr: Int64s, tier: Int32s, weight: Floats, direction: Floats) -> Floats:
    """Return the Hessian of the exponential loss times a direction."""

    def of_pairs(better: Int64s, worse: Int64s) -> tuple[Floats, Floats]:
        x = score[worse] - score[better]
        power = np.exp(np.minimum(x, _WIDEST)) * (x <= _WIDEST)
        return np.zeros(len(x)), power * (direction[better] - direction[worse])

    def of_query(span: slice) -> tuple[float, Floats] | None:
        """Return the product for a whole query, from sums over better and worse tiers; None if it may overflow."""
        odds, v, tiers = _odds(score[span]), direction[span], tier[span]
        if odds is None:
            return None
        as_worse = odds * (_over_better(1 / odds, tiers) * v - _over_better(v / odds, tiers))
        return 0.0, as_worse + (_over_worse(odds, tiers) * v - _over_worse(v * odds, tiers)) / odds

    return _over_queries(ptr, tier, weight, of_pairs, of_query)[1]


def hinge_terms(score: Floats, ptr: Int64s, tier: Int32s, weight: Floats) -> tuple[float, Floats]:
    """Sum max(0, 1 - d) over pairs: value and gradient by position; a pair exactly at the margin adds nothing."""

    def of_pairs(better: Int64s, worse: Int64s) -> tuple[Floats, Floats]:
        excess = score[worse] - (score[better] - 1)
        return np.maximum(excess, 0.0), -(excess > 0.0).astype(np.float64)

    def of_query(span: slice) -> tuple[float, Floats]:
        """Return the same for a whole query, from counts of its violated pairs."""
        f = score[span] - score[span].mean()
        lost, _, won, _ = _violations(score[span], tier[span], f, f)
        return float(won @ f - lost @ (f - 1)), won - lost

    return _over_queries(ptr, tier, weight, of_pairs, of_query)


def squared_hinge_terms(score: Floats, ptr: Int64s, tier: Int32s, weight: Floats) -> tuple[float, Floats]:
    """Sum max(0, 1 - d)^2 over pairs: value and gradient by position."""

    def of_pairs(better: Int64s, worse: Int64s) -> tuple[Floats, Floats]:
        excess = np.maximum(score[worse] - (score[better] - 1), 0.0)
        return excess * excess, -2 * excess

    def of_query(span: slice) -> tuple[float, Floats]:
        """Return the same for a whole query, from counts and sums over its violated pairs."""
        f = score[span] - score[span].mean()
        lost, lost_sum, won, won_sum = _violations(score[span], tier[span], f, f - 1)
        as_worse, as_better = won * f - won_sum, lost_sum - lost * (f - 1)
        return float(f @ as_worse - (f - 1) @ as_better), 2 * (as_worse - as_better)

    return _over_queries(ptr, tier, weight, of_pairs, of_query)


def squared_hinge_hessian_product(
    score: Floats, ptr: Int64s, tier: Int32s, weight: Floats, direction: Floats
) -> Floats:
    """Return the (generalised) Hessian of the squared hinge loss times a direction."""

    def of_pairs(better: Int64s, worse: Int64s) -> tuple[Floats, Floats]:
        violated = score[worse] - (score[better] - 1) > 0.0
        return np.zeros(len(better)), 2 * violated * (direction[better] - direction[worse])

    def of_query(span: slice) -> tuple[float, Floats]:
        """Return the product for a whole query, from counts and sums over its violated pairs."""
        v = direction[span]
        lost, lost_sum, won, won_sum = _violations(score[span], tier[span], v, v)
        return 0.0, 2 * ((won + lost) * v - won_sum - lost_sum)

    return _over_queries(ptr, tier, weight, of_pairs, of_query)[1]


def _over_queries(
    ptr: Int64s,
    tier: Int32s,
    weight: Floats,
    of_pairs: Callable[[Int64s, Int64s], tuple[Floats, Floats]],
    of_query: Callable[[slice], tuple[float, Floats] | None],
) -> tuple[float, Floats]:
    """Sum value and gradient over queries: small ones by pairs, large ones by ``of_query`` (unless it returns None).

    ``of_pairs`` returns the value of every pair and its derivative in the margin; ``of_query`` value and gradient.
    """
    value, gradient = 0.0, np.zeros(len(tier))
    by_pairs = np.diff(ptr) <= _LARGE
    for q in np.flatnonzero(~by_pairs).tolist():
        span = slice(int(ptr[q]), int(ptr[q + 1]))
        result = of_query(span)
        if result is None:
            by_pairs[q] = True
        else:
            value += float(weight[q]) * result[0]
            gradient[span] = weight[q] * result[1]
    pairs_value, pairs_gradient, _ = over_pairs(
        preference_steps(ptr, tier, by_pairs), np.repeat(weight, np.diff(ptr)), of_pairs
    )
    return value + pairs_value, gradient + pairs_gradient


def _odds(score: Floats) -> Floats | None:
    """Return e^(score - midrange), or None if the scores are so far apart that sums may overflow."""
    low, high = float(score.min()), float(score.max())
    return None if high - low >= _WIDEST else np.exp(score - (low + (high - low) / 2))


def _over_better(x: Floats, tier: Int32s) -> Floats:
    """Return, by position, the sum of x over the better tiers."""
    starts = np.flatnonzero(np.diff(tier, prepend=-1))
    by_tier = np.concatenate([[0.0], np.cumsum(np.add.reduceat(x, starts))[:-1]])
    return np.asarray(by_tier[tier])


def _over_worse(x: Floats, tier: Int32s) -> Floats:
    """Return, by position, the sum of x over the worse tiers."""
    return _over_better(x[::-1], tier[-1] - tier[::-1])[::-1]


def _violations(
    score: Floats, tier: Int32s, of_worse: Floats, of_better: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Count the violated pairs (score_better - 1 < score_worse) of each position: (lost, lost_sum, won, won_sum).

    ``lost`` counts those where it is the better one, and ``lost_sum`` sums ``of_worse`` over their other positions;
    ``won`` and ``won_sum`` (of ``of_better``) those where it is the worse one. Divide and conquer: the query is split
    between tiers, so every pair across the split is a preference, and a merge of the sorted halves counts them. Each
    half is split again until few enough pairs remain to enumerate.
    """
    key = score - 1
    lost, lost_sum, won, won_sum = np.zeros((4, len(score)))
    cuts = np.flatnonzero(np.diff(tier)) + 1
    pending = [(0, len(score))]
    while pending:
        low, high = pending.pop()
        inside = cuts[np.searchsorted(cuts, low, "right") : np.searchsorted(cuts, high)]
        if not len(inside):
            continue
        if high - low <= _FEW:
            part = slice(low, high)
            violated = (score[part] > key[part, None]) & (tier[part] > tier[part, None])
            lost[part] += violated.sum(1)
            lost_sum[part] += violated @ of_worse[part]
            won[part] += violated.sum(0)
            won_sum[part] += of_better[part] @ violated
            continue
        middle = int(inside[np.abs(inside - (low + high) / 2).argmin()])
        better, worse = slice(low, middle), slice(middle, high)
        order = np.argsort(score[worse], kind="stable")
        passed = np.searchsorted(score[worse][order], key[better], "right")
        sums = np.concatenate([[0.0], np.cumsum(of_worse[worse][order][::-1])])[::-1]
        lost[better] += high - middle - passed
        lost_sum[better] += sums[passed]
        order = np.argsort(key[better], kind="stable")
        passed = np.searchsorted(key[better][order], score[worse])
        won[worse] += passed
        won_sum[worse] += np.concatenate([[0.0], np.cumsum(of_better[better][order])])[passed]
        pending += [(low, middle), (middle, high)]
    return lost, lost_sum, won, won_sum
