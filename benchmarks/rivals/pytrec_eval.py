"""pytrec_eval: the C code of trec_eval on dictionaries."""

from __future__ import annotations

import numpy as np

from benchmarks.core import Answer, Inputs, Task
from benchmarks.rivals.plain_python import dictionaries


def retrieval(inputs: Inputs) -> Task:
    """Evaluate a dictionary of scores by an evaluator built beforehand."""
    import pytrec_eval

    run, judgements = dictionaries(inputs)
    evaluator = pytrec_eval.RelevanceEvaluator(judgements, {"ndcg_cut.10", "map"})

    def answer(values: dict[str, dict[str, float]]) -> Answer:
        per_query = [values[query] for query in run]
        ndcg = np.array([value["ndcg_cut_10"] for value in per_query])
        return {"ndcg": ndcg, "map": np.array([value["map"] for value in per_query])}

    return Task(lambda: evaluator.evaluate(run), answer)


retrieval_arrays = retrieval
