"""Costs of pairs, and majorities (NumPy reference of costs.cpp)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from concordant.kernels.layouts import blocks_of
from concordant.types import Floats, Int64s

__all__ = ["count_majorities", "majority_chances", "net_costs", "pair_costs", "take_blocks"]


def pair_costs(slot_ptr: Int64s, wins: Floats, ties: Floats, unit: Floats) -> tuple[Floats, Floats]:
    """Return the costs of ranking row before column, and of tying them, in integer units of each instance."""
    before, tied = np.empty_like(wins), np.empty_like(wins)
    for q, (_, (won, level, first, second)) in enumerate(blocks_of(slot_ptr, wins, ties, before, tied)):
        first[:] = np.rint((won.T + level / 2) * (1 / unit[q]))
        second[:] = np.rint((won.T + won) / 2 * (1 / unit[q]))
    return before, tied


def net_costs(ptr: Int64s, before: Floats) -> Floats:
    """Return, for every item, the cost of ranking it last minus the cost of ranking it first."""
    net = np.zeros(int(ptr[-1]))
    for span, (cost,) in blocks_of(ptr, before):
        net[span] = cost.sum(axis=0) - cost.sum(axis=1)
    return net


def majority_chances(ptr: Int64s, before: Floats) -> Floats:
    """Return 1 if ranking row before column costs less than the reverse, 0 if more, 1/2 if the same."""
    chance = np.empty_like(before)
    for _, (cost, block) in blocks_of(ptr, before, chance):
        block[:] = (1 + np.sign(cost.T - cost)) / 2
    return chance


def count_majorities(slot_ptr: Int64s, wins: Floats) -> tuple[Floats, Floats]:
    """Return, for every slot, the number of others it defeats by majority, and the number it ties with."""
    defeats, draws = np.zeros((2, int(slot_ptr[-1])))
    for span, (won,) in blocks_of(slot_ptr, wins):
        defeats[span] = (won > won.T).sum(axis=1)
        draws[span] = (won == won.T).sum(axis=1) - 1
    return defeats, draws


def take_blocks(ptr: Int64s, matrix: Floats, item: Int64s, block_ptr: Int64s) -> Floats:
    """Return the square submatrices of blocks of items, stored flat; a block has items of one problem."""
    blocks = [item[start:stop] for start, stop in pairwise(block_ptr.tolist())]
    squares = [square for _, (square,) in blocks_of(ptr, matrix)]
    problem = np.searchsorted(ptr, [block[0] for block in blocks], side="right") - 1
    taken = [
        squares[q][np.ix_(block - ptr[q], block - ptr[q])] for q, block in zip(problem.tolist(), blocks, strict=True)
    ]
    return np.concatenate([np.zeros(0), *(square.reshape(-1) for square in taken)])
