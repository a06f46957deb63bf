"""Exact consensus of all blocks: dynamic programming for small blocks, branch and cut for the others.

A block is solved when the gap between the cost of its best ranking and the lower bound is smaller than a step, the
greatest common divisor of all cost differences. When the time limit is reached, the remaining blocks keep the order by
net wins, or the result of local search, and the sum of the lowest pair costs as lower bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from concordant import kernels
from concordant.ballots.segments import first_of, is_new, places, segment_index
from concordant.solvers.ordering.blocks import Blocks, split
from concordant.solvers.ordering.branching import BranchAndCut
from concordant.solvers.ordering.costs import PairCosts
from concordant.solvers.ordering.deadline import Deadline
from concordant.solvers.ordering.relaxation import Relaxation, is_too_large, min_cost
from concordant.support.progress import steps
from concordant.types import Floats, Int64s

LARGEST_TABLE = 18  # items of a block ordered by dynamic programming over sets, 2^18 of them
LARGEST_WEAK_TABLE = 14  # with ties, 3^14 steps
SHAKES_PER_ITEM, MAX_SHAKES = 10, 1000
MOVES_PER_SHAKE = 3
STEPS_AT_ONCE = 2e8  # of dynamic programming, between two looks at the clock: about half a second
PAIRS_AT_ONCE = 2e7  # of local search
PRECISION = 1e-8  # of the cost, where weights have no common unit
PREFERENCE_UNIT = 1e-10  # in which shares of preference are counted

Progress = Callable[[float, float], None]
"""Called with the lower bound and the lowest known cost of a block, in units, when they change."""
BlockProgress = Callable[[int, float, float], None]
"""The same, with the number of the block."""


@dataclass(frozen=True)
class Exact:
    """For every block: its tiers, its cost and lower bound in units, and the number of optimal rankings.

    ``ways`` is NaN where optimal rankings were not counted.
    """

    tier: Int64s
    cost: Floats
    bound: Floats
    ways: Floats


def solve_blocks(blocks: Blocks, deadline: Deadline, seed: int | None, progress: BlockProgress) -> Exact:
    """Find the cheapest order of every block, small blocks first, within the time limit."""
    size, n, allow_ties = blocks.size, len(blocks.size), blocks.allow_ties
    tier = blocks.start.copy()
    cost, bound, ways = np.zeros(n), np.zeros(n), np.full(n, np.nan)
    by_size = np.argsort(size, kind="stable")
    is_small = size[by_size] <= (LARGEST_WEAK_TABLE if allow_ties else LARGEST_TABLE)
    small, large = by_size[is_small], by_size[~is_small].tolist()
    work = np.cumsum((3.0 if allow_ties else 2.0) ** size[small] * size[small]) // STEPS_AT_ONCE
    parts = np.split(small, np.flatnonzero(np.diff(work)) + 1)
    for k, part in enumerate(parts):
        if k and deadline.is_over():
            large = [*np.concatenate(parts[k:]).tolist(), *large]
            break
        part = np.sort(part)
        chosen = np.repeat(np.isin(np.arange(n), part), size)
        tier[chosen], cost[part], ways[part] = _solve_tables(blocks, part)
        bound[part] = cost[part]
    for k, block in enumerate(steps(large)):
        share = deadline.share(len(large) - k)
        done = solve_block(*blocks.matrices(block), allow_ties, share, seed, partial(progress, block))
        tier[blocks.ptr[block] : blocks.ptr[block + 1]] = done.tier
        cost[block], bound[block] = done.cost[0], done.bound[0]
    return Exact(tier, cost, bound, ways)


def kemeny_orders(ptr: Int64s, preference: Floats, time_limit: float | None = None) -> tuple[Int64s, bool]:
    """Return the order with the largest AGREE in every problem (see ``greedy``), and whether all are optimal."""
    against = np.rint(kernels.transpose_matrices(ptr, preference) / PREFERENCE_UNIT)
    tied = np.full(len(against), np.rint(0.5 / PREFERENCE_UNIT))
    costs = PairCosts(ptr, against, tied, np.full(len(ptr) - 1, PREFERENCE_UNIT))
    blocks = split(costs, allow_ties=False)
    solved = solve_blocks(blocks, Deadline(time_limit), 0, lambda _block, _bound, _cost: None)
    is_proven = bool((solved.cost - solved.bound <= PRECISION * solved.cost).all())
    return costs.orders(blocks.join(solved.tier)), is_proven


def _solve_tables(blocks: Blocks, chosen: Int64s) -> tuple[Int64s, Floats, Floats]:
    """Order some blocks by dynamic programming; return tiers, costs, and how many rankings are optimal."""
    ptr, before, tied = blocks.select(chosen)
    if blocks.allow_ties:
        return kernels.best_weak_orders(ptr, before, tied)
    order, cost, ways = kernels.best_orders(ptr, before)
    return places(ptr, order + first_of(ptr)), cost, ways


def solve_block(
    before: Floats, tied: Floats, allow_ties: bool, deadline: Deadline, seed: int | None, progress: Progress
) -> Exact:
    """Order one block: local search for a good ranking, then branch and cut for the proof."""
    shakes = min(SHAKES_PER_ITEM * len(before), MAX_SHAKES)
    draw = np.random.default_rng(seed).random((shakes, 2 * MOVES_PER_SHAKE))
    flat = _flat(before, tied)
    is_large = is_too_large(len(before), allow_ties)
    best = search_tiers(*flat, np.arange(len(before)), draw, allow_ties, deadline if is_large else deadline.share(2))
    cost = float(kernels.ranking_totals(*flat, best[None, :])[0, 0])
    bound = min_cost(before, tied if allow_ties else None)
    progress(bound, cost)
    if not is_large and not deadline.is_over():
        search = start_search(before, tied, allow_ties, deadline, best, cost, progress)
        search.run()
        best, cost, bound = search.best, search.cost, max(search.bound, bound)
    return Exact(best, np.array([cost]), np.array([bound]), np.array([np.nan]))


def start_search(
    before: Floats, tied: Floats, allow_ties: bool, deadline: Deadline, best: Int64s, cost: float, progress: Progress
) -> BranchAndCut:
    """Prepare branch and cut, starting from the best ranking known."""
    flat = _flat(before, tied)

    def improve(tier: Int64s) -> tuple[Int64s, float]:
        """Improve a ranking by local search without perturbations; return its tiers and cost."""
        improved = search_tiers(*flat, tier, np.zeros((0, 2)), allow_ties)
        return improved, float(kernels.ranking_totals(*flat, improved[None, :])[0, 0])

    programme = Relaxation(before, tied if allow_ties else None, deadline)
    step = max(_step(programme.cost) * (1 - 1e-6), PRECISION * cost)
    return BranchAndCut(programme, best, cost, step, improve, progress)


def _flat(before: Floats, tied: Floats) -> tuple[Int64s, Floats, Floats]:
    """Return the pointers and flat matrices of one block, as the kernels expect them."""
    ptr = np.array([0, len(before)])
    return ptr, np.ascontiguousarray(before).reshape(-1), np.ascontiguousarray(tied).reshape(-1)


def search_tiers(
    ptr: Int64s,
    before: Floats,
    tied: Floats,
    tier: Int64s,
    draw: Floats,
    allow_ties: bool,
    deadline: Deadline | None = None,
) -> Int64s:
    """Improve the rankings of many problems by local search (tiers in, tiers out), within the time limit.

    Every row of ``draw`` holds the random numbers of one perturbation. With ties, the search over strict orders gets a
    third of the time; its result is split into tiers and improved again.
    """
    problem, first = segment_index(ptr), first_of(ptr)
    order = np.lexsort((tier, problem)) - first
    order_deadline = deadline.share(3) if deadline is not None and allow_ties else deadline
    order = _in_parts(partial(kernels.search_orders, ptr, before), order, ptr, draw, order_deadline)
    if not allow_ties:
        return places(ptr, order + first)
    joined = kernels.bucket_orders(ptr, before, tied, order, False)
    if deadline is not None and deadline.is_over():
        return joined
    starts = [joined] if len(draw) else [joined, _dense(ptr, tier)]
    search = partial(kernels.search_weak_orders, ptr, before, tied)
    improved = [_in_parts(search, start, ptr, draw, deadline) for start in starts]
    if len(improved) == 1:
        return improved[0]
    totals = kernels.ranking_totals(ptr, before, tied, np.stack(improved))
    return np.where(np.repeat(totals[0] <= totals[1], np.diff(ptr)), *improved)


def _in_parts(
    search: Callable[[Int64s, Floats], Int64s], start: Int64s, ptr: Int64s, draw: Floats, deadline: Deadline | None
) -> Int64s:
    """Search with all perturbations; with a deadline, in batches that give the same result, until it has passed."""
    if deadline is None:
        return search(start, draw)
    step = max(1, int(PAIRS_AT_ONCE // max(int((np.diff(ptr) ** 2).sum()), 1)))
    improved = search(start, draw[:0])
    for done in range(0, len(draw), step):
        if deadline.is_over():
            break
        improved = search(improved, draw[done : done + step])
    return improved


def _dense(ptr: Int64s, tier: Int64s) -> Int64s:
    """Renumber tiers 0, 1, 2, … within every problem."""
    problem = segment_index(ptr)
    order = np.lexsort((tier, problem))
    counted = np.cumsum(is_new(problem[order], tier[order]))
    dense = np.empty_like(tier)
    dense[order] = counted - counted[first_of(ptr)]
    return dense


def _step(cost: Floats) -> float:
    """Return the greatest common divisor of all costs."""
    return float(np.gcd.reduce(np.abs(cost).astype(np.int64), initial=0)) or 1.0
