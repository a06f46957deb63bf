"""LightGBM's lambdarank with its own defaults, one thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.core import Inputs, Task
from benchmarks.works.learning import quality


def _fit(inputs: Inputs) -> Task:
    import lightgbm

    sizes = np.unique(inputs["qid"], return_counts=True)[1]

    def run() -> Any:
        model = lightgbm.LGBMRanker(objective="lambdarank", n_jobs=1, verbose=-1)
        return model.fit(inputs["X"], inputs["y"].astype(int), group=sizes)

    return Task(run, lambda model: quality(inputs, model))


fit_rank_net = fit_list_mle = fit_ordered_partition_ranker = fit_rank_svm = _fit
