"""List losses (NumPy reference of lists.cpp), computed with log-sum-exp.

Sums over remaining objects, and over the stages so far, are vectorised over queries of equal length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from concordant.kernels.layouts import begins_tier, segment_of
from concordant.types import Floats, Int32s, Int64s

__all__ = [
    "list_mle",
    "list_mle_hessian_product",
    "list_net",
    "list_net_hessian_product",
    "mean_partitions",
    "mean_partitions_bound",
    "mean_partitions_hessian_product",
]


class _Stages(NamedTuple):
    """Stages of all queries: first position, query and weight of each, and the stage of every position."""

    start: Int64s
    query: Int64s
    weight: Floats
    of_position: Int64s


def list_mle(scores: Floats, ptr: Int64s, tier: Int32s, weight: Floats, is_best: bool) -> tuple[float, Floats]:
    """Return the summed loss of the order of positions (``is_best``: tiers sorted by score), and its gradient."""
    order = _best_order(scores, ptr, tier) if is_best else np.arange(len(scores))
    gradient = np.empty(len(scores))
    loss, gradient[order] = _evaluate(scores[order], ptr, _stages(ptr, None, None, weight))
    return float(loss.sum()), gradient


def list_mle_hessian_product(
    scores: Floats, ptr: Int64s, tier: Int32s, weight: Floats, is_best: bool, direction: Floats
) -> Floats:
    """Return the Hessian of ``list_mle`` times ``direction``."""
    order = _best_order(scores, ptr, tier) if is_best else np.arange(len(scores))
    product = np.empty(len(scores))
    product[order] = _hessian_product(scores[order], ptr, _stages(ptr, None, None, weight), direction[order])
    return product


def mean_partitions(scores: Floats, ptr: Int64s, tier: Int32s, factor: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return, by query, the loss of choosing tier after tier (arithmetic mean of worths), and the gradient.

    ``factor`` multiplies the weights of stages; empty: all 1.
    """
    return _evaluate(scores, ptr, _stages(ptr, tier, factor, weight))


def mean_partitions_bound(scores: Floats, ptr: Int64s, tier: Int32s, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return loss and gradient of ``mean_partitions``, and a diagonal matrix that bounds the Hessian."""
    stages = _stages(ptr, tier, None, weight)
    loss, gradient = _evaluate(scores, ptr, stages)
    chosen, is_choice = _log_sums(scores, stages), np.diff(stages.query, append=-1) == 0  # all but a query's last tier
    chosen_share = (stages.weight * is_choice)[stages.of_position] * np.exp(scores - chosen[stages.of_position])
    return loss, gradient, np.maximum(0.0, gradient + chosen_share)


def mean_partitions_hessian_product(
    scores: Floats, ptr: Int64s, tier: Int32s, factor: Floats, weight: Floats, direction: Floats
) -> Floats:
    """Return the Hessian of ``mean_partitions`` times ``direction``."""
    return _hessian_product(scores, ptr, _stages(ptr, tier, factor, weight), direction)


def list_net(
    scores: Floats,
    ptr: Int64s,
    tier: Int32s,  # noqa: ARG001 - the compiled one needs it
    label: Floats,
    weight: Floats,
) -> tuple[float, Floats]:
    """Return the summed cross entropy between the softmaxes of labels and scores, and its gradient."""
    query = segment_of(ptr)
    target, log_total = np.exp(_log_softmax(label, ptr)[0]), _log_softmax(scores, ptr)[0]
    gradient = weight[query] * (np.exp(log_total) - target)
    return float(-(weight[query] * target) @ log_total), gradient


def list_net_hessian_product(scores: Floats, ptr: Int64s, weight: Floats, direction: Floats) -> Floats:
    """Return the Hessian of ``list_net`` times ``direction``."""
    log_share, query = _log_softmax(scores, ptr)
    share = np.exp(log_share)
    mean = np.bincount(query, weights=share * direction, minlength=len(weight))
    return np.asarray(weight[query] * share * (direction - mean[query]))


def _stages(ptr: Int64s, tier: Int32s | None, factor: Floats | None, weight: Floats) -> _Stages:
    """Return the stages of all queries: one per tier, or one per position without tiers."""
    query = segment_of(ptr)
    begins = np.ones(len(query), bool) if tier is None else begins_tier(ptr, tier)
    start = np.flatnonzero(begins)
    stage_weight = weight[query[start]]
    if factor is not None and len(factor):
        stage_weight = stage_weight * factor
    return _Stages(start, query[start], stage_weight, np.cumsum(begins) - 1)


def _evaluate(scores: Floats, ptr: Int64s, stages: _Stages) -> tuple[Floats, Floats]:
    """Return loss by query, sum over stages of weight (log worth remaining - log worth chosen), and the gradient."""
    remaining, chosen = _suffix_log_sums(scores, ptr), _log_sums(scores, stages)
    loss = stages.weight * (remaining[stages.start] - chosen)
    rate = _rates(np.ones(len(stages.start)), remaining, ptr, stages)
    chosen_share = stages.weight[stages.of_position] * np.exp(scores - chosen[stages.of_position])
    by_query = np.bincount(stages.query, weights=loss, minlength=len(ptr) - 1)
    return by_query.astype(np.float64, copy=False), np.exp(scores + rate) - chosen_share


def _hessian_product(scores: Floats, ptr: Int64s, stages: _Stages, direction: Floats) -> Floats:
    """Return the Hessian of the loss of ``_evaluate`` times a direction.

    A stage adds weight times share (d - mean of d) over the remaining objects, minus the same over the chosen ones,
    with shares proportional to worth.
    """
    # Equal shifts of all scores change nothing, so the direction may be made positive and enter as a logarithm.
    query, stage = segment_of(ptr), stages.of_position
    lowest = np.full(len(ptr) - 1, np.inf)
    np.minimum.at(lowest, query, direction)
    shifted = direction - lowest[query]
    with np.errstate(divide="ignore"):
        log_product = scores + np.log(shifted)
    remaining, chosen = _suffix_log_sums(scores, ptr), _log_sums(scores, stages)
    mean_remaining = np.exp(_suffix_log_sums(log_product, ptr) - remaining)[stages.start]
    mean_chosen = np.exp(_log_sums(log_product, stages) - chosen)
    rate = _rates(np.ones(len(stages.start)), remaining, ptr, stages)
    moved_rate = _rates(mean_remaining, remaining, ptr, stages)
    chosen_part = stages.weight[stage] * np.exp(scores - chosen[stage]) * (shifted - mean_chosen[stage])
    return np.asarray(np.exp(scores + rate) * shifted - np.exp(scores + moved_rate) - chosen_part)


def _rates(factor: Floats, remaining: Floats, ptr: Int64s, stages: _Stages) -> Floats:
    """Return log of the sum of weight * factor / remaining worth over the stages so far, by position."""
    at_start = np.full(len(remaining), -np.inf)
    with np.errstate(divide="ignore"):
        at_start[stages.start] = np.log(stages.weight * factor) - remaining[stages.start]
    return _accumulate(at_start, ptr)


def _suffix_log_sums(values: Floats, ptr: Int64s) -> Floats:
    """Return, by position, log of the sum of exponentials from it to the end of its query."""
    flipped = np.ascontiguousarray((len(values) - ptr)[::-1])
    return _accumulate(values[::-1], flipped)[::-1]


def _accumulate(values: Floats, ptr: Int64s) -> Floats:
    """Return, by position, log of the sum of exponentials from the start of its query up to it."""
    result = np.empty(len(values))
    sizes = np.diff(ptr)
    for size in np.unique(sizes[sizes > 0]).tolist():
        entries = ptr[:-1][sizes == size] + np.arange(size)[:, None]
        result[entries] = np.logaddexp.accumulate(values[entries], axis=0)
    return result


def _log_sums(values: Floats, stages: _Stages) -> Floats:
    """Return by stage the logarithm of the sum of exponentials over its tier."""
    if not len(values):
        return np.zeros(0)
    high = np.maximum.reduceat(values, stages.start)
    safe = np.where(np.isfinite(high), high, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.add.reduceat(np.exp(values - safe[stages.of_position]), stages.start)))


def _log_softmax(values: Floats, ptr: Int64s) -> tuple[Floats, Int64s]:
    """Return the log-softmax of values within every query, and the query of every value."""
    query = segment_of(ptr)
    high = np.full(len(ptr) - 1, -np.inf)
    np.maximum.at(high, query, values)
    total = np.bincount(query, weights=np.exp(values - high[query]), minlength=len(high))
    return values - high[query] - np.log(total[query]), query


def _best_order(scores: Floats, ptr: Int64s, tier: Int32s) -> Int64s:
    """Return positions sorted by query, tier and descending score."""
    return np.lexsort((-scores, tier, segment_of(ptr)))
