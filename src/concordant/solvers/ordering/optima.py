"""Uniqueness of the optimum, and enumeration of optimal rankings.

A ranking is optimal if and only if it orders every block at minimum cost and gives every pair of items from different
blocks its minimum cost. So the optima are found block by block (from the tables of dynamic programming, or by excluding
the known optima and searching again) and then combined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product

import numpy as np

from concordant.ballots.segments import segment_index
from concordant.solvers.ordering.blocks import Blocks
from concordant.solvers.ordering.deadline import Deadline
from concordant.solvers.ordering.exact import LARGEST_TABLE, LARGEST_WEAK_TABLE, Exact, start_search
from concordant.solvers.ordering.relaxation import is_too_large
from concordant.types import Bools, Floats, Int64s

LONGEST_WEAVE = 500  # items: rankings are woven together one item inside the other
SECONDS_FOR_ANOTHER = 2.0  # to look for a second optimum of a large block, where nobody asked for a list


@dataclass(frozen=True)
class Optima:
    """The optimal rankings of every instance whose blocks were solved, within the time limit."""

    blocks: Blocks
    solved: Exact
    deadline: Deadline

    @cached_property
    def tier(self) -> Int64s:
        """The tier of every slot in the ranking found."""
        return self.blocks.join(self.solved.tier)

    def is_unique(self, q: int) -> bool | None:
        """Return whether the optimum of an instance is unique; None if undecided."""
        blocks = self._blocks_of(q)
        ways = self.solved.ways[blocks]
        if (ways > 1).any():
            return False
        answers = [self._has_other_weave(q)]
        if not answers[0]:
            answers += [self._has_another(block) for block in blocks[np.isnan(ways)].tolist()]
        return False if True in answers else None if None in answers else True

    def listed(self, q: int, limit: int) -> tuple[Int64s, ...]:
        """List up to ``limit`` optimal rankings of an instance, as tiers of its candidates; fewer if time runs out."""
        blocks, start, own_blocks = self.blocks, self.blocks.costs.slot_ptr[q], self._blocks_of(q).tolist()
        members = [blocks.slots(block) - start for block in own_blocks]
        rankings: list[Int64s] = []
        for choice in product(*(self._block_optima(block, limit) for block in own_blocks)):
            tier = np.empty(sum(map(len, members)), np.int64)
            for slots, inner in zip(members, choice, strict=True):
                tier[slots] = inner
            try:
                rankings.extend(islice(self._weave(q, tier), limit - len(rankings)))
            except TimeoutError:
                break
            if len(rankings) >= limit:
                break
        return tuple(rankings)

    # ---- between blocks ----
    def _blocks_of(self, q: int) -> Int64s:
        """Return the numbers of the blocks of an instance."""
        return np.arange(*np.searchsorted(self.blocks.instance, [q, q + 1]))

    def _span(self, q: int) -> slice:
        """Return the slots of an instance."""
        return slice(*self.blocks.costs.slot_ptr[q : q + 2].tolist())

    @cached_property
    def _block_of_slot(self) -> Int64s:
        block = np.empty(len(self.blocks.slot), np.int64)
        block[self.blocks.slot] = segment_index(self.blocks.ptr)
        return block

    def _has_other_weave(self, q: int) -> bool | None:
        """Return whether there are other optima with the same order within blocks; None if undecided."""
        tier, block = self.tier[self._span(q)], self._block_of_slot[self._span(q)]
        if not self.blocks.allow_ties:
            before, _ = self.blocks.costs.matrices(q)
            order = np.argsort(tier)
            item, next_item = order[:-1], order[1:]
            return bool(
                ((block[item] != block[next_item]) & (before[item, next_item] >= before[next_item, item])).any()
            )
        ahead, level = self._cheapest(q)
        if ((ahead.astype(int) + level + ahead.T)[block[:, None] != block] <= 1).all():
            return False
        try:
            return len(list(islice(self._weave(q, tier), 2))) > 1
        except TimeoutError:
            return None

    def _cheapest(self, q: int) -> tuple[Bools, Bools]:
        """Return for which pairs putting row before column, and for which a tie, has the lowest cost of the pair."""
        before, tied = self.blocks.costs.matrices(q)
        lowest = np.minimum(before, before.T)
        if not self.blocks.allow_ties:
            return before == lowest, np.zeros(before.shape, bool)
        lowest = np.minimum(lowest, tied)
        return before == lowest, tied == lowest

    def _weave(self, q: int, tier: Int64s) -> Iterator[Int64s]:
        """Yield all rankings that keep the tiers within blocks, and in which all other pairs have their lowest cost.

        Items are inserted one by one, before, into or behind the tiers so far: every ranking is generated exactly once.
        Raises TimeoutError if the time runs out, or if there are more items than the recursion limit allows.
        """
        n = len(tier)
        if n > LONGEST_WEAVE:
            raise TimeoutError
        block, (ahead, level) = self._block_of_slot[self._span(q)], self._cheapest(q)
        same = block[:, None] == block
        may_lead = np.where(same, tier[:, None] < tier, ahead)
        may_tie = np.where(same, tier[:, None] == tier, level)

        def insert(item: int, placed: Int64s) -> Iterator[Int64s]:
            """Yield all allowed completions of ``placed``, the tiers of the items before ``item``."""
            if item == n:
                yield placed
                return
            if self.deadline.is_over():
                raise TimeoutError
            others = np.arange(item)
            count = int(placed.max(initial=-1)) + 1
            for place in range(2 * count + 1):  # even: a new tier before tier place / 2; odd: into tier (place - 1) / 2
                target, is_new = place // 2, place % 2 == 0
                lead = placed >= target if is_new else placed > target
                tie = np.zeros(item, bool) if is_new else placed == target
                alone = np.where(lead, may_lead[item, others], may_lead[others, item])
                allowed = np.where(tie, may_tie[item, others], alone)
                if allowed.all():
                    shifted = placed + (placed >= target) if is_new else placed
                    yield from insert(item + 1, np.append(shifted, target))

        yield from insert(0, np.zeros(0, np.int64))

    # ---- one block ----
    def _block_optima(self, block: int, limit: int) -> list[Int64s]:
        """Return up to ``limit`` optimal rankings of a block, as tiers; fewer if time runs out."""
        before, tied = self.blocks.matrices(block)
        allow_ties = self.blocks.allow_ties
        if len(before) <= (LARGEST_WEAK_TABLE if allow_ties else LARGEST_TABLE):
            return list(islice(_best_rankings(before, tied if allow_ties else None), limit))
        optima = [self._known(block)]
        while len(optima) < limit:
            try:
                another = self._another(block, optima, self.deadline)
            except TimeoutError:
                break
            if another is None:
                break
            optima.append(another)
        return optima

    def _known(self, block: int) -> Int64s:
        """Return the optimal ranking that was found for a block, as tiers."""
        return self.solved.tier[self.blocks.ptr[block] : self.blocks.ptr[block + 1]]

    def _has_another(self, block: int) -> bool | None:
        """Return whether a large block has another optimal ranking; None if the time ran out."""
        known = self._known(block)
        if not self.blocks.allow_ties and _has_free_move(self.blocks.matrices(block)[0], known):
            return True
        try:
            return self._another(block, [known], self.deadline.within(SECONDS_FOR_ANOTHER)) is not None
        except TimeoutError:
            return None

    def _another(self, block: int, known: list[Int64s], deadline: Deadline) -> Int64s | None:
        """Return an optimal ranking that is not in ``known``, None if there is none; TimeoutError if time ran out."""
        before, tied = self.blocks.matrices(block)
        allow_ties, cost = self.blocks.allow_ties, float(self.solved.cost[block])
        if deadline.is_over() or is_too_large(len(before), allow_ties):
            raise TimeoutError
        search = start_search(before, tied, allow_ties, deadline, known[0], cost, lambda _bound, _cost: None)
        for tier in known:
            search.programme.forbid(tier)
        known_bytes = {tier.tobytes() for tier in known}
        improve = search.improve

        def improve_unseen(tier: Int64s) -> tuple[Int64s, float]:
            """Improve a ranking, unless the result is in ``known``: then return it unchanged (cost inf if known)."""
            better, total = improve(tier)
            if better.tobytes() not in known_bytes:
                return better, total
            raw = np.unique(tier, return_inverse=True)[1].reshape(-1).astype(np.int64)
            if raw.tobytes() in known_bytes:
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


def _has_free_move(before: Floats, tier: Int64s) -> bool:
    """Return whether some item of a strict ranking can move to another place without changing the cost."""
    order = np.argsort(tier)
    margin = (before - before.T)[np.ix_(order, order)]
    # The change of cost when an item moves behind (right) or before (left) each other item, as sums of margins.
    right = np.cumsum(np.triu(margin, 1), axis=1)[np.triu_indices(len(order), 1)]
    left = np.cumsum(np.tril(margin, -1)[:, ::-1], axis=1)[:, ::-1][np.tril_indices(len(order), -1)]
    return bool((right == 0).any() or (left == 0).any())


def _best_rankings(before: Floats, tied: Floats | None) -> Iterator[Int64s]:
    """Yield all rankings of lowest cost, as tiers (with ties if ``tied`` is given).

    ``best[set]`` is the lowest cost of ranking a set of items (a bit mask) first. Rankings are reconstructed from this
    table backwards, from the set of all items.
    """
    m = len(before)
    sets, bit = np.arange(1 << m), 1 << np.arange(m)
    member = ((sets[:, None] >> np.arange(m)) & 1).astype(np.float64)
    ahead = member @ before
    best, inner = np.where(sets == 0, 0.0, np.inf), np.zeros(1 << m)
    if tied is None:
        last_tiers, size = bit, member.sum(axis=1)
        for count in range(1, m + 1):
            of_size = np.flatnonzero(size == count)
            without = of_size[:, None] & ~bit
            best[of_size] = np.where(member[of_size] == 1, best[without] + ahead[without, np.arange(m)], np.inf).min(
                axis=1
            )
    else:
        last_tiers = sets[1:]
        inner = ((member @ (tied - np.diag(np.diag(tied)))) * member).sum(axis=1) / 2
        for head in range((1 << m) - 1):
            group = last_tiers[last_tiers & head == 0]
            value = best[head] + member[group] @ ahead[head] + inner[group]
            best[head | group] = np.minimum(best[head | group], value)

    def walk(rest: int, tiers: list[int]) -> Iterator[Int64s]:
        """Yield the rankings of the set ``rest`` of lowest cost, followed by ``tiers`` (bit masks, last tier first)."""
        if not rest:
            tier = np.zeros(m, np.int64)
            for level, group in enumerate(reversed(tiers)):
                tier[(group >> np.arange(m)) & 1 == 1] = level
            yield tier
            return
        groups = last_tiers[last_tiers & ~rest == 0]
        value = best[rest ^ groups] + (member[groups] * ahead[rest ^ groups]).sum(axis=1) + inner[groups]
        for chosen in groups[value == best[rest]].tolist():
            yield from walk(rest ^ chosen, [*tiers, chosen])

    yield from walk((1 << m) - 1, [])
