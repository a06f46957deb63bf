"""Exact consensus of all blocks: dynamic programming for small ones, branch and cut for the others.

A block is done when its cheapest ranking is proven cheapest: no whole number of steps lies between the bound and it.
The step is the greatest common divisor by which totals can differ.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from concordant import kernels
from concordant.aggregate.distance._blocks import Blocks, places
from concordant.aggregate.distance._branching import BranchAndCut
from concordant.aggregate.distance._relaxation import Relaxation
from concordant.types import Floats, Int64s

LARGEST_TABLE = 18  # items of a block ordered by dynamic programming over sets, 2^18 of them
LARGEST_WEAK_TABLE = 14  # with ties, 3^14 steps
SHAKES_PER_ITEM, MOST_SHAKES = 10, 1000
MOVES_PER_SHAKE = 3
PRECISION = 1e-8  # of the cost, where weights have no common unit

Progress = Callable[[float, float], None]
"""Called with the lower bound and the least cost known of a block, in units, as they change."""
BlockProgress = Callable[[int, float, float], None]
"""The same, with the number of the block."""


@dataclass(frozen=True)
class Exact:
    """What is known of every block: tiers inside it, cost and bound in units, and how many rankings cost that.

    ``ways`` is NaN where they were not counted.
    """

    tier: Int64s
    cost: Floats
    bound: Floats
    ways: Floats


def solve_blocks(blocks: Blocks, allow_ties: bool, deadline: float, seed: int | None, progress: BlockProgress) -> Exact:
    """Order every block at least cost."""
    size, n = blocks.size, len(blocks.size)
    tier = np.zeros(len(blocks.slot), np.int64)
    cost, bound, ways = np.zeros(n), np.zeros(n), np.ones(n)
    small = np.flatnonzero(size <= (LARGEST_WEAK_TABLE if allow_ties else LARGEST_TABLE))
    ptr, before, tied = blocks.select(small)
    if allow_ties:
        found, cost[small], ways[small] = kernels.best_weak_orders(ptr, before, tied)
    else:
        order, cost[small], ways[small] = kernels.best_orders(ptr, before)
        found = places(ptr, order)
    bound[small] = cost[small]
    tier[np.isin(np.repeat(np.arange(n), size), small)] = found
    for block in np.flatnonzero(~np.isin(np.arange(n), small)).tolist():
        done = solve_block(*blocks.matrices(block), allow_ties, deadline, seed, partial(progress, block))
        tier[blocks.ptr[block] : blocks.ptr[block + 1]] = done.tier
        cost[block], bound[block], ways[block] = done.cost[0], done.bound[0], done.ways[0]
    return Exact(tier, cost, bound, ways)


def solve_block(
    before: Floats, tied: Floats, allow_ties: bool, deadline: float, seed: int | None, progress: Progress
) -> Exact:
    """Order one block by local search for a good ranking and branch and cut for the proof."""
    search = start_search(before, tied, allow_ties, deadline, seed, progress)
    search.run()
    return Exact(search.best, np.array([search.cost]), np.array([search.bound]), np.array([np.nan]))


def start_search(
    before: Floats, tied: Floats, allow_ties: bool, deadline: float, seed: int | None, progress: Progress
) -> BranchAndCut:
    """Prepare branch and cut from the best ranking local search finds."""
    ptr = np.array([0, len(before)])
    flat, ties = np.ascontiguousarray(before).reshape(-1), np.ascontiguousarray(tied).reshape(-1)
    draw = np.random.default_rng(seed).random((min(SHAKES_PER_ITEM * len(before), MOST_SHAKES), 2 * MOVES_PER_SHAKE))

    def improve(tier: Int64s, draw: Floats = draw[:0]) -> tuple[Int64s, float]:
        found = search_tiers(ptr, flat, ties, tier, draw, allow_ties)
        return found, float(kernels.ranking_totals(ptr, flat, ties, found[None, :])[0, 0])

    best, cost = improve(np.arange(len(before)), draw)
    programme = Relaxation(before, tied if allow_ties else None, deadline)
    step = max(_step(programme.cost) * (1 - 1e-6), PRECISION * cost)
    return BranchAndCut(programme, best, cost, step, improve, progress)


def search_tiers(ptr: Int64s, before: Floats, tied: Floats, tier: Int64s, draw: Floats, allow_ties: bool) -> Int64s:
    """Improve rankings of many problems by local search, from their tiers to their tiers."""
    order = _orders(ptr, tier)
    order = kernels.search_orders(ptr, before, order, draw)
    if not allow_ties:
        return places(ptr, order)
    joined = kernels.bucket_orders(ptr, before, tied, order, False)
    starts = [joined] if len(draw) else [joined, _dense(ptr, tier)]
    found = [kernels.search_weak_orders(ptr, before, tied, start, draw) for start in starts]
    if len(found) == 1:
        return found[0]
    totals = kernels.ranking_totals(ptr, before, tied, np.stack(found))
    return np.where(np.repeat(totals[0] <= totals[1], np.diff(ptr)), *found)


def _orders(ptr: Int64s, tier: Int64s) -> Int64s:
    problem = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    return np.asarray(np.lexsort((tier, problem)) - np.repeat(ptr[:-1], np.diff(ptr)))


def _dense(ptr: Int64s, tier: Int64s) -> Int64s:
    """Renumber tiers 0, 1, 2, … inside every problem."""
    problem = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    order = np.lexsort((tier, problem))
    rises = np.ones(len(tier), np.int64)
    rises[1:] = (np.diff(tier[order]) != 0) | (np.diff(problem[order]) != 0)
    counted = np.cumsum(rises) - 1
    dense = np.empty_like(tier)
    dense[order] = counted - np.repeat(counted[ptr[:-1][np.diff(ptr) > 0]], np.diff(ptr)[np.diff(ptr) > 0])
    return dense


def _step(cost: Floats) -> float:
    """Return the greatest common divisor of all costs."""
    return float(np.gcd.reduce(np.abs(cost).astype(np.int64), initial=0)) or 1.0


def time_left(seconds: float | None) -> float:
    """Turn a time limit into a moment of the clock."""
    return np.inf if seconds is None else time.perf_counter() + seconds
