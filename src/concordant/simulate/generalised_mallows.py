"""The generalised Mallows model: a dispersion of its own for every place of the centre.

The item in place k of the centre of m items goes behind j of the items that should come after it with probability
∝ phi_k^j, 0 <= j <= m - k: what the method ``generalised-mallows`` fits. A small phi at the top and a large one below
says that people agree on the best and not on the rest. Drawn exactly: from the last place of the centre to the first,
every item goes behind j of those already there; seen backwards, the j are a Lehmer code. Reference: M. A. Fligner and
J. S. Verducci, Distance based ranking models, JRSS B, 1986.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from concordant import kernels
from concordant.errors import ParameterError
from concordant.preferences import Preferences
from concordant.simulate._draws import Items, Seed, centre_of, check_phi, count, from_orders, labels_of
from concordant.types import Floats, Int64s


def generalised_mallows(
    items: Items, n_ballots: int, *, phi: ArrayLike = 0.5, centre: Sequence[object] | str | None = None, seed: Seed = 0
) -> Preferences:
    """Draw rankings around a centre, with a dispersion for each of its places.

    ``phi`` is one dispersion per place of the centre (the last is not used), or one for all.
    """
    labels = labels_of(items)
    m = len(labels)
    rng = np.random.default_rng(seed)
    spread = check_phi(phi)
    if spread.shape not in ((), (m,)):
        raise ParameterError(f"phi has {spread.size} values for {m} items: give one, or one per place of the centre.")
    middle = centre_of(labels, centre, rng)
    orders = draw_orders(np.broadcast_to(spread, (m,)), count("n_ballots", n_ballots), rng)
    meta = {"model": "generalised-mallows", "phi": spread.tolist(), "centre": [labels[k] for k in middle]}
    return from_orders(labels, middle[orders], meta)


def draw_orders(phi: Floats, n: int, rng: np.random.Generator) -> Int64s:
    """Draw n orders (rows of places of the centre, best first), with a dispersion for each place."""
    m = len(phi)
    codes = draw_codes(phi[::-1], n, rng)
    backwards = kernels.lehmer_decode(np.arange(n + 1, dtype=np.int64) * m, codes.reshape(-1)).reshape(n, m)
    return np.asarray(m - 1 - backwards[:, ::-1])


def draw_codes(phi: Floats, n: int, rng: np.random.Generator) -> Int64s:
    """Draw n Lehmer codes: coordinate k takes j = 0 … k with probability ∝ phi_k^j."""
    codes = np.zeros((n, len(phi)), np.int64)
    uniform = rng.random((n, len(phi)))
    for k, spread in enumerate(phi.tolist()):
        cumulated = np.cumsum(spread ** np.arange(k + 1))
        codes[:, k] = np.minimum(np.searchsorted(cumulated, uniform[:, k] * cumulated[-1], side="right"), k)
    return codes
