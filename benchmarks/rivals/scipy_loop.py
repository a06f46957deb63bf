"""SciPy: a loop of kendalltau over all pairs of rankings."""

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
