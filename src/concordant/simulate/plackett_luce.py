"""The Plackett-Luce model: a ranking is a sequence of choices, each item with probability ∝ e^score.

Drawn exactly: adding independent Gumbel noise to the scores and sorting is the same as choosing item after item.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from concordant.preferences import Preferences
from concordant.simulate._draws import Items, Seed, count, from_orders, labels_of, scores_of


def plackett_luce(
    items: Items,
    n_ballots: int,
    *,
    scores: ArrayLike | None = None,
    spread: float = 1.0,
    top: int | None = None,
    seed: Seed = 0,
) -> Preferences:
    """Draw rankings of all items, or their first ``top`` places with the rest left open.

    ``scores`` (one per item) default to normal draws of standard deviation ``spread``.
    """
    labels = labels_of(items)
    rng = np.random.default_rng(seed)
    score = scores_of(scores, len(labels), spread, rng)
    noisy = score + rng.gumbel(size=(count("n_ballots", n_ballots), len(labels)))
    orders = np.argsort(-noisy, axis=1)
    return from_orders(labels, orders, {"model": "plackett-luce", "scores": score.tolist()}, top)
