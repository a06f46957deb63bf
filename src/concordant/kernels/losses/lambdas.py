"""LambdaRank: the metric-weighted logistic pair loss (NumPy reference of lambdas.cpp)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from concordant.kernels.bundles import LabelledQueries, LambdaGoal
from concordant.kernels.codes import Lambda
from concordant.kernels.layouts import over_pairs, preference_steps, segment_of, softplus_and_slope
from concordant.types import AnyArray, Bools, Floats, Int64s

__all__ = ["lambda_descent", "lambda_terms"]

# Of pairs of positions: how much the metric changes, up to its sign, when the two swap places.
Change = Callable[[Int64s, Int64s], Floats]


def lambda_descent(
    X: AnyArray, queries: LabelledQueries, visits: Int64s, theta: Floats, rate: float, decay: float, goal: LambdaGoal
) -> tuple[Floats, float]:
    """Take a gradient step per query: theta <- (1 - decay) theta - rate gradient.

    Scores are linear, ``X[row] @ theta``. Return theta after all visits, and the sum of the losses.
    """
    theta, total = theta.copy(), 0.0
    for q in visits.tolist():
        span = slice(int(queries.ptr[q]), int(queries.ptr[q + 1]))
        rows = X[queries.row[span]].astype(np.float64, copy=False)
        if not np.isfinite(theta).all():  # steps too long
            return np.full(len(theta), np.nan), float("nan")
        score = rows @ theta
        ptr, weight = np.array([0, len(rows)]), queries.weight[q : q + 1]
        query = LabelledQueries(ptr, queries.tier[span], queries.label[span], queries.row[span], weight)
        value, gradient = lambda_terms(score, query, goal) if len(rows) else (0.0, score)
        total += value
        theta = (1 - decay) * theta - rate * (gradient @ rows)
    return theta, total


def lambda_terms(score: Floats, queries: LabelledQueries, goal: LambdaGoal) -> tuple[float, Floats]:
    """Sum |change of the metric when i and j swap| log(1 + e^-d) over pairs: value and gradient by position.

    Pairs are all i of a better tier than j in the same query, d is the score of i minus that of j.
    """
    target, cutoff, largest = goal
    ptr, tier, label, row, weight = queries
    query = segment_of(ptr)
    order = np.lexsort((row, -score, query))
    place = np.empty(len(score))
    place[order] = np.arange(len(score)) - ptr[:-1][query] + 1
    is_counted = place <= (cutoff or np.inf)
    if target == Lambda.NDCG:
        change = _ndcg_change(ptr, query, label, place, is_counted, cutoff)
    elif target == Lambda.AP:
        change = _ap_change(ptr, query, label, place, is_counted, order)
    else:
        change = _err_change(ptr, query, label, place, is_counted, order, largest)

    def of_pairs(better: Int64s, worse: Int64s) -> tuple[Floats, Floats]:
        loss, slope = softplus_and_slope(score[worse] - score[better])
        change_of_pair = np.abs(change(better, worse))
        return change_of_pair * loss, -change_of_pair * slope

    return over_pairs(preference_steps(ptr, tier), weight[query], of_pairs)[:2]


def _scaled_gain(label: Floats, top: Floats) -> Floats:
    """Return 2^(label - top) - 2^-top: the gain 2^label - 1, scaled to avoid overflow."""
    return np.where(label > 0, np.exp2(np.minimum(label - top, 0.0)) - np.exp2(-top), 0.0)


def _ndcg_change(ptr: Int64s, query: Int64s, label: Floats, place: Floats, is_counted: Bools, cutoff: int) -> Change:
    """Return the change of NDCG by pairs; labels are sorted best first in each query, which is the ideal order."""
    gain = _scaled_gain(label, np.maximum(label[ptr[:-1]], 0.0)[query])
    ideal_place = np.arange(len(label)) - ptr[:-1][query] + 1
    ideal_discount = (ideal_place <= (cutoff or np.inf)) / np.log2(ideal_place + 1)
    ideal = np.bincount(query, gain * ideal_discount, minlength=len(ptr) - 1)[query]
    gain_share = np.divide(gain, ideal, out=np.zeros(len(gain)), where=ideal > 0)
    discount = is_counted / np.log2(place + 1)
    return lambda i, j: (gain_share[i] - gain_share[j]) * (discount[i] - discount[j])


def _ap_change(ptr: Int64s, query: Int64s, label: Floats, place: Floats, is_counted: Bools, order: Int64s) -> Change:
    """Return the change of average precision by pairs: at the two positions and at those between."""
    relevant = (label >= 1).astype(np.float64)
    inverse = is_counted / place
    n_relevant = _running(relevant, ptr, query, order)
    # With n(p) the number of relevant rows up to place p and S(p) their summed 1/place, moving a relevant row from
    # place p down to q changes the sum of precisions by gain_at(q) - gain_at(p), gain_at = n/p - S; up, by 1/q - 1/p
    # more.
    gain_at = n_relevant * inverse - _running(relevant * inverse, ptr, query, order)
    total = np.maximum(np.bincount(query, relevant, minlength=len(ptr) - 1), 1.0)[query]

    def change(i: Int64s, j: Int64s) -> Floats:
        """Return the change when positions i and j swap places."""
        falls = gain_at[j] - gain_at[i]
        rises = falls + inverse[j] - inverse[i]
        moved = np.where(place[j] > place[i], falls, rises)
        return np.asarray((relevant[i] - relevant[j]) * moved / total[i])

    return change


def _err_change(
    ptr: Int64s, query: Int64s, label: Floats, place: Floats, is_counted: Bools, order: Int64s, largest: float
) -> Change:
    """Return the change of ERR by pairs, from the probabilities of stopping at a row and of reaching its position."""
    top = np.maximum(label[ptr[:-1]], max(largest, 0.0))[query]
    stop = np.minimum(_scaled_gain(label, top), 1 - 1e-12)
    reach_chance = np.exp(_running(np.log1p(-stop), ptr, query, order) - np.log1p(-stop))
    reach_share = (
        is_counted * reach_chance / place
    )  # what stopping here would add, 1/place times the chance to get here
    err_up_to = _running(stop * reach_share, ptr, query, order)

    # Let the rows at the first and second place have stop chances a and b: after the swap the terms between them are
    # scaled by (1 - b) / (1 - a), and their own terms exchange a and b; the sum of changes has the factor a - b.
    def change(i: Int64s, j: Int64s) -> Floats:
        """Return the change when positions i and j swap places."""
        i_is_first = place[i] < place[j]
        first, second = np.where(i_is_first, i, j), np.where(i_is_first, j, i)
        between = err_up_to[second] + reach_share[second] * (1 - stop[second]) - err_up_to[first]
        return np.asarray((stop[i] - stop[j]) * (between / (1 - stop[first]) - reach_share[first]))

    return change


def _running(x: Floats, ptr: Int64s, query: Int64s, order: Int64s) -> Floats:
    """Return, by position, the cumulative sum of x over the ranks up to its own, within its query."""
    sums = np.cumsum(x[order])
    before = np.concatenate([[0.0], sums])[ptr[:-1]]
    running = np.empty(len(x))
    running[order] = sums
    return np.asarray(running - before[query])
