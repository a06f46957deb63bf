"""The Mallows model: rankings around a centre, a ranking at Kendall distance d with probability ∝ phi^d.

Drawn exactly by repeated insertion: the items enter from the last of the centre to the first, each behind j of those
already there with probability ∝ phi^j. Those j are a Lehmer code, so ballots are drawn as codes, all at once, and
decoded.
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
    """Draw rankings around a centre.

    ``centre`` holds labels best first; by default it is the items' order, or "random". ``phi`` is the
    dispersion: 0 repeats the centre, 1 is uniform; e^-lambda in papers that write P ∝ e^(-lambda d).
    """
    drawn = generalised_mallows(items, n_ballots, phi=float(np.float64(phi)), centre=centre, seed=seed)
    return drawn.replace(meta={**drawn.meta, "model": "mallows", "phi": float(phi)})
