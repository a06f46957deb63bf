"""Choose the strength of a prior by marginal likelihood (empirical Bayes).

The evidence (marginal likelihood) of a prior is the probability of the data under it, with the scores integrated out.
By Laplace's approximation, with the log-posterior ``f`` at its maximum and the matrix ``A`` of its negative Hessian
there,

    log evidence = f + log constant of the prior - log det(A) / 2 (+ a constant),

which costs little more than a fit. One strength is chosen for all instances together: their log-evidence is summed. If
all comparisons agree, the evidence increases without bound as the prior weakens; without comparisons it is flat. A
vague hyperprior (a score variance of about one, within a factor of ten) decides in these cases and has little influence
in others. Reference: D. MacKay, Bayesian interpolation, 1992.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from math import lgamma, log
from typing import TypeVar

import numpy as np

from concordant.models.likelihoods.observed import Observed
from concordant.models.likelihoods.priors import Prior
from concordant.models.solve import strategies
from concordant.models.solve.costs import Strategies, costs_of, strategies_of
from concordant.models.solve.objectives import Fit
from concordant.models.tied import dispersion, has_half_wins
from concordant.support import progress
from concordant.types import Floats, Int64s

M = TypeVar("M")
PER_DECADE = 10
DECADES = 5  # either side of the centre
STRIDES = (10, 3, 1)
MANY = 4_000  # instances of which half as many show where to begin
WORTH_GUESSING = 5e-3  # seconds of a fit from which one had rather guess than try


def choose_prior(
    evidence: Callable[[float], float], centre: float = 1.0, guess: int | None = None
) -> tuple[float, float]:
    """Return the strength with the highest evidence on a logarithmic grid, and the variance of its logarithm.

    The search climbs from ``centre``, or from the grid point ``guess``. The variance follows from the curvature
    of the evidence between adjacent grid points; it is at most the square of log(10).
    """
    height_at: dict[int, float] = {}

    def height(k: int) -> float:
        if k not in height_at:
            log_evidence = evidence(strength(k, centre)) - 0.5 * (k / PER_DECADE) ** 2
            height_at[k] = log_evidence if np.isfinite(log_evidence) else -np.inf
        return height_at[k]

    best = guess or 0
    for stride in STRIDES if guess is None else STRIDES[-1:]:
        for direction in (stride, -stride):
            while abs(best + direction) <= PER_DECADE * DECADES and is_higher(height(best + direction), height(best)):
                best += direction
    step, decade = log(10) / PER_DECADE, log(10)
    neighbours = [height_at.get(best + side, -np.inf) for side in (-1, 1)]
    curve = (2 * height_at[best] - neighbours[0] - neighbours[1]) / step**2
    return strength(best, centre), 1 / max(curve, 1 / decade**2)


def strength(k: int, centre: float) -> float:
    """Return strength number k of the grid, rounded to the three digits that are reported."""
    return float(f"{centre * 10 ** (k / PER_DECADE):.3g}")


def is_higher(height: float, other_height: float) -> bool:
    """Return whether one value exceeds another by more than rounding error."""
    return height > other_height + 1e-9 * (1 + abs(other_height))


def log_constant(kind: str, strength: Floats, size: Int64s) -> Floats:
    """Return the log of the normalising constant of a prior density, for instances of these sizes.

    ``gaussian``: normal scores that sum to 0. Gamma worths (mean one) have the log-density strength * (s - log mean
    worth) + a constant: for ``dirichlet`` that of the normalised worths, for ``gamma`` that of the worths themselves,
    with their total integrated out by a normal approximation.
    """
    strength = np.broadcast_to(strength, size.shape)
    if kind == "gaussian":
        return np.asarray(np.maximum(size - 1, 0) / 2 * np.log(strength))
    if kind == "gamma":
        per_item = np.array([a * log(a) - a - lgamma(a) for a in strength.tolist()])
        return np.asarray(size * per_item - 0.5 * np.log(strength))
    pairs = zip(strength.tolist(), size.tolist(), strict=True)
    return np.array([lgamma(m * a) - m * (lgamma(a) + a * log(m)) if m else 0.0 for a, m in pairs])


def log_evidence(fits: Sequence[Fit], times: float = 1.0, is_normalised: bool = True) -> float:
    """Return the log marginal likelihood under the prior (Laplace approximation), each observation counted 1 /
    times.

    If not normalised, the constant of the prior on the scores is left out, so that its strength may be 0.
    """
    total = 0.0
    for fit in fits:
        size, prior = np.diff(fit.slot_ptr), fit.prior
        kind = fit.observed.gamma_kind if prior.is_gamma else "gaussian"
        n_free = np.maximum(size - 1, 0) + fit.observed.n_extra
        posterior = (fit.value + fit.log_prior) / times
        if is_normalised:
            posterior = posterior + log_constant(kind, prior.ridge / times, size)
        total += float((posterior - 0.5 * (fit.log_det - n_free * np.log(times))).sum())
    return total


class PriorSearch:
    """Fits under priors of several strengths, each with a warm start from the nearest strength fitted so far."""

    def __init__(self, observed: Observed, prior_of: Callable[[float], Prior]) -> None:
        self.observed, self.prior_of = observed, prior_of
        self._known: dict[float, list[Fit]] = {}
        self._maximised: list[float] = []
        self._strategies: Strategies | None = None

    def fitted(self, strength: float) -> list[Fit]:
        """Return an approximate fit under a prior of this strength, warm-started at the nearest strength fitted."""
        if strength not in self._known:
            prior, start, fits = self.prior_of(strength), None, None
            if self._strategies is None:
                self._strategies = strategies_of(self.observed, prior, with_log_det=True)
            if self._maximised:
                start = self._known[
                    min(self._maximised, key=lambda other_strength: abs(log(other_strength / strength)))
                ]
                fits = strategies.one_step(self.observed, prior, start, self._strategies)
            if fits is None:
                rough = strategies.ROUGH_STEP
                fits = strategies.fit(self.observed, prior, start, rough, self._strategies, with_log_det=True)
                self._maximised.append(strength)
            self._known[strength] = fits
        return self._known[strength]

    def dispersion(self, unit: float = 1.0) -> float:
        """Return the ratio of the variance of comparisons to the model's: below 1 if ties count as half wins."""
        return dispersion(self.fitted(strength(0, 1 / unit))) if has_half_wins(self.observed) else 1.0

    def best(
        self, times: float = 1.0, unit: float = 1.0, evidence: Callable[[float], float] | None = None
    ) -> tuple[float, float]:
        """Return the strength with the highest evidence, and the variance of its logarithm.

        ``times`` is the factor by which observations are overcounted because of dependence and dispersion, ``unit``
        the number of observations over which the log-likelihood was averaged; the search starts at their ratio.
        ``evidence`` replaces the evidence of these observations if it is a sum over several parts of the instances.
        """
        centre = times / unit
        evidence_of = evidence or (lambda strength: log_evidence(self.fitted(strength), times))
        with progress.stage("choosing the prior"):
            return choose_prior(evidence_of, centre, self._guess(times, centre))

    def _guess(self, times: float, centre: float) -> int | None:
        """Return the grid point where the evidence of a normal prior should be highest; None if no cheap guess exists.

        The evidence is highest where the strength is the number of parameters that the data determine over the sum of
        their squares (MacKay). Both come from a fit at the centre, with a diagonal approximation of its Hessian.
        With very many instances, only a sample of them is searched.
        """
        if (n := len(self.observed.slot_ptr) - 1) > MANY:
            sampled = np.arange(0, n, n // (MANY // 2))
            sample, slots = self.observed.restrict(sampled)
            search = PriorSearch(sample, lambda precision: self.prior_of(precision).of(sampled, slots))
            return round(PER_DECADE * float(np.log10(search.best(times, times / centre)[0] / centre)))
        if n > 1 or (n == 1 and costs_of(self.observed).batch[0] < WORTH_GUESSING):
            return None
        part = self.fitted(strength(0, centre))[0]
        if part.prior.is_gamma or part.prior.basis is not None:
            return None
        curve = part.objective(0).likelihood.diagonal()
        first = ridge = float(part.prior.ridge[0])
        for _ in range(20):
            determined = max(float((curve / (curve + ridge)).sum()) - 1, 0.1)
            squares = float(((part.score * (curve + first) / (curve + ridge)) ** 2).sum())
            ridge = float(np.clip(times * determined / max(squares, 1e-300), 1e-5 * first, 1e5 * first))
        return round(PER_DECADE * float(np.log10(ridge / first)))


# A method that chooses its prior for all instances can be told what was chosen, when it ranks only some of them.
def settled_on(method: M, strength: float, doubt: float) -> M:
    """Return a copy of a method with the prior strength, and the variance of its logarithm, already chosen."""
    changed = copy(method)
    vars(changed)["settled_prior"] = (strength, doubt)
    return changed


def settled_prior(method: object) -> tuple[float, float] | None:
    """Return the prior strength (and the variance of its logarithm) set by ``settled_on``; None if it was not set."""
    return vars(method).get("settled_prior")
