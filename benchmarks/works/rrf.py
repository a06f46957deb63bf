"""Reciprocal rank fusion of many queries at once, from long columns of labels to the order of every query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, is_same_ranking, sizes

if TYPE_CHECKING:
    from concordant.ranking import Ranking

SIZES = sizes("runs queries documents", tiny=(3, 4, 20), small=(5, 200, 200), full=(10, 1000, 1000))


def codes(size: Size, seed: int) -> dict[str, np.ndarray]:
    """Draw the rows of all runs: each retrieves half of a query's pool, better documents more likely."""
    rng = np.random.default_rng(seed)
    runs, queries, depth = size["runs"], size["queries"], size["documents"]
    pool = 2 * depth
    collection = max(50 * depth, pool)
    retrieved = np.empty((runs, queries, depth), np.int32)
    for q in range(queries):
        documents = rng.choice(collection, pool, replace=False).astype(np.int32)
        quality = rng.normal(size=pool)
        noisy = quality + rng.normal(size=(runs, pool))
        retrieved[:, q] = documents[np.argsort(-noisy, axis=1)[:, :depth]]
    return {
        "run": np.repeat(np.arange(runs), queries * depth),
        "query": np.tile(np.repeat(np.arange(queries), depth), runs),
        "document": retrieved.ravel(),
        "rank": np.tile(np.arange(1, depth + 1), runs * queries),
    }


def make(size: Size, seed: int) -> Inputs:
    """Write the codes as columns of str objects, one object per distinct label."""
    drawn = codes(size, seed)
    columns: Inputs = {"rank": drawn["rank"]}
    for name in ("run", "query", "document"):
        labels = np.array([f"{name[0]}{code}" for code in range(drawn[name].max() + 1)], object)
        columns[name] = labels[drawn[name]].tolist()
    return columns


def make_arrow(size: Size, seed: int) -> Inputs:
    """Write the codes as Arrow columns of text."""
    import pyarrow

    drawn = codes(size, seed)
    columns: Inputs = {"rank": pyarrow.array(drawn["rank"])}
    for name in ("run", "query", "document"):
        labels = pyarrow.array([f"{name[0]}{code}" for code in range(drawn[name].max() + 1)])
        columns[name] = labels.take(pyarrow.array(drawn[name]))
    return columns


def ours(inputs: Inputs) -> Task:
    """Fuse by the public interface."""
    import concordant as cc

    def fuse() -> Ranking:
        prefs = cc.Preferences.from_ranks(
            agent=inputs["run"], instance=inputs["query"], item=inputs["document"], rank=inputs["rank"]
        )
        ranking = cc.rank(prefs, "rrf")
        _ = ranking.order
        return ranking

    return Task(fuse, answer)


def answer(ranking: Ranking) -> Answer:
    """Read instance, item and score in order; labels are a letter and a number."""
    assert ranking.instances is not None
    instance = np.array([int(label[1:]) for label in ranking.instances])
    item = np.array([int(label[1:]) for label in ranking.vocabulary])
    return {
        "instance": np.repeat(instance, np.diff(ranking.slot_ptr)),
        "item": item[ranking.ranked_item],
        "score": ranking.score[ranking.order],
    }


TEXT = Work(
    "rrf", "reciprocal rank fusion from columns of str objects", SIZES, make, ours, {"plain_python": 5}, is_same_ranking
)
ARROW = "the same from Arrow columns (the loop gets str objects)"
WORKS = (TEXT, TEXT.but("rrf-arrow", ARROW, make=make_arrow, rivals={"plain_python": 8}))
