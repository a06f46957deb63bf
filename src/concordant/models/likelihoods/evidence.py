"""How strong a prior should be, from the data themselves.

The evidence of a prior is the chance of the data under it, all scores averaged out. Too weak a prior allows scores that
the data then rule out, too strong a one forbids those they ask for; in between lies its maximum. By Laplace's
approximation, with the log-posterior ``f`` at its maximum and the matrix ``A`` of minus its second derivatives there,

    log evidence = f + log constant of the prior - log det(A) / 2 (+ a constant),

which costs little more than a fit. One strength is chosen for all instances together: their evidence adds up. Where
all comparisons agree, the evidence grows without end as the prior weakens, and where there are none it is flat; a
vague belief that scores spread by about one, give or take one decade of precision, decides there and hardly matters
elsewhere. Reference: D. MacKay, Bayesian interpolation, 1992.
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
    """Return the strength with the highest evidence on a logarithmic grid around ``centre``, climbing from there.

    A ``guess`` of its place on the grid saves most of the way. Also the variance of its logarithm, from the evidence
    beside it: at most that of a decade.
    """
    known: dict[int, float] = {}

    def height(k: int) -> float:
        if k not in known:
            found = evidence(strength(k, centre)) - 0.5 * (k / PER_DECADE) ** 2
            known[k] = found if np.isfinite(found) else -np.inf
        return known[k]

    best = guess or 0
    for stride in STRIDES if guess is None else STRIDES[-1:]:
        for direction in (stride, -stride):
            while abs(best + direction) <= PER_DECADE * DECADES and is_higher(height(best + direction), height(best)):
                best += direction
    step, decade = log(10) / PER_DECADE, log(10)
    beside = [known.get(best + side, -np.inf) for side in (-1, 1)]
    curve = (2 * known[best] - beside[0] - beside[1]) / step**2
    return strength(best, centre), 1 / max(curve, 1 / decade**2)


def strength(k: int, centre: float) -> float:
    """Return a strength of the grid, with the three digits that are reported."""
    return float(f"{centre * 10 ** (k / PER_DECADE):.3g}")


def is_higher(one: float, other: float) -> bool:
    """Say whether one height exceeds another by more than rounding."""
    return one > other + 1e-9 * (1 + abs(other))


def log_constant(kind: str, strength: Floats, size: Int64s) -> Floats:
    """Return the logarithm of the constant that makes a prior a density, for instances of these sizes.

    ``gaussian``: normal scores that sum to nothing. Gamma worths (mean one) have the density strength * (s - log mean
    worth) + a constant: that of their shares (``dirichlet``), or for ``gamma`` that of the worths themselves, their
    total averaged out as if it were normal.
    """
    strength = np.broadcast_to(strength, size.shape)
    if kind == "gaussian":
        return np.asarray(np.maximum(size - 1, 0) / 2 * np.log(strength))
    if kind == "gamma":
        one = np.array([a * log(a) - a - lgamma(a) for a in strength.tolist()])
        return np.asarray(size * one - 0.5 * np.log(strength))
    pairs = zip(strength.tolist(), size.tolist(), strict=True)
    return np.array([lgamma(m * a) - m * (lgamma(a) + a * log(m)) if m else 0.0 for a, m in pairs])


def log_evidence(fits: Sequence[Fit], times: float = 1.0) -> float:
    """Return the logarithm of the chance of the data under the prior, each observation counted 1 / times."""
    total = 0.0
    for fit in fits:
        size, prior = np.diff(fit.slot_ptr), fit.prior
        kind = fit.observed.gamma_kind if prior.is_gamma else "gaussian"
        free = np.maximum(size - 1, 0) + fit.observed.n_extra
        posterior = (fit.value + fit.log_prior) / times + log_constant(kind, prior.ridge / times, size)
        total += float((posterior - 0.5 * (fit.log_det - free * np.log(times))).sum())
    return total


class PriorSearch:
    """Fits under priors of several strengths, each beginning at the nearest one known."""

    def __init__(self, observed: Observed, prior_of: Callable[[float], Prior]) -> None:
        self.observed, self.prior_of = observed, prior_of
        self._known: dict[float, list[Fit]] = {}
        self._maximised: list[float] = []
        self._strategies: Strategies | None = None

    def fitted(self, strength: float) -> list[Fit]:
        """Return a rough fit under a prior of this strength."""
        if strength not in self._known:
            prior, start, found = self.prior_of(strength), None, None
            if self._strategies is None:
                self._strategies = strategies_of(self.observed, prior, with_log_det=True)
            if self._maximised:
                start = self._known[min(self._maximised, key=lambda one: abs(log(one / strength)))]
                found = strategies.one_step(self.observed, prior, start, self._strategies)
            if found is None:
                rough = strategies.ROUGH_STEP
                found = strategies.fit(self.observed, prior, start, rough, self._strategies, with_log_det=True)
                self._maximised.append(strength)
            self._known[strength] = found
        return self._known[strength]

    def dispersion(self, unit: float = 1.0) -> float:
        """Return how many times comparisons vary as much as the likelihood says: less than 1 with half wins."""
        return dispersion(self.fitted(strength(0, 1 / unit))) if has_half_wins(self.observed) else 1.0

    def best(
        self, times: float = 1.0, unit: float = 1.0, evidence: Callable[[float], float] | None = None
    ) -> tuple[float, float]:
        """Return the strength with the highest evidence, and the variance of its logarithm.

        ``evidence`` finds that of a strength where it is not found here: the sum over parts of the instances.
        """
        centre = times / unit
        found = evidence or (lambda one: log_evidence(self.fitted(one), times))
        return choose_prior(found, centre, self._guess(times, centre))

    def _guess(self, times: float, centre: float) -> int | None:
        """Return where on the grid the best strength of a normal prior should be; None where there is no cheap guess.

        The evidence is highest where the strength is the number of parameters that the data determine over the sum of
        their squares (MacKay). Both are taken from a fit at the centre, as if nothing but the diagonal of its second
        derivatives mattered. Of very many instances some tell.
        """
        if (n := len(self.observed.slot_ptr) - 1) > MANY:
            some = np.arange(0, n, n // (MANY // 2))
            those, slots = self.observed.restrict(some)
            search = PriorSearch(those, lambda one: self.prior_of(one).of(some, slots))
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
    """Return a copy of a method that takes the prior, with the variance of its logarithm, as chosen already."""
    made = copy(method)
    vars(made)["settled_prior"] = (strength, doubt)
    return made


def settled_prior(method: object) -> tuple[float, float] | None:
    """Return the prior a method was told to take as chosen, None where it was told nothing."""
    return vars(method).get("settled_prior")
