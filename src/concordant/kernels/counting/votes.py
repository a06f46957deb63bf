"""Elections from pairwise majorities or by rounds in NumPy (twin of votes.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.bundles import Ballots
from concordant.kernels.layouts import WEIGHT_TOLERANCE, blocks_of, insertion_order, tier_tables
from concordant.types import AnyArray, Bools, Bytes, Floats, Int32s, Int64s

__all__ = ["lock_pairs", "majority_path", "order_tiers", "runoff_rounds", "strongest_paths"]


def strongest_paths(slot_ptr: Int64s, strength: Floats) -> Floats:
    """Return the strength of the strongest path between all candidates: a path is as strong as its weakest link."""
    paths = strength.copy()
    for _, (path,) in blocks_of(slot_ptr, paths):
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
    for q, (span, (power, against, cells)) in enumerate(blocks_of(slot_ptr, strength, opposition, is_above)):
        level = fallback[span]
        winner, loser = np.nonzero(power > 0)
        keys = (level[loser], -level[winner], against[winner, loser], -power[winner, loser])
        sorting = np.lexsort(keys)
        order = np.zeros(power.shape, bool)
        for equal in _split(sorting, keys[3:]):
            possible = equal[~order[loser[equal], winner[equal]]]
            for group in _split(equal, keys):
                dropped[q] += _lock_group(order, list(zip(winner[group].tolist(), loser[group].tolist(), strict=True)))
            lost = possible[~order[winner[possible], loser[possible]]]
            is_contested[span.start + np.append(winner[lost], loser[lost])] = 1
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
        _add_closed(together, u, v)
    kept = [(u, v) for u, v in links if not together[v, u]]
    for u, v in kept:
        _add_closed(order, u, v)
    return len(links) - len(kept)


def _add_closed(order: Bools, upper: int, lower: int) -> None:
    """Keep the relation transitive: all at or above ``upper`` now stand above all at or below ``lower``."""
    gained = order[lower].copy()
    gained[lower] = True
    reaches = order[:, upper].copy()
    reaches[upper] = True
    order[reaches] |= gained


def order_tiers(slot_ptr: Int64s, is_above: Bytes) -> Int64s:
    """Return the tier of every slot in a transitive relation: the first holds all that nobody stands above."""
    tier = np.zeros(slot_ptr[-1], np.int64)
    for span, (above,) in blocks_of(slot_ptr, is_above):
        own = tier[span]
        for i in np.argsort(above.sum(axis=0), kind="stable"):
            np.maximum(own, np.where(above[i], own[i] + 1, 0), out=own)
    return tier


def majority_path(slot_ptr: Int64s, margin: Floats, start: Int64s) -> Int64s:
    """Insert slots in the order given, each moving up as long as the majority prefers it to the one ahead."""
    path = start.copy()
    for span, (matrix,) in blocks_of(slot_ptr, margin):
        path[span] = insertion_order((path[span] - span.start).tolist(), matrix > 0)
        path[span] += span.start
    return path


def runoff_rounds(ballots: Ballots, fallback: Int32s) -> tuple[Int32s, Bytes]:
    """Return the round in which each slot goes out of the runoff, and who was among several with the fewest votes.

    Out goes who has the fewest votes; then the fewest in earlier rounds, the latest first; then the lowest fallback.
    The second array has 1 for a slot whose tie was settled so, and 2 for one that went out together with others.
    """
    rounds, tie = np.zeros(len(fallback), np.int32), np.zeros(len(fallback), np.uint8)
    for span, own, tier in tier_tables(ballots):
        last = np.where(np.isfinite(tier), tier, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
        tier[(tier == last) & (ballots.is_open[own, None] > 0)] = np.inf  # "the rest, order unsaid" is no vote
        _run_off(tier, ballots.weight[own], fallback[span], rounds[span], tie[span])
    return rounds, tie


def _run_off(tier: Floats, weight: Floats, fallback: Int32s, rounds: Int32s, tie: Bytes) -> None:
    tolerance = WEIGHT_TOLERANCE * weight.sum()
    history: list[Floats] = []
    left = np.arange(len(fallback))
    while len(left):
        top = (tier == tier.min(axis=1, keepdims=True)) & np.isfinite(tier)
        votes = (weight / np.maximum(top.sum(axis=1), 1)) @ top
        history.append(votes)
        equal = out = left[votes[left] - votes[left].min() <= tolerance]
        for earlier in reversed(history):
            out = out[earlier[out] - earlier[out].min() <= tolerance]
        out = out[fallback[out] == fallback[out].min()]
        if len(equal) > len(out):
            tie[equal] = np.maximum(tie[equal], 1)
        if len(out) > 1:
            tie[out] = 2
        rounds[out] = len(history) - 1
        tier[:, out] = np.inf
        left = np.setdiff1d(left, out)
