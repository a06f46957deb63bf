"""Standard errors where a tie counts as half a win each way (Bradley-Terry, Thurstone).

The likelihood takes two half wins for one comparison of variance p (1 - p), but a tie varies less: with result y = 1,
1/2 or 0 and E[y] = p, Var[y] = p (1 - p) - P(tie) / 4. So the scores are consistent, while the inverse Hessian A is too
wide. With H the curvature of the likelihood, R that of the prior and u the part of each pair's curvature that ties take
off, the covariance is the sandwich

    A (H - L(u) + R) A  =  A - A L(u) A        (L: the same matrix as H, made of u instead of the curves).

A prior that the data chose is weighed against the likelihood divided by the share of H that is left on the average
(``dispersion``), and R counts that share. Without ties u is 0 and nothing changes.

The share u / curve of a pair is a quarter of its ties over n p (1 - p): a sum over comparisons, so merged and repeated
ballots give the same. Few comparisons say little about it: it is shrunk towards the mean of its two items, and those
towards the whole instance, each with the weight of ``LIKE`` comparisons. The instance counts one more comparison that
is not a tie, so that ties alone do not make scores certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from concordant.ballots.segments import segment_index, sum_by
from concordant.kernels import links
from concordant.models.likelihoods.observed import DuelLikelihood, Observed, ObservedDuels
from concordant.models.observations.designs import Designed, DesignLikelihood
from concordant.models.observations.duels import Duels
from concordant.models.solve.objectives import Fit
from concordant.types import Floats, Int32s, Int64s

LIKE = 10.0  # comparisons that the share of the whole is worth next to those of an item or a pair
LARGEST_EXACT = 400  # items above which errors are scaled item by item: the products would cost more than the fit
TINY = 1e-300


# ---- how much ties take off ----
def has_half_wins(observed: Observed) -> bool:
    """Say whether there are ties, each half a win each way."""
    plain = observed.plain
    if not isinstance(plain, ObservedDuels) or links.has_tie_parameter(plain.link):
        return False
    return bool(plain.duels.tied.any())


def dispersion(parts: Sequence[Fit]) -> float:
    """Return how many times the gradient varies as much as its curvature says, over all instances: 1 without ties."""
    left = whole = 0.0
    for part in parts if any(has_half_wins(part.observed) for part in parts) else ():
        curve, spread = _curves(part)
        by_instance = _duels(part).by_instance(curve)
        left += float(by_instance @ (1 - _of_instances(part, spread).share))
        whole += float(by_instance.sum())
    return left / whole if whole > 0 else 1.0


class TieCorrection(NamedTuple):
    """What ties take off: by pair of its curvature, and by instance the share that is left on the average."""

    less: Floats
    left: Floats


def tie_corrections(part: Fit) -> TieCorrection:
    """Return what the ties of every pair take off its curvature."""
    curve, spread = _curves(part)
    return TieCorrection(curve * _shares(part, spread), 1 - _of_instances(part, spread).share)


def _curves(part: Fit) -> tuple[Floats, Floats]:
    """Return by pair the curvature at the fit, and n p (1 - p): the same with Bradley-Terry."""
    observed = part.observed.plain
    assert isinstance(observed, ObservedDuels)
    duels, link, none = observed.duels, observed.link, np.zeros(len(observed.duels.first))
    if part.strategy != "batch" and link == links.BRADLEY_TERRY:
        likelihood = part.objective(0).likelihood
        assert isinstance(likelihood, DuelLikelihood | DesignLikelihood)
        return likelihood.curve, likelihood.curve
    lead = _leads(part, duels)
    curve = links.terms(link, lead, none, duels.won, duels.lost, duels.tied).curve
    if link == links.BRADLEY_TERRY:
        return curve, curve
    up, down, _ = links.chances(link, lead, none)
    return curve, np.asarray(duels.total * up * down)


class Shares(NamedTuple):
    """By instance: the variance of one comparison, the share that ties take off, and the largest that is believed."""

    one: Floats
    share: Floats
    max_share: Floats


def _of_instances(part: Fit, spread: Floats) -> Shares:
    duels = _duels(part)
    counted, ties = duels.totals
    one, max_share = duels.by_instance(spread) / np.maximum(counted, TINY), counted / (counted + 1)
    return Shares(one, np.minimum(ties / 4 / np.maximum((counted + 1) * one, TINY), max_share), max_share)


def _shares(part: Fit, spread: Floats) -> Floats:
    """Return by pair the share of its variance that ties take off."""
    duels, (one, share, max_share) = _duels(part), _of_instances(part, spread)
    ties, instance = duels.tied / 4, segment_index(duels.ptr)
    first, second = _sides(part, duels)
    n = 1 + int(max(first.max(initial=0), second.max(initial=0)))
    owner = np.zeros(n, np.int64)
    owner[first] = owner[second] = instance
    own, out_of = (sum_by(first, by_pair, n) + sum_by(second, by_pair, n) for by_pair in (ties, spread))
    by_item = _shrunk(own, out_of, share[owner], one[owner])
    found = _shrunk(ties, spread, (by_item[first] + by_item[second]) / 2, one[instance])
    return np.minimum(found, max_share[instance])


def _shrunk(own: Floats, out_of: Floats, towards: Floats, one: Floats) -> Floats:
    return np.asarray((own + LIKE * one * towards) / np.maximum(out_of + LIKE * one, TINY))


def _sides(part: Fit, duels: Duels) -> tuple[Int32s, Int32s]:
    """Return who stands on either side of every pair: items where they are single, else teams."""
    pairs = part.observed.pairs if isinstance(part.observed, Designed) else None
    return (duels.first, duels.second) if pairs is None else pairs


def _leads(part: Fit, duels: Duels) -> Floats:
    """Return by pair how far the first is ahead at the fit."""
    strength = part.score
    if isinstance(part.observed, Designed):
        strength = part.observed.design.strengths(part.score, part.coefficient)
    lead = strength[duels.first] - strength[duels.second]
    return lead + duels.order * part.advantage[segment_index(duels.ptr)] if len(duels.order) else lead


# ---- what is left of a covariance ----
def corrected(part: Fit, less: Floats, of_prior: Floats) -> Fit:
    """Return a fit with covariances A (H - L(less) + of_prior R) A in place of A, where H + R is the inverse of A.

    ``of_prior`` is by instance.
    """
    if part.covariance is None:  # draws were made so already
        return part
    duels, size = _duels(part), np.diff(part.slot_ptr)
    pull = np.repeat(1 - of_prior, size) * part.prior.pull(part.score, part.slot_ptr)
    covariance, start = part.covariance.copy(), np.concatenate([[0], np.cumsum(size**2)])
    extra, among = part.extra_variance.copy(), part.coefficient_covariance
    touched = np.unique(segment_index(duels.ptr)[less > 0])
    is_plain = isinstance(part.observed, ObservedDuels) and not part.observed.n_extra
    for m in np.unique(size[touched]).tolist() if is_plain else ():
        same = touched[size[touched] == m]
        if m > LARGEST_EXACT and len(size) == 1:
            covariance = _scaled(part, less, pull, covariance)
            continue
        cells = (start[same][:, None] + np.arange(m * m)).reshape(-1)
        covariance[cells] = _exact(part, less, pull, same, covariance[cells].reshape(-1, m, m)).reshape(-1)
    for q in touched.tolist() if not is_plain else ():  # teams, or further parameters
        own, span = less[duels.ptr[q] : duels.ptr[q + 1]], slice(part.slot_ptr[q], part.slot_ptr[q + 1])
        found, extra[q], among = part.objective(q).corrected_covariance(part.block(q), own, pull[span])
        covariance[start[q] : start[q + 1]] = found.reshape(-1)
    variance = _diagonals(covariance, size, start)
    return replace(part, covariance=covariance, variance=variance, extra_variance=extra, coefficient_covariance=among)


def _exact(part: Fit, less: Floats, pull: Floats, same: Int64s, block: Floats) -> Floats:
    """Return A - A (L + pull) A of instances of the same size."""
    duels, m = _duels(part), block.shape[1]
    instance, place = segment_index(duels.ptr), np.full(len(duels.ptr) - 1, -1)
    place[same] = np.arange(len(same))
    rows = np.flatnonzero(place[instance] >= 0)
    at, low = place[instance[rows]] * m, part.slot_ptr[instance[rows]]
    first, second = at + duels.first[rows] - low, at + duels.second[rows] - low
    n, own = len(same) * m, less[rows]
    off = sum_by(np.concatenate([first * m + second % m, second * m + first % m]), np.concatenate([own, own]), n * m)
    whole = -off.reshape(block.shape)
    diagonal = (sum_by(first, own, n) + sum_by(second, own, n)).reshape(-1, m)
    whole[:, np.arange(m), np.arange(m)] += diagonal + pull[part.slot_ptr[same][:, None] + np.arange(m)]
    return np.asarray(block - block @ whole @ block)


def _scaled(part: Fit, less: Floats, pull: Floats, covariance: Floats) -> Floats:
    """Return A scaled by the share of each item's curvature that is left: of many items nearly A - A (L + pull) A."""
    duels, m = _duels(part), len(part.score)
    curve = part.objective(0).likelihood.diagonal() + part.prior.pull(part.score, part.slot_ptr)
    off = sum_by(duels.first, less, m) + sum_by(duels.second, less, m) + pull
    root = np.sqrt(1 - off / np.maximum(curve, TINY))
    return np.asarray(covariance.reshape(m, m) * np.outer(root, root)).reshape(-1)


def _diagonals(covariance: Floats, size: Int64s, start: Int64s) -> Floats:
    owner = np.repeat(np.arange(len(size)), size)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(size) - size, size)
    return np.maximum(covariance[start[:-1][owner] + place * (size[owner] + 1)], 0.0)


def _duels(part: Fit) -> Duels:
    assert isinstance(part.observed.plain, ObservedDuels)
    return part.observed.plain.duels
