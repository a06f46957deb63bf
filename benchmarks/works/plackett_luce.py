"""Plackett-Luce scores from rankings of a few of many items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, sizes

if TYPE_CHECKING:
    from concordant.ranking import Ranking

SIZES = sizes("rankings length items", tiny=(400, 5, 8), small=(2000, 10, 300), full=(10_000, 10, 1000))
MANY = {**SIZES, "full": {"rankings": 1_000_000, "length": 10, "items": 1000}}


def make(size: Size, seed: int) -> Inputs:
    """Draw rankings of random items from the model itself, true scores normal."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=size["items"])
    shape = (size["rankings"], size["length"])
    items = rng.integers(0, size["items"], shape)
    while True:
        ordered = np.sort(items, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not twice.any():
            break
        items[twice] = rng.integers(0, size["items"], (int(twice.sum()), size["length"]))
    noisy = score[items] + rng.gumbel(size=shape)
    return {"rankings": np.take_along_axis(items, np.argsort(-noisy, axis=1), axis=1), "items": size["items"]}


def ours(inputs: Inputs) -> Task:
    """Build the preferences and find the scores; no standard errors, which nobody else computes."""
    import concordant as cc

    n, length = inputs["rankings"].shape
    labels = [f"i{item}" for item in range(inputs["items"])]

    def rank() -> Ranking:
        prefs = cc.Preferences(
            labels,
            np.arange(0, n * length + 1, length),
            inputs["rankings"].ravel(),
            np.tile(np.arange(length), n),
        )
        return cc.rank(prefs, "plackett-luce", errors="none", prior=1e-3)

    return Task(rank, answer)


def answer(ranking: Ranking) -> Answer:
    """Read the scores by item."""
    return {"score": ranking.score - ranking.score.mean()}


def is_near(ours: Answer, theirs: Answer) -> bool:
    """Say whether scores agree to a hundredth: others have no prior."""
    return bool(np.abs(ours["score"] - theirs["score"]).max() < 0.01)


FEW = Work("plackett-luce", "Plackett-Luce scores from rankings", SIZES, make, ours, {"choix": 100}, is_near)
WORKS = (
    FEW,
    FEW.but("plackett-luce-many", "the same from a hundred times as many", sizes=MANY, rivals={}, budget=1.5),
)
