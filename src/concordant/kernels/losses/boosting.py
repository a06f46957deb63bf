"""RankBoost: factorised pair weights and threshold search (NumPy reference of boosting.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.layouts import begins_tier, segment_of
from concordant.types import AnyArray, Bytes, Floats, Int32s, Int64s

__all__ = ["best_stump", "boost_errors", "boost_potentials", "boost_shares", "interval_codes"]

NEARLY = 1 - 1e-9


def boost_potentials(score: Floats, ptr: Int64s, tier: Int32s, weight: Floats) -> tuple[Floats, float]:
    """Return, per position, the weight of the pairs it should win minus that of those it should lose; and the total.

    The weight of a pair is weight * exp(score of worse - score of better), a product of two factors.
    """
    query, exp_score, exp_minus = _factors(score, ptr)
    first, last = _tier_bounds(ptr, tier)
    wins = weight[query] * exp_minus * _between(exp_score, last, ptr[1:][query])
    losses = weight[query] * exp_score * _between(exp_minus, ptr[:-1][query], first)
    return wins - losses, float(wins.sum())


def boost_shares(score: Floats, ptr: Int64s, tier: Int32s, weight: Floats, vote: Bytes) -> tuple[float, float]:
    """Return the weight of the pairs a 0/1 vote orders correctly, and of those it reverses."""
    query, exp_score, exp_minus = _factors(score, ptr)
    first, _ = _tier_bounds(ptr, tier)
    voted = vote.astype(np.float64)
    start = ptr[:-1][query]
    right = weight[query] * exp_score * (1 - voted) * _between(exp_minus * voted, start, first)
    wrong = weight[query] * exp_score * voted * _between(exp_minus * (1 - voted), start, first)
    return float(right.sum()), float(wrong.sum())


def boost_errors(score: Floats, ptr: Int64s, tier: Int32s, weight: Floats) -> float:
    """Return the weight of the pairs whose better position does not have the larger score."""
    total = 0.0
    for q, (start, end) in enumerate(zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True)):
        own_score, level = score[start:end], tier[start:end]
        mistakes = sum(int((own_score[level > level[k]] >= own_score[k]).sum()) for k in range(end - start))
        total += float(weight[q]) * mistakes
    return total


def interval_codes(value: AnyArray, cuts: Floats) -> Int32s:
    """Return how many cuts (ascending) are below each value; for NaN ``len(cuts) + 1``, beyond all intervals."""
    code = np.searchsorted(cuts, value, side="left").astype(np.int32)
    code[np.isnan(value)] = len(cuts) + 1
    return code


def best_stump(code: AnyArray, cuts: Int64s, potential: Floats) -> tuple[int, int, int, float]:
    """Return (feature, cut, direction, gain) of the 0/1 vote with the largest summed potential.

    Codes 0 … cuts[f] of feature f are intervals of values, code cuts[f] + 1 is a missing value (which votes 0). A vote
    is "code above cut" (direction 1) or "code up to cut" (direction -1). The first of nearly equal gains is chosen.
    """
    gains = [_gains(row, int(n_cuts), potential) for row, n_cuts in zip(code, cuts.tolist(), strict=True)]
    largest = np.array([max(float(gain.max(initial=0.0)), 0.0) for gain in gains])
    enough = float(largest.max(initial=0.0)) * NEARLY
    if not enough > 0:
        return 0, -1, 1, 0.0
    feature = int(np.flatnonzero(largest >= enough)[0])
    vote = int(np.flatnonzero(gains[feature] >= enough)[0])
    # votes of a feature are in the order of ``_gains``: above and up to cut -1, above and up to cut 0, …
    return feature, vote // 2 - 1, 1 - 2 * (vote % 2), float(gains[feature][vote])


def _gains(code: AnyArray, n_cuts: int, potential: Floats) -> Floats:
    """Return the summed potential of every 0/1 vote on a feature: "code > cut", then "code <= cut", for cut = -1, 0, …

    Codes run from 0 to ``n_cuts``; ``n_cuts + 1`` is a missing value, which votes 0.
    """
    by_code = np.bincount(code, weights=potential, minlength=n_cuts + 2)[: n_cuts + 1]
    up_to_cut = np.concatenate([[0.0], np.cumsum(by_code)[:-1]])
    return np.stack([np.cumsum(by_code)[-1] - up_to_cut, up_to_cut], axis=1).reshape(-1)


def _factors(score: Floats, ptr: Int64s) -> tuple[Int64s, Floats, Floats]:
    """Return the query of every position, exp(score - midrange of the query) and its reciprocal."""
    size = np.diff(ptr)
    query = segment_of(ptr)
    low, high = np.zeros(len(size)), np.zeros(len(size))
    starts = ptr[:-1][size > 0]
    if len(starts):
        low[size > 0], high[size > 0] = np.minimum.reduceat(score, starts), np.maximum.reduceat(score, starts)
    centred = score - (low + (high - low) / 2)[query]
    return query, np.exp(centred), np.exp(-centred)


def _tier_bounds(ptr: Int64s, tier: Int32s) -> tuple[Int64s, Int64s]:
    """Return where the tier of every position begins and ends."""
    begins = begins_tier(ptr, tier)
    number = np.cumsum(begins) - 1
    bounds = np.append(np.flatnonzero(begins), len(tier))
    return bounds[number], bounds[number + 1]


def _between(values: Floats, start: Int64s, end: Int64s) -> Floats:
    """Return the sum of values[start:end] for every position, added up once per run of equal bounds."""
    if not len(start):
        return np.zeros(0)
    runs = np.flatnonzero(np.append(True, (np.diff(start) != 0) | (np.diff(end) != 0)))
    bounds = np.stack([start[runs], end[runs]], axis=1)
    sums = np.add.reduceat(np.append(values, 0.0), bounds.reshape(-1))[::2]
    sums[bounds[:, 0] == bounds[:, 1]] = 0.0
    return np.repeat(sums, np.diff(np.append(runs, len(start))))
