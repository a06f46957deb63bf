"""Drifting skills: duels over time between items whose scores wander.

Every item has a score that moves as a random walk: over a time of length t by a normal step of standard deviation
``drift`` sqrt(t). Duels of random pairs take place at random moments between 0 and ``length``; at that moment i beats j
with probability 1/(1 + e^(s_j - s_i)). This is the model that whole-history rating fits.
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
    """Draw duels of random pairs over time.

    ``scores`` are those at the beginning, by default normal draws of deviation ``spread``; time is cut into ``moments``
    equal steps, and ``prefs.meta["paths"]`` has the scores in each, one row per moment.
    """
    labels, score, rng = scored(items, scores, spread, seed)
    if len(labels) < 2:
        raise ParameterError("A duel takes two items: give at least two.")
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
