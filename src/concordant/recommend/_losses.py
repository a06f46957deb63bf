"""Losses of factorisations: value, and for each entry a quadratic approximation at given scores.

A factorisation replaces its loss by the quadratic slope d + curve d² / 2 in the change d of every score, which equals
curve f² / 2 - target f in the score itself, and minimises it exactly, alternating between the two sides
(``_alternating``). For squared errors the quadratic is the loss itself. For other losses, a curve that bounds the
second derivatives from above almost always keeps the steps short enough to decrease the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from concordant import kernels
from concordant.recommend._observed import Observed
from concordant.types import Floats, Int32s, Int64s


class Quadratic(NamedTuple):
    """A loss at the current scores: its value and the terms of its quadratic (``curve`` may be one number for all).

    ``squared`` is half the weighted sum of squared errors, ``share`` their share of the curvature, from which the noise
    is estimated.
    """

    value: float
    target: Floats
    curve: Floats
    squared: float = 0.0
    share: float = 0.0

    @classmethod
    def around(cls, score: Floats, value: float, slope: Floats, curve: Floats) -> Quadratic:
        """Return the quadratic of a loss with this slope and curvature at the scores."""
        return cls(value, curve * score - slope, curve)


class Loss(Protocol):
    """A loss of scores, and whether it is quadratic and smooth."""

    @property
    def is_quadratic(self) -> bool: ...

    @property
    def is_smooth(self) -> bool: ...

    def at(self, score: Floats, observed: Observed, sweep: int) -> Quadratic:
        """Return the value and the quadratic approximation at these scores."""


@dataclass(frozen=True)
class RatingLoss:
    """``squared`` times (r - f)² / 2 of every rating, plus ``listwise`` times the negative log-likelihood of the tiers.

    Tiers are chosen one after the other, each with the mean worth of its members (ordered partitions), or item by item
    in the order of the entries (``is_strict``: Plackett-Luce, which ignores ties).
    """

    squared: float = 1.0
    listwise: float = 0.0
    is_strict: bool = False
    name: str = "pmf"
    is_smooth: bool = True

    @property
    def is_quadratic(self) -> bool:
        """Whether the loss equals its quadratic approximation."""
        return not self.listwise

    def at(self, score: Floats, observed: Observed, sweep: int) -> Quadratic:
        """Return the value and the quadratic approximation at these scores."""
        if not self.squared:
            return self._stages(score, observed)
        rating = observed.ratings(self.name)
        error = score - rating
        if observed.has_unit_weights:
            half_squares, curve = 0.5 * float(error @ error), np.array([self.squared])
        else:
            half_squares = 0.5 * float((observed.weight_by_entry * error) @ error)
            curve = self.squared * observed.weight_by_entry
        squared_part = Quadratic(self.squared * half_squares, curve * rating, curve, half_squares, 1.0)
        if not self.listwise:
            return squared_part
        stages = self._stages(score, observed)
        total = curve + stages.curve
        share = float(np.broadcast_to(curve, len(score)).sum() / total.sum())
        return Quadratic(
            squared_part.value + stages.value, squared_part.target + stages.target, total, half_squares, share
        )

    def _stages(self, score: Floats, observed: Observed) -> Quadratic:
        """Return the quadratic approximation of the listwise part."""
        tier = observed.places if self.is_strict else observed.tier
        loss, slope, curve = kernels.mean_partitions_bound(score, observed.ptr, tier, observed.weight)
        return Quadratic.around(score, self.listwise * float(loss.sum()), self.listwise * slope, self.listwise * curve)


@dataclass(frozen=True)
class PairLoss:
    """Squared hinge over the pairs of a ballot: max(0, 1 - lead)², the mean over its pairs times its number of entries.

    The curve of an entry is twice the diagonal of the Hessian if all its pairs were within the margin: an upper bound,
    because (a - b)² <= 2 a² + 2 b².
    """

    is_quadratic: bool = False
    is_smooth: bool = True

    def at(self, score: Floats, observed: Observed, sweep: int) -> Quadratic:
        """Return the value and the quadratic approximation at these scores."""
        sizes = np.diff(observed.ptr)
        # for every entry, the number of entries of its ballot in other tiers
        rivals = np.repeat(sizes, sizes) - _tier_sizes(observed.ptr, observed.tier)
        pairs = np.bincount(observed.ballot, rivals, len(sizes)) / 2
        scale = np.divide(observed.weight * sizes, pairs, out=np.zeros(len(sizes)), where=pairs > 0)
        value, slope = kernels.squared_hinge_terms(score, observed.ptr, observed.tier, scale)
        return Quadratic.around(score, float(value), slope, 4 * np.repeat(scale, sizes) * rivals)


@dataclass(frozen=True)
class NDCGLoss:
    """A convex bound on 1 - NDCG: the maximum over all orders of the order's loss plus its lead in score.

    With c(j) = (j + 1)^-1/4, an order p of a ballot has the score sum_j c(j) f_p(j). The loss is the maximum over p of
    1 - NDCG@k(p) + score(p) - score(order by rating), found by solving an assignment problem. It is not smooth: the
    curve grows with the square root of the sweeps, so that subgradient steps become shorter. If a ballot has more than
    ``longest`` entries, ``longest`` of them are sampled in every sweep.
    """

    depth: int = 10
    longest: int = 100
    seed: int = 0
    is_quadratic: bool = False
    is_smooth: bool = False

    def at(self, score: Floats, observed: Observed, sweep: int) -> Quadratic:
        """Return the value, a subgradient and the curve of this sweep."""
        rng = np.random.default_rng([self.seed, sweep])
        slope, curve, value = np.zeros(len(score)), np.zeros(len(score)), 0.0
        rating = observed.ratings("cofi-rank")
        for ballot, (begin, end) in enumerate(zip(observed.ptr[:-1].tolist(), observed.ptr[1:].tolist(), strict=True)):
            entry = np.arange(begin, end)
            if len(entry) > self.longest:
                entry = np.sort(rng.choice(entry, self.longest, replace=False))
            if len(entry) < 2 or observed.tier[entry[0]] == observed.tier[entry[-1]]:
                continue
            loss, subgradient = _assigned(score[entry], 2 ** (rating[entry] - rating[entry[0]]), self.depth)
            ballot_weight = float(observed.weight[ballot])
            value += ballot_weight * loss
            slope[entry] = ballot_weight * subgradient
            curve[entry] = ballot_weight * np.sqrt(1.0 + sweep)
        return Quadratic.around(score, value, slope, curve)


def _assigned(score: Floats, gain: Floats, depth: int) -> tuple[float, Floats]:
    """Return the margin loss of one ballot and its subgradient; among tied ratings the better scores come first."""
    from scipy.optimize import linear_sum_assignment

    n = len(score)
    place = np.arange(n)
    lead, discount = (place + 1.0) ** -0.25, np.where(place < depth, 1 / np.log2(place + 2), 0.0)
    ideal = np.lexsort((-score, -gain))
    best = float(gain[ideal] @ discount)
    worth = np.outer(score, lead) - np.outer(gain, discount) / best
    item, place_of_item = linear_sum_assignment(worth, maximize=True)
    place_of = np.empty(n, np.int64)
    place_of[item] = place_of_item
    slope: Floats = lead[place_of].astype(np.float64)
    slope[ideal] -= lead
    return max(0.0, 1.0 + float(worth[item, place_of_item].sum() - score[ideal] @ lead)), slope


def _tier_sizes(ptr: Int64s, tier: Int32s) -> Int64s:
    """Return, for every entry, how many entries of its ballot share its tier."""
    begins = np.ones(len(tier), bool)
    begins[1:] = tier[1:] != tier[:-1]
    begins[ptr[:-1][np.diff(ptr) > 0]] = True
    start = np.flatnonzero(begins)
    sizes = np.diff(np.append(start, len(tier)))
    return np.repeat(sizes, sizes)
