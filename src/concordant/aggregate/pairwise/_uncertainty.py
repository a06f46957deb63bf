"""How sure the scores and ranks are: robust and resampled covariances, rank intervals, the chance to be the best."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from concordant import kernels
from concordant.aggregate.pairwise._duels import Counting, Duels, listed_pairs, pairs_first, pairs_second, trusted
from concordant.aggregate.pairwise._fitted import chances
from concordant.aggregate.pairwise._solve import DAVIDSON, RAO_KUPPER, SMALL, THURSTONE, Part, Problem, fit
from concordant.gather import sum_by
from concordant.preferences import Preferences
from concordant.types import Floats, Int32s, Int64s

BEST_DRAWS = 2000
STACKED = 200_000  # rows of replicates refitted in one call
REACH = 5.0  # standard errors behind the first item at which nobody hopes to be the best


# ---- ranks ----
def rank_intervals(part: Part, level: float) -> tuple[Int32s, Int32s]:
    """Return ranks that hold for all candidates of an instance at once with this confidence.

    An item stands behind those whose scores exceed its own by more than a critical number of standard errors. The
    number is that of Šidák's inequality over all pairs, which holds for normal differences however they depend on
    each other; for very large instances it is taken over intervals of single items instead.
    """
    m = np.diff(part.duels.slot_ptr)
    if part.covariance is not None:
        critical = np.array([simultaneous(level, n * (n - 1) // 2) for n in m.tolist()])
        return kernels.rank_bounds(part.duels.slot_ptr, part.score, part.covariance, critical)
    half = simultaneous(level, int(m[0])) * np.sqrt(part.variance)
    low, high = part.score - half, part.score + half
    better = len(low) - np.searchsorted(np.sort(low), high, side="right")
    worse = np.searchsorted(np.sort(high), low, side="left")
    return (1 + better).astype(np.int32), (len(low) - worse).astype(np.int32)


def simultaneous(level: float, n: int) -> float:
    """Return the critical value for n two-sided normal statements that shall hold together."""
    return upper_quantile(-math.expm1(math.log(level) / max(n, 1)) / 2)


def normal_quantile(p: float) -> float:
    """Return the quantile of the standard normal distribution."""
    return upper_quantile(1 - p) if p >= 0.5 else -upper_quantile(p)


def upper_quantile(q: float) -> float:
    """Return the point a standard normal variable exceeds with probability ``q`` (at most 1/2), by bisection."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) / 2 > q else (low, middle)
    return (low + high) / 2


def best_chances(part: Part, seed: int | None) -> Floats:
    """Return each candidate's chance to have the highest true score, from draws of the scores' distribution."""
    rng = np.random.default_rng(seed)
    size = np.diff(part.duels.slot_ptr)
    if part.covariance is None:
        if part.draws is None:
            return np.zeros(len(part.score))
        best = (part.score[:, None] + part.draws).argmax(axis=0)
        return np.asarray(np.bincount(best, minlength=len(part.score)) / part.draws.shape[1])
    if size.max(initial=0) <= SMALL:
        draws = rng.standard_normal((BEST_DRAWS, int(size.max(initial=1))))
        return kernels.best_chances(part.duels.slot_ptr, part.score, part.covariance, draws, REACH)
    chance = np.zeros(len(part.score))
    _, _, block = next(part.blocks)
    top = int(np.argmax(part.score))
    apart = np.sqrt(np.maximum(part.variance + part.variance[top] - 2 * block[top], 0.0))
    rival = np.flatnonzero(part.score[top] - part.score <= REACH * apart)
    values, vectors = np.linalg.eigh(block[np.ix_(rival, rival)])
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = part.score[rival] + rng.standard_normal((BEST_DRAWS, len(rival))) @ root.T
    chance[rival] = np.bincount(drawn.argmax(axis=1), minlength=len(rival)) / BEST_DRAWS
    return chance


# ---- other covariances ----
def sandwich(parts: list[Part], prefs: Preferences, counting: Counting, duels: Duels) -> list[Part]:
    """Replace the covariance by one that stays right when the comparisons of a voter depend on each other.

    Inverse Hessian x sum of squared gradients x inverse Hessian; the gradients are summed within an agent of an
    instance where agents are known, within a ballot otherwise.
    """
    by_slot, by_extra, weight, unit = _gradients(parts, prefs, counting, duels)
    return [_sandwich(part, by_slot, by_extra, weight, unit) for part in parts]


def _sandwich(part: Part, by_slot: Any, by_extra: Floats, weight: Floats, instance: Int64s) -> Part:
    if part.covariance is None:
        return part
    covariance = np.empty_like(part.covariance)
    start = 0
    for q, span, block in part.blocks:
        units = np.flatnonzero(instance == part.instances[q])
        here = by_slot[units][:, part.slots[span]].toarray()
        own, _ = part.duels.restrict(np.array([q]))
        problem = Problem(own, part.model, part.penalty.of(np.array([q]), part.slots[span]))
        if problem.size > problem.m:
            point = np.concatenate([part.score[span], *_extras(part, q, problem)])
            side, corner = problem.border(problem.terms(point))
            columns = [c for c, used in enumerate((problem.has_order, problem.has_tie)) if used]
            here = here - by_extra[units][:, columns] @ np.linalg.solve(corner, side.T)
        influence = here @ block
        size = block.size
        covariance[start : start + size] = (influence.T @ (weight[units, None] * influence)).reshape(-1)
        start += size
    return replace(part, covariance=covariance, variance=_diagonal(part, covariance))


def _extras(part: Part, q: int, problem: Problem) -> list[Floats]:
    extras = [part.advantage[q : q + 1]] if problem.has_order else []
    return [*extras, part.tie[q : q + 1]] if problem.has_tie else extras


def _diagonal(part: Part, covariance: Floats) -> Floats:
    blocks = replace(part, covariance=covariance).blocks
    return np.asarray(np.maximum(np.concatenate([np.diag(block) for _, _, block in blocks]), 0.0))


def _gradients(
    parts: list[Part], prefs: Preferences, counting: Counting, duels: Duels
) -> tuple[Any, Floats, Floats, Int64s]:
    """Return gradients of single voters: (sparse voters x slots, voters x 2 other parameters, weight, instance)."""
    from scipy.sparse import csr_array

    if counting.trust is not None:
        prefs = trusted(prefs, counting.trust)
    score, advantage, tie = np.zeros(duels.n_slots), np.zeros(len(duels.ptr) - 1), np.zeros(len(duels.ptr) - 1)
    for part in parts:
        score[part.slots], advantage[part.instances], tie[part.instances] = part.score, part.advantage, part.tie
    pairs, _ = listed_pairs(prefs)
    instance = prefs.instance_of_ballot[pairs.ballot].astype(np.int64)
    amount = np.ones(len(instance)) if counting.counts == "binary" else counting._amount(prefs)
    order = np.zeros(len(instance))
    if counting.order_effect and prefs.shown is not None:
        order = np.sign(prefs.shown[pairs_second(prefs)] - prefs.shown[pairs_first(prefs)]).astype(np.float64)
    lead = score[pairs.better] - score[pairs.worse] + order * advantage[instance]
    slope, slope_tie = _slopes(parts[0].model, lead, tie[instance], pairs.is_tie)
    slope, slope_tie = amount * slope, amount * slope_tie
    unit, weight, owner = _units(prefs)
    of_pair = unit[pairs.ballot]
    # A voter with several ballots of different weights: weights enter the sum, the square is taken of the whole.
    inner = prefs.weight[pairs.ballot] / weight[of_pair]
    rows, columns = np.concatenate([of_pair, of_pair]), np.concatenate([pairs.better, pairs.worse])
    values = np.concatenate([slope * inner, -slope * inner])
    by_slot = csr_array((values, (rows, columns)), shape=(len(weight), duels.n_slots))
    by_extra = np.stack([sum_by(of_pair, column * inner, len(weight)) for column in (order * slope, slope_tie)], 1)
    return by_slot, by_extra, weight, owner


def _units(prefs: Preferences) -> tuple[Int64s, Floats, Int64s]:
    """Return the voter of every ballot, the weight and the instance of every voter."""
    instance = prefs.instance_of_ballot.astype(np.int64)
    if prefs.agent is None or prefs.agents is None:
        return np.arange(prefs.n_ballots), prefs.weight, instance
    key, first, unit = np.unique(instance * len(prefs.agents) + prefs.agent, return_index=True, return_inverse=True)
    once = np.bincount(unit, minlength=len(key)) == 1
    weight = np.where(once, prefs.weight[first], 1.0)
    return unit.reshape(-1), weight, instance[first]


def _slopes(model: int, lead: Floats, tie: Floats, is_tie: Any) -> tuple[Floats, Floats]:
    """Return the derivatives of the log-likelihood of single outcomes in the lead and in the tie parameter."""
    up, down, even = chances(model, lead, tie)
    if model == DAVIDSON:
        gap = (up - down) / 2
        return np.where(is_tie, 0.0, 0.5) - gap, is_tie - even
    if model == RAO_KUPPER:
        margin = np.logaddexp(0.0, tie)
        grow, stretch = np.exp(tie - margin), 2 / -np.expm1(-2 * margin)
        slope = np.where(is_tie, down - up, 1 - up)
        on_margin = np.where(is_tie, up + down - 2 + stretch, up - 1)
        return slope, on_margin * grow
    none = np.zeros(len(lead))
    if model == THURSTONE:
        density = np.exp(-0.5 * lead**2) / np.sqrt(2 * np.pi)
        win, loss = density / np.maximum(up, 1e-300), density / np.maximum(down, 1e-300)
        return np.where(is_tie, (win - loss) / 2, win), none
    return np.where(is_tie, 0.5 - up, 1 - up), none


def bootstrap(parts: list[Part], replicates: int, level: float, seed: int | None) -> list[tuple[Part, Floats, Floats]]:
    """Refit to resampled counts: (part with the covariance of the refits, low, high) for every part."""
    rng = np.random.default_rng(seed)
    return [_bootstrap(part, replicates, level, rng) for part in parts]


def _bootstrap(part: Part, replicates: int, level: float, rng: np.random.Generator) -> tuple[Part, Floats, Floats]:
    drawn = np.empty((replicates, len(part.score)))
    # Small problems are refitted many at a time: a replicate is an instance like any other.
    together = max(1, min(replicates, STACKED // max(len(part.duels.first), 1)))
    for start in range(0, replicates, together):
        rows = slice(start, min(start + together, replicates))
        copies = [resample(part.duels, rng) for _ in range(rows.stop - rows.start)]
        stack = stacked(copies)
        penalty = replace(
            part.penalty,
            ridge=np.tile(part.penalty.ridge, len(copies)),
            ridge_extra=np.tile(part.penalty.ridge_extra, len(copies)),
        )
        score = np.empty(stack.n_slots)
        for refit in fit(stack, part.model, penalty, with_errors=False):
            score[refit.slots] = refit.score
        drawn[rows] = score.reshape(len(copies), -1)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    deviation = drawn - drawn.mean(axis=0)
    variance = (deviation**2).sum(axis=0) / max(replicates - 1, 1)
    covariance = None
    if part.covariance is not None:
        spans = [deviation[:, span] for _, span, _ in part.blocks]
        covariance = np.concatenate([(x.T @ x / max(replicates - 1, 1)).reshape(-1) for x in spans])
    part = replace(part, covariance=covariance, variance=variance, draws=deviation.T)
    return part, np.minimum(low, part.score), np.maximum(high, part.score)


def resample(duels: Duels, rng: np.random.Generator) -> Duels:
    """Draw as many comparisons of every instance again, from its own counts."""
    cells = np.stack([duels.won, duels.lost, duels.tied], 1)
    drawn = np.zeros_like(cells)
    for a, b in zip(duels.ptr[:-1].tolist(), duels.ptr[1:].tolist(), strict=True):
        own = cells[a:b].reshape(-1)
        total = float(own.sum())
        if total > 0:
            times = max(1, round(total))
            drawn[a:b] = (rng.multinomial(times, own / total) * (total / times)).reshape(-1, 3)
    return replace(duels, won=drawn[:, 0].copy(), lost=drawn[:, 1].copy(), tied=drawn[:, 2].copy())


def stacked(copies: list[Duels]) -> Duels:
    """Put copies of the same duels one after the other, as further instances."""
    one, n = copies[0], len(copies)
    shift = np.repeat(np.arange(n) * one.n_slots, len(one.first))

    def pointer(ptr: Int64s) -> Int64s:
        return np.concatenate([[0], (ptr[None, 1:] + ptr[-1] * np.arange(n)[:, None]).reshape(-1)]).astype(np.int64)

    return Duels(
        pointer(one.slot_ptr),
        pointer(one.ptr),
        (np.tile(one.first, n) + shift).astype(np.int32),
        (np.tile(one.second, n) + shift).astype(np.int32),
        np.concatenate([copy.won for copy in copies]),
        np.concatenate([copy.lost for copy in copies]),
        np.concatenate([copy.tied for copy in copies]),
        np.tile(one.order, n),
    )
