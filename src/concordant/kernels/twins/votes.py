"""Elections from pairwise majorities or by rounds in NumPy (twin of votes.cpp)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from concordant.types import AnyArray, Bools, Bytes, Floats, Int32s, Int64s

__all__ = ["lock_pairs", "majority_path", "order_tiers", "runoff_rounds", "strongest_paths"]

WEIGHT_TOLERANCE = 1e-12


def strongest_paths(slot_ptr: Int64s, strength: Floats) -> Floats:
    """Return the strength of the strongest path between all candidates: a path is as strong as its weakest link."""
    paths = strength.copy()
    for _, path in _blocks(slot_ptr, paths):
        for k in range(len(path)):
            np.maximum(path, np.minimum(path[:, k : k + 1], path[k]), out=path)
        np.fill_diagonal(path, 0)
    return paths


def lock_pairs(slot_ptr: Int64s, strength: Floats, opposition: Floats, fallback: Int32s) -> tuple[Bytes, Int64s, Bytes]:
    """Lock pairs of positive strength, the strongest first, unless they contradict earlier ones.

    Of equal ones comes first the pair with less opposition, then with the higher fallback of its winner, then with
    the lower fallback of its loser. Those equal in all this are taken together, and left out where they contradict
    each other. Returns who stands above whom (flat matrices), how many pairs of each instance were left out so, and
    which candidates are in a pair that nothing stronger contradicts, only equally strong pairs.
    """
    is_above, is_contested = np.zeros(len(strength), np.uint8), np.zeros(slot_ptr[-1], np.uint8)
    dropped = np.zeros(len(slot_ptr) - 1, np.int64)
    blocks = zip(_blocks(slot_ptr, strength), _blocks(slot_ptr, opposition), _blocks(slot_ptr, is_above), strict=True)
    for q, ((base, power), (_, against), (_, cells)) in enumerate(blocks):
        level = fallback[base : base + len(power)]
        winner, loser = np.nonzero(power > 0)
        keys = (level[loser], -level[winner], against[winner, loser], -power[winner, loser])
        sorting = np.lexsort(keys)
        order = np.zeros(power.shape, bool)
        for equal in _split(sorting, keys[3:]):
            possible = equal[~order[loser[equal], winner[equal]]]
            for group in _split(equal, keys):
                dropped[q] += _lock_group(order, list(zip(winner[group].tolist(), loser[group].tolist(), strict=True)))
            lost = possible[~order[winner[possible], loser[possible]]]
            is_contested[base + np.append(winner[lost], loser[lost])] = 1
        cells[:] = order
    return is_above, dropped, is_contested


def _split(index: Int64s, keys: tuple[AnyArray, ...]) -> list[Int64s]:
    """Split a sorted index where one of the keys changes."""
    is_new = np.any([np.diff(key[index]) != 0 for key in keys], axis=0)
    return np.split(index, np.flatnonzero(is_new) + 1)


def _lock_group(order: Bools, links: list[tuple[int, int]]) -> int:
    links = [(u, v) for u, v in links if not order[v, u] and not order[u, v]]
    together = order.copy()
    for u, v in links:
        _add(together, u, v)
    kept = [(u, v) for u, v in links if not together[v, u]]
    for u, v in kept:
        _add(order, u, v)
    return len(links) - len(kept)


def _add(order: Bools, upper: int, lower: int) -> None:
    gained = order[lower].copy()
    gained[lower] = True
    reaches = order[:, upper].copy()
    reaches[upper] = True
    order[reaches] |= gained


def order_tiers(slot_ptr: Int64s, is_above: Bytes) -> Int64s:
    """Return the tier of every slot in a transitive relation: the first holds all that nobody stands above."""
    tier = np.zeros(slot_ptr[-1], np.int64)
    for base, above in _blocks(slot_ptr, is_above):
        own = tier[base : base + len(above)]
        for i in np.argsort(above.sum(axis=0), kind="stable"):
            np.maximum(own, np.where(above[i], own[i] + 1, 0), out=own)
    return tier


def majority_path(slot_ptr: Int64s, margin: Floats, start: Int64s) -> Int64s:
    """Insert slots in the order given, each moving up as long as the majority prefers it to the one ahead."""
    path = start.copy()
    for base, matrix in _blocks(slot_ptr, margin):
        order: list[int] = []
        for i in (path[base : base + len(matrix)] - base).tolist():
            place = len(order)
            while place and matrix[i, order[place - 1]] > 0:
                place -= 1
            order.insert(place, i)
        path[base : base + len(matrix)] = np.array(order, np.int64) + base
    return path


def runoff_rounds(
    slot_ptr: Int64s,
    instance_of_ballot: Int32s,
    indptr: Int64s,
    entry_slot: Int64s,
    tier: Int32s,
    weight: Floats,
    is_open: Bytes,
    fallback: Int32s,
) -> tuple[Int32s, Bytes]:
    """Return the round in which each slot goes out of the runoff, and who was among several with the fewest votes.

    Out goes who has the fewest votes; then the fewest in earlier rounds, the latest first; then the lowest fallback.
    The second array has 1 for a slot whose tie was settled so, and 2 for one that went out together with others.
    """
    rounds, tie = np.zeros(slot_ptr[-1], np.int32), np.zeros(slot_ptr[-1], np.uint8)
    by_instance = np.argsort(instance_of_ballot, kind="stable")
    first = np.searchsorted(instance_of_ballot[by_instance], np.arange(len(slot_ptr)))
    for q in range(len(slot_ptr) - 1):
        span = slice(slot_ptr[q], slot_ptr[q + 1])
        ballots = []
        for b in by_instance[first[q] : first[q + 1]].tolist():
            tiers = _ballot_tiers(entry_slot[indptr[b] : indptr[b + 1]] - slot_ptr[q], tier[indptr[b] : indptr[b + 1]])
            ballots.append((tiers[:-1] if is_open[b] else tiers, float(weight[b])))
        rounds[span], tie[span] = _run_off(ballots, fallback[span])
    return rounds, tie


def _ballot_tiers(place: Int64s, tier: Int32s) -> list[list[int]]:
    if not len(place):
        return []
    return [group.tolist() for group in np.split(place, np.flatnonzero(np.diff(tier)) + 1)]


def _run_off(ballots: list[tuple[list[list[int]], float]], fallback: Int32s) -> tuple[Int32s, Bytes]:
    m = len(fallback)
    tolerance = WEIGHT_TOLERANCE * sum(weight for _, weight in ballots)
    rounds, is_in, tie = np.zeros(m, np.int32), np.ones(m, bool), np.zeros(m, np.uint8)
    history: list[Floats] = []
    for current in range(m):
        if not is_in.any():
            break
        votes = np.zeros(m)
        for tiers, weight in ballots:
            top = next((left for group in tiers if (left := [i for i in group if is_in[i]])), [])
            votes[top] += weight / max(len(top), 1)
        history.append(votes)
        out = np.flatnonzero(is_in)
        equal = out = out[votes[out] - votes[out].min() <= tolerance]
        for earlier in reversed(history):
            out = out[earlier[out] - earlier[out].min() <= tolerance]
        out = out[fallback[out] == fallback[out].min()]
        if len(equal) > len(out):
            tie[equal] = np.maximum(tie[equal], 1)
        if len(out) > 1:
            tie[out] = 2
        rounds[out] = current
        is_in[out] = False
    return rounds, tie


def _blocks(slot_ptr: Int64s, matrices: AnyArray) -> Iterator[tuple[int, AnyArray]]:
    """Go through the square blocks: the first slot of each instance, and a view of its matrix."""
    start = 0
    for base, m in zip(slot_ptr[:-1].tolist(), np.diff(slot_ptr).tolist(), strict=True):
        yield base, matrices[start : start + m * m].reshape(m, m)
        start += m * m
