"""Orders from preference matrices (NumPy reference of ordering.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.layouts import blocks_of
from concordant.types import Floats, Int64s

__all__ = ["greedy_orders"]


def greedy_orders(ptr: Int64s, preference: Floats) -> Int64s:
    """Order every problem by repeatedly taking the item with the largest net preference, the first in a tie."""
    orders = [_order_one(block) for _, (block,) in blocks_of(ptr, preference)]
    return np.concatenate([np.zeros(0, np.int64), *orders])


def _order_one(preference: Floats) -> Int64s:
    """Return the greedy order of one problem, best first."""
    margin = preference - preference.T
    net = margin.cumsum(axis=1)[:, -1] if len(margin) else np.zeros(0)  # summed in the same order as the compiled one
    order = np.zeros(len(net), np.int64)
    for place in range(len(net)):
        order[place] = taken = int(np.argmax(net))
        net += margin[taken]
        net[taken] = -np.inf
    return order
