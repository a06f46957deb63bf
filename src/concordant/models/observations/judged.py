"""Likelihoods of pairwise comparisons by judges who differ in discrimination and in position bias.

If judge k compares item i, shown first, with item j, the model of comparisons sees the score difference

    d = w_k (s_i - s_j) + b + b_k

with the discrimination w_k of the judge (1: average, 0: random answers, negative: reversed answers), the common
position bias b, and the deviation b_k of the judge from it. The parameters of the judges ("coefficients", the last
parameters of the likelihood) are first all b_k, then all u_k, with w_k = 1 + u_k - mean(u). They have Gaussian priors
around 0. The mean of w is 1, because the scale of the scores and that of w cannot both be estimated: a prior on w alone
would leave the scale to the priors, and the joint mode would be too small. The likelihood does not depend on the mean
of u, so its mode is 0 and it cancels from the marginal likelihood.

With g and c the first and the negative second derivative of a row in d, the negative Hessian is Jᵀ c J - sum g d'',
where J holds the derivatives of d. The only second derivative of d is that in (s, w_k), so without the terms in g the
matrix is a positive semi-definite bound. Derivatives in w become those in u by subtracting their mean over judges.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from concordant import kernels
from concordant.ballots.segments import segment_index, sum_by
from concordant.errors import InputError, NeedError, arg
from concordant.kernels import links
from concordant.kernels.bundles import DuelTerms
from concordant.models.likelihoods.observed import DuelLikelihood, ObservedDuels
from concordant.models.observations.duels import Counting, Duels
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.types import Floats, Int64s

JUDGE_EFFECTS = ("none", "skill", "bias", "both")
MATRICES = 9  # Hessians held at once
ROWS, FACTOR = 1e-7, 2.5e-11  # seconds per row and per multiplication of a factorisation


@dataclass(frozen=True, eq=False)
class JudgedDuels(ObservedDuels):
    """Pairwise counts of a single instance, a row per judge and pair."""

    judge: Int64s
    """The judge of every row."""
    n_judges: int
    effects: tuple[str, ...]
    """The effects of judges that are estimated: bias, skill, or both, in this order."""
    in_batches: ClassVar[bool] = False

    @classmethod
    def of(cls, prefs: Preferences, counting: Counting, link: int, effects: str) -> JudgedDuels:
        """Count the pairs of every judge."""
        rows, judge = judged_rows(prefs, counting)
        assert prefs.agents is not None
        estimated = ("bias", "skill") if effects == "both" else (effects,)
        observed = cls(rows, link, judge, len(prefs.agents), estimated)
        memory.require(
            8 * MATRICES * float(prefs.n_slots + observed.n_extra) ** 2,
            f"Effects of {len(prefs.agents):,} judges",
            "rank without them, or keep the judges with the most votes",
        )
        return observed

    @property
    def n_coefficients(self) -> int:
        """The number of parameters of the judges."""
        return self.n_judges * len(self.effects)

    @cached_property
    def n_extra(self) -> int:
        """The number of parameters other than scores."""
        has_order, has_tie = len(self.duels.order) > 0, links.has_tie_parameter(self.link)
        return int(has_order) + int(has_tie) + self.n_coefficients

    @cached_property
    def costs(self) -> tuple[Floats, Floats]:
        """Estimated seconds to build the Hessian; products with it are not offered, because it has a large border."""
        rows, parameters = len(self.duels.first), float(self.duels.n_slots + self.n_extra)
        return np.array([ROWS * rows + FACTOR * parameters**3]), np.full(1, np.inf)

    def alone(self) -> JudgedLikelihood:
        """Return the likelihood of the instance."""
        return JudgedLikelihood(self)

    def leads(self, score: Floats, advantage: Floats, coefficient: Floats) -> Floats:
        """Return, by row, the difference d that its judge sees."""
        return leads(self.duels, self.judge, score, advantage, *self.split(coefficient))

    def split(self, coefficient: Floats) -> tuple[Floats, Floats]:
        """Return the deviations of position bias, and the discriminations, by judge."""
        by_effect = dict(zip(self.effects, coefficient.reshape(len(self.effects), self.n_judges), strict=True))
        zeros = np.zeros(self.n_judges)
        return by_effect.get("bias", zeros), 1 + centred(by_effect.get("skill", zeros))


def judged_rows(prefs: Preferences, counting: Counting) -> tuple[Duels, Int64s]:
    """Return the pairwise counts of a single instance with a row per judge and pair, and the judge of each row."""
    if prefs.agents is None or prefs.agent is None:
        raise NeedError("Judge effects need the judge of each vote: give their column with " + arg("agent") + ".")
    if prefs.n_instances > 1:
        raise InputError(
            "Judge effects are estimated for one ranking of all votes: read the votes without instances, or select "
            "one instance."
        )
    if int(np.diff(prefs.indptr).max(initial=0)) > 2:
        raise InputError("Judge effects need votes on pairs, but some ballots rank more than two items.")
    by_judge = prefs.replace(
        instances=prefs.agents, instance=prefs.agent, slot_ptr=None, slot_item=None, form=prefs.said_form
    )
    duels = counting.duels(by_judge)
    slot_of_item = np.full(prefs.n_items, -1, np.int32)
    slot_of_item[prefs.slot_item] = np.arange(prefs.n_slots)
    slot = slot_of_item[by_judge.slot_item]
    rows = replace(
        duels,
        slot_ptr=prefs.slot_ptr,
        ptr=np.array([0, len(duels.first)]),
        first=slot[duels.first],
        second=slot[duels.second],
    )
    return rows, segment_index(duels.ptr)


def leads(duels: Duels, judge: Int64s, score: Floats, advantage: Floats | float, bias: Floats, skill: Floats) -> Floats:
    """Return, by row, the difference d that its judge sees; bias and skill are by judge."""
    lead = skill[judge] * (score[duels.first] - score[duels.second])
    return np.asarray(lead + duels.order * (advantage + bias[judge]) if len(duels.order) else lead)


def centred(values: Floats) -> Floats:
    """Return values minus their mean over judges, the last axis."""
    return np.asarray(values - values.mean(axis=-1, keepdims=True) if values.size else values)


class JudgedLikelihood(DuelLikelihood):
    """The likelihood of one instance: scores, position bias, tie parameter, then the parameters of the judges."""

    def __init__(self, observed: JudgedDuels) -> None:
        super().__init__(observed)
        self.observed, self.judge, self.n_judges = observed, observed.judge, observed.n_judges
        self.n_coefficients = observed.n_coefficients
        self.n_shared, self.size = self.size, self.size + self.n_coefficients
        if "skill" in observed.effects:
            self.is_concave = False

    def extras(self) -> dict[str, int]:
        """Return the indices of the additional parameters (position bias, tie) in a point."""
        names = ["advantage"] * self.has_order + ["tie"] * self.has_tie
        return {name: self.m + k for k, name in enumerate(names)}

    def start(self) -> Floats:
        """Return the start of the comparisons without judges, with average judges."""
        shared = DuelLikelihood(ObservedDuels(self.duels, self.link)).start()
        return np.concatenate([shared, np.zeros((1, self.n_coefficients))], axis=1)

    def evaluate(self, point: Floats) -> Floats:
        """Return the log-likelihood at a point; the derivatives are those at the point last evaluated."""
        self.weight, self.gap = self._derivatives(point[0])
        return super().evaluate(point)

    def _derivatives(self, point: Floats) -> tuple[Floats, Floats]:
        """Return, by row, the derivatives of d in the score of the first item and in the discrimination."""
        _, skill = self.observed.split(point[self.n_shared :])
        return skill[self.judge], point[self.duels.first] - point[self.duels.second]

    def _terms(self, point: Floats) -> DuelTerms:
        """Return value and derivatives of all rows; only those by row and in the tie parameter are used."""
        d, m, place_of = self.duels, self.m, self.extras()
        advantage, tie = (float(point[place_of[name]]) if name in place_of else 0.0 for name in ("advantage", "tie"))
        lead = self.observed.leads(point[:m], np.array(advantage), point[self.n_shared :])
        x = np.full(len(lead), tie)
        terms = links.terms(self.link, lead, x, d.won, d.lost, d.tied)
        none = np.empty(0)
        slope_x = float(terms.slope_x.sum())
        bend = float(links.bend_of_tie(self.link, x, terms.slope_x).sum())
        value, curve_x = float(terms.value.sum()), float(terms.curve_x.sum())
        return DuelTerms(value, none, none, none, terms.slope, terms.curve, terms.cross, slope_x, curve_x, bend)

    def gradient(self) -> Floats:
        """Return the gradient at the point last evaluated."""
        slope = self.terms.slope
        shared = [float(self.duels.order @ slope)] if self.has_order else []
        shared += [self.terms.slope_x] * self.has_tie
        of_judges = [self._by_judge(column * slope, effect) for effect, column in self._columns().items()]
        return np.concatenate([self._by_slot(self.weight * slope), shared, *of_judges])[None]

    def hessian(self, is_exact: bool) -> Floats:
        """Return the negative Hessian at the point last evaluated; if not exact, without the second derivative of d."""
        m = self.m
        whole = np.empty((1, self.size, self.size))
        whole[0, :m, :m] = kernels.laplacian(self.duels.first, self.duels.second, self._curve_of_scores, m)
        whole[0, :m, m:], whole[0, m:, m:] = self.border(is_exact)
        whole[0, m:, :m] = whole[0, :m, m:].T
        return whole

    def border(self, is_exact: bool) -> tuple[Floats, Floats]:
        """Return the negative Hessian between scores and the other parameters, and among the others."""
        terms, curve, weight, m = self.terms, self.terms.curve, self.weight, self.m
        n, j, first = self.size - m, self.n_judges, self.n_shared - m
        side, corner = np.zeros((m, n)), np.zeros((n, n))
        places, order = {name: place - m for name, place in self.extras().items()}, self.duels.order
        if self.has_order:
            k = places["advantage"]
            side[:, k], corner[k, k] = self._by_slot(order * curve * weight), order**2 @ curve
        if self.has_tie:
            k = places["tie"]
            side[:, k] = self._by_slot(terms.cross * weight)
            corner[k, k] = terms.curve_x + (terms.bend if is_exact else max(terms.bend, 0.0))
            if self.has_order:
                corner[0, 1] = corner[1, 0] = order @ terms.cross
        columns = self._columns()
        blocks = {effect: slice(first + e * j, first + (e + 1) * j) for e, effect in enumerate(columns)}
        for effect, column in columns.items():
            block, by_row = blocks[effect], column * curve * weight
            if is_exact and effect == "skill":
                by_row = by_row - terms.slope
            side[:, block] = self._by_slot_and_judge(by_row, effect)
            if self.has_order:
                k = places["advantage"]
                corner[k, block] = corner[block, k] = self._by_judge(column * curve * order, effect)
            if self.has_tie:
                k = places["tie"]
                corner[k, block] = corner[block, k] = self._by_judge(column * terms.cross, effect)
            for other_effect, other_column in columns.items():
                among = np.diag(self._by_judge(column * other_column * curve))
                among = centred(among.T).T if effect == "skill" else among
                corner[block, blocks[other_effect]] = centred(among) if other_effect == "skill" else among
        return side, corner

    def diagonal(self) -> Floats:
        """Return the diagonal of the negative Hessian in the scores."""
        d, curve = self.duels, self._curve_of_scores
        return sum_by(d.first, curve, self.m) + sum_by(d.second, curve, self.m)

    def product(self, x: Floats, is_exact: bool = True) -> Floats:
        """Return the negative Hessian in the scores times columns ``x``; it is positive semi-definite."""
        return kernels.laplacian_product(self.duels.first, self.duels.second, self._curve_of_scores, x)

    def with_curve(self, curve: Floats) -> JudgedLikelihood:
        """Return a copy at the same point with other curvatures by row, without the second derivative of d."""
        changed = copy(self)
        changed.terms = self.terms._replace(curve=curve, slope=np.zeros(len(curve)))
        return changed

    @property
    def _curve_of_scores(self) -> Floats:
        """By row, the curvature in the difference of the scores."""
        return self.terms.curve * self.weight**2

    def _columns(self) -> dict[str, Floats]:
        """Return, by effect and row, the derivative of d in the parameter of its judge."""
        return {effect: self.duels.order if effect == "bias" else self.gap for effect in self.observed.effects}

    def _by_judge(self, by_row: Floats, effect: str = "bias") -> Floats:
        """Return sums by judge: derivatives in the parameters of an effect."""
        sums = sum_by(self.judge, by_row, self.n_judges)
        return centred(sums) if effect == "skill" else sums

    def _by_slot_and_judge(self, by_row: Floats, effect: str) -> Floats:
        """Return, by slot and judge, the sum over the rows where the slot is first minus that where it is second."""
        d, j = self.duels, self.n_judges
        cells = sum_by(d.first * np.int64(j) + self.judge, by_row, self.m * j)
        cells -= sum_by(d.second * np.int64(j) + self.judge, by_row, self.m * j)
        by_judge = cells.reshape(self.m, j)
        return centred(by_judge) if effect == "skill" else by_judge
