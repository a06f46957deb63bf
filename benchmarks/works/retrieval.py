"""Retrieval metrics: NDCG@10 and mean average precision of one run, per query."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, is_close, sizes

SIZES = sizes("queries documents", tiny=(5, 30), small=(100, 300), full=(1000, 1000))
METRICS = ["ndcg@10:linear", "map"]  # linear gain, as ranx and trec_eval have it


def make(size: Size, seed: int) -> Inputs:
    """Draw a run and its judgements: one document in ten judged, three in ten of those relevant."""
    rng = np.random.default_rng(seed)
    queries, depth = size["queries"], size["documents"]
    judged = max(1, depth // 10)
    label = np.full((queries, depth), -1, np.int64)  # -1: not judged
    for q in range(queries):
        where = rng.choice(depth, judged, replace=False)
        label[q, where] = np.where(rng.random(judged) < 0.3, rng.integers(1, 4, judged), 0)
    score = rng.normal(size=(queries, depth)) + 0.5 * np.maximum(label, 0)
    return {
        "query": [f"q{q:05d}" for q in range(queries)],
        "document": [[f"d{q * depth + d}" for d in range(depth)] for q in range(queries)],
        "score": score,
        "label": label,
    }


def ours(inputs: Inputs) -> Task:
    """Evaluate built objects: a ranking against labels."""
    import concordant as cc

    depth = inputs["score"].shape[1]
    documents = [document for row in inputs["document"] for document in row]
    queries = np.repeat(np.array(inputs["query"], object), depth).tolist()
    order = np.argsort(-inputs["score"], axis=1, kind="stable")
    ranks = np.argsort(order, axis=1) + 1
    prefs = cc.Preferences.from_ranks(
        agent=["run"] * len(queries), instance=queries, item=documents, rank=ranks.ravel()
    )
    ranking = cc.rank(prefs, "rrf")
    judged = np.flatnonzero(inputs["label"].ravel() >= 0)
    labels = cc.Labels(
        [queries[row] for row in judged], [documents[row] for row in judged], inputs["label"].ravel()[judged]
    )
    return Task(lambda: cc.evaluate(ranking, labels, METRICS), answer)


def answer(result: Any) -> Answer:
    """Read the values per query, in the order of the queries."""
    return dict(zip(("ndcg", "map"), result.per_instance.values(), strict=True))


def ours_arrays(inputs: Inputs) -> Task:
    """Evaluate plain arrays whose rows come in any order."""
    from concordant import metrics

    queries, depth = inputs["score"].shape
    shuffled = np.random.default_rng(0).permutation(queries * depth)
    score = inputs["score"].ravel()[shuffled]
    label = np.maximum(inputs["label"], 0).astype(np.float64).ravel()[shuffled]
    group = np.repeat(np.arange(queries), depth)[shuffled]
    appearance = np.unique(group, return_index=True)[1].argsort().argsort()

    def in_query_order(values: dict[str, np.ndarray]) -> Answer:
        return {name: column[appearance] for name, column in zip(("ndcg", "map"), values.values(), strict=True)}

    return Task(lambda: metrics.evaluate_arrays(score, label, group, METRICS), in_query_order)


OBJECTS = Work(
    "retrieval",
    "NDCG@10 and MAP of built objects",
    SIZES,
    make,
    ours,
    {"plain_python": None, "ranx": 20, "pytrec_eval": 20},
    is_close,
)
WORKS = (
    OBJECTS,
    OBJECTS.but(
        "retrieval-arrays",
        "NDCG@10 and MAP of unsorted arrays (rivals: their built objects)",
        ours=ours_arrays,
        rivals={"plain_python": None, "ranx": 4, "pytrec_eval": 4},
    ),
)
