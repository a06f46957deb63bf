"""Fusing the result lists of one query, as a search service does on every request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, is_same_ranking, sizes
from benchmarks.works.users.lists import TEN, THREE

if TYPE_CHECKING:
    from concordant.ranking import Ranking


def make(size: Size, seed: int) -> Inputs:
    """Draw lists that share about half of their documents."""
    rng = np.random.default_rng(seed)
    pool = np.array([f"d{document}" for document in range(2 * size["length"])], object)
    return {"lists": [rng.permutation(pool)[: size["length"]].tolist() for _ in range(size["lists"])]}


def ours(inputs: Inputs) -> Task:
    """Fuse by the public interface, down to the list of labels."""
    import concordant as cc

    def fuse() -> Ranking:
        ranking = cc.fuse(inputs["lists"], "rrf")
        _ = ranking.items
        return ranking

    return Task(fuse, answer)


def answer(ranking: Ranking) -> Answer:
    """Read item and score in order."""
    item = np.array([int(label[1:]) for label in ranking.items])
    return {"instance": np.zeros(len(item)), "item": item, "score": np.asarray(ranking.scores)}


ONE = Work(
    "fuse",
    "reciprocal rank fusion of one query",
    sizes("lists length", tiny=(3, 5), small=(10, 100), full=(10, 100)),
    make,
    ours,
    {"plain_python": 1.0},
    is_same_ranking,
)
WORKS = (
    ONE,
    ONE.but("fuse-many", "the same for ten short lists", sizes=TEN, rivals={"plain_python": 1 / 1.5}),
    ONE.but("fuse-short", "the same for three short lists", sizes=THREE, rivals={"plain_python": None}, budget=30e-6),
)
