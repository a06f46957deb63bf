"""The multinomial preference model: every agent draws ordered pairs from one distribution over all pairs.

Agent n states that i is better than j with probability ∝ exp(theta_n (s_i - s_j)/(g_i + g_j)) over all ordered pairs:
pairs with a large difference in score are compared more often, and more often correctly. theta is the adherence of the
agent (0: random, 1: reliable), and g is the variance of an item.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from concordant.errors import ParameterError
from concordant.preferences import Preferences
from concordant.simulate._draws import Items, Scores, Seed, count, from_duels, scored


def mpm(
    items: Items,
    n_ballots: int,
    *,
    scores: Scores = None,
    spread: float = 1.0,
    variances: ArrayLike | None = None,
    adherence: ArrayLike = (1.0,),
    seed: Seed = 0,
) -> Preferences:
    """Draw pairs by agents with different adherence.

    Parameters
    ----------
    items : int or sequence of str
        Number of items, or their names.
    n_ballots : int
        Number of pairs per agent.
    scores : array-like of float, optional
        Score of each item; drawn from a normal distribution if not given.
    spread : float, default 1.0
        Standard deviation of drawn scores.
    variances : array-like of float, optional
        Variance g of each item; 1/2 if not given.
    adherence : array-like of float, default (1.0,)
        Adherence theta of each agent: 0 is random, 1 is reliable.
    seed : int or numpy.random.Generator, default 0
        Seed of the random numbers.

    Returns
    -------
    Preferences
        One pair per ballot, with agents; ``meta`` has the parameters.

    Examples
    --------
    >>> from concordant import simulate
    >>> simulate.mpm(4, 10, adherence=[1.0, 0.2]).n_agents
    2
    """
    labels, score, rng = scored(items, scores, spread, seed)
    m = len(labels)
    if m < 2:
        raise ParameterError("A pair needs two items: give at least two.")
    width = np.full(m, 0.5) if variances is None else np.asarray(variances, np.float64)
    theta = np.atleast_1d(np.asarray(adherence, np.float64))
    if width.shape != (m,) or not (width > 0).all():
        raise ParameterError(f"variances must contain one number above 0 per item ({m}).")
    i, j = np.nonzero(~np.eye(m, dtype=bool))
    exponent = (score[i] - score[j]) / (width[i] + width[j])
    drawn = []
    for agent_theta in theta.tolist():
        cumulated = np.cumsum(np.exp(agent_theta * exponent - np.max(agent_theta * exponent)))
        uniform = rng.random(count("n_ballots", n_ballots)) * cumulated[-1]
        drawn.append(np.minimum(np.searchsorted(cumulated, uniform, side="right"), len(i) - 1))
    pair = np.concatenate(drawn)
    agent = np.repeat(np.arange(len(theta)), n_ballots)
    meta: dict[str, object] = {
        "model": "mpm",
        "scores": score.tolist(),
        "variances": width.tolist(),
        "adherence": theta.tolist(),
    }
    return from_duels(labels, i[pair], j[pair], None, meta, agent, len(theta))
