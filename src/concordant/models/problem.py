"""The objective of a score model on the duels of one instance: log-likelihood minus penalty, with its derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant import kernels
from concordant.kernels.codes import Duel
from concordant.models.duels import Duels
from concordant.types import Floats, Int64s

if TYPE_CHECKING:
    from concordant.models.solve import Part

BRADLEY_TERRY, THURSTONE, DAVIDSON, RAO_KUPPER = (int(model) for model in Duel)


@dataclass(frozen=True)
class Penalty:
    """The prior: precision of the scores by instance, of the other parameters, and its kind.

    ``basis`` (orthonormal columns per slot) spans what covariates explain: no penalty there.
    """

    ridge: Floats
    ridge_extra: Floats
    is_gamma: bool = False
    basis: Floats | None = None
    shrink: Floats | None = None

    def of(self, instances: Int64s, slots: Int64s) -> Penalty:
        """Return the prior of some instances."""
        basis = None if self.basis is None else self.basis[slots]
        return Penalty(self.ridge[instances], self.ridge_extra[instances], self.is_gamma, basis, self.shrink)

    def log_density(self, score: Floats, ridge: Floats | float) -> Floats:
        """Return by score the logarithm of the prior's density up to a constant, without covariates."""
        if self.is_gamma:
            return np.asarray(ridge * (score - np.exp(np.minimum(score, 700.0)) + 1))
        return np.asarray(-0.5 * ridge * score**2)

    def apply(self, score: Floats) -> Floats:
        """Return the Gaussian prior's precision matrix times the scores (a vector or columns)."""
        out = score
        if self.basis is not None and self.shrink is not None:
            inner = self.basis.T @ score
            out = score - self.basis @ (self.shrink[:, None] * inner if inner.ndim == 2 else self.shrink * inner)
        return np.asarray(self.ridge[0] * out)


class Problem:
    """One instance: value, gradient and curvature of the objective at a point (scores, advantage, tie parameter)."""

    def __init__(self, duels: Duels, model: int, penalty: Penalty, earlier: Part | None = None) -> None:
        self.duels, self.model, self.penalty, self.earlier = duels, model, penalty, earlier
        self.m = duels.n_slots
        self.has_order, self.has_tie = len(duels.order) > 0, model >= DAVIDSON
        self.size = self.m + self.has_order + self.has_tie

    def start(self) -> Floats:
        """Return the earlier fit, or log odds of winning, a good way to the optimum already."""
        d, m = self.duels, self.m
        if self.earlier is not None:
            extras = [self.earlier.advantage] * self.has_order + [self.earlier.tie] * self.has_tie
            return np.concatenate([self.earlier.score, *extras])
        won = np.bincount(d.first, d.won + d.tied / 2, m) + np.bincount(d.second, d.lost + d.tied / 2, m)
        lost = np.bincount(d.first, d.lost + d.tied / 2, m) + np.bincount(d.second, d.won + d.tied / 2, m)
        point = np.zeros(self.size)
        odds = np.log((won + 1) / (lost + 1)) * (0.6 if self.model == THURSTONE else 1.0)
        point[:m] = odds - odds.mean()
        if self.has_tie:
            share = np.clip(d.tied.sum() / max(d.total.sum(), 1e-300), 1e-3, 1 - 1e-3)
            point[-1] = np.clip(np.log(2 * share / (1 - share)), -5, 5)
        return point

    def terms(self, point: Floats) -> Any:
        """Return the sums of the likelihood at a point (see the kernel ``duel_terms``).

        The last is what must be added to the curve of the tie parameter to make all second derivatives definite.
        """
        d = self.duels
        score = np.ascontiguousarray(point[: self.m])
        advantage, tie = self.extras(point)
        found = kernels.duel_terms(d.first, d.second, d.won, d.lost, d.tied, d.order, score, advantage, tie, self.model)
        bend = float(found[5]) / (1 + np.exp(min(tie, 700.0))) if self.model == RAO_KUPPER else 0.0
        return (*found, max(bend, 0.0))

    def extras(self, point: Floats) -> tuple[float, float]:
        """Return the advantage of being shown first and the tie parameter."""
        return float(point[self.m]) if self.has_order else 0.0, float(point[-1]) if self.has_tie else 0.0

    def objective(self, point: Floats, terms: Any) -> float:
        """Return the log-likelihood minus the penalty."""
        return float(terms[0]) + self.log_prior(point)

    def log_prior(self, point: Floats) -> float:
        """Return the logarithm of the prior's density at a point, up to its constant."""
        s, extra = point[: self.m], point[self.m :]
        if self.penalty.basis is None:
            on_scores = float(self.penalty.log_density(s, float(self.penalty.ridge[0])).sum())
        else:
            on_scores = -0.5 * float(s @ self.penalty.apply(s))
        return on_scores - 0.5 * float(self.penalty.ridge_extra[0]) * float(extra @ extra)

    def gradient(self, point: Floats, terms: Any) -> Floats:
        """Return the gradient of the objective."""
        s = point[: self.m]
        out = np.empty(self.size)
        ridge = float(self.penalty.ridge[0])
        out[: self.m] = terms[1] + (ridge * (1 - np.exp(s)) if self.penalty.is_gamma else -self.penalty.apply(s))
        if self.has_order:
            out[self.m] = self.duels.order @ terms[2]
        if self.has_tie:
            out[-1] = terms[5]
        out[self.m :] -= self.penalty.ridge_extra[0] * point[self.m :]
        return out

    def border(self, terms: Any, is_exact: bool = False) -> tuple[Floats, Floats]:
        """Return the negative second derivatives between scores and the other parameters, and among those.

        Exact, or such that with those of the scores they are definite.
        """
        d, columns = self.duels, []
        k = self.size - self.m
        corner = np.diag(np.full(k, float(self.penalty.ridge_extra[0])))
        if self.has_order:
            columns.append(self._by_slot(d.order * terms[3]))
            corner[0, 0] += d.order**2 @ terms[3]
        if self.has_tie:
            columns.append(self._by_slot(terms[4]))
            corner[-1, -1] += terms[6] + (0.0 if is_exact else terms[7])
        if self.has_order and self.has_tie:
            corner[0, 1] += d.order @ terms[4]
            corner[1, 0] = corner[0, 1]
        return (np.stack(columns, 1) if columns else np.zeros((self.m, 0))), corner

    def diagonal(self, point: Floats, terms: Any) -> Floats:
        """Return the diagonal the prior adds to the curvature of the scores, and that of the likelihood."""
        d, m = self.duels, self.m
        ridge = float(self.penalty.ridge[0])
        own = np.bincount(d.first, terms[3], m) + np.bincount(d.second, terms[3], m)
        return np.asarray(own + (ridge * np.exp(point[:m]) if self.penalty.is_gamma else ridge))

    def hessian(self, point: Floats, terms: Any, is_exact: bool = False) -> Floats:
        """Return the negative Hessian, dense, made definite along the direction of all ones."""
        d, m, n = self.duels, self.m, self.size
        own = kernels.laplacian(d.first, d.second, terms[3], m)
        level = float(np.trace(own)) / m**2
        ridge = float(self.penalty.ridge[0])
        self.along = 1.0  # the curvature of "all scores up by the same", where that is no part of the model
        if self.penalty.is_gamma:
            own[np.diag_indices(m)] += ridge * np.exp(point[:m])
        else:
            level = level if level > 0 else 1.0
            self.along = level * m + ridge
            own += level
            own[np.diag_indices(m)] += ridge
            if self.penalty.basis is not None and self.penalty.shrink is not None:
                own -= ridge * (self.penalty.basis * self.penalty.shrink) @ self.penalty.basis.T
        if n == m:
            return own
        whole = np.empty((n, n))
        whole[:m, :m] = own
        whole[:m, m:], whole[m:, m:] = self.border(terms, is_exact)
        whole[m:, :m] = whole[:m, m:].T
        return whole

    def _by_slot(self, by_row: Floats) -> Floats:
        d = self.duels
        return np.asarray(np.bincount(d.first, by_row, self.m) - np.bincount(d.second, by_row, self.m))


def climb(problem: Problem, point: Floats, terms: Any, step: Floats, gradient: Floats) -> tuple[Floats, Any, float]:
    """Go along a step, halved until the objective rises enough: (point, terms there, share of the step)."""
    here, rise, share = problem.objective(point, terms), float(step @ gradient), 1.0
    for _ in range(60):
        trial = point + share * step
        if not problem.penalty.is_gamma:
            trial[: problem.m] -= trial[: problem.m].mean()
        there = problem.terms(trial)
        if problem.objective(trial, there) >= here + 1e-4 * share * rise - 1e-12 * (1 + abs(here)):
            break
        share /= 2
    return trial, there, share
