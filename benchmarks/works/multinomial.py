"""The multinomial preference model: many queries at once with adherences, and one large table of ratings.

The queries have the shape of fold 1 of MQ2007-agg (336 queries, 13,652 documents, 21 lists that each miss a third of
the documents). Building the preferences is not timed: the published figure (4.0 s) does not count reading either.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, sizes

if TYPE_CHECKING:
    from concordant.ranking import Ranking

QUERIES = sizes("queries documents lists", tiny=(3, 8, 4), small=(50, 40, 21), full=(336, 41, 21))
RATINGS = sizes("items users ratings", tiny=(30, 20, 10), small=(10_000, 10_000, 100), full=(100_000, 100_000, 100))


def make_queries(size: Size, seed: int) -> Inputs:
    """Draw noisy rankings of every query's documents with gaps, and an adherence for every list."""
    import concordant as cc

    rng = np.random.default_rng(seed)
    n_queries, n_lists = size["queries"], size["lists"]
    columns: dict[str, list[np.ndarray]] = {"agent": [], "item": [], "rank": [], "instance": []}
    for query in range(n_queries):
        n = int(rng.integers(size["documents"] // 2, 3 * size["documents"] // 2 + 1))
        quality = rng.normal(size=n)
        for agent in range(n_lists):
            found = np.flatnonzero(rng.random(n) < 0.65)
            order = found[np.argsort(-(quality[found] + 2 * rng.normal(size=len(found))))]
            columns["agent"].append(np.full(len(order), agent))
            columns["item"].append(1000 * query + order)
            columns["rank"].append(np.cumsum(rng.integers(1, 20, len(order))))
            columns["instance"].append(np.full(len(order), query))
    prefs = cc.Preferences.from_ranks(**{name: np.concatenate(parts) for name, parts in columns.items()})
    _ = prefs.entry_slot
    return {"prefs": prefs, "theta": {str(agent): float(rng.random()) for agent in range(n_lists)}}


def make_ratings(size: Size, seed: int) -> Inputs:
    """Draw ratings of random items, as many by every user."""
    import concordant as cc

    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(size["users"]), size["ratings"])
    item = rng.integers(0, size["items"], len(user))
    key = np.unique(user * np.int64(size["items"]) + item)
    prefs = cc.Preferences.from_ratings(
        key // size["items"], key % size["items"], rng.integers(1, 6, len(key)).astype(float)
    )
    _ = prefs.entry_slot
    return {"prefs": prefs, "theta": None}


def ours(variances: str, inputs: Inputs) -> Task:
    """Rank by the public interface."""
    import concordant as cc

    method = cc.MPM(variances=variances)
    if inputs["theta"] is not None:
        method = method.with_learnt(theta=inputs["theta"])

    def rank() -> Ranking:
        ranking = method.rank(inputs["prefs"])
        _ = ranking.order
        return ranking

    return Task(rank, answer)


def answer(ranking: Ranking) -> Answer:
    """Read the scores by slot."""
    return {"score": ranking.score}


SCORES = Work(
    "mpm-queries", "theta-MPM over many queries: scores", QUERIES, make_queries, partial(ours, "equal"), budget=0.1
)
BOTH = "theta-MPM over many queries: scores and variances"
WORKS = (
    SCORES,
    SCORES.but("mpm-variances", BOTH, ours=partial(ours, "learnt"), budget=0.4),
    SCORES.but("mpm-ratings", "MPM of one large table of ratings", sizes=RATINGS, make=make_ratings, budget=2.0),
)
