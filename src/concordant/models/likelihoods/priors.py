"""Priors on scores: none, Gaussian on scores, Gamma on worths, or a regression on item covariates.

A prior keeps scores finite where the data do not, and shrinks the scores of rarely compared items towards the mean. Its
strength is the precision of a Gaussian prior, or for a Gamma prior the number of pseudo-choices of each item from all.
The strength is given, or chosen by marginal likelihood (see ``evidence``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from concordant.ballots.vocabulary import shorten
from concordant.errors import InputError
from concordant.kernels import newton
from concordant.kernels.bundles import Belief
from concordant.preferences import Preferences
from concordant.types import Floats, Int64s

FREE = 0.01  # precision, relative to the scores' prior, of what covariates explain


@dataclass(frozen=True)
class Prior:
    """The prior of many instances: its kind, and by instance its strength on scores and on the other parameters.

    ``basis`` (orthonormal columns per slot) spans the scores that covariates explain; these are not penalised, or only
    in part (``shrink``). ``on_coefficients`` is the prior precision of the coefficients of comparison covariates (in
    standard units), or of each parameter of the judges.
    """

    ridge: Floats
    ridge_extra: Floats
    is_gamma: bool = False
    basis: Floats | None = None
    shrink: Floats | None = None
    on_coefficients: float | Floats = 0.0

    @cached_property
    def belief(self) -> Belief:
        """The prior in the form that the kernels expect."""
        return Belief(self.ridge, self.ridge_extra, self.is_gamma)

    def of(self, instances: Int64s, slots: Int64s) -> Prior:
        """Return the prior of some instances."""
        basis = None if self.basis is None else self.basis[slots]
        return replace(self, ridge=self.ridge[instances], ridge_extra=self.ridge_extra[instances], basis=basis)

    def alone(self, m: int, n_extra: int = 1, n_coefficients: int = 0) -> LargePrior:
        """Return the prior of a single instance, with Hessian products; its last parameters are coefficients."""
        return LargePrior(self, m, n_extra, n_coefficients)

    def pull(self, score: Floats, slot_ptr: Int64s) -> Floats:
        """Return, by slot, the diagonal of the prior's negative Hessian."""
        size = np.diff(slot_ptr)
        instance = np.repeat(np.arange(len(size)), size)
        if self.is_gamma:
            return np.asarray(self.ridge[instance] * np.exp(relative(score, instance, size)))
        free = 0.0 if self.basis is None or self.shrink is None else (self.basis**2 * self.shrink).sum(axis=1)
        return np.asarray(self.ridge[instance] * (1 - free))

    def slope(self, score: Floats, slot_ptr: Int64s) -> Floats:
        """Return the derivative of the log-prior, by slot."""
        size = np.diff(slot_ptr)
        instance = np.repeat(np.arange(len(size)), size)
        if self.is_gamma:
            return np.asarray(self.ridge[instance] * (1 - np.exp(relative(score, instance, size))))
        if self.basis is None:
            return np.asarray(-self.ridge[instance] * score)
        return -self.alone(len(score)).product(score[None], score[:, None])[:, 0]


def relative(score: Floats, instance: Int64s, size: Int64s) -> Floats:
    """Return scores minus the logarithm of the mean worth exp(score) of their instance; ``instance`` is by slot."""
    worth = np.bincount(instance, np.exp(np.clip(score, -300.0, 300.0)), len(size)) / np.maximum(size, 1)
    return np.asarray(score - np.log(worth[instance]))


class LargePrior(newton.Prior):
    """The prior of one instance, with Hessian-vector products and covariates."""

    def __init__(self, prior: Prior, m: int, n_extra: int = 1, n_coefficients: int = 0) -> None:
        super().__init__(prior.belief, m)
        self.whole = prior
        if n_coefficients:
            self.extra = np.repeat(self.extra, n_extra, axis=1)
            self.extra[:, -n_coefficients:] = prior.on_coefficients
        self.basis, self.shrink = prior.basis, prior.shrink

    def value(self, point: Floats) -> Floats:
        """Return the log-density of the prior, up to a constant."""
        value = super().value(point)
        if self.basis is not None and self.shrink is not None:
            value = value + 0.5 * self.strength[:, 0] * float(self.shrink @ (self.basis.T @ point[0, : self.m]) ** 2)
        return value

    def gradient(self, point: Floats) -> Floats:
        """Return the gradient of the log-density."""
        gradient = super().gradient(point)
        if self.basis is not None:
            gradient[0, : self.m] = -self.product(point, point[0, : self.m, None])[:, 0]
        return gradient

    def add_hessian(self, point: Floats, hessian: Floats) -> None:
        """Add the negative Hessian of the log-density."""
        super().add_hessian(point, hessian)
        if self.basis is not None and self.shrink is not None:
            hessian[0, : self.m, : self.m] -= self.strength[0] * (self.basis * self.shrink) @ self.basis.T

    def among_others(self, n: int) -> Floats:
        """Return its negative Hessian among the other parameters, of which there are n."""
        return np.diag(np.broadcast_to(self.extra[0], n))

    def product(self, point: Floats, x: Floats) -> Floats:
        """Return its negative Hessian in the scores times columns ``x``."""
        if self.is_gamma:
            pull = self.diagonal(point)
            return np.asarray(pull[:, None] * (x - (pull @ x) / max(float(pull.sum()), 1e-300)))
        if self.basis is not None and self.shrink is not None:
            x = x - self.basis @ (self.shrink[:, None] * (self.basis.T @ x))
        return np.asarray(self.strength[0] * x)

    def diagonal(self, point: Floats) -> Floats:
        """Return an upper bound on the diagonal of its negative Hessian in the scores."""
        if self.is_gamma:
            return np.asarray(self.strength[0] * np.exp(self.relative(point[:, : self.m]))[0])
        return np.full(self.m, self.strength[0, 0])

    def noise(self, point: Floats, rng: np.random.Generator, n: int) -> Floats:
        """Draw n columns whose covariance is its negative Hessian in the scores."""
        root = np.sqrt(self.diagonal(point))[:, None]
        drawn = root * rng.standard_normal((self.m, n))
        if self.is_gamma:
            drawn -= root**2 * drawn.sum(axis=0) / max(float((root**2).sum()), 1e-300)
        return drawn


@dataclass(frozen=True, eq=False)
class Covariates:
    """Item covariates that explain the scores: standardised columns and their span."""

    names: list[str]
    standard: Floats
    spread: Floats

    @classmethod
    def of(cls, prefs: Preferences, table: Mapping[str, Mapping[str, float]]) -> Covariates:
        """Look up the covariates of the candidates of a single instance, and standardise them."""
        if prefs.n_instances > 1:
            raise InputError("Covariates require a single instance: rank the instances one by one.")
        names, labels = list(next(iter(table.values()))), prefs.items.take(prefs.slot_item)
        lacking = next((label for label in labels if label not in table), None)
        if lacking is not None:
            raise InputError(f"The item {shorten(lacking)!r} has no covariates: give a row for every item.")
        x = np.array([[table[label][name] for name in names] for label in labels])
        x -= x.mean(axis=0)
        spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
        return cls(names, x / spread, spread)

    @cached_property
    def _svd(self) -> tuple[Floats, Floats]:
        """The left singular vectors of the standardised columns and the squared singular values, without those near
        0.
        """
        basis, lengths, _ = np.linalg.svd(self.standard, full_matrices=False)
        kept = lengths > 1e-9 * max(lengths.max(initial=0.0), 1e-300)
        return basis[:, kept], lengths[kept] ** 2

    @property
    def basis(self) -> Floats:
        """Orthonormal columns that span the covariates."""
        return self._svd[0]

    @property
    def shrink(self) -> Floats:
        """By basis column: the share that the prior does not penalise, from 0 to 1 (entirely free)."""
        return np.asarray(self._svd[1] / (self._svd[1] + FREE))

    def coefficients(self, score: Floats) -> dict[str, float]:
        """Return the effect of a unit of each covariate: the ridge regression of the scores on them."""
        x = self.standard
        effect = np.linalg.solve(x.T @ x + FREE * np.eye(len(self.names)), x.T @ score) / self.spread
        return dict(zip(self.names, effect.tolist(), strict=True))
