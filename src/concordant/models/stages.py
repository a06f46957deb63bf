"""What the stagewise models share: ballots as stages, the fit over all instances, its trouble and its uncertainty.

A stage chooses a tier from all that remain. Instances of up to a few hundred candidates are fitted by Newton's method
in one kernel call; larger ones one by one with quasi-Newton or MM steps whose cost is linear in the ballots. A prior
keeps every score finite, its strength given or chosen by evidence (``"auto"``, one for all instances): ``gaussian`` is
a normal distribution on scores with this precision; ``gamma`` a Gamma distribution on worths, which adds, for every
item, this many choices of it from all candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import kernels, memory, views
from concordant.gather import segment_index, sum_by
from concordant.models.completed import with_missing
from concordant.models.evidence import choose_prior, log_constant
from concordant.preferences import Preferences
from concordant.solvers.quasi_newton import maximise
from concordant.types import AnyArray, Bools, Bytes, Floats, Int32s, Int64s

SMALL = 256  # candidates up to which an instance is fitted by Newton's method in the kernel
MATRICES = 4  # of second derivatives, held at once
LARGEST_CURVATURE = 5_000  # candidates up to which the full matrix of second derivatives is made
ENOUGH = 200_000  # entries that show where to start
TOLERANCE = 1e-8
TIGHT = 1e-13  # for small instances, where rounding allows it
ROUGH = 1e-5  # where only the evidence of a prior is wanted
MOST_CURVES = 2e9  # pairs of entries of one ballot up to which the matrix is made for the evidence
MAX_STEPS = 500
LEAST_LOG_WORTH = -320.0
GOES_ON, CHOSEN, REST = 0, 1, 2
PRIOR_DOC = "strength of the prior that keeps scores finite; auto chooses it by evidence, 0 is plain likelihood"


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


@dataclass(frozen=True)
class Staging:
    """How ballots become stages: whether candidates they do not mention stay in denominators, and what ties mean."""

    missing: str = "ignore"
    ties: str = "partition"
    seed: int = 0

    def stages(self, prefs: Preferences) -> Stages:
        """Return the stages of all ballots."""
        return stages_of(with_missing(prefs, self.missing), self.ties, self.seed)


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
    doubt: float = 0.0
    """The variance of the logarithm of the strength, where the data chose it."""

    @property
    def is_gamma(self) -> bool:
        """Whether worths have a Gamma prior."""
        return self.kind == "gamma"

    def log_constant(self, size: Int64s) -> Floats:
        """Return the logarithm of the constant that makes this prior a density, for instances of these sizes."""
        return log_constant("dirichlet" if self.is_gamma else "gaussian", np.array(self.strength), size)

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
    evidence: float = 0.0
    """Laplace's approximation of the logarithm of the chance of the data under the prior, where wanted."""


def fit_stages(
    stages: Stages,
    prior: Prior,
    *,
    solver: str = "auto",
    with_errors: bool = True,
    with_evidence: bool = False,
    max_steps: int = MAX_STEPS,
    start: Floats | None = None,
) -> StageFit:
    """Fit every instance by penalised maximum likelihood; large ones begin at ``start``, if given."""
    size = np.diff(stages.slot_ptr)
    block = np.concatenate([[0], np.cumsum(np.where(size <= LARGEST_CURVATURE, size**2, 0))])
    score = np.zeros(int(stages.slot_ptr[-1]))
    if with_errors:
        memory.require(
            8 * MATRICES * float(block[-1]),
            f"Standard errors of up to {int(size.max(initial=0)):,} items in {len(size):,} instances",
            "use errors='none'",
        )
    covariance = np.zeros(int(block[-1]) if with_errors else 0)
    is_definite = np.ones(len(size), bool)
    value, norm, steps, evidence = 0.0, 0.0, 0, 0.0
    in_kernel = (size <= SMALL) & (solver in ("auto", "newton"))
    if in_kernel.any():
        chosen = np.flatnonzero(in_kernel)
        part = stages if in_kernel.all() else stages.part(chosen)
        own = _spans(stages.slot_ptr[chosen], stages.slot_ptr[chosen + 1])
        score[own], blocks, values, norms, counts, definite, penalty, log_det = kernels.fit_stages(
            part.slot_ptr,
            part.ballot_ptr,
            *part.arrays,
            prior.strength,
            prior.is_gamma,
            max_steps,
            TIGHT,
            with_errors,
            with_evidence,
        )
        if with_errors:
            covariance[_spans(block[chosen], block[chosen + 1])] = blocks
        is_definite[chosen] = definite.astype(bool)
        value, norm, steps = float(values.sum()), float(norms.max()), int(counts.max())
        if with_evidence:
            evidence = float((values + penalty + prior.log_constant(size[chosen]) - log_det / 2).sum())
    for q in np.flatnonzero(~in_kernel).tolist():
        part = stages if len(size) == 1 else stages.part(np.array([q]))
        span = slice(int(stages.slot_ptr[q]), int(stages.slot_ptr[q + 1]))
        begin = None if start is None else start[span]
        if with_evidence:
            fit = _weigh_large(part, prior, solver, max_steps, begin)
        else:
            fit = _fit_large(part, prior, solver, with_errors, max_steps, begin)
        score[span], is_definite[q] = fit.score, fit.is_definite[0]
        if with_errors:
            covariance[block[q] : block[q + 1]] = np.nan if fit.covariance is None else fit.covariance
        value, norm, steps = value + fit.log_likelihood, max(norm, fit.norm), max(steps, fit.steps)
        evidence += fit.evidence
    if with_errors and prior.doubt:
        _widen(covariance, block, stages.slot_ptr, score, prior)
    return StageFit(score, covariance if with_errors else None, value, norm, steps, is_definite, evidence)


def _widen(covariance: Floats, block: Int64s, slot_ptr: Int64s, score: Floats, prior: Prior) -> None:
    """Add to the covariances what the doubt about the prior's strength adds: scores move with its logarithm."""
    for q in np.flatnonzero(np.diff(block) > 1).tolist():
        own, m = score[slot_ptr[q] : slot_ptr[q + 1]], int(slot_ptr[q + 1] - slot_ptr[q])
        found = covariance[block[q] : block[q + 1]].reshape(m, m)
        slope = np.zeros(m)
        prior.add(own, worths(own), slope, np.zeros(m))
        moved = found @ slope
        found += prior.doubt * np.outer(moved, moved)


def chosen_prior(stages: Stages, strength: float | str, kind: str, solver: str) -> tuple[Prior, Floats | None]:
    """Return the prior, its strength chosen by evidence where it is "auto", and scores to begin a fit with."""
    if not isinstance(strength, str):
        return Prior(strength, kind), None
    scores: dict[float, Floats] = {}

    def evidence(trial: float) -> float:
        nearest = min(scores, key=lambda known: abs(np.log(known / trial)), default=None)
        start = None if nearest is None else scores[nearest]
        fit = fit_stages(stages, Prior(trial, kind), solver=solver, with_errors=False, with_evidence=True, start=start)
        scores[trial] = fit.score
        return fit.evidence

    best, doubt = choose_prior(evidence)
    return Prior(best, kind, doubt), scores[best]


def _weigh_large(stages: Stages, prior: Prior, solver: str, max_steps: int, start: Floats | None) -> StageFit:
    """Fit one instance well enough to tell how likely its data are under the prior."""
    m = int(stages.slot_ptr[-1])
    if m < 2:
        return _fit_large(stages, prior, solver, False, max_steps, start)
    function = _Objective(stages, prior)
    begin = _begin(stages, prior) if start is None else start
    tolerance = ROUGH * max(function.total, prior.strength) / m
    found = maximise(function, begin, tolerance=tolerance, max_steps=max_steps)
    value, _, diagonal = function(found.point)
    log_det = (m - 1) / m * float(np.log(diagonal).sum())  # above that of the matrix, which the diagonal bounds
    if m <= LARGEST_CURVATURE and float((np.diff(stages.indptr).astype(np.float64) ** 2).sum()) <= MOST_CURVES:
        log_det = _log_det(function, found.point)
    evidence = value + float(prior.log_constant(np.array([m]))[0]) - log_det / 2
    point = found.point - found.point.mean()
    return StageFit(point, None, function.log_likelihood, 0.0, found.steps, np.ones(1, bool), evidence)


def _log_det(function: _Objective, point: Floats) -> float:
    """Return the log-determinant of the curvature, without that of ties and of "all scores up by the same"."""
    from scipy.linalg.lapack import dpotrf

    indptr, slot, mark, weight = function.stages.arrays
    worth, m = worths(point), len(point)
    matrix = kernels.stage_curvature(
        indptr, slot, np.where(mark == GOES_ON, REST, mark).astype(np.uint8), weight, worth
    )
    function.prior.add_curvature(worth, matrix)
    shift = max(float(np.trace(matrix)), 1e-300) / m**2
    matrix += shift
    for _ in range(12):
        factor, trouble = dpotrf(matrix.T, lower=0)
        if not trouble:
            break
        matrix[np.diag_indices(m)] += 1e-12 * shift * m**2
    along = shift * m + (0.0 if function.prior.is_gamma else function.prior.strength)
    return 2 * float(np.log(np.maximum(np.diag(factor), 1e-150)).sum()) - float(np.log(along))


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


def _fit_large(
    stages: Stages, prior: Prior, solver: str, with_errors: bool, max_steps: int, begin: Floats | None = None
) -> StageFit:
    m = int(stages.slot_ptr[-1])
    if m < 2:
        return StageFit(np.zeros(m), np.zeros(m), 0.0, 0.0, 0, np.ones(1, bool))
    function = _Objective(stages, prior)
    scale = max(function.total, prior.strength)
    attainable = max(TIGHT, 1e-15 * len(stages.slot))  # sums over many choices are not exact
    tolerance = (TOLERANCE if m > SMALL else attainable) * scale / m
    use_matrix = (with_errors or solver == "newton") and m <= LARGEST_CURVATURE
    if solver == "mm":
        point, steps = _climb_by_mm(function, np.zeros(m), tolerance, 10 * max_steps)
    else:
        # Where the matrix of second derivatives is made anyway, its Newton steps finish what this begins.
        start = _begin(stages, prior) if begin is None else begin
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
