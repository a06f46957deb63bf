"""Standard errors of multinomial preference models: a sandwich covariance clustered by ballot.

The pairs of one ballot are not independent, so the ballot is the unit. Ballot b has the gradient u_b = net wins - total
count * (expected net wins + prior * s); these sum to 0 at the optimum. The covariance is the sandwich H⁻¹ (sum of u_b
u_bᵀ) H⁻¹, where H is the Hessian of the objective.

With Z = AB - M, A = sum of e^s, B = sum of e^-s, p = e^s / A, q = e^-s / B, f = AB / Z and g = f (p - q) the Hessian of
log Z is f (diag(p + q) - p qᵀ - q pᵀ) - g gᵀ: a diagonal plus three rank-one terms. The cost is therefore linear in the
entries, for all instances at once. The variance among one or two ballots of an item may be small by chance, so one
pseudo-ballot of average variance is added to each item.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from concordant.ballots.segments import sum_by
from concordant.models.observations.preference_counts import Corpus
from concordant.models.solve.multinomial import Solution
from concordant.ranking import Uncertainty
from concordant.support.brief import Brief
from concordant.types import AnyArray, Floats, Int64s


@dataclass(frozen=True, eq=False, repr=False)
class MPMErrors(Brief):
    """The uncertainty of the scores of a multinomial model, computed on first access."""

    corpus: Corpus
    solution: Solution
    prior: Floats
    score: Floats
    level: float
    details: Mapping[str, Floats]

    def known(self) -> Uncertainty:
        """Return standard errors and confidence intervals, if they exist."""
        return self._known

    @cached_property
    def _known(self) -> Uncertainty:
        """Compute standard errors and confidence intervals; if they do not exist, return only the details."""
        moves = moves_of(self.corpus, self.solution, self.prior)
        if moves is None:
            return Uncertainty(details=self.details)
        error = np.sqrt(moves.variance)
        half = NormalDist().inv_cdf((1 + self.level) / 2) * error
        details = {**self.details, "stderr": error}
        return Uncertainty(self.score - half, self.score + half, details, apart=moves.errors_of_differences)


@dataclass(frozen=True, eq=False, repr=False)
class Moves(Brief):
    """The influence of each ballot on the scores: ``x`` for its entries, plus basis @ weights for every slot."""

    corpus: Corpus
    x: Floats
    basis: Floats
    weights: Floats
    variance: Floats

    def errors_of_differences(self, slot: int) -> Floats:
        """Return the standard errors of the differences between a slot and all candidates of its instance."""
        prefs = self.corpus.prefs
        q = int(self.corpus.instance_of_slot[slot])
        span = slice(int(prefs.slot_ptr[q]), int(prefs.slot_ptr[q + 1]))
        ballot = np.repeat(np.arange(prefs.n_ballots), np.diff(prefs.indptr))
        move_of_slot = self.weights @ self.basis[slot] * (prefs.instance_of_ballot == q)
        is_slot = prefs.entry_slot == slot
        move_of_slot[ballot[is_slot]] += self.x[is_slot]
        move_of_slot = move_of_slot * prefs.weight
        covariance = sum_by(prefs.entry_slot, move_of_slot[ballot] * self.x, prefs.n_slots)[span]
        covariance += self.basis[span] @ (move_of_slot @ self.weights)
        variance = self.variance[span] + self.variance[slot] - 2 * covariance
        variance[slot - span.start] = 0.0
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def moves_of(corpus: Corpus, solution: Solution, prior: Floats) -> Moves | None:
    """Return the influence H⁻¹ u of every ballot with gradient u; None if variances or adherences differ.

    H is the negative Hessian, per instance a diagonal plus three rank-one terms, inverted by Woodbury's formula. The
    variance is the sum of squared influences, plus the variance of one average entry per slot.
    """
    if solution.variance is not None or (np.diff(solution.groups.ptr) > 1).any():
        return None
    prefs, instance, n = corpus.prefs, corpus.instance_of_slot, corpus.prefs.n_instances
    theta = _per_instance(solution, n)
    size = np.diff(prefs.slot_ptr).astype(np.float64)
    p, q, excess = _weights(theta[instance] * solution.score, instance, size)
    expected = theta[instance] * excess[instance] * (p - q)
    # H = diagonal + directions @ core @ directions.T in every instance
    factor = (theta**2 * (corpus.total_by_instance > 0) * excess)[instance]
    diagonal = factor * (p + q) + np.maximum(prior, 1e-12)[instance]
    directions = np.stack([p, q, expected], axis=1)
    core = np.zeros((n, 3, 3))
    core[:, 0, 1] = core[:, 1, 0] = -(theta**2) * excess
    core[:, 2, 2] = -1.0
    core *= (corpus.total_by_instance > 0)[:, None, None]

    # H⁻¹ u = u / diagonal - scaled @ inner @ (directions.T @ (u / diagonal))
    scaled = directions / diagonal[:, None]
    gram = _sum_outer(instance, directions, scaled, n)
    inner = core @ np.linalg.inv(np.eye(3) + gram @ core)

    # u of ballot b: strength * net wins on its entries, minus amount * pull everywhere
    pull = expected + prior[instance] * solution.score
    strength = theta[prefs.instance_of_ballot] / corpus.divisor[prefs.instance_of_ballot]
    amount = corpus.total / corpus.divisor[prefs.instance_of_ballot]
    ballot, slot = np.repeat(np.arange(prefs.n_ballots), np.diff(prefs.indptr)), prefs.entry_slot
    x = corpus.net * strength[ballot] / diagonal[slot]
    projected = np.stack([sum_by(ballot, x * directions[slot, k], prefs.n_ballots) for k in range(3)], axis=1)
    pulled = np.stack([sum_by(instance, scaled[:, k] * pull, n) for k in range(3)], axis=1)
    projected -= amount[:, None] * pulled[prefs.instance_of_ballot]
    # So H⁻¹ u = x on the entries + basis @ weights everywhere, with four directions
    basis = np.column_stack([-pull / diagonal, -scaled])
    projected_move = np.einsum("bij,bj->bi", inner[prefs.instance_of_ballot], projected)
    weights = np.column_stack([amount, projected_move])

    w = prefs.weight
    variance = sum_by(slot, w[ballot] * x**2, prefs.n_slots)
    for k in range(4):
        variance += 2 * basis[:, k] * sum_by(slot, (w * weights[:, k])[ballot] * x, prefs.n_slots)
    weight_products = _sum_outer(prefs.instance_of_ballot, w[:, None] * weights, weights, n)
    variance += np.einsum("si,sij,sj->s", basis, weight_products[instance], basis)
    entry_weight = sum_by(prefs.instance_of_ballot[ballot], w[ballot], n)
    entry_square = sum_by(prefs.instance_of_ballot[ballot], w[ballot] * (corpus.net * strength[ballot]) ** 2, n)
    variance += (entry_square / np.maximum(entry_weight, 1e-300))[instance] / diagonal**2
    return Moves(corpus, x, basis, weights, np.maximum(variance, 0.0))


def _per_instance(solution: Solution, n: int) -> Floats:
    """Return the common adherence of each instance, 1 if no ballot has a preference."""
    theta = np.ones(n)
    theta[np.diff(solution.groups.ptr) == 1] = solution.groups.theta
    return theta


def _weights(score: Floats, instance: Int64s, size: Floats) -> tuple[Floats, Floats, Floats]:
    """Return e^s and e^-s as shares of their sums A and B by instance, and AB / (AB - M), M being the number of
    items.
    """
    top, bottom = np.full(len(size), -np.inf), np.full(len(size), -np.inf)
    np.maximum.at(top, instance, score)
    np.maximum.at(bottom, instance, -score)
    up, down = np.exp(score - top[instance]), np.exp(-score - bottom[instance])
    a, b = sum_by(instance, up, len(size)), sum_by(instance, down, len(size))
    with np.errstate(invalid="ignore"):
        m_over_ab = size * np.exp(-top - bottom) / np.where(a * b > 0, a * b, 1.0)
    m_over_ab = np.where(size > 1, np.minimum(m_over_ab, 1 - 1e-12), 0.0)
    return up / a[instance], down / b[instance], 1 / (1 - m_over_ab)


def _sum_outer(index: AnyArray, left: Floats, right: Floats, n: int) -> Floats:
    """Return the sums of left_i right_iᵀ over rows i, for each value of ``index`` (n x columns x columns)."""
    sums = np.empty((n, left.shape[1], right.shape[1]))
    for i in range(left.shape[1]):
        for j in range(right.shape[1]):
            sums[:, i, j] = sum_by(index, left[:, i] * right[:, j], n)
    return sums
