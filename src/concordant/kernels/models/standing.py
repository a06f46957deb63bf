"""Connected components of comparisons, rank bounds and P(best) (NumPy reference of standing.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.layouts import blocks_of, by_appearance
from concordant.types import Floats, Int32s, Int64s

__all__ = ["best_chances", "duel_groups", "rank_bounds"]


def duel_groups(
    first: Int32s, second: Int32s, won: Floats, lost: Floats, tied: Floats, n_slots: int
) -> tuple[Int32s, Int32s]:
    """Return, for every slot, the component connected by comparisons, and the one connected by wins both ways.

    These are the weakly and the strongly connected components; a tie is a win both ways.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    up, down = (won > 0) | (tied > 0), (lost > 0) | (tied > 0)
    head, tail = np.concatenate([first[up], second[down]]), np.concatenate([second[up], first[down]])
    groups = []
    for connection in ("weak", "strong"):
        a, b = (first, second) if connection == "weak" else (head, tail)
        graph = coo_array((np.ones(len(a)), (a, b)), shape=(n_slots, n_slots)).tocsr()
        _, component = connected_components(graph, directed=True, connection=connection)
        groups.append(by_appearance(component)[0].astype(np.int32))
    return groups[0], groups[1]


def rank_bounds(slot_ptr: Int64s, score: Floats, covariance: Floats, critical: Floats) -> tuple[Int32s, Int32s]:
    """Return the best and worst rank (rank_low, rank_high) consistent with the significant differences.

    A difference is significant if it exceeds ``critical`` standard errors.
    """
    low, high = np.empty(len(score), np.int32), np.empty(len(score), np.int32)
    for q, (span, (block,)) in enumerate(blocks_of(slot_ptr, covariance)):
        own_score, variance = score[span], np.diag(block)
        gap = own_score[None, :] - own_score[:, None]
        variance_of_gap = np.maximum(variance[:, None] + variance[None, :] - 2 * block, 0.0)
        differs = gap**2 > critical[q] ** 2 * variance_of_gap + 1e-18
        low[span] = 1 + (differs & (gap > 0)).sum(axis=1)
        high[span] = len(own_score) - (differs & (gap < 0)).sum(axis=1)
    return low, high


def best_chances(slot_ptr: Int64s, score: Floats, covariance: Floats, draws: Floats, reach: float) -> Floats:
    """Return the share of normal draws in which each item within ``reach`` standard errors of the first is best."""
    chance = np.zeros(len(score))
    for span, (block,) in blocks_of(slot_ptr, covariance):
        own_score = score[span]
        if not len(own_score):
            continue
        top = int(np.argmax(own_score))
        variance_of_gap = np.diag(block) + block[top, top] - 2 * block[top]
        is_rival = (own_score[top] - own_score) ** 2 <= reach**2 * np.maximum(variance_of_gap, 0.0)
        is_rival[top] = True
        rival = np.flatnonzero(is_rival)[: draws.shape[1]]
        factor = _factor(block[np.ix_(rival, rival)])
        drawn = own_score[rival] + draws[:, : len(rival)] @ factor.T
        chance[span.start + rival] = np.bincount(drawn.argmax(axis=1), minlength=len(rival)) / len(draws)
    return chance


def _factor(matrix: Floats) -> Floats:
    """Return the Cholesky factor of a matrix that may lack full rank: zero pivots are skipped."""
    k = len(matrix)
    factor = np.zeros((k, k))
    for i in range(k):
        for j in range(i):
            remainder = matrix[i, j] - factor[i, :j] @ factor[j, :j]
            factor[i, j] = remainder / factor[j, j] if factor[j, j] > 0 else 0.0
        remainder = matrix[i, i] - factor[i, :i] @ factor[i, :i]
        factor[i, i] = np.sqrt(remainder) if remainder > 1e-10 * matrix[i, i] else 0.0
    return factor
