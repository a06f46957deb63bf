"""Estimated seconds to fit an instance by each strategy, from which the cheapest strategy is chosen.

The constants were measured on one machine. Only their ratios matter, and small errors do little harm, because the
costs of two strategies are similar where the choice changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from concordant.models.likelihoods.observed import Observed
from concordant.models.likelihoods.priors import Prior
from concordant.support import memory
from concordant.types import Floats, Int64s

STRATEGIES = ("batch", "matrix", "products")
MATRICES = 9  # held at once by the strategy "matrix"
N_DRAWS = 64  # as many as a word has bits

# Seconds, measured: a multiplication of the two Cholesky factorisations, and a call from Python.
IN_BATCH, IN_LAPACK, CALL = 1.2e-10, 2.5e-11, 6e-5
STEPS, PRODUCTS = 3, 6  # Newton steps of a fit that begins near its end, and products in each
SOLVED = 40  # products of a solution to many digits, twice over: exact errors are worth something
LANCZOS = 12  # steps of a log-determinant, as a rule


class Costs(NamedTuple):
    """Estimated seconds by instance: a fit by three strategies, log-determinants and standard errors by two."""

    batch: Floats
    matrix: Floats
    products: Floats
    factor: Floats
    lanczos: Floats
    inverse: Floats
    draws: Floats


def costs_of(observed: Observed) -> Costs:
    """Estimate the seconds of each strategy for every instance; infinite if a matrix does not fit into memory."""
    m = np.diff(observed.slot_ptr).astype(np.float64)
    hessian, product = observed.costs
    probes, length = observed.probes
    factor = IN_LAPACK * m**3 + hessian
    if not memory.fits(8 * MATRICES * float(m.max(initial=0)) ** 2):
        factor = np.where([memory.fits(8 * MATRICES * n_cells) for n_cells in (m**2).tolist()], factor, np.inf)
    return Costs(
        batch=STEPS * (IN_BATCH * m**3 + hessian),
        matrix=STEPS * (factor + CALL),
        products=STEPS * PRODUCTS * (product + CALL),
        factor=factor,
        lanczos=min(length, LANCZOS) * (probes * product / 3 + CALL),
        inverse=3 * factor,
        draws=SOLVED * (N_DRAWS * product / 3 + CALL),
    )


class Strategies(NamedTuple):
    """The cheapest strategies (indices into ``STRATEGIES``) by instance: for fits, log-determinants and errors."""

    fit: Int64s
    log_det: Int64s
    errors: Int64s

    def of(self, instance: int) -> tuple[str, str, str]:
        """Return the names of the strategies of an instance: fit, log-determinant, errors."""
        return STRATEGIES[self.fit[instance]], STRATEGIES[self.log_det[instance]], STRATEGIES[self.errors[instance]]


def strategies_of(observed: Observed, prior: Prior, with_log_det: bool) -> Strategies:
    """Return the cheapest strategies for the fit, the log-determinant and the errors of every instance."""
    cost = costs_of(observed)
    log_det = np.minimum(cost.factor, cost.lanczos) if with_log_det else 0.0
    is_alone = prior.basis is not None or not observed.in_batches
    batch = np.full_like(cost.batch, np.inf) if is_alone else cost.batch
    fit = np.argmin(np.stack([batch, cost.matrix + log_det, cost.products + log_det]), axis=0)
    for_rest = (np.where(a <= b, 1, 2) for a, b in ((cost.factor, cost.lanczos), (cost.inverse, cost.draws)))
    return Strategies(fit, *(np.where(fit == 0, 0, strategy) for strategy in for_rest))


def same_strategy(strategy: str, n: int) -> Strategies:
    """Return strategies with the same choice for every instance."""
    return Strategies(*(np.full(n, STRATEGIES.index(strategy)),) * 3)
