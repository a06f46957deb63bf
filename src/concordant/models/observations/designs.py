"""Likelihoods of contestants as functions of item scores and coefficients.

With strengths = A scores + X coefficients (``Design``) and a log-likelihood of comparisons or stages with gradient g
and negative Hessian H in the strengths, the gradient in the parameters is (Aᵀg, Xᵀg) and the negative Hessian has the
blocks AᵀHA, AᵀHX and XᵀHX. H is never built: the kernels compute its products with vectors.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from concordant import kernels
from concordant.ballots.segments import pointer, spans
from concordant.errors import ParameterError
from concordant.kernels.bundles import Belief, Fitted, WarmStart
from concordant.models.likelihoods.observed import (
    DuelLikelihood,
    LargeLikelihood,
    Observed,
    ObservedDuels,
    ObservedStages,
)
from concordant.models.notices import Standing, duel_standing, joined, stage_standing
from concordant.models.observations.contestants import Design
from concordant.models.observations.duels import Duels
from concordant.models.observations.stages import GOES_ON, Stages
from concordant.types import Floats, Int32s, Int64s

COLUMNS = 32  # of the map that are multiplied at once
PRODUCTS = 8  # of sparse rows with themselves, in as many duels counted
MAPPED = 4e-9  # seconds per contestant to carry a number to it and back


@dataclass(frozen=True, eq=False)
class Designed(Observed):
    """Comparisons or stages of contestants whose strengths are linear in scores and coefficients."""

    inner: ObservedDuels | ObservedStages
    design: Design
    in_batches: ClassVar[bool] = False

    @property
    def gamma_kind(self) -> str:  # type: ignore[override]
        """The normalisation of a Gamma prior on worths."""
        return self.inner.gamma_kind

    @property
    def plain(self) -> Observed:
        """The observations of the contestants."""
        return self.inner

    @cached_property
    def slot_ptr(self) -> Int64s:
        """The slots of every instance."""
        return self.design.slot_ptr

    @cached_property
    def total(self) -> Floats:
        """The weight of the observations of every instance."""
        return self.inner.total

    @cached_property
    def n_extra(self) -> int:
        """The number of parameters other than scores."""
        return self.inner.n_extra + self.design.n_coefficients

    @property
    def probes(self) -> tuple[int, int]:
        """Number of random vectors for estimating a log-determinant, and maximum number of products per vector."""
        return self.inner.probes

    @cached_property
    def costs(self) -> tuple[Floats, Floats]:
        """Estimated seconds to build the Hessian of every instance, and to multiply by it."""
        hessian, product = self.inner.costs
        product = product + MAPPED * np.diff(self.design.ptr)
        if isinstance(self.inner, ObservedDuels):
            members = len(self.design.member) / max(len(self.design.member_ptr) - 1, 1)
            return hessian * PRODUCTS * members**2 + product * self.design.n_coefficients, product
        return product * np.diff(self.slot_ptr), product

    def restrict(self, instances: Int64s) -> tuple[Self, Int64s]:
        """Return the observations of some instances with slots renumbered, and the slots they had."""
        slots = spans(self.slot_ptr[instances], self.slot_ptr[instances + 1])
        inner, _ = self.inner.restrict(instances)
        return replace(self, inner=inner, design=self.design.restrict(instances)), slots

    def batch(self, belief: Belief, warm_start: WarmStart, small_step: float, with_errors: bool) -> Fitted:
        """Raise an error: the batch kernel fits scores only."""
        raise ParameterError("Teams and covariates cannot be fitted in batches: do not set the strategy.")

    def alone(self) -> DesignLikelihood:
        """Return the likelihood of a single instance."""
        return DesignLikelihood(self)

    @cached_property
    def differences(self) -> Any:
        """A sparse row per pair: member shares of the first team minus those of the second; None for single items."""
        if self.design.is_single or not isinstance(self.inner, ObservedDuels):
            return None
        from scipy.sparse import csr_array

        design, duels = self.design, self.inner.duels
        shape = (len(design.member_ptr) - 1, design.n_slots)
        members = csr_array((design.share, design.member, design.member_ptr), shape=shape)
        return members[duels.first] - members[duels.second]

    @cached_property
    def pairs(self) -> tuple[Int32s, Int32s] | None:
        """The slots of every compared pair, if its contestants are single items."""
        if not (self.design.is_single and isinstance(self.inner, ObservedDuels)):
            return None
        of_items = item_duels(self.design, self.inner.duels)
        return of_items.first, of_items.second


class DesignLikelihood:
    """The likelihood of one instance: scores, then the model's other parameters, then coefficients."""

    def __init__(self, observed: Designed) -> None:
        self.observed, self.design, self.pairs = observed, observed.design, observed.pairs
        self.inner = inner = observed.inner.alone()
        self.m, self.n_coefficients = self.design.n_slots, self.design.n_coefficients
        self.size = self.m + inner.size - inner.m + self.n_coefficients
        self.total, self.is_concave, self.probes = inner.total, inner.is_concave, inner.probes

    def extras(self) -> dict[str, int]:
        """Return the indices of the additional parameters (position bias, tie) in a point."""
        return {name: place - self.inner.m + self.m for name, place in self.inner.extras().items()}

    def start(self) -> Floats:
        """Return equal scores, with the additional parameters at the contestants' starting values."""
        point = np.zeros((1, self.size))
        if self.inner.m:
            point[0, self.m : self.size - self.n_coefficients] = self.inner.start()[0, self.inner.m :]
        return point

    def sample(self) -> None:
        """Return None: a fit starts with all observations."""

    def evaluate(self, point: Floats) -> Floats:
        """Return the log-likelihood: that of the contestants' strengths, design.up(scores) + x @ coefficients."""
        first_coefficient = self.size - self.n_coefficients
        strengths = self._up(point[0, : self.m]) + self.design.x @ point[0, first_coefficient:]
        return self.inner.evaluate(np.concatenate([strengths, point[0, self.m : first_coefficient]])[None])

    def gradient(self) -> Floats:
        """Return the gradient at the point last evaluated: scores, additional parameters, coefficients (chain rule)."""
        gradient = self.inner.gradient()[0]
        by_contestant, others = gradient[: self.inner.m], gradient[self.inner.m :]
        return np.concatenate([self._down(by_contestant), others, self.design.x.T @ by_contestant])[None]

    def _up(self, scores: Floats) -> Floats:
        """Map scores to contestants; scores are centred if teams differ in size and team size has a coefficient."""
        return self.design.up(scores if self.design.is_level else _centred(scores))

    def _down(self, values: Floats) -> Floats:
        """Map derivatives in the contestants' strengths back to scores (the transpose of ``_up``)."""
        by_slot = self.design.down(values)
        return by_slot if self.design.is_level else _centred(by_slot)

    def hessian(self, is_exact: bool) -> Floats:
        """Return the negative Hessian at the point last evaluated."""
        m = self.m
        whole = np.empty((1, self.size, self.size))
        whole[0, :m, :m] = self._on_scores(is_exact)
        whole[0, :m, m:], whole[0, m:, m:] = self.border(is_exact)
        whole[0, m:, :m] = whole[0, :m, m:].T
        return whole

    def _on_scores(self, is_exact: bool) -> Floats:
        """Return the negative Hessian in the scores, Dᵀ H D for the map D to contestants; exact or of a bound."""
        inner, design = self.inner, self.design
        if self.pairs is not None and isinstance(inner, DuelLikelihood):
            return kernels.laplacian(*self.pairs, inner.terms.curve, self.m)
        if isinstance(inner, DuelLikelihood):
            rows = self.observed.differences
            hessian = (rows.T.multiply(inner.terms.curve).tocsr() @ rows).toarray()
            return hessian if design.is_level else _centred(_centred(hessian).T)
        out, mean = np.empty((self.m, self.m)), self.design.up(np.full((self.m, 1), 1 / max(self.m, 1)))
        for first in range(0, self.m, COLUMNS):
            last = min(first + COLUMNS, self.m)
            columns = design.columns(first, last)
            out[:, first:last] = self._down(inner.product(columns if design.is_level else columns - mean, is_exact))
        return (out + out.T) / 2

    def border(self, is_exact: bool) -> tuple[Floats, Floats]:
        """Return the negative Hessian between scores and the other parameters, and among the others."""
        x = self.design.x
        side, corner = self.inner.border(is_exact)
        towards_x = self.inner.product(x, is_exact) if self.n_coefficients else x
        between = side.T @ x
        whole = np.block([[corner, between], [between.T, x.T @ towards_x]])
        return np.concatenate([self._down(side), self._down(towards_x)], axis=1), whole

    def diagonal(self) -> Floats:
        """Return the diagonal of the negative Hessian in the scores, or a bound on it (one item per ballot)."""
        return self.design.down_squared(self.inner.diagonal())

    def product(self, x: Floats, is_exact: bool = True) -> Floats:
        """Return the negative Hessian in the scores times columns; if not exact, that of a bound."""
        if self.pairs is not None and isinstance(self.inner, DuelLikelihood):
            return kernels.laplacian_product(*self.pairs, self.inner.terms.curve, np.ascontiguousarray(x))
        return self._down(self.inner.product(np.ascontiguousarray(self._up(x)), is_exact))

    def with_curve(self, curve: Floats) -> DesignLikelihood:
        """Return a copy at the same point with other curvatures by pair (see ``curve``); only its Hessian is valid."""
        assert isinstance(self.inner, DuelLikelihood)
        changed = copy(self)
        changed.inner = self.inner.with_curve(curve)
        return changed

    @property
    def curve(self) -> Floats:
        """The negative second derivative of each pair's log-likelihood with respect to its strength difference."""
        assert isinstance(self.inner, DuelLikelihood)
        return self.inner.curve

    def noise(self, rng: np.random.Generator) -> Floats:
        """Draw 64 columns whose covariance is the negative Hessian in the scores (comparisons only)."""
        assert isinstance(self.inner, DuelLikelihood)
        return self._down(self.inner.noise(rng))


def _centred(values: Floats) -> Floats:
    """Return values, or columns, minus their mean; an instance may have no items."""
    return np.asarray(values - values.sum(axis=0) / max(len(values), 1))


def draws_noise(likelihood: LargeLikelihood) -> bool:
    """Return whether a likelihood can draw columns with its negative Hessian as covariance (comparisons only)."""
    return isinstance(getattr(likelihood, "inner", likelihood), DuelLikelihood)


# ---- which items can be compared ----
def duel_standing_of(design: Design, duels: Duels) -> Standing:
    """Find the components of items connected by comparisons: all members of the winner beat all of the loser."""
    if design.is_single:
        return duel_standing(item_duels(design, duels))
    n, rows = design.n_slots, np.arange(len(duels.first))
    up, down = (duels.won > 0) | (duels.tied > 0), (duels.lost > 0) | (duels.tied > 0)
    # A node per duel and direction stands between the two teams: its edges are as many as there are players.
    wins = [(duels.first[up], duels.second[up], n + rows[up])]
    wins.append((duels.second[down], duels.first[down], n + len(rows) + rows[down]))
    ahead: list[tuple[Int64s, Int64s]] = []
    behind: list[tuple[Int64s, Int64s]] = []
    has_won, has_lost = np.zeros(n, bool), np.zeros(n, bool)
    for winner, loser, node in wins:
        for side, edges, has_result in ((winner, ahead, has_won), (loser, behind, has_lost)):
            players, of_duel, _ = design.members(side)
            has_result[players] = True
            edges.append((players, node[of_duel]))
    weak, strong = joined(
        np.concatenate([*(players for players, _ in ahead), *(node for _, node in behind)]),
        np.concatenate([*(node for _, node in ahead), *(players for players, _ in behind)]),
        n + 2 * len(rows),
    )
    return Standing(weak[:n], strong[:n], has_won, has_lost)


def item_duels(design: Design, duels: Duels) -> Duels:
    """Return comparisons of single-item contestants as comparisons of their items; equal pairs are not merged."""
    slot = design.member.astype(np.int32)
    return replace(duels, slot_ptr=design.slot_ptr, first=slot[duels.first], second=slot[duels.second])


def stage_standing_of(design: Design, stages: Stages) -> Standing | None:
    """Find the components of items connected by stages of contestants."""
    slots, of_entry, _ = design.members(stages.slot)
    size = np.bincount(of_entry, minlength=len(stages.slot))
    mark = np.full(len(slots), GOES_ON, np.uint8)
    mark[pointer(size)[:-1]] = stages.mark
    indptr = pointer(size)[stages.indptr]
    slot = slots.astype(np.int32)
    return stage_standing(replace(stages, slot_ptr=design.slot_ptr, indptr=indptr, slot=slot, mark=mark))
