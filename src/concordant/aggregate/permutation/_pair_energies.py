"""Distributions over orders whose log-probability is a sum over pairs: exact for few items, sampled for many.

An order has probability proportional to exp(-sum of cost(i, j) over the pairs with i before j). ``cost`` has an m x m
matrix per instance.

- Up to ``EXACT`` items, sums over all m! orders come from sums over the 2^m sets of items that can come first, forwards
  (how a set is reached) and backwards (what follows it).
- For more items, orders are sampled by block Gibbs steps: adjacent items a and b are put in the order a, b with
  probability 1 / (1 + exp(cost(a, b) - cost(b, a))). Such a swap changes no other pair, so all pairs that start at
  even places are redrawn at once, then those at odd places. Random numbers are indexed by position within the
  instance, so the sample of an instance does not depend on the other instances.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from concordant.aggregate.matrices import stacks
from concordant.ballots.segments import first_of, number_inside, pointer, segment_index
from concordant.support import progress
from concordant.types import Floats, Int64s

EXACT = 8  # items up to which all orders are summed over
CHAINS = 8
FORBIDDEN = 1e6  # the cost of an order that cannot occur
STATES_AT_ONCE = 2_000_000
BURN_IN = 0.25  # share of the sweeps that are not counted


class Sets(NamedTuple):
    """All sets of m items as bit masks: the items in each set, and the sets of each size."""

    has: Floats
    by_size: tuple[Int64s, ...]
    members: tuple[Int64s, ...]
    """By size: the items of each set, a row per set."""
    others: tuple[Int64s, ...]
    """By size: the items that each set lacks."""


@lru_cache(maxsize=EXACT + 1)
def _sets(m: int) -> Sets:
    masks = np.arange(1 << m)
    has = (masks[:, None] >> np.arange(m)) & 1
    by_size = tuple(masks[has.sum(axis=1) == k] for k in range(m + 1))
    members = tuple(np.nonzero(has[sets])[1].reshape(len(sets), -1) for sets in by_size)
    others = tuple(np.nonzero(1 - has[sets])[1].reshape(len(sets), -1) for sets in by_size)
    return Sets(has.astype(np.float64), by_size, members, others)


def summed(cost: Floats) -> tuple[Floats, Floats]:
    """Return, for matrices of one size (instances x m x m), the log-normaliser and P(row before column)."""
    step = max(1, STATES_AT_ONCE // (cost.shape[1] << cost.shape[1]))
    parts = [_summed(cost[start : start + step]) for start in range(0, len(cost), step)]
    log_z, p_before = zip(*parts, strict=True)
    return np.concatenate(log_z), np.concatenate(p_before)


def _summed(cost: Floats) -> tuple[Floats, Floats]:
    n, m, _ = cost.shape
    sets, items = _sets(m), np.arange(m)
    joining = sets.has @ cost  # of an item behind a set
    forward, backward = np.zeros((n, 1 << m)), np.zeros((n, 1 << m))
    for some, member in zip(sets.by_size[1:], sets.members[1:], strict=True):
        before = some[:, None] - (1 << member)
        forward[:, some] = np.logaddexp.reduce(forward[:, before] - joining[:, before, member], axis=2)
    for some, other in zip(sets.by_size[-2::-1], sets.others[-2::-1], strict=True):
        after = some[:, None] + (1 << other)
        backward[:, some] = np.logaddexp.reduce(backward[:, after] - joining[:, some[:, None], other], axis=2)
    log_z = forward[:, -1]
    after = np.arange(1 << m)[:, None] | (1 << items)
    log_chance = forward[:, :, None] - joining + backward[:, after] - log_z[:, None, None]
    is_next = np.exp(np.where(sets.has > 0, -np.inf, log_chance))  # this set comes first, then this item
    return log_z, np.asarray(sets.has.T @ is_next)


def mean_ranks(slot_ptr: Int64s, cost: Floats, sweeps: int, seed: int | None) -> Floats:
    """Return the mean rank of every slot; ``cost`` are the flat matrices of all instances.

    Instances with more than ``EXACT`` items are sampled; without sweeps their ranks are all 1.
    """
    rank = np.ones(int(slot_ptr[-1]))
    for stack in stacks(slot_ptr):
        if stack.size <= EXACT:
            rank[stack.slots] = 1 + summed(stack.take(cost))[1].sum(axis=1)
    is_large = np.diff(slot_ptr) > EXACT
    if is_large.any() and sweeps:
        slots = np.flatnonzero(is_large[segment_index(slot_ptr)])
        ptr, cells = pointer(np.diff(slot_ptr)[is_large]), pointer(np.diff(slot_ptr) ** 2)[:-1][is_large]
        rank[slots] = _sampled_ranks(ptr, cells, cost, sweeps, np.random.default_rng(seed))
    return rank


def _sampled_ranks(ptr: Int64s, cells: Int64s, cost: Floats, sweeps: int, rng: np.random.Generator) -> Floats:
    """Return mean ranks over Gibbs samples; ``cells`` is the start of the matrix of each instance in ``cost``."""
    size, inside, instance = np.diff(ptr), number_inside(ptr), segment_index(ptr)
    width, corner, first = size[instance], cells[instance], first_of(ptr)
    order = np.tile(_start(ptr, cells, cost), (CHAINS, 1))
    lefts = [np.flatnonzero((inside % 2 == parity) & (inside + 1 < width)) for parity in (0, 1)]
    total, n_counted = np.zeros(len(inside)), 0
    for sweep in progress.steps(range(sweeps), "Gibbs sampling"):
        for left in lefts:
            a, b = order[:, left], order[:, left + 1]
            rise = cost[corner[left] + a * width[left] + b] - cost[corner[left] + b * width[left] + a]
            uniform = rng.random((CHAINS, int(size.max())))[:, inside[left]]
            keeps = uniform < 0.5 * (1 - np.tanh(rise / 2))
            order[:, left], order[:, left + 1] = np.where(keeps, a, b), np.where(keeps, b, a)
        if sweep >= int(BURN_IN * sweeps):
            total += np.bincount((order + first).reshape(-1), np.tile(inside + 1.0, CHAINS), len(inside))
            n_counted += CHAINS
    return total / max(n_counted, 1)


def _start(ptr: Int64s, cells: Int64s, cost: Floats) -> Int64s:
    """Return the items of every instance in the order of their net cost of being first, smallest first."""
    order = np.empty(int(ptr[-1]), np.int64)
    for q, m in enumerate(np.diff(ptr).tolist()):
        matrix = cost[cells[q] : cells[q] + m * m].reshape(m, m)
        order[ptr[q] : ptr[q + 1]] = np.argsort(matrix.sum(axis=1) - matrix.sum(axis=0), kind="stable")
    return order
