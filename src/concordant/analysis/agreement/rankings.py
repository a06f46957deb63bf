"""Agreement of rankings: Kendall's coefficient of concordance W, and the mean of Kendall's tau-b of pairs of ballots.

With x_bi the mid-rank of item i on ballot b minus the mean rank on the ballot, and m_i >= 2 ballots that rank item i,
W = sum_i (sum_b x_bi)² / m_i / sum_bi x_bi²: the share of the variance of the ranks that lies between items. On
complete ballots this is W with the correction for ties, 12 S / (m² (n³ - n) - m sum T). Items that a ballot does not
rank are missing from it, as they are from tau, which compares two ballots on the items that both rank. Several
instances share the sums. W of m unrelated complete rankings is 1/m on average, the mean of tau is 0.

Reference: M. Kendall and B. Babington Smith, The problem of m rankings, Annals of Mathematical Statistics 1939.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import kernels, views
from concordant.analysis.agreement.categorical import Statistic, ratio
from concordant.analysis.agreement.codings import MAX_BLOCKS, MAX_CELLS, sums_by_block, whole_weights
from concordant.ballots.segments import pointer, segment_index, sum_by
from concordant.preferences import Preferences
from concordant.types import Floats, Int64s

MAX_BALLOTS, MAX_ITEMS = 300, 200  # of an instance, among which tau is computed; more are sampled
PAIRS_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Rankings:
    """Ballots as rankings: instance by ballot, and slot, ballot and mid-rank by ranked item."""

    prefs: Preferences
    slot: Int64s
    ballot: Int64s
    rank: Floats
    times: Int64s
    """How many raters cast each ballot."""
    seed: int

    @property
    def n_raters(self) -> int:
        """The number of agents, or of ballots if agents have no names."""
        return int(self.times.sum()) if self.prefs.agent is None else int(self.prefs.n_agents or 0)

    @cached_property
    def has_several(self) -> bool:
        """Whether there are ballots in several instances."""
        return len(np.unique(self.prefs.instance_of_ballot)) > 1

    @cached_property
    def n_items(self) -> int:
        """The number of slots that at least two ballots rank."""
        return int((np.bincount(self.slot, self.times[self.ballot], self.prefs.n_slots) >= 2).sum())

    @cached_property
    def is_complete(self) -> bool:
        """Whether every ballot ranks all candidates of its instance."""
        n_ranked = np.bincount(self.ballot, minlength=self.prefs.n_ballots)
        return bool((n_ranked == np.diff(self.prefs.slot_ptr)[self.prefs.instance_of_ballot]).all())

    # ---- Kendall's W ----
    def concordance(self) -> Statistic:
        """Return W; replicates draw instances, or ballots if there is one instance."""
        n_slots, times = self.prefs.n_slots, self.times[self.ballot].astype(np.float64)
        if self.has_several:
            total, m = np.bincount(self.slot, times * self.rank, n_slots), np.bincount(self.slot, times, n_slots)
            squares = np.bincount(self.slot, times * self.rank**2, n_slots)
            between = np.divide(total**2, m, out=np.zeros(n_slots), where=m > 0)
            instance = segment_index(self.prefs.slot_ptr)
            n = self.prefs.n_instances
            sums = np.stack([sum_by(instance, between, n), sum_by(instance, squares, n)], axis=1)
            return _summed(sums, self.seed)
        caster = np.repeat(np.arange(self.prefs.n_ballots), self.times)
        n = len(caster)
        n_blocks = max(min(n, MAX_BLOCKS, max(int(MAX_CELLS / max(2 * n_slots, 1)), 50)), 1)
        block = np.arange(n) if n_blocks == n else np.random.default_rng(self.seed).permutation(n) % n_blocks
        cast = np.bincount(block * self.prefs.n_ballots + caster, minlength=n_blocks * self.prefs.n_ballots)
        return self._of_ballots(cast.reshape(n_blocks, -1).astype(np.float64), n_blocks)

    def _of_ballots(self, cast: Floats, n_blocks: int) -> Statistic:
        """Return W from how often each block holds each ballot."""
        n_slots = self.prefs.n_slots
        total, count, squares = np.zeros((n_blocks, n_slots)), np.zeros((n_blocks, n_slots)), np.zeros(n_blocks)
        block, ballot = np.nonzero(cast)
        ptr = np.searchsorted(self.ballot, np.arange(self.prefs.n_ballots + 1))
        size = np.diff(ptr)[ballot]
        entry = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size) + np.repeat(ptr[ballot], size)
        times, where = np.repeat(cast[block, ballot], size), np.repeat(block, size)
        cell = where * n_slots + self.slot[entry]
        total += np.bincount(cell, times * self.rank[entry], total.size).reshape(total.shape)
        count += np.bincount(cell, times, total.size).reshape(total.shape)
        squares += np.bincount(where, times * self.rank[entry] ** 2, n_blocks)

        def statistic(weights: Floats) -> Floats:
            sums, m = weights @ total, weights @ count
            between = np.divide(sums**2, m, out=np.zeros(sums.shape), where=m > 0).sum(axis=1)
            return ratio(between, weights @ squares)

        return Statistic(n_blocks, statistic)

    # ---- Kendall's tau ----
    @cached_property
    def _by_instance(self) -> list[tuple[Int64s, Floats]]:
        return list(self._taus())

    def _taus(self) -> Iterator[tuple[Int64s, Floats]]:
        """Yield the ballots of every instance and tau-b of all pairs of them; NaN where it is not defined."""
        rng = np.random.default_rng(self.seed)
        ptr = np.searchsorted(self.ballot, np.arange(self.prefs.n_ballots + 1))
        for q, ballots in views.ballots_by_instance(self.prefs):
            cast = np.repeat(ballots, self.times[ballots])
            if len(cast) > MAX_BALLOTS:
                cast = np.sort(rng.choice(cast, MAX_BALLOTS, replace=False))
            first, n = int(self.prefs.slot_ptr[q]), int(self.prefs.slot_ptr[q + 1] - self.prefs.slot_ptr[q])
            table = np.full((len(cast), n), np.nan)
            for row, ballot in enumerate(cast.tolist()):
                table[row, self.slot[ptr[ballot] : ptr[ballot + 1]] - first] = self.rank[ptr[ballot] : ptr[ballot + 1]]
            table = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
            if table.shape[1] > MAX_ITEMS:
                table = table[:, np.sort(rng.choice(table.shape[1], MAX_ITEMS, replace=False))]
            yield cast, tau_b(table)

    @property
    def is_sampled(self) -> bool:
        """Whether tau is computed among samples of ballots or items."""
        cast = np.bincount(self.prefs.instance_of_ballot, self.times, self.prefs.n_instances)
        return bool(cast.max(initial=0) > MAX_BALLOTS or np.diff(self.prefs.slot_ptr).max(initial=0) > MAX_ITEMS)

    def mean_tau(self) -> Statistic:
        """Return the mean of tau-b over all pairs of ballots of an instance."""
        taus = self._by_instance
        if self.has_several:
            upper = [tau[np.triu_indices(len(tau), 1)] for _, tau in taus]
            sums = np.array([[np.nansum(one), (~np.isnan(one)).sum()] for one in upper], np.float64)
            return _summed(sums.reshape(-1, 2), self.seed)
        tau = taus[0][1] if taus else np.zeros((0, 0))
        np.fill_diagonal(tau, np.nan)
        known, value = (~np.isnan(tau)).astype(np.float64), np.nan_to_num(tau)
        return Statistic(
            len(tau),
            lambda weights: ratio(((weights @ value) * weights).sum(axis=1), ((weights @ known) * weights).sum(axis=1)),
        )

    def pairs(self) -> tuple[Int64s, Int64s, Floats, Floats]:
        """Return, for every pair of agents, their number of instances in common and the mean of tau-b."""
        agent, n = self.prefs.agent, self.prefs.n_agents
        assert agent is not None
        assert n is not None
        keys, values = [], []
        for cast, tau in self._by_instance:
            one, other = np.triu_indices(len(cast), 1)
            a, b = agent[cast[one]].astype(np.int64), agent[cast[other]].astype(np.int64)
            kept = (a != b) & ~np.isnan(tau[one, other])
            keys.append(np.minimum(a, b)[kept] * n + np.maximum(a, b)[kept])
            values.append(tau[one, other][kept])
        key = np.concatenate(keys) if keys else np.zeros(0, np.int64)
        pair, code, count = np.unique(key, return_inverse=True, return_counts=True)
        total = np.bincount(code.reshape(-1), np.concatenate(values) if values else None, len(pair))
        return pair // n, pair % n, count.astype(np.float64), total / np.maximum(count, 1)


def _summed(sums: Floats, seed: int) -> Statistic:
    """Return the quotient of two sums over instances, at most 5,000 blocks of which are drawn."""
    n = len(sums)
    block = np.arange(n) if n <= MAX_BLOCKS else np.random.default_rng(seed).permutation(n) % MAX_BLOCKS
    sums = sums_by_block(block, min(n, MAX_BLOCKS), sums)
    return Statistic(len(sums), lambda weights: ratio((weights @ sums)[:, 0], (weights @ sums)[:, 1]))


def rankings_of(prefs: Preferences, seed: int) -> Rankings:
    """Return ballots as rankings, of the items that at least two ballots of an instance rank.

    Items in the open last tier of a ballot are not ranked on it.
    """
    times = whole_weights(prefs) if prefs.agent is None else np.ones(prefs.n_ballots, np.int64)
    ballot = views.ballot_of_entry(prefs)
    kept = views.is_named(prefs)
    kept &= (np.bincount(prefs.entry_slot[kept], times[ballot[kept]], prefs.n_slots) >= 2)[prefs.entry_slot]
    ballot, n = ballot[kept], np.bincount(ballot[kept], minlength=prefs.n_ballots)
    rank = kernels.tier_positions(pointer(n), prefs.tier[kept], True) - ((n + 1) / 2)[ballot]
    return Rankings(prefs, prefs.entry_slot[kept], ballot, rank, times, seed)


def tau_b(table: Floats) -> Floats:
    """Return Kendall's tau-b of all pairs of rows of ranks, on the columns that both have (others are NaN)."""
    n = table.shape[1]
    one, other = np.triu_indices(n, 1)
    step = max(PAIRS_AT_ONCE // max(len(table), 1), 1)
    agree, first_strict = np.zeros((2, len(table), len(table)))
    for low in range(0, len(one), step):
        apart = np.sign(table[:, one[low : low + step]] - table[:, other[low : low + step]])
        known = ~np.isnan(apart)
        apart = np.where(known, apart, 0.0)
        agree += apart @ apart.T
        first_strict += np.abs(apart) @ known.T.astype(np.float64)
    return ratio(agree, np.sqrt(first_strict * first_strict.T))
