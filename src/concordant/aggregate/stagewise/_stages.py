"""What the stagewise models share: ballots as stages, the fit over all instances, its trouble and its uncertainty.

A stage chooses a tier from all that remain. Instances of up to a few hundred candidates are fitted by Newton's method
in one kernel call; larger ones one by one with quasi-Newton or MM steps whose cost is linear in the ballots. A prior
keeps every score finite: ``gaussian`` is a normal distribution on scores with this precision; ``gamma`` a Gamma
distribution on worths, which adds, for every item, this many choices of it from all candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import kernels, views
from concordant.errors import InputError
from concordant.gather import segment_index, sum_by
from concordant.preferences import Preferences
from concordant.solvers.quasi_newton import maximise
from concordant.types import AnyArray, Bools, Bytes, Floats, Int32s, Int64s

SMALL = 256  # candidates up to which an instance is fitted by Newton's method in the kernel
LARGEST_CURVATURE = 5_000  # candidates up to which the full matrix of second derivatives is made
ENOUGH = 200_000  # entries that show where to start
TOLERANCE = 1e-8
TIGHT = 1e-13  # for small instances, where rounding allows it
MAX_STEPS = 500
LEAST_LOG_WORTH = -320.0
GOES_ON, CHOSEN, REST = 0, 1, 2
MISSING_CHOICES = ("ignore", "last-free")
MISSING_DOC = "whether candidates a ballot does not mention stay in its denominators (last-free) or not (ignore)"


@dataclass(frozen=True)
class Stages:
    """Ballots sorted by instance; ``mark`` says what starts at an entry: a chosen tier, the rest, or nothing."""

    slot_ptr: Int64s
    ballot_ptr: Int64s
    indptr: Int64s
    slot: Int32s
    mark: Bytes
    weight: Floats

    @property
    def arrays(self) -> tuple[Int64s, Int32s, Bytes, Floats]:
        """What the kernels take."""
        return self.indptr, self.slot, self.mark, self.weight

    @cached_property
    def ballot(self) -> Int64s:
        """The ballot of every entry."""
        return segment_index(self.indptr)

    @cached_property
    def has_ties(self) -> bool:
        """Whether some chosen tier holds several items."""
        return bool((self.mark[np.flatnonzero(self.mark == GOES_ON) - 1] == CHOSEN).any())

    @cached_property
    def wins(self) -> Floats:
        """How often each slot is chosen alone."""
        is_alone = self.mark == CHOSEN
        if self.has_ties:
            is_alone[:-1] &= self.mark[1:] != GOES_ON
        chosen = np.flatnonzero(is_alone)
        if (self.weight == 1).all():
            return np.bincount(self.slot[chosen], minlength=int(self.slot_ptr[-1])).astype(np.float64)
        return sum_by(self.slot[chosen], self.weight[self.ballot[chosen]], int(self.slot_ptr[-1]))

    def part(self, instances: AnyArray) -> Stages:
        """Return the stages of some instances, slots numbered anew."""
        ballots = _spans(self.ballot_ptr[instances], self.ballot_ptr[instances + 1])
        entries = _spans(self.indptr[ballots], self.indptr[ballots + 1])
        sizes = np.diff(self.slot_ptr)[instances]
        slot_ptr = np.concatenate([[0], np.cumsum(sizes)])
        shift = np.repeat(self.slot_ptr[instances] - slot_ptr[:-1], np.diff(self.ballot_ptr)[instances])
        lengths = np.diff(self.indptr)[ballots]
        return Stages(
            slot_ptr,
            np.concatenate([[0], np.cumsum(np.diff(self.ballot_ptr)[instances])]),
            np.concatenate([[0], np.cumsum(lengths)]),
            (self.slot[entries] - np.repeat(shift, lengths)).astype(np.int32),
            self.mark[entries],
            self.weight[ballots],
        )


def known_stages(prefs: Preferences, missing: str, ties: str, seed: int = 0) -> Stages:
    """Return the stages of all ballots; ``missing`` says whether unmentioned candidates stay in denominators."""
    return stages_of(prefs if missing == "ignore" else leave_rest_open(prefs), ties, seed)


def stages_of(prefs: Preferences, ties: str, seed: int = 0) -> Stages:
    """Return the stages of all ballots; ``ties`` keeps tied items together, or orders them by chance or as given."""
    slot = prefs.entry_slot.astype(np.int32)
    starts = np.ones(len(slot), bool)
    starts[1:] = prefs.tier[1:] != prefs.tier[:-1]
    filled = np.diff(prefs.indptr) > 0
    starts[prefs.indptr[:-1][filled]] = True
    if prefs.open is None and starts.all():  # strict orders: all but the last entry are chosen
        mark = np.full(len(slot), CHOSEN, np.uint8)
        mark[prefs.indptr[1:][filled] - 1] = REST
    else:
        groups = views.tiers(prefs)
        if ties == "shuffle":
            slot = slot[_shuffled(prefs, groups, seed)]
        mark = _marks(prefs, groups, keep_ties=ties == "partition")
    return _sorted_by_instance(prefs, slot, mark)


def leave_rest_open(prefs: Preferences) -> Preferences:
    """Return the same ballots, each with the candidates it does not mention in an open last tier."""
    size = np.diff(prefs.indptr)
    candidates = np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
    if int(candidates.sum()) > views.LARGEST_MATRIX:
        raise InputError(
            f"Keeping {int(candidates.max()):,} candidates in every ballot's denominators takes too much memory: "
            "use missing='ignore'."
        )
    is_open = np.zeros(prefs.n_ballots, bool) if prefs.open is None else prefs.open
    if (size == candidates).all():
        return prefs
    indptr = np.concatenate([[0], np.cumsum(candidates)])
    ballot = np.repeat(np.arange(prefs.n_ballots), candidates)
    first = prefs.slot_ptr[prefs.instance_of_ballot]
    local = prefs.entry_slot - np.repeat(first, size)
    place = np.full(int(indptr[-1]), np.iinfo(np.int64).max)
    place[np.repeat(indptr[:-1], size) + local] = np.arange(len(prefs.item))
    order = np.lexsort((place, ballot))
    named = place[order]
    is_named = named < np.iinfo(np.int64).max
    slot = np.arange(int(indptr[-1])) - np.repeat(indptr[:-1] - first, candidates)
    last = np.zeros(prefs.n_ballots, np.int64)
    last[size > 0] = prefs.tier[prefs.indptr[1:][size > 0] - 1]
    # An open ballot's own last tier is already the rest: the unmentioned join it.
    rest = np.where(is_open & (size > 0), last, last + 1)[ballot]
    tier = np.where(is_named, np.append(prefs.tier, 0)[np.where(is_named, named, -1)], rest)
    return Preferences(
        prefs.items,
        indptr,
        prefs.slot_item[slot[order]],
        tier,
        weight=prefs.weight,
        instances=prefs.instances,
        instance=prefs.instance,
        open=is_open | (size < candidates),
        slot_ptr=prefs.slot_ptr,
        slot_item=prefs.slot_item,
    )


def _marks(prefs: Preferences, groups: views.Tiers, keep_ties: bool) -> Bytes:
    last = groups.ptr[1:] == prefs.indptr[groups.ballot + 1]
    mark = np.zeros(len(prefs.item), np.uint8)
    if keep_ties:
        mark[groups.ptr[:-1]] = np.where(last, REST, CHOSEN)
        return mark
    mark[~groups.is_open[groups.of_entry]] = CHOSEN
    mark[groups.ptr[:-1][groups.is_open]] = REST
    mark[(groups.ptr[1:] - 1)[last & ~groups.is_open]] = REST
    return mark


def _shuffled(prefs: Preferences, groups: views.Tiers, seed: int) -> Int64s:
    """Return an order of the entries that is random inside tiers.

    The chance numbers depend on the seed, the number of the ballot in its instance and the number of the candidate
    there, so that an instance comes out the same whatever others it stands among.
    """
    first = np.concatenate([[0], np.cumsum(np.bincount(prefs.instance_of_ballot, minlength=prefs.n_instances))])
    by_instance = np.argsort(prefs.instance_of_ballot, kind="stable")
    number = np.empty(prefs.n_ballots, np.int64)
    number[by_instance] = np.arange(prefs.n_ballots) - first[prefs.instance_of_ballot[by_instance]]
    ballot = views.ballot_of_entry(prefs)
    local = prefs.entry_slot - prefs.slot_ptr[prefs.instance_of_ballot[ballot]]
    chance = np.full(len(ballot), seed, np.uint64)
    for part in (number[ballot], local):
        chance = _mix(chance ^ part.astype(np.uint64))
    return np.lexsort((chance, groups.of_entry))


def _mix(x: AnyArray) -> AnyArray:
    """Scramble 64-bit numbers (the finaliser of splitmix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _sorted_by_instance(prefs: Preferences, slot: Int32s, mark: Bytes) -> Stages:
    instance = prefs.instance_of_ballot
    ballot_ptr = np.concatenate([[0], np.cumsum(np.bincount(instance, minlength=prefs.n_instances))])
    indptr, weight = prefs.indptr, prefs.weight
    if prefs.n_instances > 1 and (np.diff(instance) < 0).any():
        order = np.argsort(instance, kind="stable")
        entries = _spans(indptr[order], indptr[order + 1])
        slot, mark, weight = slot[entries], mark[entries], weight[order]
        indptr = np.concatenate([[0], np.cumsum(np.diff(indptr)[order])])
    return Stages(prefs.slot_ptr, ballot_ptr, indptr, slot, mark, weight)


def _spans(first: AnyArray, last: AnyArray) -> Int64s:
    sizes = last - first
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(first - np.cumsum(sizes) + sizes, sizes))


@dataclass(frozen=True)
class Prior:
    """What is believed before the data: ``gaussian`` on scores or ``gamma`` on worths."""

    strength: float
    kind: str

    @property
    def is_gamma(self) -> bool:
        """Whether worths have a Gamma prior."""
        return self.kind == "gamma"

    def add(self, score: Floats, worth: Floats, gradient: Floats, diagonal: Floats) -> float:
        """Add the prior's derivatives to those of one instance; return its logarithm."""
        if self.is_gamma:
            total, pull = worth.sum(), self.strength * len(worth)
            gradient += self.strength - pull * worth / total
            diagonal += pull * worth / total
            return float(self.strength * (score - score.max()).sum() - pull * np.log(total))
        # The likelihood ignores a common shift, so at the optimum scores sum to zero: take that as given, and no
        # solver has to creep along the shift that only the prior sees.
        centred = score - score.mean()
        gradient -= self.strength * centred
        diagonal += self.strength
        return float(-self.strength / 2 * (centred @ centred))

    def add_curvature(self, worth: Floats, matrix: Floats) -> None:
        """Add minus the second derivative of the prior's logarithm to a matrix."""
        diagonal = np.einsum("ii->i", matrix)
        if self.is_gamma:
            share = worth / worth.sum()
            matrix -= (self.strength * len(worth) * share)[:, None] * share
            diagonal += self.strength * len(worth) * share
        else:
            diagonal += self.strength


@dataclass(frozen=True)
class StageFit:
    """The fit of all instances: scores, their covariances, and how well the search ended."""

    score: Floats
    covariance: Floats | None
    """A block per instance, of scores that sum to zero; NaN where there is none; None where errors are not wanted."""
    log_likelihood: float
    norm: float
    """The largest derivative at the optimum, relative to the weight of the stages."""
    steps: int
    is_definite: Bools
    """Per instance: whether standard errors exist."""


def fit_stages(
    stages: Stages, prior: Prior, *, solver: str = "auto", with_errors: bool = True, max_steps: int = MAX_STEPS
) -> StageFit:
    """Fit every instance by penalised maximum likelihood."""
    size = np.diff(stages.slot_ptr)
    block = np.concatenate([[0], np.cumsum(np.where(size <= LARGEST_CURVATURE, size**2, 0))])
    score = np.zeros(int(stages.slot_ptr[-1]))
    covariance = np.zeros(int(block[-1]) if with_errors else 0)
    is_definite = np.ones(len(size), bool)
    value, norm, steps = 0.0, 0.0, 0
    in_kernel = (size <= SMALL) & (solver in ("auto", "newton"))
    if in_kernel.any():
        chosen = np.flatnonzero(in_kernel)
        part = stages if in_kernel.all() else stages.part(chosen)
        own = _spans(stages.slot_ptr[chosen], stages.slot_ptr[chosen + 1])
        score[own], blocks, values, norms, counts, definite = kernels.fit_stages(
            part.slot_ptr, part.ballot_ptr, *part.arrays, prior.strength, prior.is_gamma, max_steps, TIGHT, with_errors
        )
        if with_errors:
            covariance[_spans(block[chosen], block[chosen + 1])] = blocks
        is_definite[chosen] = definite.astype(bool)
        value, norm, steps = float(values.sum()), float(norms.max()), int(counts.max())
    for q in np.flatnonzero(~in_kernel).tolist():
        part = stages if len(size) == 1 else stages.part(np.array([q]))
        fit = _fit_large(part, prior, solver, with_errors, max_steps)
        score[stages.slot_ptr[q] : stages.slot_ptr[q + 1]], is_definite[q] = fit.score, fit.is_definite[0]
        if with_errors:
            covariance[block[q] : block[q + 1]] = np.nan if fit.covariance is None else fit.covariance
        value, norm, steps = value + fit.log_likelihood, max(norm, fit.norm), max(steps, fit.steps)
    return StageFit(score, covariance if with_errors else None, value, norm, steps, is_definite)


class _Objective:
    """Penalised log-likelihood of one instance."""

    def __init__(self, stages: Stages, prior: Prior) -> None:
        self.stages, self.prior = stages, prior
        self.total = float(stages.weight @ np.add.reduceat(
            np.append(stages.mark == CHOSEN, False), stages.indptr[:-1], dtype=np.int64
        )) if len(stages.weight) else 0.0  # fmt: skip

    def __call__(self, score: Floats) -> tuple[float, Floats, Floats]:
        """Return value, gradient, and the diagonal of the minorising function's second derivative."""
        self.worth = worth = worths(score)
        value, gain, rate = kernels.stage_sums(*self.stages.arrays, worth)
        self.gain, self.rate = gain, rate
        wins = self.stages.wins
        diagonal = worth * rate
        gradient = wins + worth * gain - diagonal
        value += float(wins @ (score - score.max()))
        self.log_likelihood = value
        return value + self.prior.add(score, worth, gradient, diagonal), gradient, np.maximum(diagonal, 1e-300)


def worths(score: Floats) -> Floats:
    """Return exp(score) relative to the best."""
    return np.asarray(np.exp(np.maximum(score - score.max(), LEAST_LOG_WORTH)))


def _fit_large(stages: Stages, prior: Prior, solver: str, with_errors: bool, max_steps: int) -> StageFit:
    m = int(stages.slot_ptr[-1])
    if m < 2:
        return StageFit(np.zeros(m), np.zeros(m), 0.0, 0.0, 0, np.ones(1, bool))
    function = _Objective(stages, prior)
    scale = max(function.total, prior.strength)
    tolerance = (TOLERANCE if m > SMALL else TIGHT) * scale / m
    use_matrix = (with_errors or solver == "newton") and m <= LARGEST_CURVATURE
    if solver == "mm":
        point, steps = _climb_by_mm(function, np.zeros(m), tolerance, 10 * max_steps)
    else:
        # Where the matrix of second derivatives is made anyway, its Newton steps finish what this begins.
        start = _begin(stages, prior)
        found = maximise(function, start, tolerance=tolerance * (1e3 if use_matrix else 1.0), max_steps=max_steps)
        point, steps = found.point, found.steps
    covariance = None
    if use_matrix:
        point, covariance, more = _finish_by_newton(function, point, tolerance)
        steps += more
    _, gradient, _ = function(point)
    norm = float(np.abs(gradient).max(initial=0.0)) / max(scale, 1e-300)
    is_definite = np.array([covariance is not None or not with_errors])
    return StageFit(point - point.mean(), covariance, function.log_likelihood, norm, steps, is_definite)


def _begin(stages: Stages, prior: Prior) -> Floats:
    """Start a search over very many ballots where a search over a few of them ends."""
    m, step = int(stages.slot_ptr[-1]), len(stages.slot) // max(ENOUGH, 20 * int(stages.slot_ptr[-1]))
    if step < 4:
        return np.zeros(m)
    ballots = np.arange(0, len(stages.weight), step)
    entries = _spans(stages.indptr[ballots], stages.indptr[ballots + 1])
    sample = Stages(
        stages.slot_ptr,
        np.array([0, len(ballots)]),
        np.concatenate([[0], np.cumsum(np.diff(stages.indptr)[ballots])]),
        stages.slot[entries],
        stages.mark[entries],
        stages.weight[ballots],
    )
    function = _Objective(sample, Prior(prior.strength / step, prior.kind))
    return maximise(function, np.zeros(m), tolerance=1e-2 * function.total / m, max_steps=50).point


def _finish_by_newton(function: _Objective, point: Floats, tolerance: float) -> tuple[Floats, Floats | None, int]:
    """Newton steps with a matrix that is renewed only when they stop helping; also the covariance, or None."""
    from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

    m, steps = len(point), 0
    value, gradient, _ = function(point)
    for _ in range(50):
        worth = worths(point)
        matrix = kernels.stage_curvature(*function.stages.arrays, worth)
        function.prior.add_curvature(worth, matrix)
        shift = np.trace(matrix) / m**2
        matrix += shift
        factor, trouble = dpotrf(matrix.T, lower=0, overwrite_a=True)
        if trouble:
            found = maximise(function, point, tolerance=tolerance, max_steps=MAX_STEPS)
            return found.point, None, steps + found.steps
        largest = np.abs(gradient).max()
        while largest > tolerance:
            step, _ = dpotrs(factor, gradient, lower=0)
            value, gradient, step = _walk(function, point, value, step)
            point, steps, before, largest = point + step, steps + 1, largest, np.abs(gradient).max()
            if largest > before / 8:
                break
        if largest <= tolerance:
            inverse, _ = dpotri(factor, lower=0, overwrite_c=True)
            along = m * (shift * m + (0.0 if function.prior.is_gamma else function.prior.strength))
            covariance = np.triu(inverse) + np.triu(inverse, 1).T - 1 / along
            return point, covariance.reshape(-1), steps
    return point, None, steps


def _walk(function: _Objective, point: Floats, value: float, step: Floats) -> tuple[float, Floats, Floats]:
    """Shorten a step until the value does not fall."""
    for _ in range(40):
        found, gradient, _ = function(point + step)
        if found >= value - 1e-13 * abs(value):
            break
        step = step / 2
    return found, gradient, step


def _climb_by_mm(function: _Objective, point: Floats, tolerance: float, max_steps: int) -> tuple[Floats, int]:
    """Hunter's MM steps: each item's worth is its wins over its rate; the prior bends that by a scalar equation."""
    prior, wins = function.prior, function.stages.wins
    for steps in range(max_steps):
        _, gradient, _ = function(point)
        if np.abs(gradient).max() <= tolerance:
            return point, steps
        worth, gain, rate = function.worth, function.gain, function.rate
        if prior.is_gamma:
            rate = rate + prior.strength * len(worth) / worth.sum()
            new = np.log((wins + worth * gain + prior.strength) / rate)
        else:
            new = _solve_scalar(wins + worth * gain, rate * np.exp(-point.max()), prior.strength, point)
        point = new - new.mean()
    return point, max_steps


def _solve_scalar(wins: Floats, rate: Floats, precision: float, score: Floats) -> Floats:
    """Solve wins = rate * exp(s) + precision * s for every item by Newton's method on a concave function."""
    for _ in range(60):
        growth = rate * np.exp(score)
        step = (wins - growth - precision * score) / np.maximum(growth + precision, 1e-300)
        score = score + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-14 * (1 + np.abs(score).max()):
            break
    return score
