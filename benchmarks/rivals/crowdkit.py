"""crowd-kit: quality control of crowdsourcing."""

from __future__ import annotations

from typing import Any

from benchmarks.core import Answer, Inputs, Task


def dawid_skene(inputs: Inputs) -> Task:
    """Expectation-maximisation on a DataFrame of answers, which its users have to make first."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    def call() -> Any:
        frame = pd.DataFrame({"task": inputs["item"], "worker": inputs["worker"], "label": inputs["answer"]})
        return DawidSkene().fit_predict(frame)

    def answer(found: Any) -> Answer:
        import numpy as np

        category = np.full(inputs["items"], -1.0)
        category[[int(label[1:]) for label in found.index]] = found.to_numpy()
        return {"category": category}

    return Task(call, answer)
