"""Expected NDCG of a random order of a few objects (NumPy reference of permutations.cpp)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from concordant.kernels.bundles import LabelledQueries
from concordant.types import Floats

__all__ = ["expected_ndcg"]


def expected_ndcg(score: Floats, queries: LabelledQueries, cutoff: int) -> tuple[float, Floats]:
    """Sum weight (1 - expected NDCG) over queries, with the gradient by position; ``cutoff`` 0 means the whole list.

    The probability of an order with object d at rank i is proportional to e^(sum of score_d / log2(i + 1)). Queries
    whose objects all have the same label, or without any gain, add nothing. Time and memory are proportional to 2^n for
    n objects in the largest query.
    """
    ptr, tier, label, _, weight = queries
    value, gradient = 0.0, np.zeros(len(score))
    for q, (low, high) in enumerate(pairwise(ptr.tolist())):
        if high - low < 2 or tier[high - 1] == tier[low] or not label[low] > 0:
            continue
        own_label = label[low:high]
        gain = np.where(own_label > 0, np.exp2(own_label - own_label[0]) - np.exp2(-own_label[0]), 0.0)
        weights = 1 / np.log2(np.arange(high - low) + 2)
        discount = weights * (np.arange(high - low) < (cutoff or high - low))
        expected, slope = _expect(score[low:high], weights, np.outer(discount, gain / (gain @ discount)))
        value += float(weight[q]) * (1 - expected)
        gradient[low:high] = -weight[q] * slope
    return value, gradient


def _expect(score: Floats, weights: Floats, gains: Floats) -> tuple[float, Floats]:
    """Return the mean, over all orders, of the sum of gains (place x object), and its gradient by score.

    Sums are over the sets (bit masks) in the first ranks. ``ways`` is the log-sum over orders within a set and ``mean``
    their mean gain; ``ahead`` and ``rest`` are the same for the orders of the ranks after the set.
    """
    n = len(score)
    whole = np.arange(1 << n)
    size = np.array([int(members).bit_count() for members in whole])
    ways, mean, ahead, rest = (np.full(1 << n, start) for start in (-np.inf, 0.0, -np.inf, 0.0))
    ways[0] = ahead[-1] = 0.0
    bit = 1 << np.arange(n)
    energy = np.outer(weights, score)
    for k in range(n):
        sets = whole[size == k + 1]
        is_in = (sets[:, None] & bit) > 0
        before = sets[:, None] ^ np.where(is_in, bit, 0)
        term = np.where(is_in, ways[before] + energy[k], -np.inf)
        ways[sets] = np.logaddexp.reduce(term, axis=1)
        share = np.exp(term - ways[sets, None])
        mean[sets] = (share * (mean[before] + gains[k])).sum(axis=1)
    slope = np.zeros(n)
    for k in reversed(range(n)):
        sets = whole[size == k]
        is_out = (sets[:, None] & bit) == 0
        after = sets[:, None] | bit
        term = np.where(is_out, ahead[after] + energy[k], -np.inf)
        ahead[sets] = np.logaddexp.reduce(term, axis=1)
        gained = np.where(is_out, gains[k] + rest[after], 0.0)
        rest[sets] = (np.exp(term - ahead[sets, None]) * gained).sum(axis=1)
        # the probability that an object fills place k after the set; the gradient is a covariance with the gain
        chance = np.exp(ways[sets, None] + term - ways[-1])
        slope += weights[k] * (chance * (mean[sets, None] + gained - mean[-1])).sum(axis=0)
    return float(mean[-1]), slope
