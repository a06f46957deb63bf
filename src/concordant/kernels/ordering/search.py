"""Exact and heuristic search for consensus orders (NumPy reference of search.cpp).

Problem q owns items ptr[q]:ptr[q + 1] and a square block of the flat matrices: ``before`` at (i, j) is the cost of
ranking i before j, ``tied`` that of tying them. Costs are integers stored as floats, so sums are exact. An empty
``tied`` means that ties are not allowed. Items of a problem are numbered from 0, except in ``split_blocks``.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.layouts import blocks_of, insertion_order
from concordant.types import Bools, Floats, Int32s, Int64s

__all__ = [
    "best_orders",
    "best_weak_orders",
    "bucket_orders",
    "insertion_orders",
    "pivot_orders",
    "split_blocks",
    "violated_triangles",
]


def split_blocks(ptr: Int64s, before: Floats, tied: Floats, start: Int64s) -> tuple[Int64s, Int64s]:
    """Split every problem into blocks that can be ordered separately: (items in order, where blocks start).

    The graph has an edge from an item to another unless ranking the other first has the lowest cost. Blocks are its
    strongly connected components in topological order, with ``start`` to break ties. Items are numbered over all
    problems.
    """
    from scipy.sparse.csgraph import connected_components

    order, ends = [], [0]
    for span, (cost, tie) in blocks_of(ptr, before, tied):
        items = start[span] - span.start
        cost = cost[np.ix_(items, items)]
        best = np.minimum(cost, tie[np.ix_(items, items)]) if len(tied) else cost
        leads = best < cost.T
        np.fill_diagonal(leads, False)
        if not len(items):
            continue
        n, component = connected_components(leads, directed=True, connection="strong")
        between = np.zeros((n, n), bool)
        np.logical_or.at(between, (component[:, None], component[None, :]), leads)
        np.fill_diagonal(between, False)
        first = np.array([np.flatnonzero(component == c)[0] for c in range(n)])
        remaining = set(range(n))
        while remaining:
            free = [c for c in remaining if not any(between[c2, c] for c2 in remaining)]
            chosen = min(free, key=first.__getitem__)
            remaining.remove(chosen)
            order.append(items[component == chosen] + span.start)
            ends.append(ends[-1] + len(order[-1]))
    return np.concatenate([np.zeros(0, np.int64), *order]), np.array(ends, np.int64)


def best_orders(ptr: Int64s, before: Floats) -> tuple[Int64s, Floats, Floats]:
    """Order every problem at lowest cost, by dynamic programming over sets: (orders, costs, number of optimal orders).

    ``best[set]`` is the lowest cost of ordering a set of items (a bit mask) first.
    """
    order, totals, ways = [], [], []
    for span, (cost,) in blocks_of(ptr, before):
        m = span.stop - span.start
        sets = np.arange(1 << m)
        member = (sets[:, None] >> np.arange(m)) & 1
        ahead = member.astype(np.float64) @ cost  # cost of the set before each item
        best, count = np.zeros(1 << m), np.ones(1 << m)
        by_size = np.argsort(member.sum(axis=1), kind="stable")
        sizes = np.searchsorted(member.sum(axis=1)[by_size], np.arange(m + 2))
        for size in range(1, m + 1):
            of_size = by_size[sizes[size] : sizes[size + 1]]
            without = of_size[:, None] & ~(1 << np.arange(m))
            value = best[without] + ahead[without, np.arange(m)]
            value[member[of_size] == 0] = np.inf
            best[of_size] = value.min(axis=1)
            count[of_size] = np.where(value == best[of_size][:, None], count[without], 0).sum(axis=1)
        places, rest = np.zeros(m, np.int64), (1 << m) - 1
        for place in range(m - 1, -1, -1):
            without = rest & ~(1 << np.arange(m))
            value = np.where(without != rest, best[without] + ahead[without, np.arange(m)], np.inf)
            places[place] = np.flatnonzero(value == best[rest])[-1]
            rest = int(without[places[place]])
        order.append(places)
        totals.append(best[-1])
        ways.append(count[-1])
    return np.concatenate([np.zeros(0, np.int64), *order]), np.array(totals), np.array(ways)


def best_weak_orders(ptr: Int64s, before: Floats, tied: Floats) -> tuple[Int64s, Floats, Floats]:
    """Order every problem at lowest cost, with ties, by dynamic programming: (tiers, costs, number of optima).

    ``best[set]`` is the lowest cost of ranking a set of items (a bit mask) first, and ``last[set]`` its last tier then.
    """
    tiers, totals, ways = [], [], []
    for span, (cost, tie) in blocks_of(ptr, before, tied):
        m = span.stop - span.start
        sets = np.arange(1 << m)
        member = ((sets[:, None] >> np.arange(m)) & 1).astype(np.float64)
        inner = ((member @ (tie - np.diag(np.diag(tie)))) * member).sum(axis=1) / 2
        best, count = np.full(1 << m, np.inf), np.zeros(1 << m)
        last = np.zeros(1 << m, np.int64)
        best[0], count[0] = 0, 1
        for head in range((1 << m) - 1):
            group = sets[(sets & head == 0) & (sets > 0)]
            value = best[head] + member[group] @ (member[head] @ cost) + inner[group]
            target = head | group
            better = value < best[target]
            best[target[better]], count[target[better]], last[target[better]] = value[better], 0, group[better]
            count[target[value == best[target]]] += count[head]
        last_tiers, rest = [], (1 << m) - 1
        while rest:
            last_tiers.append(int(last[rest]))
            rest &= ~last_tiers[-1]
        tier = np.zeros(m, np.int64)
        for level, group_set in enumerate(reversed(last_tiers)):
            tier[(group_set >> np.arange(m)) & 1 == 1] = level
        tiers.append(tier)
        totals.append(best[-1])
        ways.append(count[-1])
    return np.concatenate([np.zeros(0, np.int64), *tiers]), np.array(totals), np.array(ways)


def pivot_orders(ptr: Int64s, chance: Floats, priority: Floats, draw: Floats) -> Int64s:
    """Sort by quicksort with the item of lowest priority as pivot; one order per row of priorities.

    An item goes left of the pivot if its probability of preceding it exceeds the number drawn for the pair. Without
    draws (no columns) it goes left above one half, and at one half if it has the smaller number.
    """
    orders = np.zeros(priority.shape, np.int64)
    offset = 0
    for span, (block,) in blocks_of(ptr, chance):
        m = span.stop - span.start
        for r in range(len(priority)):
            if draw.shape[1]:
                left = draw[r, offset : offset + m * m].reshape(m, m) < block
            else:
                number = np.arange(m)
                left = (block > 0.5) | ((block == 0.5) & (number[:, None] < number))
            orders[r, span] = _pivot(np.arange(m), priority[r, span], left)
        offset += m * m
    return orders


def _pivot(items: Int64s, priority: Floats, left: Bools) -> Int64s:
    """Sort items around the one of lowest priority, then both sides in the same way; ``left[i, p]``: i goes left of
    p.
    """
    if len(items) < 2:
        return items
    pivot = items[np.argmin(priority[items])]
    others = items[items != pivot]
    goes_left = left[others, pivot]
    parts = (_pivot(others[goes_left], priority, left), [pivot], _pivot(others[~goes_left], priority, left))
    return np.concatenate(parts).astype(np.int64)


def insertion_orders(ptr: Int64s, before: Floats, sequence: Int64s) -> Int64s:
    """Insert the items of each sequence at the end; each moves up while the majority prefers it to the item above."""
    orders = np.zeros(sequence.shape, np.int64)
    for span, (cost,) in blocks_of(ptr, before):
        for r in range(len(sequence)):
            orders[r, span] = insertion_order(sequence[r, span].tolist(), cost < cost.T)
    return orders


def bucket_orders(ptr: Int64s, before: Floats, tied: Floats, order: Int64s, is_greedy: bool) -> Int64s:
    """Merge adjacent items of each order into tiers at lowest cost: exactly, or greedily from the top."""
    tier = np.zeros(len(order), np.int64)
    for span, (cost, tie) in blocks_of(ptr, before, tied):
        own_order = order[span]
        m = len(own_order)
        gain = (tie - cost)[np.ix_(own_order, own_order)]  # of tying a pair instead of keeping its order
        start = np.arange(m)
        if is_greedy:
            for b in range(1, m):
                first = start[b - 1]
                start[b] = first if gain[first:b, b].sum() < 0 else b
            level = np.cumsum(start == np.arange(m)) - 1
        else:
            # best[b]: lowest cost change of the first b items; inner[a]: of one tier from item a to item b
            best, inner, level = np.zeros(m + 1), np.zeros(m), np.zeros(m, np.int64)
            for b in range(m):
                inner[:b] += np.cumsum(gain[:b, b][::-1])[::-1]
                value = (best[: b + 1] + inner[: b + 1])[::-1]
                start[b] = b - np.argmin(value)
                best[b + 1] = value.min()
            end = m
            while end:
                end = int(start[end - 1])
                level[end] += 1
            level = np.cumsum(level) - 1
        tier[span][own_order] = level
    return tier


def violated_triangles(
    x: Floats, tolerance: float, per_pair: int, is_cyclic: bool, begin: int, end: int
) -> tuple[Int32s, Int32s, Int32s]:
    """Find triples with x(i, j) + x(j, k) - x(i, k) > 1 + tolerance: (i, j, k), the most violated first.

    Each pair is in at most ``per_pair`` of them. With x(i, j) + x(j, i) = 1 (``is_cyclic``) the three rotations of a
    cycle are equivalent: only the one that starts with the smallest item is listed. i is in ``range(begin, end)``.
    """
    n = len(x)
    violated: list[tuple[float, int, int, int]] = []
    item = np.arange(n)
    for i in range(begin, min(end, n)):
        first = x[i] - 1 - tolerance
        excess = (first[:, None] + x) - x[i]
        allowed = (excess > 0) & (first > -1)[:, None] & (item[:, None] != item)
        allowed[i, :] = allowed[:, i] = False
        if is_cyclic:
            allowed[:i, :] = allowed[:, :i] = False
        j, k = np.nonzero(allowed)
        violated.extend(zip(excess[j, k].tolist(), [i] * len(j), j.tolist(), k.tolist(), strict=True))
    violated.sort(key=lambda cut: -cut[0])
    used = np.zeros((n, n), np.int64)
    chosen = []
    for _, u, v, w in violated:
        pairs = [(min(a, b), max(a, b)) for a, b in ((u, v), (v, w), (u, w))]
        if all(used[pair] < per_pair for pair in pairs):
            for pair in pairs:
                used[pair] += 1
            chosen.append((u, v, w))
    first, second, third = np.ascontiguousarray(np.array(chosen, np.int32).reshape(-1, 3).T)
    return first, second, third
