"""Iteration helpers of the NumPy references: segments of flat arrays, square blocks, pairs within segments.

Positions p and p + k of the same segment form a pair; k = 1, 2, … visits every pair once, and each step is a few array
operations over all segments. Memory is linear; the number of steps is the size of the largest segment.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from concordant.kernels.bundles import Ballots
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s

WEIGHT_TOLERANCE = 1e-12  # within which sums of fractional weights are equal, relative to the weight of the instance


def segment_of(ptr: Int64s) -> Int64s:
    """Return the segment of every position."""
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))


def pointers(sizes: Int64s) -> Int64s:
    """Return where segments of these sizes start, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def by_appearance(keys: AnyArray) -> tuple[Int64s, Int64s]:
    """Number distinct keys by first appearance; return the number of every row and the first row of every number."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(first), np.int64)
    number[order] = np.arange(len(first))
    return number[inverse.reshape(-1)], first[order]


def encode(values: Iterable[Hashable]) -> tuple[Int32s, Int64s, list[Any]]:
    """Return the codes of values in order of first appearance, the first row of each, and the distinct values."""
    code_of: dict[Hashable, int] = {}
    codes = [code_of.setdefault(value, len(code_of)) for value in values]
    code = np.array(codes, np.int32)
    return code, by_appearance(code)[1], list(code_of)


def find_rows(known: Int64s, wanted: Int64s) -> Int64s:
    """Return the row of every wanted key among the known ones (the last one if it repeats), or -1."""
    if not len(known):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(known, kind="stable")
    row = order[np.maximum(np.searchsorted(known[order], wanted, side="right") - 1, 0)]
    return np.where(known[row] == wanted, row, -1).astype(np.int64)


def begins_tier(ptr: Int64s, tier: AnyArray) -> Bools:
    """Return, for every position, whether a tier of its segment begins there."""
    begins = np.ones(len(tier), bool)
    begins[1:] = tier[1:] != tier[:-1]
    begins[ptr[:-1][np.diff(ptr) > 0]] = True
    return begins


def blocks_of(ptr: Int64s, *matrices: AnyArray) -> Iterator[tuple[slice, list[AnyArray]]]:
    """Yield, for every problem, the slice of its items and views of its square blocks of the flat matrices.

    An empty matrix stays empty.
    """
    offset = 0
    for start, stop in pairwise(ptr.tolist()):
        m = stop - start
        blocks = [flat[offset : offset + m * m].reshape(m, m) if len(flat) or not m else flat for flat in matrices]
        yield slice(start, stop), blocks
        offset += m * m


def pair_steps(ptr: Int64s, chosen: Bools | None = None) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield arrays of (first, second) positions until every pair of every (chosen) segment has been visited."""
    size = np.diff(ptr)
    followers = np.repeat(ptr[1:], size) - 1 - np.arange(ptr[-1] if len(ptr) else 0)
    if chosen is not None:
        followers = followers * np.repeat(chosen, size)
    first, distance = np.flatnonzero(followers >= 1), 1
    while len(first):
        yield first, first + distance
        distance += 1
        first = first[followers[first] >= distance]


def preference_steps(ptr: Int64s, tier: Int32s, chosen: Bools | None = None) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield arrays of (better, worse) positions until every pair in different tiers has been visited."""
    for first, second in pair_steps(ptr, chosen):
        differ = tier[first] != tier[second]
        yield first[differ], second[differ]


def over_pairs(
    steps: Iterable[tuple[Int64s, Int64s]], weight: Floats, of_pairs: Callable[[Int64s, Int64s], tuple[Floats, ...]]
) -> tuple[float, Floats, float]:
    """Sum the weighted costs of pairs: value, gradient, and derivative with respect to a parameter of the loss.

    ``of_pairs`` returns the cost of every pair, its derivative in the margin (first minus second) and, if there is a
    parameter, its derivative with respect to the parameter.
    """
    value, gradient, parameter_slope = 0.0, np.zeros(len(weight)), 0.0
    for first, second in steps:
        pair_weight = weight[first]
        cost, slope, *parameter_slopes = of_pairs(first, second)
        value += float(pair_weight @ cost)
        gradient[first] += pair_weight * slope
        gradient[second] -= pair_weight * slope
        parameter_slope += sum(float(pair_weight @ slopes) for slopes in parameter_slopes)
    return value, gradient, parameter_slope


def tier_tables(ballots: Ballots) -> Iterator[tuple[slice, Int64s, Floats]]:
    """Yield, for every instance, its slots, its ballots, and a table (ballots x slots) of tiers; inf if left out."""
    of_entry = segment_of(ballots.indptr)
    instance = ballots.instance_of_ballot
    by_ballot, by_entry = np.argsort(instance, kind="stable"), np.argsort(instance[of_entry], kind="stable")
    numbers = np.arange(len(ballots.slot_ptr))
    first = np.searchsorted(instance[by_ballot], numbers)
    first_entry = np.searchsorted(instance[of_entry][by_entry], numbers)
    row = np.empty(len(instance), np.int64)
    row[by_ballot] = np.arange(len(instance)) - first[instance[by_ballot]]
    for q, (start, stop) in enumerate(pairwise(ballots.slot_ptr.tolist())):
        own_ballots, entry = by_ballot[first[q] : first[q + 1]], by_entry[first_entry[q] : first_entry[q + 1]]
        table = np.full((len(own_ballots), stop - start), np.inf)
        table[row[of_entry[entry]], ballots.entry_slot[entry] - start] = ballots.tier[entry]
        yield slice(start, stop), own_ballots, table


def insertion_order(sequence: list[int], rises: Bools) -> list[int]:
    """Insert items one by one at the end; each moves up while ``rises[item, item ahead]``. Returns best first."""
    order: list[int] = []
    for item in sequence:
        place = len(order)
        while place and rises[item, order[place - 1]]:
            place -= 1
        order.insert(place, item)
    return order


def softplus_and_slope(x: Floats) -> tuple[Floats, Floats]:
    """Return log(1 + e^x) and its derivative 1 / (1 + e^-x), accurate in both tails."""
    small = np.exp(-np.abs(x))
    return np.maximum(x, 0.0) + np.log1p(small), np.where(x >= 0, 1.0, small) / (1 + small)
