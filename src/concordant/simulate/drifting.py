"""Drifting skills: comparisons over time between items whose scores follow random walks.

The score of every item moves by a normal step of standard deviation ``drift`` sqrt(t) over a time of length t.
Comparisons of random pairs take place at random times between 0 and ``length``; at that time, i beats j with
probability 1/(1 + e^(s_j - s_i)). Whole-history rating fits this model.
"""

from __future__ import annotations

import numpy as np

from concordant.errors import ParameterError, Sentence, arg
from concordant.preferences import Preferences
from concordant.simulate._draws import Items, Scores, Seed, count, from_duels, scored


def drifting(
    items: Items,
    n_ballots: int,
    *,
    drift: float = 0.5,
    length: float = 10.0,
    moments: int = 100,
    scores: Scores = None,
    spread: float = 1.0,
    seed: Seed = 0,
) -> Preferences:
    """Draw comparisons of random pairs over time.

    Parameters
    ----------
    items : int or sequence of str
        Number of items, or their names.
    n_ballots : int
        Number of ballots to draw.
    drift : float, default 0.5
        Standard deviation of the change of a score per unit of time.
    length : float, default 10.0
        Length of the period.
    moments : int, default 100
        Number of equal time steps.
    scores : array-like of float, optional
        Scores at the beginning; drawn from a normal distribution if not given.
    spread : float, default 1.0
        Standard deviation of drawn scores.
    seed : int or numpy.random.Generator, default 0
        Seed of the random numbers.

    Returns
    -------
    Preferences
        One pair per ballot, with times; ``meta["paths"]`` has the scores, one row per time step.

    Examples
    --------
    >>> from concordant import simulate
    >>> prefs = simulate.drifting(5, 100, moments=10)
    >>> prefs.n_ballots, len(prefs.meta["paths"])
    (100, 10)
    """
    labels, score, rng = scored(items, scores, spread, seed)
    if len(labels) < 2:
        raise ParameterError("A comparison needs two items: give at least two.")
    if drift < 0 or length <= 0 or moments < 1:
        settings = {"drift": f"{drift:g}", "length": f"{length:g}", "moments": str(moments)}
        raise ParameterError(
            Sentence(", ").join(arg(name, shown=text) for name, text in settings.items())
            + " are out of range: give a drift of at least 0, a length above 0 and at least one moment."
        )
    step = length / moments
    steps = rng.normal(0.0, drift * np.sqrt(step), (moments, len(labels)))
    steps[0] = score
    paths = np.cumsum(steps, axis=0)
    when = np.sort(rng.integers(0, moments, count("n_ballots", n_ballots)))
    item = rng.integers(0, len(labels), n_ballots)
    rival = rng.integers(0, len(labels) - 1, n_ballots)
    rival += rival >= item
    wins = rng.random(n_ballots) < 1 / (1 + np.exp(paths[when, rival] - paths[when, item]))
    meta: dict[str, object] = {"model": "drifting", "drift": drift, "paths": paths.tolist()}
    prefs = from_duels(labels, np.where(wins, item, rival), np.where(wins, rival, item), None, meta)
    return prefs.replace(time=(when + 1) * step)
