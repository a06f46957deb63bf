"""Likelihoods of one instance: value, gradient and Hessian with respect to the scores, computed by the kernels.

``kernels.newton`` maximises them over a vector of parameters (scores, then the position bias, then the tie parameter).
The likelihoods of comparisons and of stages also have Hessian-vector products that do not build the matrix. The cost is
estimated in seconds, so that the cheapest strategy can be chosen.

A new model of comparisons is a formula in ``kernels/links.py`` and its struct in ``duels.hpp``; a new kind of
observation is a pair of classes like those here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol, Self

import numpy as np

from concordant import kernels
from concordant.ballots.segments import sum_by
from concordant.kernels import links, newton
from concordant.kernels.bundles import Belief, DuelTerms, Fitted, StageRows, WarmStart
from concordant.models.observations.duels import Duels
from concordant.models.observations.stages import GOES_ON, REST, Stages, worths
from concordant.types import Floats, Int64s

RECENT = 3  # points whose terms are kept
ENOUGH = 200_000  # entries of ballots that show where to start
ROW, ENTRY, CELL = 2e-9, 2.5e-9, 2.2e-9  # seconds per duel, per entry of a ballot and per pair of its entries
FULL, MAX_FULL = 1 / 8, 2_000  # duels per cell from which, and items up to which, products take a dense matrix
IN_MATRIX = 1.2e-10  # seconds per cell of a product with it
AT_ONCE, MAX_PROBES = 400_000, 32  # entries times random vectors that take about as long as the call itself
STEP_OF_GRID, FALL = 0.23, 5e-4  # of the logarithm of strengths, and of the evidence per item that may be noise
SPREAD = 500.0  # of scores whose exponentials can be added


# ---- of many instances ----
class Observed(ABC):
    """The observations of many instances under a model, to which scores are fitted."""

    gamma_kind: ClassVar[str]
    """The normalisation of a Gamma prior on worths (see ``evidence.log_constant``)."""
    in_batches: ClassVar[bool] = True
    """Whether many small instances can be fitted in one kernel call."""

    @property
    def plain(self) -> Observed:
        """The underlying observations if a design maps scores to contestants; otherwise these observations."""
        return self

    @property
    @abstractmethod
    def slot_ptr(self) -> Int64s:
        """The slots of every instance."""

    @property
    @abstractmethod
    def total(self) -> Floats:
        """The weight of the observations of every instance."""

    @cached_property
    def n_extra(self) -> int:
        """The number of parameters other than scores."""
        return 0

    @property
    @abstractmethod
    def probes(self) -> tuple[int, int]:
        """Number of random vectors for estimating a log-determinant, and maximum number of products per vector."""

    @property
    @abstractmethod
    def costs(self) -> tuple[Floats, Floats]:
        """Estimated seconds to build the Hessian of every instance, and to multiply by it."""

    @abstractmethod
    def restrict(self, instances: Int64s) -> tuple[Self, Int64s]:
        """Return the observations of some instances with slots renumbered, and the slots they had."""

    @abstractmethod
    def batch(self, belief: Belief, warm_start: WarmStart, small_step: float, with_errors: bool) -> Fitted:
        """Fit all instances in one kernel call."""

    @abstractmethod
    def alone(self) -> LargeLikelihood:
        """Return the likelihood of a single instance."""


@dataclass(frozen=True, eq=False)
class ObservedDuels(Observed):
    """Pairwise comparison counts under one of the link functions."""

    duels: Duels
    link: int
    gamma_kind: ClassVar[str] = "gamma"

    @cached_property
    def n_extra(self) -> int:
        """The number of parameters other than scores: position bias and tie parameter."""
        return int(len(self.duels.order) > 0) + int(links.has_tie_parameter(self.link))

    @cached_property
    def slot_ptr(self) -> Int64s:
        """The slots of every instance."""
        return self.duels.slot_ptr

    @cached_property
    def total(self) -> Floats:
        """The total count of every instance."""
        return self.duels.totals[0]

    @cached_property
    def probes(self) -> tuple[int, int]:
        """The number of random vectors, and the maximum number of products with each, that estimate a log-determinant.

        The same vectors are used for all strengths of the prior, so their errors nearly cancel between adjacent
        strengths. The remaining error is at most the prior's mean share of the diagonal, times a step of the grid,
        times sqrt(2 m). The number of vectors keeps it below ``FALL`` per item, the decrease of the log-evidence one
        step from its maximum.
        """
        met = self.duels.met
        m = max(len(met), 1)
        share = float((1 / (1 + met / 4)).mean()) if len(met) else 1.0
        wanted = np.ceil(2 * m * (STEP_OF_GRID * share) ** 2 / (FALL * m) ** 2)
        return int(np.clip(wanted, 2, affordable_probes(len(self.duels.first), 12))), 30

    @cached_property
    def costs(self) -> tuple[Floats, Floats]:
        """Estimated seconds to build the Hessian of every instance, and to multiply by it."""
        rows, size = np.diff(self.duels.ptr).astype(np.float64), np.diff(self.duels.slot_ptr).astype(np.float64)
        product = np.where(is_full(rows, size), IN_MATRIX * size**2 + ROW * rows / 3, ROW * rows)
        return 2 * ROW * rows, product

    def restrict(self, instances: Int64s) -> tuple[Self, Int64s]:
        """Return the observations of some instances with slots renumbered, and the slots they had."""
        duels, slots = self.duels.restrict(instances)
        return replace(self, duels=duels), slots

    def batch(self, belief: Belief, warm_start: WarmStart, small_step: float, with_errors: bool) -> Fitted:
        """Fit all instances in one kernel call."""
        d = self.duels
        return kernels.fit_duels(d.slot_ptr, d.ptr, d.rows, self.link, belief, warm_start, small_step, with_errors)

    def alone(self) -> DuelLikelihood:
        """Return the likelihood of a single instance."""
        return DuelLikelihood(self)

    @cached_property
    def recent(self) -> dict[bytes, DuelTerms]:
        """Cache of the likelihood terms at recently evaluated points.

        It saves an evaluation when a fit under another prior starts where the last fit ended.
        """
        return {}

    @cached_property
    def matrix(self) -> dict[str, Floats]:
        """The negative Hessian of the last product (``whole``), and the curvatures it was built from (``curve``)."""
        return {}


def affordable_probes(entries: int, min_probes: int) -> int:
    """Return how many random vectors may be multiplied at once: more if there are few observations."""
    return int(np.clip(AT_ONCE // max(entries, 1), min_probes, MAX_PROBES))


def is_full(rows: Floats, size: Floats) -> Floats:
    """Return whether most pairs of items were compared, so that a dense matrix gives faster products."""
    return np.asarray((rows > FULL * size**2) & (size <= MAX_FULL))


@dataclass(frozen=True, eq=False)
class ObservedStages(Observed):
    """Stages of a Plackett-Luce model: each chooses with probability proportional to worth."""

    stages: Stages
    gamma_kind: ClassVar[str] = "dirichlet"

    @cached_property
    def slot_ptr(self) -> Int64s:
        """The slots of every instance."""
        return self.stages.slot_ptr

    @cached_property
    def total(self) -> Floats:
        """The weight of the choices of every instance."""
        return self.stages.total

    @property
    def probes(self) -> tuple[int, int]:
        """Number of random vectors for estimating a log-determinant, and maximum number of products per vector."""
        return affordable_probes(len(self.stages.slot), 4), 20

    @cached_property
    def costs(self) -> tuple[Floats, Floats]:
        """Estimated seconds to build the Hessian of every instance, and to multiply by it."""
        length = np.diff(self.stages.indptr).astype(np.float64)
        by_ballot = np.concatenate(
            [np.zeros((1, 2)), np.cumsum(np.stack([CELL * length**2, ENTRY * length], 1), axis=0)]
        )
        pairs, entries = np.diff(by_ballot[self.stages.ballot_ptr], axis=0).T
        return pairs, entries

    def restrict(self, instances: Int64s) -> tuple[Self, Int64s]:
        """Return the observations of some instances with slots renumbered, and the slots they had."""
        stages, slots = self.stages.restrict(instances)
        return replace(self, stages=stages), slots

    def batch(self, belief: Belief, warm_start: WarmStart, small_step: float, with_errors: bool) -> Fitted:
        """Fit all instances in one kernel call."""
        s = self.stages
        return kernels.fit_stages(s.slot_ptr, s.ballot_ptr, s.rows, belief, warm_start, small_step, with_errors)

    def alone(self) -> StageLikelihood:
        """Return the likelihood of a single instance."""
        return StageLikelihood(self.stages)


# ---- of one instance ----


class LargeLikelihood(newton.Likelihood, Protocol):
    """A likelihood of one instance that also works without a dense Hessian."""

    probes: tuple[int, int]
    n_coefficients: int
    """The number of covariate coefficients, which are the last parameters."""

    def diagonal(self) -> Floats:
        """Return the diagonal of the negative Hessian in the scores."""

    def product(self, x: Floats, is_exact: bool = True) -> Floats:
        """Return the negative Hessian in the scores times columns; if not exact, a semi-definite bound on it."""

    def border(self, is_exact: bool) -> tuple[Floats, Floats]:
        """Return the negative Hessian between scores and the other parameters, and among the others."""

    def sample(self) -> tuple[LargeLikelihood, int] | None:
        """Return the likelihood of every n-th observation, and n, if a fit should start with this sample; else None."""


class DuelLikelihood:
    """The likelihood of the pairwise comparisons of one instance under one of the link functions."""

    n_coefficients = 0

    def __init__(self, observed: ObservedDuels) -> None:
        duels, link = observed.duels, observed.link
        self.probes = observed.probes
        self.duels, self.link, self.m, self.recent = duels, link, duels.n_slots, observed.recent
        self.matrix = observed.matrix
        self.has_order, self.has_tie = len(duels.order) > 0, links.has_tie_parameter(link)
        self.size = self.m + self.has_order + self.has_tie
        self.total = observed.total
        self.is_concave = link != links.RAO_KUPPER
        self.is_full = bool(is_full(np.array(len(duels.first)), np.array(self.m)))

    def extras(self) -> dict[str, int]:
        """Return the indices of the additional parameters (position bias, tie) in a point."""
        places = {"advantage": self.m if self.has_order else -1, "tie": self.size - 1 if self.has_tie else -1}
        return {name: place for name, place in places.items() if place >= 0}

    def start(self) -> Floats:
        """Return the log odds of winning as starting scores, which are close to the optimum.

        Log odds against varied opponents are smaller than against an average opponent; for normal scores the factor
        follows from MacKay's approximation of a logistic function averaged over a normal variable.
        """
        d, m = self.duels, self.m
        won, lost = d.met / 2 + d.balance, d.met / 2 - d.balance
        point = np.zeros((1, self.size))
        odds = np.log((won + 1) / (lost + 1))
        spread = min(float(odds.var()), 1.5) * np.pi / 8
        odds *= (0.6 if self.link == links.THURSTONE else 1.0) / np.sqrt(1 - spread)
        point[0, :m] = odds - odds.mean()
        if self.has_tie:
            share = np.clip(d.tied.sum() / max(d.total.sum(), 1e-300), 1e-3, 1 - 1e-3)
            point[0, -1] = np.clip(np.log(2 * share / (1 - share)), -5, 5)
        return point

    def sample(self) -> None:
        """Return None: there are few enough pairwise counts to use all of them."""

    def evaluate(self, point: Floats) -> Floats:
        """Return the log-likelihood; the terms of the last ``RECENT`` points are kept for the derivatives."""
        key = point.tobytes()
        terms = self.recent.pop(key, None)
        if terms is None:
            terms = self._terms(point[0])
        self.terms = self.recent[key] = terms
        for oldest in list(self.recent)[:-RECENT]:
            self.recent.pop(oldest, None)
        return np.array([terms.value])

    def _terms(self, point: Floats) -> DuelTerms:
        """Return value and derivatives of all rows at a point; plain Bradley-Terry has a faster kernel."""
        d, score, place_of = self.duels, np.ascontiguousarray(point[: self.m]), self.extras()
        if self.link == links.BRADLEY_TERRY and not self.has_order and self.m and np.ptp(score) < SPREAD:
            return kernels.worth_terms(d.first, d.second, d.total, d.balance, score)
        advantage, tie = (float(point[place_of[name]]) if name in place_of else 0.0 for name in ("advantage", "tie"))
        return kernels.duel_terms(d.rows, score, advantage, tie, self.link)

    def gradient(self) -> Floats:
        """Return the gradient at the point last evaluated."""
        extras = [float(self.duels.order @ self.terms.slope)] if self.has_order else []
        extras += [self.terms.slope_x] * self.has_tie
        return np.concatenate([self.terms.gradient, extras])[None]

    def hessian(self, is_exact: bool) -> Floats:
        """Return the negative Hessian at the point last evaluated: scores first, then advantage, then tie."""
        m = self.m
        of_scores = kernels.laplacian(self.duels.first, self.duels.second, self.terms.curve, m)
        if self.size == m:
            return of_scores[None]
        whole = np.empty((1, self.size, self.size))
        whole[0, :m, :m] = of_scores
        whole[0, :m, m:], whole[0, m:, m:] = self.border(is_exact)
        whole[0, m:, :m] = whole[0, :m, m:].T
        return whole

    def border(self, is_exact: bool) -> tuple[Floats, Floats]:
        """Return the negative Hessian between scores and the other parameters (m x k), and among the others (k x k)."""
        order, terms, extras = self.duels.order, self.terms, self.extras()
        side, corner = np.zeros((self.m, len(extras))), np.zeros((len(extras), len(extras)))
        if self.has_order:
            side[:, 0], corner[0, 0] = self._by_slot(order * terms.curve), order**2 @ terms.curve
        if self.has_tie:
            side[:, -1] = terms.side
            corner[-1, -1] = terms.curve_x + (terms.bend if is_exact else max(terms.bend, 0.0))
        if self.has_order and self.has_tie:
            corner[0, 1] = corner[1, 0] = order @ terms.cross
        return side, corner

    def diagonal(self) -> Floats:
        """Return the diagonal of the negative Hessian in the scores."""
        return self.terms.diagonal

    def product(self, x: Floats, is_exact: bool = True) -> Floats:
        """Return the negative Hessian in the scores times columns ``x``; it is positive semi-definite."""
        d, curve = self.duels, self.terms.curve
        if not self.is_full:
            return kernels.laplacian_product(d.first, d.second, curve, x)
        if self.matrix.get("curve") is not curve:
            self.matrix.update(curve=curve, whole=kernels.laplacian(d.first, d.second, curve, self.m))
        return kernels.matrix_product(self.matrix["whole"], np.ascontiguousarray(x))

    @property
    def curve(self) -> Floats:
        """The negative second derivative of each row's log-likelihood with respect to its score difference."""
        return self.terms.curve

    def with_curve(self, curve: Floats) -> DuelLikelihood:
        """Return a copy at the same point with other curvatures by row (see ``curve``); only its Hessian is valid."""
        duels, changed = self.duels, copy(self)
        diagonal = sum_by(duels.first, curve, self.m) + sum_by(duels.second, curve, self.m)
        changed.terms = self.terms._replace(curve=curve, diagonal=diagonal)
        return changed

    def noise(self, rng: np.random.Generator) -> Floats:
        """Draw 64 columns with the negative Hessian in the scores as covariance: rows add ±sqrt(curve) to their
        items.
        """
        d = self.duels
        bits = rng.integers(0, 2**64, len(d.first), dtype=np.uint64)
        return kernels.sign_sums(d.first, d.second, np.sqrt(self.terms.curve), bits, self.m)

    def _by_slot(self, by_row: Floats) -> Floats:
        """Return, by slot, the sum of a value over the rows where it is first minus the sum where it is second."""
        d = self.duels
        return np.asarray(np.bincount(d.first, by_row, self.m) - np.bincount(d.second, by_row, self.m))


class StageLikelihood:
    """The likelihood of the stages of one instance."""

    n_coefficients = 0

    def __init__(self, stages: Stages) -> None:
        self.stages, self.probes = stages, ObservedStages(stages).probes
        self.m = self.size = stages.n_slots
        self.total, self.is_concave = stages.total, not stages.has_ties

    def extras(self) -> dict[str, int]:
        """Return the indices of the additional parameters: there are none."""
        return {}

    def start(self) -> Floats:
        """Return equal scores."""
        return np.zeros((1, self.m))

    def sample(self) -> tuple[StageLikelihood, int] | None:
        """Return every ``step``-th ballot, and ``step``, if there are very many: a fit to them is a warm start."""
        step = len(self.stages.slot) // max(ENOUGH, 20 * self.m)
        if step < 4:
            return None
        return StageLikelihood(self.stages.take(np.arange(0, len(self.stages.weight), step))), step

    def evaluate(self, point: Floats) -> Floats:
        """Return the log-likelihood; worths and sums are stored for the derivatives."""
        self.worth = worths(point[0])
        value, self.gain, self.rate = kernels.stage_sums(self.stages.rows, self.worth)
        return np.array([value + float(self.stages.wins @ (point[0] - point[0].max(initial=-np.inf)))])

    def gradient(self) -> Floats:
        """Return the gradient at the point last evaluated."""
        return np.asarray(self.stages.wins + self.worth * (self.gain - self.rate))[None]

    def hessian(self, is_exact: bool) -> Floats:
        """Return the negative Hessian; if not exact, a bound without the terms of tiers of several items."""
        return kernels.stage_hessian(self.stages.rows if is_exact else self._bound, self.worth)[None]

    @cached_property
    def _bound(self) -> StageRows:
        """The stages without the terms of tiers of several items, whose curvature may be positive."""
        rows = self.stages.rows
        return rows._replace(mark=np.where(rows.mark == GOES_ON, REST, rows.mark).astype(np.uint8))

    def border(self, is_exact: bool) -> tuple[Floats, Floats]:
        """Return empty arrays: there are no other parameters."""
        return np.zeros((self.m, 0)), np.zeros((0, 0))

    def diagonal(self) -> Floats:
        """Return an upper bound on the diagonal of the negative Hessian: that of the minorising function."""
        return np.asarray(self.worth * self.rate)

    def product(self, x: Floats, is_exact: bool = True) -> Floats:
        """Return the negative Hessian times columns; if not exact, that of the bound in ``hessian``."""
        if is_exact:
            return kernels.stage_product(self.stages.rows, self.worth, self.rate - self.gain, x)
        return kernels.stage_product(self._bound, self.worth, self.rate, x)
