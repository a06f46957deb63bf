"""From pairwise preferences to an order: the second step of two-step ranking.

A preference matrix f holds, for every two items, how much the first is preferred: f(i, j) in [0, 1] with
f(i, j) + f(j, i) = 1. The best order keeps the most preference,

    AGREE = sum of f(i, j) over the pairs with i before j,

and finding it is NP-hard (it is the Kemeny order of the matrix). Two orders that cost O(n^2):

- ``greedy_order`` takes the item of largest net preference sum_j f(i, j) - f(j, i), removes it with its preferences,
  and goes on. It keeps at least half of what the best order keeps.
- ``component_order`` first splits the items into the strongly connected components of the graph "i is preferred to j",
  which some best order keeps apart, and orders greedily inside each. The guarantee is the same, and where preferences
  have no cycle the order is a best one.

``greedy_orders`` and ``component_orders`` do the same for many matrices at once, stored one after the other: problem q
has ``ptr[q+1] - ptr[q]`` items.

Reference: W. Cohen, R. Schapire and Y. Singer, Learning to order things, JAIR 10, 1999.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from concordant import kernels
from concordant.ballots.segments import first_of
from concordant.errors import InputError
from concordant.types import Floats, Int64s

TOLERANCE = 1e-9


def greedy_order(preference: ArrayLike) -> Int64s:
    """Return the items, best first, by net preference among those left (input order among equals)."""
    matrix = _checked(preference)
    return greedy_orders(np.array([0, len(matrix)]), matrix.reshape(-1))


def component_order(preference: ArrayLike) -> Int64s:
    """Return the items, best first: components of the preferences one after the other, each in greedy order."""
    matrix = _checked(preference)
    return component_orders(np.array([0, len(matrix)]), matrix.reshape(-1))


def greedy_orders(ptr: Int64s, preference: Floats) -> Int64s:
    """Return the greedy order of every problem, items numbered inside it."""
    return kernels.greedy_orders(ptr, preference)


def component_orders(ptr: Int64s, preference: Floats) -> Int64s:
    """Return the order of every problem by components, each ordered greedily on its own preferences."""
    first = first_of(ptr)
    against = kernels.transpose_matrices(ptr, preference)  # what it costs to put an item before another
    item, block_ptr = kernels.split_blocks(ptr, against, np.zeros(0), greedy_orders(ptr, preference) + first)
    inside = greedy_orders(block_ptr, kernels.take_blocks(ptr, preference, item, block_ptr))
    ordered = item[inside + first_of(block_ptr)]
    return np.asarray(ordered - first)


def _checked(preference: ArrayLike) -> Floats:
    matrix = np.array(preference, np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"A preference matrix must be square, items x items: this one has shape {matrix.shape}.")
    np.fill_diagonal(matrix, 0.5)
    if not np.isfinite(matrix).all():
        raise InputError("The preference matrix holds NaN or infinity: give a number in [0, 1] for every pair.")
    if len(matrix) and (np.abs(matrix + matrix.T - 1) > TOLERANCE).any():
        i, j = (int(place) for place in np.argwhere(np.abs(matrix + matrix.T - 1) > TOLERANCE)[0])
        raise InputError(f"f({i}, {j}) and f({j}, {i}) do not add up to 1: give both directions of every preference.")
    return matrix
