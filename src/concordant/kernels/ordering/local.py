"""Local search for consensus rankings (NumPy reference of local.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.layouts import blocks_of
from concordant.types import Floats, Int64s

__all__ = ["search_orders", "search_weak_orders"]


def search_orders(ptr: Int64s, before: Floats, order: Int64s, draw: Floats) -> Int64s:
    """Improve each order by moving single items; then perturb it per row of draws, unless the cost increases.

    A row holds pairs of numbers in [0, 1): the position to move from, and the one to move to.
    """
    result = np.empty_like(order)
    for span, (cost,) in blocks_of(ptr, before):
        margin = cost - cost.T
        improved, _ = _improve(margin, order[span].tolist())
        best = improved
        for row in draw if len(improved) > 2 else ():
            shaken, change = list(best), 0.0
            for k in range(0, len(row) - 1, 2):
                change += _move(margin, shaken, _pick(row[k], len(improved)), _pick(row[k + 1], len(improved)))
            shaken, gain = _improve(margin, shaken)
            if change + gain <= 0:
                best = shaken
        result[span] = best
    return result


def _pick(uniform: float, n: int) -> int:
    """Return a number below n from a number in [0, 1)."""
    return min(int(uniform * n), n - 1)


def _move(margin: Floats, order: list[int], start: int, to: int) -> float:
    """Move the item at place ``start`` to place ``to`` (in place); return the change of cost."""
    item = order.pop(start)
    order.insert(to, item)
    passed = order[to + 1 : start + 1] if to < start else order[start:to]
    change = margin[item, passed].sum()
    return float(change if to < start else -change)


def _improve(margin: Floats, order: list[int]) -> tuple[list[int], float]:
    """Move items to their best places until no single move lowers the cost; return order and change of cost.

    ``margin`` is the cost of a pair as (row, column) minus its cost reversed.
    """
    m, change, quiet, place = len(order), 0.0, 0, 0
    while quiet < m:
        row = margin[order[place], order]
        left = np.cumsum(row[:place][::-1])
        right = np.cumsum(-row[place + 1 :])
        best, to = 0.0, place
        if len(left) and left.min() < best:
            best, to = left.min(), place - 1 - int(np.argmin(left))
        if len(right) and right.min() < best:
            to = place + 1 + int(np.argmin(right))
        if to == place:
            quiet += 1
        else:
            change += _move(margin, order, place, to)
            quiet = 0
        place = (place + 1) % m
    return order, change


def search_weak_orders(ptr: Int64s, before: Floats, tied: Floats, tier: Int64s, draw: Floats) -> Int64s:
    """Improve each ranking with ties by moving single items into or between tiers; perturb as in ``search_orders``."""
    result = np.empty_like(tier)
    for span, (cost, tie) in blocks_of(ptr, before, tied):
        best, _ = _improve_weak(cost, tie, tier[span].copy())
        m = len(best)
        for row in draw if m > 2 else ():
            shaken, change = best.copy(), 0.0
            for k in range(0, len(row) - 1, 2):
                item = _pick(row[k], m)
                costs = _place_costs(cost, tie, shaken, item)
                place = _pick(row[k + 1], len(costs))
                change += costs[place] - costs[2 * shaken[item] + 1]
                shaken = _put(shaken, item, place)
            shaken, gain = _improve_weak(cost, tie, shaken)
            if change + gain <= 0:
                best = shaken
        result[span] = best
    return result


def _place_costs(cost: Floats, tie: Floats, tier: Int64s, item: int) -> Floats:
    """Return the cost of an item at every place: 2t is a new tier before tier t, 2t + 1 is tier t."""
    count = int(tier.max()) + 1
    others = np.arange(len(tier)) != item
    ahead, level, behind = (
        np.bincount(tier[others], weights=values[others], minlength=count)
        for values in (cost[item], tie[item], cost[:, item])
    )
    in_front = np.append(np.cumsum(ahead[::-1])[::-1], 0.0)
    behind_all = np.concatenate([[0.0], np.cumsum(behind)])
    costs = np.empty(2 * count + 1)
    costs[::2] = behind_all + in_front
    costs[1::2] = behind_all[:-1] + level + in_front[1:]
    return costs


def _put(tier: Int64s, item: int, place: int) -> Int64s:
    """Move an item to a place (numbered as above), and renumber the tiers."""
    old, target = int(tier[item]), place // 2
    was_alone = int((tier == old).sum()) == 1
    if place % 2 == 0:
        tier = tier + (tier >= target)
        old += old >= target
    tier[item] = target
    if was_alone and old != target:
        tier = tier - (tier > old)
    return tier


def _improve_weak(cost: Floats, tie: Floats, tier: Int64s) -> tuple[Int64s, float]:
    """Move items to their best places until no single move lowers the cost; return tiers and change of cost."""
    m, change, quiet, item = len(tier), 0.0, 0, 0
    while quiet < m:
        costs = _place_costs(cost, tie, tier, item)
        current, place = costs[2 * tier[item] + 1], int(np.argmin(costs))
        if costs[place] < current:
            change += float(costs[place] - current)
            tier = _put(tier, item, place)
            quiet = 0
        else:
            quiet += 1
        item = (item + 1) % m
    return tier, change
