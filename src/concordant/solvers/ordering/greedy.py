"""From pairwise preferences to an order: the second step of two-step ranking.

A preference matrix f contains the strength of preference f(i, j) in [0, 1] for item i over item j, with
f(i, j) + f(j, i) = 1. The best order maximises AGREE = sum of f(i, j) over the pairs with i before j, which is NP-hard
(it is the Kemeny order of the matrix). Two approximations cost O(n^2):

- ``greedy_orders`` repeatedly takes the item with the largest net preference sum_j f(i, j) - f(j, i) and removes it
  with its preferences. Its AGREE is at least half of the optimum.
- ``component_orders`` first splits the items into the strongly connected components of the graph "i is preferred to j",
  which some optimal order keeps separate, and orders each greedily. The guarantee is the same, and if the preferences
  have no cycle the order is optimal.

Many matrices are ordered at once, stored one after the other: problem q has ``ptr[q+1] - ptr[q]`` items.

Reference: W. Cohen, R. Schapire and Y. Singer, Learning to order things, JAIR 10, 1999.
"""

from __future__ import annotations

import numpy as np

from concordant import kernels
from concordant.ballots.segments import first_of
from concordant.types import Floats, Int64s


def greedy_orders(ptr: Int64s, preference: Floats) -> Int64s:
    """Return the greedy order of every problem, best first; items are numbered within their problem."""
    return kernels.greedy_orders(ptr, preference)


def component_orders(ptr: Int64s, preference: Floats) -> Int64s:
    """Return the order of every problem by strongly connected components, each ordered greedily."""
    first = first_of(ptr)
    against = kernels.transpose_matrices(ptr, preference)  # what it costs to put an item before another
    item, block_ptr = kernels.split_blocks(ptr, against, np.zeros(0), greedy_orders(ptr, preference) + first)
    inside = greedy_orders(block_ptr, kernels.take_blocks(ptr, preference, item, block_ptr))
    ordered = item[inside + first_of(block_ptr)]
    return np.asarray(ordered - first)
