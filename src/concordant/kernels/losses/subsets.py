"""Ordered partitions by maximum, minimum, geometric and harmonic mean in NumPy (twin of subsets.cpp).

Stages of equal number, and chains of sets, are worked on side by side: queries and chains are columns.
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
    """Return by query the loss of choosing tier after tier, sets worth their largest or smallest member; the gradient.

    ``shrink[j]`` is M(j) / M(j + 1), M(j) the g-weighted number of sets of which an object is the extreme one when j
    others may join; ``log_spread[N]`` the logarithm of the g-weighted number of all sets of N objects over M(N - 1).
    ``factor`` multiplies the weights of stages; empty: all 1.
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
            own = weight[query] * (stage == k).any(axis=0)
            if len(factor):
                own *= factor[np.minimum(first[query] + k, len(factor) - 1)]
            here = np.flatnonzero(own)
            if len(here):
                found = _extreme_stage(scores[entries[:, here]], stage[:, here], k, log_count, log_spread)
                loss[query[here]] += own[here] * found[0]
                gradient[entries[:, here]] += own[here] * found[1]
    return loss, gradient


def _extreme_stage(
    score: Floats, stage: Int32s, k: int, log_count: Floats, log_spread: Floats
) -> tuple[Floats, Floats]:
    """Return loss and gradient of stage k of some queries, objects from the extreme one on."""
    remains, is_chosen = stage >= k, stage == k
    count = remains.sum(axis=0)
    place = np.cumsum(remains, axis=0)
    left = np.clip(count - place, 0, None)
    term = np.where(remains, score + log_count[left] - log_count[count - 1], -np.inf)
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
    """Chains side by side, the longest first: row k of ``entry`` is the k-th object of the chains that have one."""

    chain: Int64s
    size: Int64s
    start: Int64s

    def rows(self) -> Iterator[tuple[int, Int64s]]:
        """Go through objects: how many chains have a k-th one, and where it stands among all bytes."""
        for k in range(int(self.size[0]) if len(self.size) else 0):
            active = int(np.searchsorted(-self.size, -k, side="left"))
            yield active, self.start[:active] + k


def _columns(subsets: Subsets) -> _Columns:
    size = subsets.end - subsets.begin
    chain = np.argsort(-size, kind="stable")
    start = np.cumsum(size) - size
    return _Columns(chain, size[chain], start[chain])


def _spread(scores: Floats, subsets: Subsets) -> tuple[Floats, Int64s]:
    """Return the score behind every byte, and where each chain starts."""
    size = subsets.end - subsets.begin
    start = np.cumsum(size) - size
    return scores[np.arange(len(subsets.member)) + np.repeat(subsets.begin - start, size)], start


def gibbs_subsets(
    scores: Floats, subsets: Subsets, uniform: Floats, temperature: float, log_bias: Floats, is_harmonic: bool
) -> Bytes:
    """Visit every object of every chain once: it is in the set with its probability given all others."""
    score, start = _spread(scores, subsets)
    is_in = subsets.member.astype(bool)
    columns = _columns(subsets)
    if not len(score):
        return subsets.member.copy()
    value = score
    if is_harmonic:
        low = np.minimum.reduceat(score, start)
        value = np.exp(np.maximum(np.repeat(low, subsets.end - subsets.begin) - score, -WIDE))
    count = np.add.reduceat(is_in, start, dtype=np.int64)[columns.chain]
    total = np.add.reduceat(np.where(is_in, value, 0.0), start)[columns.chain]
    for active, at in columns.rows():
        others = count[:active] - is_in[at]
        rest = np.where(is_in[at], total[:active] - value[at], total[:active])
        if is_harmonic:
            rest[others == 0] = 0.0
            has_lost = is_in[at] & (others > 0) & (rest < CANCELLED * total[:active])
            for column in np.flatnonzero(has_lost).tolist():
                rest[column] = _sum_of_others(is_in, value, columns, column, int(at[column]))
        odds = _log_odds(value[at], rest, others, temperature, is_harmonic) + _bias(log_bias, others)
        with np.errstate(over="ignore", invalid="ignore"):
            is_in[at] = (others == 0) | (uniform[at] < 1 / (1 + np.exp(-odds)))
        total[:active] = np.where(is_in[at], rest + value[at], rest)
        count[:active] = others + is_in[at]
    return is_in.astype(np.uint8)


def _log_odds(value: Floats, rest: Floats, others: Int64s, temperature: float, is_harmonic: bool) -> Floats:
    """Return the logarithm of Phi with over Phi without an object, to the power of the temperature."""
    m = np.maximum(others, 1)
    if not is_harmonic:
        return np.asarray(temperature * (value - rest / m) / (m + 1))
    rest = np.where(others == 0, 1.0, rest)
    return np.asarray(temperature * np.log((m + 1) * rest / (m * (rest + value))))


def _bias(log_bias: Floats, others: Int64s) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(others == 0, 0.0, log_bias[others + 1] - log_bias[np.maximum(others, 1)]))


def _sum_of_others(is_in: Bools, value: Floats, columns: _Columns, column: int, one: int) -> float:
    """Sum the members of a set but one, where taking that one off the total has lost the digits."""
    span = slice(int(columns.start[column]), int(columns.start[column] + columns.size[column]))
    inside = is_in[span].copy()
    inside[one - span.start] = False
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
    """Propose one set per chain, its size uniform and then uniform among those of its size; accept it or stay."""
    member = subsets.member
    if not len(member):
        return member.copy()
    columns, n = _columns(subsets), subsets.end - subsets.begin
    start = np.cumsum(n) - n
    size = np.minimum(n, 1 + (choice[:, 0] * n).astype(np.int64))
    count = np.add.reduceat(member, start, dtype=np.int64)
    proposed = np.zeros(len(member), np.uint8)
    needed, left = size[columns.chain], columns.size.copy()
    for active, at in columns.rows():
        proposed[at] = uniform[at] * left[:active] < needed[:active]
        needed[:active] -= proposed[at]
        left[:active] -= 1
    worth = [subset_worths(scores, sets, is_harmonic) for sets in (subsets._replace(member=proposed), subsets)]
    with np.errstate(over="ignore", invalid="ignore"):
        gain = temperature * (worth[0] - worth[1]) + (log_bias[size] - log_bias[count])
        gain += (log_factorial[count] + log_factorial[n - count]) - (log_factorial[size] + log_factorial[n - size])
        is_taken = choice[:, 1] < np.exp(gain)
    # Observed sets may be of a size that cannot be (log g = -inf): any other is better.
    is_taken = np.where(np.isneginf(log_bias[count]), ~np.isneginf(log_bias[size]), is_taken)
    return np.where(np.repeat(is_taken, n), proposed, member)


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
