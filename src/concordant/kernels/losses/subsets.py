"""Ordered partitions by maximum, minimum, geometric and harmonic mean (NumPy reference of subsets.cpp).

Stages with the same index, and chains of sets, are processed together: queries and chains are columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from concordant.kernels.bundles import Subsets
from concordant.types import Bools, Bytes, Floats, Int32s, Int64s

__all__ = ["extreme_partitions", "gibbs_subsets", "metropolis_subsets", "subset_slopes", "subset_worths"]

WIDE = 300.0
CANCELLED = 1e-6


def extreme_partitions(
    scores: Floats,
    ptr: Int64s,
    tier: Int32s,
    factor: Floats,
    weight: Floats,
    shrink: Floats,
    log_spread: Floats,
    is_maximum: bool,
) -> tuple[Floats, Floats]:
    """Return, by query, the loss of choosing tier after tier if the worth of a set is that of its best or worst member.

    Also returns the gradient. ``shrink[j]`` is M(j) / M(j + 1), where M(j) is the g-weighted number of sets of which an
    object is the extreme one when j others may join; ``log_spread[N]`` is the logarithm of the g-weighted number of all
    sets of N objects over M(N - 1). ``factor`` multiplies the weights of stages; empty: all 1.
    """
    loss, gradient = np.zeros(len(weight)), np.zeros(len(scores))
    log_count = np.concatenate([[0.0], -np.cumsum(np.log(shrink))])
    sizes = np.diff(ptr)
    stages = np.where(sizes > 0, tier[np.maximum(ptr[1:] - 1, 0)] + 1, 0)
    first = np.cumsum(stages) - stages
    for size in np.unique(sizes[sizes > 1]).tolist():
        query = np.flatnonzero(sizes == size)
        entries = ptr[query] + np.arange(size)[:, None]
        order = np.argsort(-scores[entries] if is_maximum else scores[entries], axis=0, kind="stable")
        entries = np.take_along_axis(entries, order, axis=0)
        stage = tier[entries]
        for k in range(int(stage.max()) + 1):
            stage_weight = weight[query] * (stage == k).any(axis=0)
            if len(factor):
                stage_weight *= factor[np.minimum(first[query] + k, len(factor) - 1)]
            active = np.flatnonzero(stage_weight)
            if len(active):
                terms = _extreme_stage(scores[entries[:, active]], stage[:, active], k, log_count, log_spread)
                loss[query[active]] += stage_weight[active] * terms[0]
                gradient[entries[:, active]] += stage_weight[active] * terms[1]
    return loss, gradient


def _extreme_stage(
    score: Floats, stage: Int32s, k: int, log_count: Floats, log_spread: Floats
) -> tuple[Floats, Floats]:
    """Return loss and gradient of stage k of some queries (columns); rows are objects, the most extreme first."""
    remains, is_chosen = stage >= k, stage == k
    count = remains.sum(axis=0)
    place = np.cumsum(remains, axis=0)
    n_behind = np.clip(count - place, 0, None)
    # sets of which an object is the most extreme: its worth times the number of sets of the objects behind it
    term = np.where(remains, score + log_count[n_behind] - log_count[count - 1], -np.inf)
    high = term.max(axis=0)
    share = np.exp(term - high)
    total = share.sum(axis=0)
    chosen = is_chosen.argmax(axis=0)
    across = np.arange(score.shape[1])
    gradient = share / total
    gradient[chosen, across] -= 1
    loss = high + np.log(total) - log_spread[count] - score[chosen, across] + np.log(count / is_chosen.sum(axis=0))
    return loss, gradient


class _Columns(NamedTuple):
    """Chains as columns, longest first: row k of ``entry`` is the k-th object of the chains that have one."""

    chain: Int64s
    size: Int64s
    start: Int64s

    def rows(self) -> Iterator[tuple[int, Int64s]]:
        """Yield, for k = 0, 1, …, the number of chains with a k-th object, and its index among all bytes."""
        for k in range(int(self.size[0]) if len(self.size) else 0):
            active = int(np.searchsorted(-self.size, -k, side="left"))
            yield active, self.start[:active] + k


def _columns(subsets: Subsets) -> _Columns:
    """Sort chains by length, longest first."""
    size = subsets.end - subsets.begin
    chain = np.argsort(-size, kind="stable")
    start = np.cumsum(size) - size
    return _Columns(chain, size[chain], start[chain])


def _spread(scores: Floats, subsets: Subsets) -> tuple[Floats, Int64s]:
    """Return the score of the object of every byte, and where each chain starts."""
    size = subsets.end - subsets.begin
    start = np.cumsum(size) - size
    return scores[np.arange(len(subsets.member)) + np.repeat(subsets.begin - start, size)], start


def gibbs_subsets(
    scores: Floats, subsets: Subsets, uniform: Floats, temperature: float, log_bias: Floats, is_harmonic: bool
) -> Bytes:
    """Do one Gibbs sweep: each object of each chain joins the set with its probability given all others."""
    score, start = _spread(scores, subsets)
    is_in = subsets.member.astype(bool)
    columns = _columns(subsets)
    if not len(score):
        return subsets.member.copy()
    value = score  # what a set sums up: scores, or inverse worths relative to the lowest score
    if is_harmonic:
        low = np.minimum.reduceat(score, start)
        value = np.exp(np.maximum(np.repeat(low, subsets.end - subsets.begin) - score, -WIDE))
    count = np.add.reduceat(is_in, start, dtype=np.int64)[columns.chain]
    total = np.add.reduceat(np.where(is_in, value, 0.0), start)[columns.chain]
    for active, byte in columns.rows():
        others = count[:active] - is_in[byte]
        rest = np.where(is_in[byte], total[:active] - value[byte], total[:active])
        if is_harmonic:
            rest[others == 0] = 0.0
            has_cancelled = is_in[byte] & (others > 0) & (rest < CANCELLED * total[:active])
            for column in np.flatnonzero(has_cancelled).tolist():
                rest[column] = _sum_of_others(is_in, value, columns, column, int(byte[column]))
        odds = _log_odds(value[byte], rest, others, temperature, is_harmonic) + _bias(log_bias, others)
        with np.errstate(over="ignore", invalid="ignore"):
            is_in[byte] = (others == 0) | (uniform[byte] < 1 / (1 + np.exp(-odds)))
        total[:active] = np.where(is_in[byte], rest + value[byte], rest)
        count[:active] = others + is_in[byte]
    return is_in.astype(np.uint8)


def _log_odds(value: Floats, rest: Floats, others: Int64s, temperature: float, is_harmonic: bool) -> Floats:
    """Return temperature times the log of the mean worth with an object over that without it."""
    m = np.maximum(others, 1)
    if not is_harmonic:
        return np.asarray(temperature * (value - rest / m) / (m + 1))
    rest = np.where(others == 0, 1.0, rest)
    return np.asarray(temperature * np.log((m + 1) * rest / (m * (rest + value))))


def _bias(log_bias: Floats, others: Int64s) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(others == 0, 0.0, log_bias[others + 1] - log_bias[np.maximum(others, 1)]))


def _sum_of_others(is_in: Bools, value: Floats, columns: _Columns, column: int, byte: int) -> float:
    """Sum the members of a set except one, without the cancellation of subtracting it from the total."""
    span = slice(int(columns.start[column]), int(columns.start[column] + columns.size[column]))
    inside = is_in[span].copy()
    inside[byte - span.start] = False
    return float(value[span][inside].sum())


def metropolis_subsets(
    scores: Floats,
    subsets: Subsets,
    uniform: Floats,
    choice: Floats,
    temperature: float,
    log_bias: Floats,
    log_factorial: Floats,
    is_harmonic: bool,
) -> Bytes:
    """Do one Metropolis step per chain: propose a uniform size, then a uniform set of that size; accept or stay."""
    member = subsets.member
    if not len(member):
        return member.copy()
    columns, n = _columns(subsets), subsets.end - subsets.begin
    start = np.cumsum(n) - n
    size = np.minimum(n, 1 + (choice[:, 0] * n).astype(np.int64))
    count = np.add.reduceat(member, start, dtype=np.int64)
    proposed = np.zeros(len(member), np.uint8)
    needed, left = size[columns.chain], columns.size.copy()
    for active, byte in columns.rows():
        proposed[byte] = uniform[byte] * left[:active] < needed[:active]
        needed[:active] -= proposed[byte]
        left[:active] -= 1
    worth = [subset_worths(scores, sets, is_harmonic) for sets in (subsets._replace(member=proposed), subsets)]
    with np.errstate(over="ignore", invalid="ignore"):
        # log of the acceptance ratio: worths, size bias, and the number of sets of each size, C(n, size)
        gain = temperature * (worth[0] - worth[1]) + (log_bias[size] - log_bias[count])
        gain += (log_factorial[count] + log_factorial[n - count]) - (log_factorial[size] + log_factorial[n - size])
        is_accepted = choice[:, 1] < np.exp(gain)
    # Observed sets may be of a size that cannot be (log g = -inf): any other is better.
    is_accepted = np.where(np.isneginf(log_bias[count]), ~np.isneginf(log_bias[size]), is_accepted)
    return np.where(np.repeat(is_accepted, n), proposed, member)


def subset_worths(scores: Floats, subsets: Subsets, is_harmonic: bool) -> Floats:
    """Return by chain the logarithm of the geometric or harmonic mean of the worths in its set."""
    score, start = _spread(scores, subsets)
    if not len(score):
        return np.zeros(0)
    count = np.add.reduceat(subsets.member, start, dtype=np.float64)
    if not is_harmonic:
        return np.asarray(np.add.reduceat(np.where(subsets.member, score, 0.0), start) / count)
    low, inverse = _inverses(score, start, subsets)
    return np.asarray(low + np.log(count / np.add.reduceat(inverse, start)))


def subset_slopes(scores: Floats, subsets: Subsets, weight: Floats, is_harmonic: bool) -> Floats:
    """Return the weighted sum over chains of the gradient of ``subset_worths``, by position."""
    score, start = _spread(scores, subsets)
    size = subsets.end - subsets.begin
    if not len(score):
        return np.zeros(len(scores))
    share = _inverses(score, start, subsets)[1] if is_harmonic else subsets.member.astype(np.float64)
    share *= np.repeat(weight / np.add.reduceat(share, start), size)
    position = np.arange(len(score)) + np.repeat(subsets.begin - start, size)
    return np.bincount(position, weights=share, minlength=len(scores)).astype(np.float64, copy=False)


def _inverses(score: Floats, start: Int64s, subsets: Subsets) -> tuple[Floats, Floats]:
    """Return the lowest score in every set, and exp(lowest - score) for its members."""
    low = np.minimum.reduceat(np.where(subsets.member, score, np.inf), start)
    spread = np.repeat(low, subsets.end - subsets.begin)
    return low, np.exp(np.where(subsets.member, spread - score, -np.inf))
