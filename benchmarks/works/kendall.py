"""Kendall distances between all pairs of rankings."""

from __future__ import annotations

import numpy as np

from benchmarks.core import Inputs, Size, Task, Work, is_close


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


WORKS = (
    Work(
        name="kendall",
        doc="the matrix of Kendall distances",
        sizes={
            "tiny": {"rankings": 6, "items": 10},
            "small": {"rankings": 50, "items": 100},
            "full": {"rankings": 200, "items": 100},
        },
        make=make,
        ours=ours,
        rivals=("scipy_loop",),
        agree=is_close,
        goals={"scipy_loop": 300},
    ),
    Work(
        name="kendall-long",
        doc="the same for long rankings, where a loop over SciPy takes minutes",
        sizes={
            "tiny": {"rankings": 4, "items": 200},
            "small": {"rankings": 20, "items": 2000},
            "full": {"rankings": 200, "items": 10_000},
        },
        make=make,
        ours=ours,
    ),
)
