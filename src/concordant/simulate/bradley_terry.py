"""The Bradley-Terry model: comparisons of random pairs, in which i beats j with probability 1/(1 + e^(s_j - s_i)).

With ``ties`` > 0, comparisons can be ties, as in Davidson's model: with p = e^s, a win of i has weight p_i, a win of j
p_j, and a tie ``ties`` times the geometric mean of the two.
"""

from __future__ import annotations

import numpy as np

from concordant.errors import ParameterError, arg
from concordant.preferences import Preferences
from concordant.simulate._draws import Items, Scores, Seed, count, from_duels, scored


def bradley_terry(
    items: Items, n_ballots: int, *, scores: Scores = None, spread: float = 1.0, ties: float = 0.0, seed: Seed = 0
) -> Preferences:
    """Draw comparisons of random pairs, all of which are equally likely.

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
    ties : float, default 0.0
        Tie parameter of Davidson's model; 0 for no ties.
    seed : int or numpy.random.Generator, default 0
        Seed of the random numbers.

    Returns
    -------
    Preferences
        One pair per ballot; ``meta`` has the parameters.

    Examples
    --------
    >>> from concordant import simulate
    >>> simulate.bradley_terry(["a", "b", "c"], 100, scores=[1, 0, -1]).form
    'pairs'
    """
    labels, score, rng = scored(items, scores, spread, seed)
    if len(labels) < 2:
        raise ParameterError("A comparison needs two items: give at least two.")
    if ties < 0:
        raise ParameterError(arg("ties", shown=f"{ties:g}") + " is out of range: give a number of at least 0.")
    item = rng.integers(0, len(labels), count("n_ballots", n_ballots))
    rival = rng.integers(0, len(labels) - 1, n_ballots)
    rival += rival >= item
    half_lead = (score[item] - score[rival]) / 2
    # win, loss and tie, each divided by the geometric mean of the two worths
    weight = np.stack([np.exp(half_lead), np.exp(-half_lead), np.full(n_ballots, ties)])
    draw = rng.random(n_ballots) * weight.sum(axis=0)
    wins, is_tie = draw < weight[0], draw >= weight[0] + weight[1]
    first, second = np.where(wins | is_tie, item, rival), np.where(wins | is_tie, rival, item)
    meta: dict[str, object] = {"model": "bradley-terry", "scores": score.tolist(), "ties": ties}
    return from_duels(labels, first, second, is_tie if ties > 0 else None, meta)
