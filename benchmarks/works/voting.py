"""Voting rules on complete rankings, from lists of labels to the order of the items."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, is_same_ranking, sizes

if TYPE_CHECKING:
    from concordant.ranking import Ranking

SIZES = sizes("rankings items", tiny=(7, 6), small=(200, 100), full=(1000, 1000))


def make(size: Size, seed: int) -> Inputs:
    """Draw rankings of all items, each a noisy view of one order."""
    rng = np.random.default_rng(seed)
    labels = np.array([f"i{item}" for item in range(size["items"])], object)
    noisy = rng.normal(size=size["items"]) + 2 * rng.normal(size=(size["rankings"], size["items"]))
    return {"rankings": [labels[order].tolist() for order in np.argsort(-noisy, axis=1)]}


def ours(method: str, inputs: Inputs) -> Task:
    """Rank by the public interface."""
    import concordant as cc

    def rank() -> Ranking:
        ranking = cc.rank(cc.Preferences.from_rankings(inputs["rankings"]), method)
        _ = ranking.items
        return ranking

    return Task(rank, answer)


def answer(ranking: Ranking) -> Answer:
    """Read item and score in order; scores from their mean, since not everyone starts counting at 0."""
    item = np.array([int(label[1:]) for label in ranking.items])
    score = np.asarray(ranking.scores)
    return {"instance": np.zeros(len(item)), "item": item, "score": score - score.mean()}


WORKS = tuple(
    Work(method, doc, SIZES, make, partial(ours, method), {"plain_python": None, "pyflagr": 5}, is_same_ranking)
    for method, doc in (
        ("borda", "Borda points of every item"),
        ("copeland", "duels won by every item, ties half"),
    )
)
