"""The ordered-partition model: a ranking with ties as a sequence of choices of whole tiers.

From the items that remain, a tier S is chosen with probability ∝ g(|S|) times the mean of e^score over S (the
arithmetic-mean set function), with g(k) = ``tie_odds``^k. The draws are exact: with the mean written as a sum, the tier
consists of one item chosen ∝ e^score and a uniformly random set of k - 1 others, where k has weight
``tie_odds``^k C(n, k). Small odds give few ties: at 0 this is the Plackett-Luce model.
"""

from __future__ import annotations

import numpy as np

from concordant.errors import ParameterError, arg
from concordant.preferences import Preferences
from concordant.simulate._draws import Items, Scores, Seed, count, from_tiers, scored
from concordant.types import Floats, Int64s


def ordered_partitions(
    items: Items, n_ballots: int, *, scores: Scores = None, spread: float = 1.0, tie_odds: float = 1.0, seed: Seed = 0
) -> Preferences:
    """Draw rankings with ties as sequences of tiers.

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
    tie_odds : float, default 1.0
        Factor on the weight of a tier per item; 0 for no ties.
    seed : int or numpy.random.Generator, default 0
        Seed of the random numbers.

    Returns
    -------
    Preferences
        One ranking per ballot; ``meta`` has the parameters.
    """
    labels, score, rng = scored(items, scores, spread, seed)
    if tie_odds < 0:
        raise ParameterError(arg("tie_odds", shown=f"{tie_odds:g}") + " is out of range: give a number of at least 0.")
    n, m = count("n_ballots", n_ballots), len(labels)
    tiers = np.full((n, m), -1, np.int64)
    for level in range(m):
        remaining = tiers < 0
        n_remaining = remaining.sum(axis=1)
        if not n_remaining.any():
            break
        size = _sizes(n_remaining, tie_odds, rng)
        noisy = np.where(remaining, score + rng.gumbel(size=(n, m)), -np.inf)
        key = np.where(remaining, rng.random((n, m)), np.inf)
        key[np.arange(n), np.argmax(noisy, axis=1)] = np.where(n_remaining > 0, -1.0, np.inf)
        place = np.argsort(np.argsort(key, axis=1), axis=1)
        tiers[remaining & (place < size[:, None])] = level
    return from_tiers(labels, tiers, {"model": "ordered-partitions", "scores": score.tolist(), "tie_odds": tie_odds})


def _sizes(n_remaining: Int64s, odds: float, rng: np.random.Generator) -> Int64s:
    """Draw the size of the next tier of every ballot: k of n items with weight odds^k C(n, k), k >= 1."""
    sizes = np.zeros(len(n_remaining), np.int64)
    uniform = rng.random(len(n_remaining))
    for n in np.unique(n_remaining[n_remaining > 0]).tolist():
        cumulated = np.cumsum(_size_weights(n, odds))
        of_size = n_remaining == n
        sizes[of_size] = 1 + np.minimum(
            np.searchsorted(cumulated, uniform[of_size] * cumulated[-1], side="right"), n - 1
        )
    return sizes


def _size_weights(n: int, odds: float) -> Floats:
    """Return odds^k C(n, k) for k = 1 … n, up to a common factor."""
    k = np.arange(1, n + 1)
    ratio = np.ones(n)
    ratio[1:] = odds * (n - k[1:] + 1) / k[1:]  # odds^k C(n, k), relative to k = 1
    logs = np.cumsum(np.log(np.maximum(ratio, 1e-300)))
    return np.asarray(np.exp(logs - logs.max()))
