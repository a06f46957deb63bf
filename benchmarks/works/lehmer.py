"""Lehmer code aggregation of permutations, against the yardstick of sorting every column once."""

from __future__ import annotations

from benchmarks.core import Inputs, Size, Task, Work, is_close, sizes


def make(size: Size, seed: int) -> Inputs:
    """Draw uniformly random permutations, int32, one per row."""
    import numpy as np

    rng = np.random.default_rng(seed)
    return {"orders": np.argsort(rng.random((size["rankings"], size["items"])), axis=1).astype(np.int32)}


def ours(inputs: Inputs) -> Task:
    """Take the median of every coordinate, from ballots in memory to the ranking."""
    import numpy as np

    from concordant.aggregate.distance.lehmer import Lehmer
    from concordant.preferences import Preferences

    orders = inputs["orders"]
    n, m = orders.shape
    tier = np.tile(np.arange(m, dtype=np.int32), n)
    prefs = Preferences([f"i{k}" for k in range(m)], np.arange(n + 1) * m, orders.reshape(-1), tier)
    _ = prefs.entry_slot
    method = Lehmer(statistic="median", reference="input")
    return Task(
        lambda: method.rank(prefs), lambda ranking: {"order": np.array([int(label[1:]) for label in ranking.items])}
    )


WORKS = (
    Work(
        "lehmer-median",
        "median of the Lehmer codes; the rival has the codes and sorts every column",
        sizes("rankings items", tiny=(20, 6), small=(10_000, 100), full=(100_000, 100)),
        make,
        ours,
        {"numpy_sort": 2 / 3},
        is_close,
    ),
)
