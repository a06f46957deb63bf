"""The generalised Mallows model: a separate dispersion for every position of the central ranking.

The item at position k of the central ranking of m items is placed behind j of the items that should come after it with
probability ∝ phi_k^j, 0 <= j <= m - k: the model that the method ``generalised-mallows`` fits. A small phi at the top
and a large one below means that the ballots agree on the best items but not on the others.

The draws are exact: from the last position of the central ranking to the first, every item is inserted behind j of
those already there; in reverse, the j form a Lehmer code.

Reference: M. A. Fligner and J. S. Verducci, Distance based ranking models, JRSS B, 1986.
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
    """Draw rankings around a central ranking, with a dispersion for each of its positions.

    Parameters
    ----------
    items : int or sequence of str
        Number of items, or their names.
    n_ballots : int
        Number of ballots to draw.
    phi : float or array-like of float, default 0.5
        Dispersion of each position (the last is not used), or one for all: 0 repeats the central ranking, 1 is uniform.
    centre : sequence of str or 'random', optional
        Central ranking, best first; by default the order of ``items``.
    seed : int or numpy.random.Generator, default 0
        Seed of the random numbers.

    Returns
    -------
    Preferences
        One ranking per ballot; ``meta`` has the parameters.
    """
    labels = labels_of(items)
    m = len(labels)
    rng = np.random.default_rng(seed)
    spread = check_phi(phi)
    if spread.shape not in ((), (m,)):
        raise ParameterError(f"phi has {spread.size} values for {m} items: give one, or one per position.")
    middle = centre_of(labels, centre, rng)
    orders = draw_orders(np.broadcast_to(spread, (m,)), count("n_ballots", n_ballots), rng)
    meta = {"model": "generalised-mallows", "phi": spread.tolist(), "centre": [labels[k] for k in middle]}
    return from_orders(labels, middle[orders], meta)


def draw_orders(phi: Floats, n: int, rng: np.random.Generator) -> Int64s:
    """Draw n orders (rows of positions in the central ranking, best first), with a dispersion for each position."""
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
