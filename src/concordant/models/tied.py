"""Standard errors if a tie counts as half a win for each side (Bradley-Terry, Thurstone).

The likelihood assumes a variance of p (1 - p) per comparison, which is too large with ties: for a result y = 1, 1/2 or
0 with E[y] = p, Var[y] = p (1 - p) - P(tie) / 4. So the scores are consistent, but the inverse negative Hessian A
overstates their covariance. With H and R the negative Hessians of the likelihood and the prior, and u the reduction of
each pair's curvature by ties, the covariance is the sandwich

    A (H - L(u) + R) A  =  A - A L(u) A        (L is the matrix H with u in place of the curvatures). For a prior chosen
    by marginal likelihood, the log-likelihood is divided by the mean remaining share of H (``dispersion``), and R is
    multiplied by it. Without ties u is 0 and nothing changes.

The share u / curve of a pair is a quarter of its ties over n p (1 - p): a sum over comparisons, so merged and repeated
ballots give the same result. It is noisy for few comparisons, so it is shrunk towards the mean of its two items, and
those towards the whole instance, each with the weight of ``LIKE`` comparisons. One comparison without a tie is added to
the instance, so that ties alone do not give a variance of 0.
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
from concordant.models.observations.judged import JudgedDuels
from concordant.models.solve.objectives import Fit
from concordant.types import Floats, Int32s, Int64s

LIKE = 10.0  # comparisons that the share of the whole is worth next to those of an item or a pair
LARGEST_EXACT = 400  # items above which errors are scaled item by item: the products would cost more than the fit
TINY = 1e-300


# ---- how much ties take off ----
def has_half_wins(observed: Observed) -> bool:
    """Return whether there are ties that count as half a win for each side."""
    plain = observed.plain
    if not isinstance(plain, ObservedDuels) or links.has_tie_parameter(plain.link):
        return False
    return bool(plain.duels.tied.any())


def dispersion(parts: Sequence[Fit]) -> float:
    """Return the ratio of the variance of the gradient to the negative Hessian, over all instances: 1 without ties."""
    variance = curvature = 0.0
    for part in parts if any(has_half_wins(part.observed) for part in parts) else ():
        curve, spread = _curves(part)
        by_instance = _duels(part).by_instance(curve)
        variance += float(by_instance @ (1 - _of_instances(part, spread).share))
        curvature += float(by_instance.sum())
    return variance / curvature if curvature > 0 else 1.0


class TieCorrection(NamedTuple):
    """The reduction by ties: by pair of its curvature, and by instance the mean share that remains."""

    less: Floats
    left: Floats


def tie_corrections(part: Fit) -> TieCorrection:
    """Return, by pair, the reduction of its curvature by ties, and by instance the mean share that remains."""
    curve, spread = _curves(part)
    return TieCorrection(curve * _shares(part, spread), 1 - _of_instances(part, spread).share)


def _curves(part: Fit) -> tuple[Floats, Floats]:
    """Return, by pair, the curvature at the fit and the variance n p (1 - p); with Bradley-Terry they are the same."""
    observed = part.observed.plain
    assert isinstance(observed, ObservedDuels)
    duels, link, zeros = observed.duels, observed.link, np.zeros(len(observed.duels.first))
    if part.strategy != "batch" and link == links.BRADLEY_TERRY:
        likelihood = part.objective(0).likelihood
        assert isinstance(likelihood, DuelLikelihood | DesignLikelihood)
        return likelihood.curve, likelihood.curve
    lead = _leads(part, duels)
    curve = links.terms(link, lead, zeros, duels.won, duels.lost, duels.tied).curve
    if link == links.BRADLEY_TERRY:
        return curve, curve
    up, down, _ = links.chances(link, lead, zeros)
    return curve, np.asarray(duels.total * up * down)


class Shares(NamedTuple):
    """By instance: the variance of one comparison, the share that ties remove, and the maximum share allowed."""

    one: Floats
    share: Floats
    max_share: Floats


def _of_instances(part: Fit, spread: Floats) -> Shares:
    """Return, by instance, the variance of one comparison and the share of the variance that ties remove.

    A tie reduces the variance of a comparison by 1/4.
    """
    duels = _duels(part)
    counted, ties = duels.totals
    of_comparison, max_share = duels.by_instance(spread) / np.maximum(counted, TINY), counted / (counted + 1)
    return Shares(
        of_comparison, np.minimum(ties / 4 / np.maximum((counted + 1) * of_comparison, TINY), max_share), max_share
    )


def _shares(part: Fit, spread: Floats) -> Floats:
    """Return, by pair, the share of its variance that ties remove.

    It is shrunk towards the mean share of the pair's two sides, and these towards the share of the instance.
    """
    duels, (of_comparison, share, max_share) = _duels(part), _of_instances(part, spread)
    ties, instance = duels.tied / 4, segment_index(duels.ptr)
    first, second = _sides(part, duels)
    n = 1 + int(max(first.max(initial=0), second.max(initial=0)))
    instance_of_side = np.zeros(n, np.int64)
    instance_of_side[first] = instance_of_side[second] = instance
    ties_of_side, variance_of_side = (sum_by(first, values, n) + sum_by(second, values, n) for values in (ties, spread))
    by_item = _shrunk(ties_of_side, variance_of_side, share[instance_of_side], of_comparison[instance_of_side])
    by_pair = _shrunk(ties, spread, (by_item[first] + by_item[second]) / 2, of_comparison[instance])
    return np.minimum(by_pair, max_share[instance])


def _shrunk(taken: Floats, out_of: Floats, towards: Floats, comparison_variance: Floats) -> Floats:
    """Return taken / out_of, shrunk towards ``towards`` with the weight of ``LIKE`` comparisons of this variance."""
    return np.asarray(
        (taken + LIKE * comparison_variance * towards) / np.maximum(out_of + LIKE * comparison_variance, TINY)
    )


def _sides(part: Fit, duels: Duels) -> tuple[Int32s, Int32s]:
    """Return the numbers of the two sides of every pair: slots if contestants are single items, else teams."""
    pairs = part.observed.pairs if isinstance(part.observed, Designed) else None
    return (duels.first, duels.second) if pairs is None else pairs


def _leads(part: Fit, duels: Duels) -> Floats:
    """Return, by pair, the score difference of its sides at the fit."""
    if isinstance(part.observed, JudgedDuels):
        return part.observed.leads(part.score, part.advantage, part.coefficient[0])
    strength = part.score
    if isinstance(part.observed, Designed):
        strength = part.observed.design.strengths(part.score, part.coefficient)
    lead = strength[duels.first] - strength[duels.second]
    return lead + duels.order * part.advantage[segment_index(duels.ptr)] if len(duels.order) else lead


# ---- what is left of a covariance ----
def corrected(part: Fit, less: Floats, of_prior: Floats) -> Fit:
    """Return a fit with covariances A (H - L(less) + of_prior R) A in place of A = (H + R)⁻¹.

    H is the negative Hessian of the likelihood, R of the prior, L the Laplacian with weights by pair; ``of_prior`` is
    by instance.
    """
    if part.covariance is None:  # draws were made so already
        return part
    duels, size = _duels(part), np.diff(part.slot_ptr)
    pull = np.repeat(1 - of_prior, size) * part.prior.pull(part.score, part.slot_ptr)
    covariance, block_start = part.covariance.copy(), np.concatenate([[0], np.cumsum(size**2)])
    extra, of_coefficients = part.extra_variance.copy(), part.coefficient_covariance
    touched = np.unique(segment_index(duels.ptr)[less > 0])
    is_plain = isinstance(part.observed, ObservedDuels) and not part.observed.n_extra
    for m in np.unique(size[touched]).tolist() if is_plain else ():
        same = touched[size[touched] == m]
        if m > LARGEST_EXACT and len(size) == 1:
            covariance = _scaled(part, less, pull, covariance)
            continue
        cells = (block_start[same][:, None] + np.arange(m * m)).reshape(-1)
        covariance[cells] = _exact(part, less, pull, same, covariance[cells].reshape(-1, m, m)).reshape(-1)
    for q in touched.tolist() if not is_plain else ():  # teams, or further parameters
        less_of_instance, span = less[duels.ptr[q] : duels.ptr[q + 1]], slice(part.slot_ptr[q], part.slot_ptr[q + 1])
        block, extra[q], of_coefficients = part.objective(q).corrected_covariance(
            part.block(q), less_of_instance, pull[span]
        )
        covariance[block_start[q] : block_start[q + 1]] = block.reshape(-1)
    variance = _diagonals(covariance, size, block_start)
    return replace(
        part, covariance=covariance, variance=variance, extra_variance=extra, coefficient_covariance=of_coefficients
    )


def _exact(part: Fit, less: Floats, pull: Floats, same: Int64s, block: Floats) -> Floats:
    """Return A - A (L(less) + pull) A for the instances ``same``, which have the same size; ``block`` are their A."""
    duels, m = _duels(part), block.shape[1]
    instance, place = segment_index(duels.ptr), np.full(len(duels.ptr) - 1, -1)
    place[same] = np.arange(len(same))
    rows = np.flatnonzero(place[instance] >= 0)
    offset, first_slot = place[instance[rows]] * m, part.slot_ptr[instance[rows]]
    first, second = offset + duels.first[rows] - first_slot, offset + duels.second[rows] - first_slot
    n, less_of_row = len(same) * m, less[rows]
    off_diagonal = sum_by(
        np.concatenate([first * m + second % m, second * m + first % m]),
        np.concatenate([less_of_row, less_of_row]),
        n * m,
    )
    correction = -off_diagonal.reshape(block.shape)
    diagonal = (sum_by(first, less_of_row, n) + sum_by(second, less_of_row, n)).reshape(-1, m)
    correction[:, np.arange(m), np.arange(m)] += diagonal + pull[part.slot_ptr[same][:, None] + np.arange(m)]
    return np.asarray(block - block @ correction @ block)


def _scaled(part: Fit, less: Floats, pull: Floats, covariance: Floats) -> Floats:
    """Return A scaled by each item's remaining share of curvature: close to A - A (L + pull) A for many items."""
    duels, m = _duels(part), len(part.score)
    curve = part.objective(0).likelihood.diagonal() + part.prior.pull(part.score, part.slot_ptr)
    taken_off = sum_by(duels.first, less, m) + sum_by(duels.second, less, m) + pull
    root = np.sqrt(1 - taken_off / np.maximum(curve, TINY))
    return np.asarray(covariance.reshape(m, m) * np.outer(root, root)).reshape(-1)


def _diagonals(covariance: Floats, size: Int64s, start: Int64s) -> Floats:
    """Return the diagonals of all covariance blocks (stored flat), by slot."""
    instance = np.repeat(np.arange(len(size)), size)
    place = np.arange(len(instance)) - np.repeat(np.cumsum(size) - size, size)
    return np.maximum(covariance[start[:-1][instance] + place * (size[instance] + 1)], 0.0)


def _duels(part: Fit) -> Duels:
    assert isinstance(part.observed.plain, ObservedDuels)
    return part.observed.plain.duels
