"""Whether the optimum is unique, and lists of optimal rankings.

A ranking is optimal exactly if it orders every block at least cost and treats every pair of items from different blocks
in one of the ways that cost least for the pair. So the optima are found block by block (from the tables of dynamic
programming, or by forbidding the optima known and searching again) and then woven together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

import numpy as np

from concordant.gather import segment_index
from concordant.solvers.ordering.blocks import Blocks
from concordant.solvers.ordering.costs import PairCosts
from concordant.solvers.ordering.deadline import Deadline
from concordant.solvers.ordering.exact import LARGEST_TABLE, LARGEST_WEAK_TABLE, Exact, start_search
from concordant.solvers.ordering.relaxation import is_too_large
from concordant.types import Bools, Floats, Int64s

LONGEST_WEAVE = 500  # items: rankings are woven together one item inside the other
SECONDS_FOR_ANOTHER = 2.0  # to look for a second optimum of a large block, where nobody asked for a list


def are_unique(
    costs: PairCosts,
    blocks: Blocks,
    solved: Exact,
    tier: Int64s,
    allow_ties: bool,
    is_proven: Bools,
    deadline: Deadline,
) -> tuple[bool | None, ...]:
    """Say of every instance whether its optimum is the only one; None where that stayed open."""
    block_of_slot = np.empty(len(blocks.slot), np.int64)
    block_of_slot[blocks.slot] = segment_index(blocks.ptr)
    answers: list[bool | None] = []
    instance = segment_index(costs.slot_ptr)[blocks.slot[blocks.ptr[:-1]]]
    first = np.searchsorted(instance, np.arange(len(costs.slot_ptr)))
    for q in range(len(costs.slot_ptr) - 1):
        ways = solved.ways[first[q] : first[q + 1]]
        span = slice(int(costs.slot_ptr[q]), int(costs.slot_ptr[q + 1]))
        if not is_proven[q]:
            answers.append(None)
        elif (ways > 1).any():
            answers.append(False)
        else:
            found = [_has_other_weave(costs, q, tier[span], block_of_slot[span], allow_ties, deadline)]
            if not found[0]:
                unknown = np.flatnonzero(np.isnan(ways)) + first[q]
                found += [_has_another(blocks, solved, b, allow_ties, deadline) for b in unknown.tolist()]
            answers.append(False if True in found else None if None in found else True)
    return tuple(answers)


def _has_other_weave(
    costs: PairCosts, q: int, tier: Int64s, block: Int64s, allow_ties: bool, deadline: Deadline
) -> bool | None:
    """Say whether blocks that keep their inner order can be woven together in another way; None: not decided."""
    before, tied = _matrices(costs, q)
    if not allow_ties:
        order = np.argsort(tier)
        one, next_one = order[:-1], order[1:]
        return bool(((block[one] != block[next_one]) & (before[one, next_one] >= before[next_one, one])).any())
    is_cross = block[:, None] != block
    ahead, level = _cheapest(before, tied, True)
    if ((ahead.astype(int) + level + ahead.T)[is_cross] <= 1).all():
        return False
    try:
        return len(list(islice(_weave(tier, block, ahead, level, deadline), 2))) > 1
    except TimeoutError:
        return None


def _matrices(costs: PairCosts, q: int) -> tuple[Floats, Floats]:
    start, stop = costs.matrix_start[q : q + 2].tolist()
    m = int(costs.slot_ptr[q + 1] - costs.slot_ptr[q])
    return costs.before[start:stop].reshape(m, m), costs.tied[start:stop].reshape(m, m)


def _cheapest(before: Floats, tied: Floats, allow_ties: bool) -> tuple[Bools, Bools]:
    """Return where putting row before column, and where tying them, is the cheapest that can happen to the pair."""
    least = np.minimum(before, before.T)
    if not allow_ties:
        return before == least, np.zeros(before.shape, bool)
    least = np.minimum(least, tied)
    return before == least, tied == least


def _weave(tier: Int64s, block: Int64s, ahead: Bools, level: Bools, deadline: Deadline) -> Iterator[Int64s]:
    """Yield all rankings that keep the tiers inside blocks and treat other pairs in an allowed way.

    Items are inserted one by one, in front of, into or behind the tiers so far: every ranking arises in one way.
    TimeoutError when the time is over, or for more items than can be nested.
    """
    n = len(tier)
    if n > LONGEST_WEAVE:
        raise TimeoutError
    same = block[:, None] == block
    may_lead = np.where(same, tier[:, None] < tier, ahead)
    may_tie = np.where(same, tier[:, None] == tier, level)

    def insert(item: int, placed: Int64s) -> Iterator[Int64s]:
        if item == n:
            yield placed
            return
        if deadline.is_over():
            raise TimeoutError
        others = np.arange(item)
        count = int(placed.max(initial=-1)) + 1
        for place in range(2 * count + 1):
            target, is_new = place // 2, place % 2 == 0
            lead = placed >= target if is_new else placed > target
            tie = np.zeros(item, bool) if is_new else placed == target
            allowed = np.where(
                tie, may_tie[item, others], np.where(lead, may_lead[item, others], may_lead[others, item])
            )
            if allowed.all():
                shifted = placed + (placed >= target) if is_new else placed
                yield from insert(item + 1, np.append(shifted, target))

    yield from insert(0, np.zeros(0, np.int64))


def list_optima(
    costs: PairCosts, blocks: Blocks, solved: Exact, q: int, allow_ties: bool, limit: int, deadline: Deadline
) -> tuple[Int64s, ...]:
    """List up to ``limit`` optimal rankings of one instance, as tiers of its candidates; fewer if time runs out."""
    start = int(costs.slot_ptr[q])
    n = int(costs.slot_ptr[q + 1]) - start
    instance = segment_index(costs.slot_ptr)[blocks.slot[blocks.ptr[:-1]]]
    own = np.flatnonzero(instance == q).tolist()
    lists = [_block_optima(blocks, solved, b, allow_ties, limit, deadline) for b in own]
    block = np.empty(n, np.int64)
    for b in own:
        block[blocks.slot[blocks.ptr[b] : blocks.ptr[b + 1]] - start] = b
    ahead, level = _cheapest(*_matrices(costs, q), allow_ties)
    found: list[Int64s] = []
    for choice in product(*lists):
        tier = np.empty(n, np.int64)
        for b, inner in zip(own, choice, strict=True):
            tier[blocks.slot[blocks.ptr[b] : blocks.ptr[b + 1]] - start] = inner
        try:
            found.extend(islice(_weave(tier, block, ahead, level, deadline), limit - len(found)))
        except TimeoutError:
            break
        if len(found) >= limit:
            break
    return tuple(found)


# ---- one block ----
def _block_optima(
    blocks: Blocks, solved: Exact, b: int, allow_ties: bool, limit: int, deadline: Deadline
) -> list[Int64s]:
    before, tied = blocks.matrices(b)
    known = solved.tier[blocks.ptr[b] : blocks.ptr[b + 1]]
    if len(before) > (LARGEST_WEAK_TABLE if allow_ties else LARGEST_TABLE):
        found = [known]
        while len(found) < limit:
            try:
                another = _another(before, tied, allow_ties, found, float(solved.cost[b]), deadline)
            except TimeoutError:
                break
            if another is None:
                break
            found.append(another)
        return found
    rankings = _weak_orders(before, tied) if allow_ties else _orders(before)
    return list(islice(rankings, limit))


def _members(m: int) -> Floats:
    return ((np.arange(1 << m)[:, None] >> np.arange(m)) & 1).astype(np.float64)


def _orders(before: Floats) -> Iterator[Int64s]:
    """Yield all orders of least cost, as tiers, by walking back through the table over sets."""
    m = len(before)
    member = _members(m)
    ahead = member @ before
    best = np.zeros(1 << m)
    size = member.sum(axis=1)
    bit = 1 << np.arange(m)
    for count in range(1, m + 1):
        own = np.flatnonzero(size == count)
        others = own[:, None] & ~bit
        best[own] = np.where(member[own] == 1, best[others] + ahead[others, np.arange(m)], np.inf).min(axis=1)

    def walk(rest: int, tier: Int64s) -> Iterator[Int64s]:
        if not rest:
            yield tier
            return
        for last in range(m):
            others = rest & ~(1 << last)
            if others != rest and best[others] + ahead[others, last] == best[rest]:
                placed = tier.copy()
                placed[last] = bin(others).count("1")
                yield from walk(others, placed)

    yield from walk((1 << m) - 1, np.zeros(m, np.int64))


def _weak_orders(before: Floats, tied: Floats) -> Iterator[Int64s]:
    """Yield all rankings with ties of least cost, as tiers."""
    m = len(before)
    member, sets = _members(m), np.arange(1 << m)
    inner = ((member @ (tied - np.diag(np.diag(tied)))) * member).sum(axis=1) / 2
    ahead = member @ before
    best = np.full(1 << m, np.inf)
    best[0] = 0
    for head in range((1 << m) - 1):
        group = sets[(sets & head == 0) & (sets > 0)]
        value = best[head] + member[group] @ ahead[head] + inner[group]
        best[head | group] = np.minimum(best[head | group], value)

    def walk(rest: int, tiers: list[int]) -> Iterator[Int64s]:
        if not rest:
            tier = np.zeros(m, np.int64)
            for level, group in enumerate(reversed(tiers)):
                tier[(group >> np.arange(m)) & 1 == 1] = level
            yield tier
            return
        group = sets[(sets & ~rest == 0) & (sets > 0)]
        value = best[rest ^ group] + (member[group] * ahead[rest ^ group]).sum(axis=1) + inner[group]
        for chosen in group[value == best[rest]].tolist():
            yield from walk(rest ^ chosen, [*tiers, chosen])

    yield from walk((1 << m) - 1, [])


def _has_another(blocks: Blocks, solved: Exact, b: int, allow_ties: bool, deadline: Deadline) -> bool | None:
    """Say whether a large block has another ranking of the same cost; None when the time did not suffice."""
    before, tied = blocks.matrices(b)
    known = solved.tier[blocks.ptr[b] : blocks.ptr[b + 1]]
    if not allow_ties and _has_free_move(before, known):
        return True
    soon = deadline.within(SECONDS_FOR_ANOTHER)
    try:
        return _another(before, tied, allow_ties, [known], float(solved.cost[b]), soon) is not None
    except TimeoutError:
        return None


def _has_free_move(before: Floats, tier: Int64s) -> bool:
    """Say whether one item can move without changing the cost."""
    order = np.argsort(tier)
    margin = (before - before.T)[np.ix_(order, order)]
    right = np.cumsum(np.triu(margin, 1), axis=1)[np.triu_indices(len(order), 1)]
    left = np.cumsum(np.tril(margin, -1)[:, ::-1], axis=1)[:, ::-1][np.tril_indices(len(order), -1)]
    return bool((right == 0).any() or (left == 0).any())


def _another(
    before: Floats, tied: Floats, allow_ties: bool, known: list[Int64s], cost: float, deadline: Deadline
) -> Int64s | None:
    """Return a ranking of this cost that is not known yet, None if there is none; TimeoutError when time ran out."""
    if deadline.is_over() or is_too_large(len(before), allow_ties):
        raise TimeoutError
    search = start_search(before, tied, allow_ties, deadline, known[0], cost, lambda _bound, _cost: None)
    for tier in known:
        search.programme.forbid(tier)
    seen = {tier.tobytes() for tier in known}
    improve = search.improve

    def improve_unseen(tier: Int64s) -> tuple[Int64s, float]:
        better, total = improve(tier)
        if better.tobytes() not in seen:
            return better, total
        raw = np.unique(tier, return_inverse=True)[1].reshape(-1).astype(np.int64)
        if raw.tobytes() in seen:
            return raw, np.inf
        charge = np.where(raw[:, None] < raw, before, np.where(raw[:, None] == raw, tied / 2, 0.0))
        np.fill_diagonal(charge, 0.0)
        return raw, float(charge.sum())

    search.improve = improve_unseen
    search.cost = cost + search.step
    finished = search.run()
    if search.cost <= cost:
        return search.best
    if not finished:
        raise TimeoutError
    return None
