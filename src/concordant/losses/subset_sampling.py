"""Ordered partitions by geometric or harmonic mean, trained by sampling sets because the normaliser is intractable.

The gradient of a stage's loss is E[d log Phi(S)] - d log Phi(X_k), S drawn from the model over the sets of R_k. It is
estimated by contrastive divergence: chains start at the observed sets X_k and take a few steps towards the model
(``steps``: CD-1, CD-2, …), or, if ``persistent``, continue from the last evaluation of the same query.

    gibbs          a step visits all remaining objects; x is in S with probability Phi(S+x) / (Phi(S+x) + Phi(S-x)),
                   with g, and S is never empty
    metropolis     a step proposes a size m, uniform from 1 to N, then a uniform set S' of that size, accepted with
                   min(1, g(|S'|) Phi(S') C(N, |S'|) / (g(|S|) Phi(S) C(N, |S|))): there are more sets of middle sizes,
                   so each of them is proposed less often

The normalisers of likelihoods come from annealed importance sampling: Phi is raised to a power that increases from 0,
where sets are drawn exactly and Z is known, to 1. O(N_k) per step and stage.

The value reported with the gradient is the contrast, mean log Phi(S) - log Phi(X_k). With fixed samples its gradient is
the one returned, but it is not a likelihood and need not decrease.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np

from concordant import kernels
from concordant.ballots.segments import number_inside, pointer
from concordant.kernels.bundles import Subsets
from concordant.losses.ordered_partitions import OrderedPartitionLoss, Stages
from concordant.losses.queries import Queries
from concordant.types import Bytes, Floats, Int64s

AT_ONCE = 1 << 20  # objects of all chains worked on together; bounds memory
SAMPLERS = ("gibbs", "metropolis")


class Chains(NamedTuple):
    """Chains of sets: chain c holds a set of the positions begin[c]:end[c], one byte each, chain after chain."""

    begin: Int64s
    end: Int64s

    @property
    def size(self) -> Int64s:
        """The number of objects of every chain."""
        return self.end - self.begin

    def first_members(self, count: Int64s) -> Bytes:
        """Return sets of the first ``count[c]`` objects of every chain."""
        return (number_inside(pointer(self.size)) < np.repeat(count, self.size)).astype(np.uint8)


class _Memory:
    """State that persists between evaluations: the random generator, and the sets of persistent chains.

    A stage is identified by the row of X at the start of its tier, independent of the batch.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.start = np.zeros(0, np.int64)  # by row: where the bytes of its stage begin; -1 unknown
        self.member = np.zeros(0, np.uint8)

    def places(self, row: Int64s, size: Int64s, data: Bytes, samples: int) -> Int64s:
        """Return the locations of the bytes of some stages, sample after sample; new stages start with ``data``."""
        if row.max(initial=-1) >= len(self.start):
            extra = max(len(self.start), int(row.max()) + 1 - len(self.start))
            self.start = np.concatenate([self.start, np.full(extra, -1)])
        is_new = self.start[row] < 0
        added = np.cumsum(np.where(is_new, size * samples, 0))
        self.start[row] = np.where(is_new, len(self.member) + added - size * samples, self.start[row])
        self.member = np.concatenate([self.member, np.zeros(int(added[-1]) if len(added) else 0, np.uint8)])
        first = np.repeat(self.start[row], size) + number_inside(pointer(size))
        place = (first + np.arange(samples)[:, None] * np.repeat(size, size)).reshape(-1)
        is_fresh = np.tile(np.repeat(is_new, size), samples)
        self.member[place[is_fresh]] = np.tile(data, samples)[is_fresh]
        return place


@dataclass(frozen=True)
class SampledPartitionLoss(OrderedPartitionLoss):
    """The worth of a set is the geometric or harmonic mean of its members' worths."""

    is_exact: ClassVar[bool] = False

    is_harmonic: bool = False
    sampler: str = "gibbs"
    samples: int = 1
    steps: int = 1
    persistent: bool = False
    seed: int = 0
    _memory: _Memory = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_memory", _Memory(self.seed))

    def fitted_to(self, queries: Queries) -> SampledPartitionLoss:
        """Return the loss with its own memory: chains and random numbers are not shared between fits."""
        super().fitted_to(queries)
        return replace(self)

    def _losses(self, scores: Floats, queries: Queries) -> tuple[Floats, Floats]:
        """Return, by query, the contrast of sampled and observed sets, and the gradient by contrastive divergence."""
        loss, gradient = np.zeros(len(queries)), np.zeros(len(scores))
        stages = Stages.of(queries)
        weight = queries.weight[stages.query]
        if self.rank_weighting:
            weight = weight * self._factors(queries)
        for part in _cut(stages, self.samples):
            stage_weight = weight[part]
            begin, end = stages.begin[part], stages.end[part]
            data = Chains(begin, end).first_members(stages.split[part] - begin)
            chains = Chains(np.tile(begin, self.samples), np.tile(end, self.samples))
            member = self._sampled(scores, queries.row[begin], chains, data)
            share = np.tile(stage_weight / self.samples, self.samples)
            gradient += kernels.subset_slopes(scores, Subsets(*chains, member), share, self.is_harmonic)
            gradient -= kernels.subset_slopes(scores, Subsets(begin, end, data), stage_weight, self.is_harmonic)
            log_worth = kernels.subset_worths(scores, Subsets(*chains, member), self.is_harmonic)
            contrast = log_worth.reshape(self.samples, -1).mean(axis=0)
            contrast -= kernels.subset_worths(scores, Subsets(begin, end, data), self.is_harmonic)
            loss += np.bincount(stages.query[part], weights=stage_weight * contrast, minlength=len(queries))
        return loss, gradient

    def _sampled(self, scores: Floats, row: Int64s, chains: Chains, data: Bytes) -> Bytes:
        """Return sampled sets of all chains, started at the observed sets or at the state of persistent chains."""
        memory = self._memory
        member = np.tile(data, self.samples)
        if self.persistent:
            place = memory.places(row, chains.size[: len(row)], data, self.samples)
            member = memory.member[place]
        for _ in range(self.steps):
            member = self.step(scores, chains, member, memory.rng)
        if self.persistent:
            memory.member[place] = member
        return member

    def step(
        self, scores: Floats, chains: Chains, member: Bytes, rng: np.random.Generator, temperature: float = 1.0
    ) -> Bytes:
        """Return the sets of all chains after one step of the sampler, under Phi to the power ``temperature``."""
        sizes = self._tables(int(chains.size.max(initial=0)))
        uniform, sets = rng.random(len(member)), Subsets(*chains, member)
        if self.sampler == "gibbs":
            return kernels.gibbs_subsets(scores, sets, uniform, temperature, sizes.log_bias, self.is_harmonic)
        return kernels.metropolis_subsets(
            scores,
            sets,
            uniform,
            rng.random((len(chains.begin), 2)),
            temperature,
            sizes.log_bias,
            sizes.log_factorial,
            self.is_harmonic,
        )

    def log_normalisers(
        self, scores: Floats, chains: Chains, *, temperatures: int, runs: int, rng: np.random.Generator
    ) -> Floats:
        """Estimate, for every chain, log Z over the sets of its objects by annealed importance sampling."""
        size = chains.size
        repeated = Chains(np.tile(chains.begin, runs), np.tile(chains.end, runs))
        member = self._drawn(repeated, rng)
        log_weight = np.zeros(len(repeated.begin))
        powers = np.linspace(0, 1, temperatures + 1)
        for last_power, power in zip(powers[:-1].tolist(), powers[1:].tolist(), strict=True):
            worth = kernels.subset_worths(scores, Subsets(*repeated, member), self.is_harmonic)
            log_weight += (power - last_power) * worth
            if power < 1:
                member = self.step(scores, repeated, member, rng, power)
        by_run = log_weight.reshape(runs, -1)
        high = by_run.max(axis=0)
        mean = high + np.log(np.exp(by_run - high).mean(axis=0))
        return np.asarray(self._tables(int(size.max(initial=0))).log_total[size] + mean)

    def _drawn(self, chains: Chains, rng: np.random.Generator) -> Bytes:
        """Draw sets with probability proportional to g(|S|): a size, then a uniform set of that size."""
        size = chains.size
        sizes = self._tables(int(size.max(initial=0)))
        uniform, count = rng.random(len(size)), np.zeros(len(size), np.int64)
        for n in np.unique(size).tolist():
            m = np.arange(1, n + 1)
            log_share = sizes.log_bias[m] - sizes.log_factorial[m] - sizes.log_factorial[n - m]
            cumulated = np.cumsum(np.exp(log_share - log_share.max()))
            of_size = size == n
            count[of_size] = 1 + np.minimum(
                np.searchsorted(cumulated, uniform[of_size] * cumulated[-1], side="right"), n - 1
            )
        chain = np.repeat(np.arange(len(size)), size)
        member = np.empty(len(chain), np.uint8)
        member[np.lexsort((rng.random(len(chain)), chain))] = chains.first_members(count)
        return member

    def _log_shares(
        self, scores: Floats, queries: Queries, stages: Stages, temperatures: int, runs: int, rng: np.random.Generator
    ) -> Floats:
        """Return, by query, the sum over stages of log(Phi / Z), with estimated Z."""
        result = np.zeros(len(queries))
        for part in _cut(stages, runs):
            chains = Chains(stages.begin[part], stages.end[part])
            data = chains.first_members(stages.split[part] - chains.begin)
            log_z = self.log_normalisers(scores, chains, temperatures=temperatures, runs=runs, rng=rng)
            worth = kernels.subset_worths(scores, Subsets(*chains, data), self.is_harmonic)
            units = self._tables(int(chains.size.max(initial=0))).log_total[chains.size] - np.log(
                chains.size / (stages.split[part] - chains.begin)
            )
            result += np.bincount(stages.query[part], weights=worth - log_z + units, minlength=len(queries))
        return result

    def _log_pair(self, half: Floats) -> Floats:
        return np.asarray(np.log(2) - np.logaddexp(half, -half)) if self.is_harmonic else np.zeros(len(half))


def _cut(stages: Stages, copies: int) -> Iterator[slice]:
    """Split the stages into slices whose chains together have at most ``AT_ONCE`` objects (or one stage)."""
    cumulated = np.cumsum((stages.end - stages.begin) * copies)
    first = 0
    while first < len(cumulated):
        done = int(cumulated[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(cumulated, done + AT_ONCE, side="right")))
        yield slice(first, last)
        first = last
