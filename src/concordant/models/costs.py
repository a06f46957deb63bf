"""What fitting an instance would cost in each way, estimated in seconds, so that the cheapest is chosen.

The constants were measured on one machine; what matters are their ratios, and that neighbouring sizes cost alike where
the way changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from concordant import memory
from concordant.models.likelihoods import Observed
from concordant.models.priors import Prior
from concordant.types import Floats

WAYS = ("batch", "matrix", "products")
MATRICES = 9  # held at once by the way of matrices
N_DRAWS = 64

# Seconds, measured: a multiplication of the two Cholesky factorisations, and a call from Python.
IN_BATCH, IN_LAPACK, CALL = 1.2e-10, 2.5e-11, 6e-5
STEPS, PRODUCTS = 3, 6  # Newton steps of a fit that begins near its end, and products in each
SOLVED = 40  # products of a solution to many digits
LANCZOS = 12  # steps of a log-determinant, as a rule


class Costs(NamedTuple):
    """About how many seconds every instance takes: a fit in three ways, log-determinants and errors in two."""

    batch: Floats
    matrix: Floats
    products: Floats
    factor: Floats
    lanczos: Floats
    inverse: Floats
    draws: Floats


def costs_of(observed: Observed) -> Costs:
    """Estimate what every instance costs."""
    m = np.diff(observed.slot_ptr).astype(np.float64)
    hessian, product = observed.costs
    probes, length = observed.probes
    factor = IN_LAPACK * m**3 + hessian
    factor = np.where([memory.fits(8 * MATRICES * one) for one in (m**2).tolist()], factor, np.inf)
    return Costs(
        batch=STEPS * (IN_BATCH * m**3 + hessian),
        matrix=STEPS * (factor + CALL),
        products=STEPS * PRODUCTS * (product + CALL),
        factor=factor,
        lanczos=min(length, LANCZOS) * (probes * product / 3 + CALL),
        inverse=3 * factor,
        draws=SOLVED * (N_DRAWS * product / 3 + CALL),
    )


def ways_of(observed: Observed, prior: Prior, with_log_det: bool) -> list[tuple[str, str, str]]:
    """Return the cheapest ways to fit every instance, to find the log-determinant there, and its errors."""
    cost = costs_of(observed)
    log_det = np.minimum(cost.factor, cost.lanczos) if with_log_det else 0.0
    batch = np.full_like(cost.batch, np.inf) if prior.basis is not None else cost.batch
    fits = np.argmin(np.stack([batch, cost.matrix + log_det, cost.products + log_det]), axis=0).tolist()
    others = [np.where(a <= b, 1, 2).tolist() for a, b in ((cost.factor, cost.lanczos), (cost.inverse, cost.draws))]
    return [(WAYS[k], WAYS[a], WAYS[b]) if k else ("batch",) * 3 for k, a, b in zip(fits, *others, strict=True)]
