"""The Plackett-Luce model: a ranking is a sequence of choices, each item with probability ∝ e^score.

Drawn exactly: adding independent Gumbel noise to the scores and sorting is the same as choosing item after item.
"""

from __future__ import annotations

import numpy as np

from concordant.preferences import Preferences
from concordant.simulate._draws import Items, Scores, Seed, count, from_orders, scored


def plackett_luce(
    items: Items, n_ballots: int, *, scores: Scores = None, spread: float = 1.0, top: int | None = None, seed: Seed = 0
) -> Preferences:
    """Draw rankings as sequences of choices.

    With ``top`` only the first places are told and the rest is left open. ``scores`` (one per item) default
    to normal draws of standard deviation ``spread``.
    """
    labels, score, rng = scored(items, scores, spread, seed)
    noisy = score + rng.gumbel(size=(count("n_ballots", n_ballots), len(labels)))
    orders = np.argsort(-noisy, axis=1)
    return from_orders(labels, orders, {"model": "plackett-luce", "scores": score.tolist()}, top)
