"""The Plackett-Luce model: a ranking is a sequence of choices, each with probability ∝ e^score.

The draws are exact: sorting the scores after adding independent Gumbel noise is equivalent to successive choices.
"""

from __future__ import annotations

import numpy as np

from concordant.preferences import Preferences
from concordant.simulate._draws import Items, Scores, Seed, count, from_orders, scored


def plackett_luce(
    items: Items, n_ballots: int, *, scores: Scores = None, spread: float = 1.0, top: int | None = None, seed: Seed = 0
) -> Preferences:
    """Draw rankings as sequences of choices.

    Parameters
    ----------
    items : int or sequence of str
        Number of items, or their names.
    n_ballots : int
        Number of ballots to draw.
    scores : array-like of float, optional
        Score of each item; drawn from a normal distribution if not given.
    spread : float, default 1.0
        Standard deviation of drawn scores.
    top : int, optional
        Number of ranked items per ballot; the order of the rest is unknown. All if not given.
    seed : int or numpy.random.Generator, default 0
        Seed of the random numbers.

    Returns
    -------
    Preferences
        One ranking per ballot; ``meta`` has the parameters.

    Examples
    --------
    >>> from concordant import simulate
    >>> simulate.plackett_luce(10, 5, top=3).form
    'top-k'
    """
    labels, score, rng = scored(items, scores, spread, seed)
    noisy = score + rng.gumbel(size=(count("n_ballots", n_ballots), len(labels)))
    orders = np.argsort(-noisy, axis=1)
    return from_orders(labels, orders, {"model": "plackett-luce", "scores": score.tolist()}, top)
