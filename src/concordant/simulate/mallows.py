"""The Mallows model: a ranking at Kendall distance d from the central ranking has probability ∝ phi^d.

The draws are exact, by repeated insertion: items are inserted from the last of the central ranking to the first, each
behind j of those already there with probability ∝ phi^j. These j form a Lehmer code, so all ballots are drawn as codes
at once and then decoded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from concordant.preferences import Preferences
from concordant.simulate._draws import Items, Seed
from concordant.simulate.generalised_mallows import generalised_mallows


def mallows(
    items: Items, n_ballots: int, *, phi: float = 0.5, centre: Sequence[object] | str | None = None, seed: Seed = 0
) -> Preferences:
    """Draw rankings around a central ranking.

    Parameters
    ----------
    items : int or sequence of str
        Number of items, or their names.
    n_ballots : int
        Number of ballots to draw.
    phi : float, default 0.5
        Dispersion: 0 repeats the central ranking, 1 is uniform; e^-lambda in the notation P ∝ e^(-lambda d).
    centre : sequence of str or 'random', optional
        Central ranking, best first; by default the order of ``items``.
    seed : int or numpy.random.Generator, default 0
        Seed of the random numbers.

    Returns
    -------
    Preferences
        One ranking per ballot; ``meta`` has the parameters.

    Examples
    --------
    >>> from concordant import simulate
    >>> simulate.mallows(["a", "b", "c"], 2, phi=0).n_ballots
    2
    """
    drawn = generalised_mallows(items, n_ballots, phi=float(np.float64(phi)), centre=centre, seed=seed)
    return drawn.replace(meta={**drawn.meta, "model": "mallows", "phi": float(phi)})
