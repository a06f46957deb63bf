"""Ordered partitions by geometric or harmonic mean, exact for few objects: the normaliser sums over all sets.

It is the loss that ``subset_sampling`` estimates, with 2^N - 1 sets for a stage with N remaining objects, up to
``LARGEST``. It is smooth; with ties it is not convex.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from concordant.losses.ordered_partitions import OrderedPartitionLoss, Stages
from concordant.losses.queries import Queries
from concordant.types import Floats, Int64s

LARGEST = 10  # remaining objects of a stage
CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class EnumeratedPartitionLoss(OrderedPartitionLoss):
    """The worth of a set is the geometric or harmonic mean of its members' worths; sums run over all sets."""

    is_harmonic: bool = False

    def _losses(self, scores: Floats, queries: Queries) -> tuple[Floats, Floats]:
        """Return the loss of every query, and the gradient."""
        loss, gradient = np.zeros(len(queries)), np.zeros(len(scores))
        stages, weight = Stages.of(queries), queries.weight[Stages.of(queries).query]
        if self.rank_weighting:
            weight = weight * self._factors(queries)
        remaining, chosen = stages.end - stages.begin, stages.split - stages.begin
        for n in np.unique(remaining[weight > 0]).tolist():
            step = max(1, CELLS_AT_ONCE // (n << n))
            same = np.flatnonzero((remaining == n) & (weight > 0))
            for part in (same[first : first + step] for first in range(0, len(same), step)):
                place = stages.begin[part][:, None] + np.arange(n)
                value, slope = self._stage(scores[place], chosen[part], n)
                loss += np.bincount(stages.query[part], weight[part] * value, len(queries))
                gradient += np.bincount(place.reshape(-1), (weight[part][:, None] * slope).reshape(-1), len(scores))
        return loss, gradient

    def _stage(self, score: Floats, chosen: Int64s, n: int) -> tuple[Floats, Floats]:
        """Return the loss of stages with n objects (stages x n), the first ``chosen`` of which are chosen, and its
        slope.
        """
        is_member = _members(n)
        size, tables = is_member.sum(axis=1), self._tables(n)
        log_worth, slope = self._worths(score, is_member)
        log_odds = log_worth + tables.log_bias[size.astype(np.int64)]
        top = log_odds.max(axis=1, keepdims=True)
        odds = np.exp(log_odds - top)
        log_z = top[:, 0] + np.log(odds.sum(axis=1))
        share = odds / odds.sum(axis=1, keepdims=True)
        observed = (1 << chosen) - 2  # the row of the set of the first objects
        row = np.arange(len(score))
        units = tables.log_total[n] - np.log(n / chosen)
        change = np.einsum("ks,ksn->kn", share, slope) - slope[row, observed]
        return log_z - log_worth[row, observed] - units, change

    def _worths(self, score: Floats, is_member: Floats) -> tuple[Floats, Floats]:
        """Return log Phi of every set (stages x sets) and its derivatives (stages x sets x objects)."""
        size = is_member.sum(axis=1)
        if not self.is_harmonic:
            slope = is_member / size[:, None]
            return score @ slope.T, np.broadcast_to(slope, (len(score), *slope.shape))
        low = score.min(axis=1, keepdims=True)
        inverse = np.exp(low - score)
        total = inverse @ is_member.T
        return np.log(size) + low - np.log(total), is_member * inverse[:, None, :] / total[:, :, None]

    def _log_pair(self, half: Floats) -> Floats:
        return np.asarray(np.log(2) - np.logaddexp(half, -half)) if self.is_harmonic else np.zeros(len(half))


@lru_cache(maxsize=LARGEST)
def _members(n: int) -> Floats:
    """Return all non-empty sets of n objects, a row each: row k is the set of the bits of k + 1."""
    return ((np.arange(1, 1 << n)[:, None] >> np.arange(n)) & 1).astype(np.float64)
