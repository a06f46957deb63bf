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
