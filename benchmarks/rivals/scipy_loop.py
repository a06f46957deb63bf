"""SciPy: a loop of kendalltau over all pairs of rankings, and power iteration with a sparse matrix."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from benchmarks.core import Answer, Inputs, Task


def kendall(inputs: Inputs) -> Task:
    """Compute tau of every pair; without ties the distance follows from it."""
    from scipy.stats import kendalltau

    ranks = inputs["ranks"]
    n_items = ranks.shape[1]

    def correlate() -> np.ndarray:
        tau = np.eye(len(ranks))
        for a, b in combinations(range(len(ranks)), 2):
            tau[a, b] = tau[b, a] = kendalltau(ranks[a], ranks[b]).statistic
        return tau

    def answer(tau: np.ndarray) -> Answer:
        return {"distance": np.round((1 - tau) * n_items * (n_items - 1) / 4)}

    return Task(correlate, answer)


def users_rank_centrality(inputs: Inputs) -> Task:
    """Power iteration of the walk, with a pseudo-win for both sides of every pair, up to 2,000 steps."""
    from scipy.sparse import coo_array, diags_array

    winner, loser, m = inputs["winner"], inputs["loser"], inputs["items"]

    def iterate() -> np.ndarray:
        wins = coo_array((np.ones(len(winner)), (winner, loser)), shape=(m, m)).tocsr()
        wins.sum_duplicates()
        met = wins + wins.T
        prior = met.copy()
        prior.data[:] = 1.0
        share = (wins.T + prior).tocsr()
        total = (met + 2 * prior).tocsr()
        total.data = 1 / total.data
        move = share.multiply(total) / np.diff(met.indptr).max()
        step = (move + diags_array(1 - np.asarray(move.sum(axis=1)).reshape(-1))).T.tocsr()
        time = np.full(m, 1.0 / m)
        for _ in range(2000):
            before, time = time, step @ time
            if np.abs(time - before).max() < 1e-12 / m:
                break
        return np.log(time * m)

    def answer(score: np.ndarray) -> Answer:
        return {"score": score - score.mean()}

    return Task(iterate, answer)
