"""Uncertainty of scores and ranks: standard errors, rank intervals, the probability of being best, the bootstrap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from concordant import kernels
from concordant.errors import arg
from concordant.models.clusters import Agents, Voters, clustered
from concordant.models.likelihoods.observed import ObservedDuels, ObservedStages
from concordant.models.notices import notice_on
from concordant.models.observations.designs import Designed
from concordant.models.observations.duels import Duels
from concordant.models.solve.objectives import Fit
from concordant.models.solve.strategies import fit, with_errors
from concordant.models.tied import corrected, has_half_wins, tie_corrections
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE, Uncertainty
from concordant.support import memory, progress
from concordant.support.brief import Brief
from concordant.support.lazy import LazyMapping
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s

BEST_DRAWS = 2000
FEW_DRAWS = 500  # for the ranks of more candidates, or in more instances, than these:
MANY_RANKS, MANY_INSTANCES = 1_000, 20
LIKELY = 0.9  # P(best) from which a bound on it can matter
BEST_BY_KERNEL = 256  # candidates up to which the draws of all instances go through the kernel
LARGEST_CURVATURE = 5_000  # candidates up to which errors of stagewise models are computed: they need a matrix
MATRICES = 4  # Hessians held at once
NO_ERRORS = (
    "the Hessian of the log-likelihood is not negative definite at these scores (which ties can cause), or there are "
    "too many items, so there are no standard errors; use a stronger prior or a gamma prior"
)
STACKED = 200_000  # rows of replicates refitted in one call
MIN_RIDGE = 0.01  # of refits: resampled counts may have no finite optimum
REACH = 5.0  # standard errors behind the first item beyond which P(best) is negligible


# ---- found when asked for ----
@dataclass(frozen=True)
class UncertaintyOptions:
    """Settings: the kind of standard errors, the confidence level, the number of bootstrap samples, and the seed."""

    kind: str
    level: float
    replicates: int = 0
    seed: int | None = 0


@dataclass(frozen=True, eq=False, repr=False)
class ScoreErrors(Brief):
    """The uncertainty of fitted scores, computed on first access.

    ``doubt`` is the variance of the logarithm of the prior's strength, if it was chosen by marginal likelihood;
    ``voters`` are the clusters for clustered standard errors; ``agents`` are the units that a bootstrap resamples.
    """

    prefs: Preferences
    fits: list[Fit]
    score: Floats
    asked: UncertaintyOptions
    doubt: float = 0.0
    voters: Voters | None = None
    agents: Agents | None = None

    @cached_property
    def parts(self) -> list[Fit]:
        """The fits with their covariances; with a bootstrap also with quantiles."""
        with progress.stage("computing confidence intervals"):
            return self._parts()

    def _parts(self) -> list[Fit]:
        has_ties = any(has_half_wins(part.observed) for part in self.fits)
        if self.asked.kind == "auto" and self.voters is None and has_ties:
            return self._with_ties()
        parts = [with_errors(part) for part in self.fits]
        if self.asked.kind == "bootstrap":
            return bootstrap(parts, self.asked, self.agents, self.doubt)
        moved = [moved_by_prior(part) for part in parts] if self.doubt else []
        if self.voters is not None:
            parts = clustered(parts, self.voters, self.asked.seed)
        if moved:
            parts = [widened(part, shift, self.doubt) for part, shift in zip(parts, moved, strict=True)]
        return parts

    def _with_ties(self) -> list[Fit]:
        """Return the fits with covariances corrected for ties, which have less variance than the model assumes."""
        parts = []
        for part in self.fits:
            less, share_left = tie_corrections(part)
            of_prior = share_left if self.doubt else np.ones_like(share_left)
            fitted = with_errors(part, less, float(of_prior[0]))
            moved = moved_by_prior(fitted) if self.doubt else None
            fitted = corrected(fitted, less, of_prior)
            parts.append(fitted if moved is None else widened(fitted, moved, self.doubt))
        return parts

    @cached_property
    def lacking(self) -> Bools:
        """By instance: whether standard errors are missing (Hessian not definite, or too many items)."""
        size = np.diff(self.prefs.slot_ptr)
        if not isinstance(self.fits[0].observed.plain, ObservedStages):
            return np.zeros(len(size), bool)
        lacking = size > LARGEST_CURVATURE
        if lacking.any():
            return lacking
        memory.require(
            8 * MATRICES * float((size.astype(np.float64) ** 2).sum()),
            f"Standard errors of up to {int(size.max(initial=0)):,} items in {len(size):,} instances",
            "use " + arg("errors", "none"),
        )
        for part in self.parts:
            lacking[part.instances] = part.is_definite == 0
        return np.asarray(lacking & (size > 1))

    def known(self) -> Uncertainty:
        """Return confidence intervals, standard errors, rank intervals, and P(best)."""
        return self._known

    @cached_property
    def _known(self) -> Uncertainty:
        """Collect intervals and standard errors; rank intervals and P(best) are computed on first access."""
        asked = self.asked
        if self.lacking.any():
            slots = np.repeat(self.lacking, np.diff(self.prefs.slot_ptr))
            return Uncertainty(warnings=(notice_on(self.prefs, "no-errors", NO_ERRORS, slots),))
        ends = [part.ends or intervals(part, asked.level) for part in self.parts]
        stderr: AnyArray = self._gathered([np.sqrt(part.variance) for part in self.parts])
        later = {
            "rank_low": partial(self._rank_end, 0),
            "rank_high": partial(self._rank_end, 1),
            "p_best": partial(getattr, self, "_p_best"),
            "simultaneous_rank_low": partial(self._simultaneous_rank_end, 0),
            "simultaneous_rank_high": partial(self._simultaneous_rank_end, 1),
        }
        low, high = (self._gathered([pair[side] for pair in ends]) for side in (0, 1))
        details = LazyMapping({"stderr": stderr}, later)
        return Uncertainty(
            np.minimum(low, self.score), np.maximum(high, self.score), details, apart=self.errors_of_differences
        )

    @cached_property
    def _p_best(self) -> Floats:
        return self._gathered([best_chances(part, self.asked.seed) for part in self.parts])

    @cached_property
    def _rank_ends(self) -> tuple[Int32s, Int32s]:
        """The ends of the confidence interval of every rank, made consistent with P(best) and the ranks themselves."""
        ranges = [rank_ranges(part, self.asked.level, self.asked.seed) for part in self.parts]
        low, high = (self._gathered([pair[side] for pair in ranges]) for side in (0, 1))
        tail = (1 - self.asked.level) / 2
        ranked = kernels.order_segments(self.score, self.prefs.slot_ptr, TIE_TOLERANCE)
        rank_of_slot = np.empty(len(low))
        order, ranks = ranked
        rank_of_slot[order] = ranks
        low = np.where(self._p_best > tail, 1, np.minimum(low, rank_of_slot))
        high = np.where(self._p_best >= 1 - tail, rank_of_slot, np.maximum(np.maximum(high, 2), rank_of_slot))
        size = np.repeat(np.diff(self.prefs.slot_ptr), np.diff(self.prefs.slot_ptr))
        return low.astype(np.int32), np.minimum(high, size).astype(np.int32)

    def _rank_end(self, side: int) -> AnyArray:
        return self._rank_ends[side]

    def _simultaneous_rank_end(self, side: int) -> AnyArray:
        return self._gathered([rank_intervals(part, self.asked.level)[side] for part in self.parts]).astype(np.int32)

    def errors_of_differences(self, slot: int) -> Floats | None:
        """Return the standard errors of the differences between a slot and all candidates of its instance."""
        instance = int(np.searchsorted(self.prefs.slot_ptr, slot, side="right")) - 1
        for part in self.parts:
            place = np.flatnonzero(part.instances == instance)
            if len(place):
                return errors_from(part, int(place[0]), slot - int(self.prefs.slot_ptr[instance]))
        return None

    def covariance(self, instance: int) -> Floats | None:
        """Return the covariance of the scores of an instance; None if it does not exist, or for too many items."""
        if self.lacking[instance]:
            return None
        for part in self.parts:
            place = np.flatnonzero(part.instances == instance)
            if len(place) and part.covariance is not None:
                return part.block(int(place[0]))
        return None

    def extra_error(self, which: int) -> float:
        """Return the standard error of the position bias (0) or the tie parameter (1) of a single instance."""
        return float(np.sqrt(max(self.parts[0].extra_variance[0, which], 0.0)))

    def _gathered(self, values: list[AnyArray]) -> Floats:
        """Join the values of all parts (each an array by slot) into one array by slot."""
        out = np.zeros(len(self.score))
        for part, by_slot in zip(self.fits, values, strict=True):
            out[part.slots] = by_slot
        return out


def intervals(part: Fit, level: float) -> tuple[Floats, Floats]:
    """Return the lower and upper ends of the confidence intervals of all scores, each at this level."""
    half = simultaneous(level) * np.sqrt(part.variance)
    return part.score - half, part.score + half


# ---- ranks ----
def rank_intervals(part: Fit, level: float) -> tuple[Int32s, Int32s]:
    """Return simultaneous confidence intervals of the ranks of an instance: best and worst rank by slot.

    A candidate ranks behind those whose scores exceed its own by more than a critical number of standard errors. The
    critical value follows from Šidák's inequality over all pairs, which holds for normal differences with any
    dependence; for very large instances it is applied to the intervals of single items instead.
    """
    m = np.diff(part.slot_ptr)
    if part.covariance is not None:
        critical = np.array([simultaneous(level, n * (n - 1) // 2) for n in m.tolist()])
        return kernels.rank_bounds(part.slot_ptr, part.score, part.covariance, critical)
    half = simultaneous(level, int(m[0])) * np.sqrt(part.variance)
    low, high = part.score - half, part.score + half
    better = len(low) - np.searchsorted(np.sort(low), high, side="right")
    worse = np.searchsorted(np.sort(high), low, side="left")
    return (1 + better).astype(np.int32), (len(low) - worse).astype(np.int32)


def simultaneous(level: float, n: int = 1) -> float:
    """Return the two-sided normal critical value for n simultaneous intervals at this confidence level (Šidák)."""
    return -NormalDist().inv_cdf(max(-math.expm1(math.log(level) / max(n, 1)) / 2, 1e-16))


def rank_ranges(part: Fit, level: float, seed: int | None) -> tuple[Floats, Floats]:
    """Return the lower and upper end of a confidence interval for the rank of each candidate, from draws of the scores.

    Each interval is marginal; ``rank_intervals`` are wider and simultaneous.
    """
    low, high = np.ones(len(part.score)), np.repeat(np.diff(part.slot_ptr), np.diff(part.slot_ptr)).astype(np.float64)
    if part.covariance is None:
        if part.draws is None:
            ends = rank_intervals(part, level)
            return ends[0].astype(np.float64), ends[1].astype(np.float64)
        return rank_quantiles((part.score[:, None] + part.draws).T, level)
    largest = int(np.diff(part.slot_ptr).max(initial=1))
    n = BEST_DRAWS if largest <= MANY_RANKS and len(part.instances) <= MANY_INSTANCES else FEW_DRAWS
    draws = np.random.default_rng(seed).standard_normal((n, largest))
    for _, span, block in part.blocks:
        if span.stop - span.start > 1:
            drawn = _drawn(part.score[span], block, draws[:, : span.stop - span.start])
            low[span], high[span] = rank_quantiles(drawn, level)
    return low, high


def rank_quantiles(drawn: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the ends of the central ``level`` interval of every rank; ``drawn`` has a row of scores per draw."""
    n = len(drawn)
    ranks = np.argsort(np.argsort(-drawn, axis=1), axis=1)
    ranks.sort(axis=0)
    cut = int(n * (1 - level) / 2)
    return 1.0 + ranks[cut], 1.0 + ranks[n - 1 - cut]


def _drawn(score: Floats, block: Floats, draws: Floats) -> Floats:
    """Return score + C^(1/2) z for every row z of standard normal draws; the covariance C may lack full rank."""
    values, vectors = np.linalg.eigh(block)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(score + draws @ root.T)


def errors_from(part: Fit, q: int, place: int) -> Floats | None:
    """Return the standard errors of the differences between one candidate and all candidates of instance q."""
    if part.covariance is not None:
        block = part.block(q)
        variance = np.diag(block) + block[place, place] - 2 * block[place]
    elif part.draws is not None:
        variance = np.square(part.draws - part.draws[place]).mean(axis=1)
    else:
        return None
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def best_chances(part: Fit, seed: int | None) -> Floats:
    """Return each candidate's probability of having the highest true score (P(best)), from draws of the scores.

    A candidate cannot be the best more often than it beats each single rival. This bound is exact, so an estimate above
    it is reduced to it, and the difference is added to the rival that sets the bound.
    """
    chance = _drawn_chances(part, seed)
    likely_best = np.flatnonzero(chance > LIKELY)
    for slot in likely_best.tolist():
        q = int(np.searchsorted(part.slot_ptr, slot, side="right")) - 1
        start, stop = int(part.slot_ptr[q]), int(part.slot_ptr[q + 1])
        errors = errors_from(part, q, slot - start) if stop - start > 1 else None
        if errors is None:
            continue
        z = (part.score[slot] - part.score[start:stop]) / np.where(errors > 0, errors, 1e-300)
        z[slot - start] = np.inf
        rival = int(np.argmin(z))
        excess = float(chance[slot]) - NormalDist().cdf(float(z[rival]))
        if excess > 0:
            chance[slot] -= excess
            chance[start + rival] += excess
    return chance


def _drawn_chances(part: Fit, seed: int | None) -> Floats:
    """Return, by slot, the share of draws in which the slot has the highest score of its instance.

    In a large instance, candidates more than ``REACH`` standard errors behind the leader are left out.
    """
    rng = np.random.default_rng(seed)
    size = np.diff(part.slot_ptr)
    if part.covariance is None:
        if part.draws is None:
            return np.zeros(len(part.score))
        best = (part.score[:, None] + part.draws).argmax(axis=0)
        return np.asarray(np.bincount(best, minlength=len(part.score)) / part.draws.shape[1])
    if size.max(initial=0) <= BEST_BY_KERNEL:
        draws = rng.standard_normal((BEST_DRAWS, int(size.max(initial=1))))
        return kernels.best_chances(part.slot_ptr, part.score, part.covariance, draws, REACH)
    chance = np.zeros(len(part.score))
    _, _, block = next(part.blocks)
    leader = int(np.argmax(part.score))
    error_of_lead = np.sqrt(np.maximum(part.variance + part.variance[leader] - 2 * block[leader], 0.0))
    rival = np.flatnonzero(part.score[leader] - part.score <= REACH * error_of_lead)
    drawn = _drawn(part.score[rival], block[np.ix_(rival, rival)], rng.standard_normal((BEST_DRAWS, len(rival))))
    chance[rival] = np.bincount(drawn.argmax(axis=1), minlength=len(rival)) / BEST_DRAWS
    return chance


# ---- the prior's own uncertainty ----
def moved_by_prior(part: Fit) -> Floats:
    """Return, by slot, the derivative of the score in the log of the prior's precision: covariance times slope."""
    slope = part.prior.slope(part.score, part.slot_ptr)
    if part.covariance is None:
        return part.times_inverse(slope[:, None])[:, 0]
    moved = np.zeros(len(slope))
    for _, span, block in part.blocks:
        moved[span] = block @ slope[span]
    return moved


def widened(part: Fit, moved: Floats, doubt: float) -> Fit:
    """Add the variance due to prior uncertainty; ``doubt`` is the variance of the logarithm of the prior's precision.

    The covariance grows by doubt * moved movedᵀ. Reference: R. Kass and D. Steffey, Approximate Bayesian inference in
    conditionally independent hierarchical models, 1989.
    """
    covariance, draws = part.covariance, part.draws
    if covariance is not None:
        outer_products = [np.outer(moved[span], moved[span]).reshape(-1) for _, span, _ in part.blocks]
        covariance = covariance + doubt * np.concatenate(outer_products)
    if draws is not None:
        draws = draws + np.sqrt(doubt) * moved[:, None] * np.random.default_rng(0).standard_normal(draws.shape[1])
    return replace(part, covariance=covariance, variance=part.variance + doubt * moved**2, draws=draws)


# ---- resampling ----
class Refits(NamedTuple):
    """The estimates of bootstrap refits, a row each: scores, position bias and tie by instance, coefficients."""

    score: Floats
    extra: Floats
    coefficient: Floats

    @classmethod
    def empty(cls, replicates: int, part: Fit) -> Refits:
        """Return empty arrays for the refits of a part."""
        shapes = (part.score.shape, (len(part.instances), 2), part.coefficient.shape[1:])
        return cls(*(np.empty((replicates, *shape)) for shape in shapes))

    def put(self, k: int, refits: Sequence[Fit]) -> None:
        """Store refit number k of all instances of a part; ``refits`` are the fits it consists of."""
        for refit in refits:
            self.score[k, refit.slots] = refit.score
            self.extra[k, refit.instances] = np.stack([refit.advantage, refit.tie], 1)
            self.coefficient[k] = refit.coefficient[0]


def bootstrap(parts: list[Fit], asked: UncertaintyOptions, agents: Agents | None, doubt: float) -> list[Fit]:
    """Refit to resampled counts; return parts with the covariance of the refits and the quantiles of their scores.

    Agents are resampled if they are known, otherwise comparisons.
    """
    rng, with_prior = np.random.default_rng(asked.seed), [_firm(part) for part in parts]
    if agents is not None:
        refits_of_parts = _refitted_by_agents(with_prior, asked.replicates, rng, agents)
    else:
        refits_of_parts = [
            (_refitted_one_by_one if isinstance(part.observed, Designed) else _refitted_together)(
                part, asked.replicates, rng
            )
            for part in with_prior
        ]
    shifted = [
        refits._replace(score=refits.score + _shifts_of_prior(part, asked.replicates, doubt, rng))
        for part, refits in zip(parts, refits_of_parts, strict=True)
    ]
    return [_of_refits(part, refits, asked.level) for part, refits in zip(parts, shifted, strict=True)]


def _shifts_of_prior(part: Fit, replicates: int, doubt: float, rng: np.random.Generator) -> Floats:
    """Return, by replicate and slot, how the scores move when centre and precision of the prior are drawn as well.

    Every refit has the same prior; without this term the intervals would ignore the prior's uncertainty and be too
    narrow.
    """
    if doubt:
        moved = np.sqrt(doubt) * moved_by_prior(part) * rng.standard_normal((replicates, 1))
    else:
        moved = np.zeros((replicates, len(part.score)))
    shifts = np.zeros((replicates, len(part.score)))
    for k, (first, last) in enumerate(pairwise(part.slot_ptr.tolist())):
        if last > first and part.prior.ridge[k] > 0:
            prior = part.prior.of(np.array([k]), np.arange(first, last)).alone(last - first)
            shifts[:, first:last] = prior.noise(part.score[None, first:last], rng, replicates).T
    if part.covariance is None:
        return np.asarray(moved + part.times_inverse(shifts.T).T)
    for _, span, block in part.blocks:
        moved[:, span] += shifts[:, span] @ block
    return np.asarray(moved)


def _firm(part: Fit) -> Fit:
    """Return the part with a prior of at least ``MIN_RIDGE``, because resampled counts may have no finite optimum."""
    ridge, extra = (
        np.where(precision > 0, precision, MIN_RIDGE) for precision in (part.prior.ridge, part.prior.ridge_extra)
    )
    return replace(part, prior=replace(part.prior, ridge=ridge, ridge_extra=extra))


def _of_refits(part: Fit, refits: Refits, level: float) -> Fit:
    """Return the part with the covariances, deviations and score quantiles of its refits."""
    low, high = np.quantile(refits.score, [(1 - level) / 2, (1 + level) / 2], axis=0)
    deviation, _, coefficient_deviation = (values - values.mean(axis=0) for values in refits)
    degrees_of_freedom = max(len(refits.score) - 1, 1)
    covariance = None
    if part.covariance is not None:
        deviations = [deviation[:, span] for _, span, _ in part.blocks]
        covariance = np.concatenate(
            [(of_instance.T @ of_instance / degrees_of_freedom).reshape(-1) for of_instance in deviations]
        )
    return replace(
        part,
        covariance=covariance,
        variance=(deviation**2).sum(axis=0) / degrees_of_freedom,
        extra_variance=refits.extra.var(axis=0, ddof=1),
        coefficient_covariance=coefficient_deviation.T @ coefficient_deviation / degrees_of_freedom,
        draws=deviation.T,
        ends=(low, high),
    )


def _refitted_together(part: Fit, replicates: int, rng: np.random.Generator) -> Refits:
    """Return refits to resampled comparisons; many replicates are stacked as additional instances of one fit."""
    assert isinstance(part.observed, ObservedDuels)
    duels, link, n = part.observed.duels, part.observed.link, len(part.instances)
    refits = Refits.empty(replicates, part)
    together = max(1, min(replicates, STACKED // max(len(duels.first), 1)))
    for start in progress.steps(range(0, replicates, together), "bootstrap"):
        rows = slice(start, min(start + together, replicates))
        copies = [resample(duels, rng) for _ in range(rows.stop - rows.start)]
        stack = stacked(copies)
        ridge, extra = (np.tile(precision, len(copies)) for precision in (part.prior.ridge, part.prior.ridge_extra))
        prior = replace(part.prior, ridge=ridge, ridge_extra=extra)
        score, advantage_and_tie = np.empty(stack.n_slots), np.empty((len(copies) * n, 2))
        for refit in fit(ObservedDuels(stack, link), prior):
            score[refit.slots] = refit.score
            advantage_and_tie[refit.instances] = np.stack([refit.advantage, refit.tie], 1)
        refits.score[rows], refits.extra[rows] = (
            score.reshape(len(copies), -1),
            advantage_and_tie.reshape(len(copies), n, 2),
        )
    return refits


def _refitted_one_by_one(part: Fit, replicates: int, rng: np.random.Generator) -> Refits:
    """Return refits to resampled comparisons with teams or covariates, each with a warm start from the fit."""
    observed, refits, warm_start = part.observed, Refits.empty(replicates, part), _alone(part)
    assert isinstance(observed, Designed)
    assert isinstance(observed.inner, ObservedDuels)
    for k in progress.steps(range(replicates), "bootstrap"):
        inner = replace(observed.inner, duels=resample(observed.inner.duels, rng))
        refits.put(k, fit(replace(observed, inner=inner), part.prior, [warm_start]))
    return refits


def _refitted_by_agents(parts: list[Fit], replicates: int, rng: np.random.Generator, agents: Agents) -> list[Refits]:
    """Return refits to resampled agents, each with a warm start from the fit."""
    refits_of_parts, warm_starts = [Refits.empty(replicates, part) for part in parts], [_alone(part) for part in parts]
    for k in progress.steps(range(replicates), "bootstrap"):
        duels = agents.redrawn(rng)
        for part, warm_start, refits in zip(parts, warm_starts, refits_of_parts, strict=True):
            plain = part.observed.plain
            assert isinstance(plain, ObservedDuels)
            resampled = replace(plain, duels=duels.restrict(part.instances)[0])
            observed = replace(part.observed, inner=resampled) if isinstance(part.observed, Designed) else resampled
            refits.put(k, fit(observed, part.prior, [warm_start]))
    return refits_of_parts


def _alone(part: Fit) -> Fit:
    """Return a part with its instances and slots renumbered from 0."""
    return replace(part, instances=np.arange(len(part.instances)), slots=np.arange(len(part.score)))


def resample(duels: Duels, rng: np.random.Generator) -> Duels:
    """Resample the comparisons of every instance: multinomial draws from its counts of wins, losses and ties."""
    cells = np.stack([duels.won, duels.lost, duels.tied], 1)
    drawn = np.zeros_like(cells)
    for start, stop in zip(duels.ptr[:-1].tolist(), duels.ptr[1:].tolist(), strict=True):
        counts = cells[start:stop].reshape(-1)
        total = float(counts.sum())
        if total > 0:
            n_drawn = max(1, round(total))
            drawn[start:stop] = (rng.multinomial(n_drawn, counts / total) * (total / n_drawn)).reshape(-1, 3)
    return replace(duels, won=drawn[:, 0].copy(), lost=drawn[:, 1].copy(), tied=drawn[:, 2].copy())


def stacked(copies: list[Duels]) -> Duels:
    """Join copies of the same pairwise counts into one ``Duels``, each copy as additional instances with new slots."""
    template, n = copies[0], len(copies)
    shift = np.repeat(np.arange(n) * template.n_slots, len(template.first))

    def pointer(ptr: Int64s) -> Int64s:
        return np.concatenate([[0], (ptr[None, 1:] + ptr[-1] * np.arange(n)[:, None]).reshape(-1)]).astype(np.int64)

    return Duels(
        pointer(template.slot_ptr),
        pointer(template.ptr),
        (np.tile(template.first, n) + shift).astype(np.int32),
        (np.tile(template.second, n) + shift).astype(np.int32),
        np.concatenate([copy.won for copy in copies]),
        np.concatenate([copy.lost for copy in copies]),
        np.concatenate([copy.tied for copy in copies]),
        np.tile(template.order, n),
    )
