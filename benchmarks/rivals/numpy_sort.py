"""NumPy's sort as a yardstick: what one pass of sorting costs."""

from __future__ import annotations

import numpy as np

from benchmarks.core import Answer, Inputs, Task


def lehmer_median(inputs: Inputs) -> Task:
    """Sort every column of the codes, which are made beforehand, contiguous in memory."""
    from concordant.aggregate.distance.lehmer import encode

    columns = np.ascontiguousarray(encode(inputs["orders"]).T)

    def answer(columns_in_order: np.ndarray) -> Answer:
        order: list[int] = []
        for item, code in enumerate(columns_in_order[:, (columns.shape[1] - 1) // 2].tolist()):
            order.insert(item - code, item)
        return {"order": np.array(order)}

    return Task(lambda: np.sort(columns, axis=1), answer)
