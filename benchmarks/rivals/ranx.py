"""ranx: retrieval evaluation compiled just in time by numba (the warm-up call compiles)."""

from __future__ import annotations

import numpy as np

from benchmarks.core import Answer, Inputs, Task
from benchmarks.rivals.plain_python import dictionaries


def retrieval(inputs: Inputs) -> Task:
    """Evaluate a Run against Qrels, both built beforehand."""
    import ranx

    run, judgements = dictionaries(inputs)
    built = ranx.Qrels(judgements), ranx.Run(run)
    names = ["ndcg@10", "map"]

    def answer(values: dict[str, np.ndarray]) -> Answer:
        return {"ndcg": np.asarray(values[names[0]]), "map": np.asarray(values[names[1]])}

    return Task(lambda: ranx.evaluate(*built, names, return_mean=False, threads=1), answer)


retrieval_arrays = retrieval


def users_fuse_3x10(inputs: Inputs) -> Task:
    """Build a Run of every list and fuse them; scores fall with the place."""
    import ranx

    def call() -> dict[str, float]:
        runs = [
            ranx.Run({"q": {document: 1.0 / place for place, document in enumerate(one, 1)}}) for one in inputs["lists"]
        ]
        return ranx.fuse(runs, norm=None, method="rrf").run["q"]

    def answer(fused: dict[str, float]) -> Answer:
        scored = sorted(dict(fused).items(), key=lambda pair: -pair[1])
        return {
            "instance": np.zeros(len(scored)),
            "item": np.array([int(document[1:]) for document, _ in scored]),
            "score": np.array([score for _, score in scored]),
        }

    return Task(call, answer)


users_fuse_10x10 = users_fuse_10x100 = users_fuse_3x10
