"""Voting rules from pairwise majorities or by elimination rounds (NumPy reference of votes.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.bundles import Ballots
from concordant.kernels.layouts import WEIGHT_TOLERANCE, blocks_of, insertion_order, tier_tables
from concordant.types import AnyArray, Bools, Bytes, Floats, Int32s, Int64s

__all__ = ["lock_pairs", "majority_path", "order_tiers", "runoff_rounds", "strongest_paths"]


def strongest_paths(slot_ptr: Int64s, strength: Floats) -> Floats:
    """Return the strength of the strongest path (its weakest link) between all pairs of candidates (Schulze)."""
    paths = strength.copy()
    for _, (path,) in blocks_of(slot_ptr, paths):
        for k in range(len(path)):
            np.maximum(path, np.minimum(path[:, k : k + 1], path[k]), out=path)
        np.fill_diagonal(path, 0)
    return paths


def lock_pairs(slot_ptr: Int64s, strength: Floats, opposition: Floats, fallback: Int32s) -> tuple[Bytes, Int64s, Bytes]:
    """Lock pairs of positive strength, strongest first, unless they contradict pairs locked before (ranked pairs).

    Pairs of equal strength are ordered by less opposition, then by the higher fallback of the winner, then by the lower
    fallback of the loser. Pairs that are equal in all these keys are processed together, and those that contradict each
    other are dropped. Returns which candidate is above which (flat matrices), the number of pairs dropped in this way
    per instance, and which candidates are in a pair that only equally strong pairs contradict.
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
    """Split an index into runs where all keys are equal."""
    is_new = np.any([np.diff(key[index]) != 0 for key in keys], axis=0)
    return np.split(index, np.flatnonzero(is_new) + 1)


def _lock_group(order: Bools, links: list[tuple[int, int]]) -> int:
    """Lock pairs (winner, loser) that are equal in all keys, except those in a cycle; return how many were dropped."""
    links = [(u, v) for u, v in links if not order[v, u] and not order[u, v]]
    together = order.copy()
    for u, v in links:
        _add_closed(together, u, v)
    kept = [(u, v) for u, v in links if not together[v, u]]
    for u, v in kept:
        _add_closed(order, u, v)
    return len(links) - len(kept)


def _add_closed(order: Bools, upper: int, lower: int) -> None:
    """Update the transitive closure: all at or above ``upper`` are now above all at or below ``lower``."""
    gained = order[lower].copy()
    gained[lower] = True
    reaches = order[:, upper].copy()
    reaches[upper] = True
    order[reaches] |= gained


def order_tiers(slot_ptr: Int64s, is_above: Bytes) -> Int64s:
    """Return the tier of every slot in a transitive relation: the length of the longest chain above it."""
    tier = np.zeros(slot_ptr[-1], np.int64)
    for span, (above,) in blocks_of(slot_ptr, is_above):
        own_tier = tier[span]
        for i in np.argsort(above.sum(axis=0), kind="stable"):
            np.maximum(own_tier, np.where(above[i], own_tier[i] + 1, 0), out=own_tier)
    return tier


def majority_path(slot_ptr: Int64s, margin: Floats, start: Int64s) -> Int64s:
    """Insert slots in the order of ``start``, each moving up while a majority prefers it to the slot ahead."""
    path = start.copy()
    for span, (matrix,) in blocks_of(slot_ptr, margin):
        path[span] = insertion_order((path[span] - span.start).tolist(), matrix > 0)
        path[span] += span.start
    return path


def runoff_rounds(ballots: Ballots, fallback: Int32s) -> tuple[Int32s, Bytes]:
    """Return the round in which each slot is eliminated, and how ties for the fewest votes were resolved.

    The slot with the fewest votes is eliminated; ties are broken by the fewest votes in earlier rounds, the latest
    first, then by the lowest fallback. The second array is 1 for a slot in a tie that was broken in this way, and 2 for
    one eliminated with others.
    """
    rounds, tie = np.zeros(len(fallback), np.int32), np.zeros(len(fallback), np.uint8)
    for span, own_ballots, tier in tier_tables(ballots):
        last = np.where(np.isfinite(tier), tier, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
        # The last tier of an open ballot ("all others, in unknown order") is no vote.
        tier[(tier == last) & (ballots.is_open[own_ballots, None] > 0)] = np.inf
        _run_off(tier, ballots.weight[own_ballots], fallback[span], rounds[span], tie[span])
    return rounds, tie


def _run_off(tier: Floats, weight: Floats, fallback: Int32s, rounds: Int32s, tie: Bytes) -> None:
    """Run the rounds of one instance and write to ``rounds`` and ``tie``; ``tier`` is ballots x candidates.

    Ballots with several candidates in their top tier split their vote.
    """
    tolerance = WEIGHT_TOLERANCE * weight.sum()
    history: list[Floats] = []
    remaining = np.arange(len(fallback))
    while len(remaining):
        is_top = (tier == tier.min(axis=1, keepdims=True)) & np.isfinite(tier)
        votes = (weight / np.maximum(is_top.sum(axis=1), 1)) @ is_top
        history.append(votes)
        equal = out = remaining[votes[remaining] - votes[remaining].min() <= tolerance]
        for earlier in reversed(history):
            out = out[earlier[out] - earlier[out].min() <= tolerance]
        out = out[fallback[out] == fallback[out].min()]
        if len(equal) > len(out):
            tie[equal] = np.maximum(tie[equal], 1)
        if len(out) > 1:
            tie[out] = 2
        rounds[out] = len(history) - 1
        tier[:, out] = np.inf
        remaining = np.setdiff1d(remaining, out)
