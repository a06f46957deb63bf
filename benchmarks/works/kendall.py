"""Kendall distances between all pairs of rankings."""

from __future__ import annotations

import numpy as np

from benchmarks.core import Inputs, Size, Task, Work, is_close, sizes


def make(size: Size, seed: int) -> Inputs:
    """Draw rankings without ties, each a noisy view of one order."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=size["items"])
    noisy = truth + rng.normal(size=(size["rankings"], size["items"]))
    return {"ranks": (np.argsort(np.argsort(noisy, axis=1), axis=1) + 1).astype(np.float64)}


def ours(inputs: Inputs) -> Task:
    """Count discordant pairs by the public interface."""
    from concordant import metrics

    ranks = inputs["ranks"]
    return Task(lambda: metrics.kendall_matrix(ranks), lambda matrix: {"distance": np.asarray(matrix, float)})


SHORT = Work(
    "kendall",
    "the matrix of Kendall distances",
    sizes("rankings items", tiny=(6, 10), small=(50, 100), full=(200, 100)),
    make,
    ours,
    {"scipy_loop": 300},
    is_close,
)
WORKS = (
    SHORT,
    SHORT.but(
        "kendall-long",
        "the same for long rankings, where a loop over SciPy takes minutes",
        sizes=sizes("rankings items", tiny=(4, 200), small=(20, 2000), full=(200, 10_000)),
        rivals={},
    ),
)
