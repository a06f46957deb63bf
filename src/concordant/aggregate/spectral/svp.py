"""SVP: complete the preference matrix at rank two by singular value projection.

If every item had a score, the matrix of preferences would be s eᵀ - e sᵀ: skew-symmetric of rank two. The mean
preferences of the compared pairs are completed to a skew-symmetric matrix of rank two by singular value projection:
step towards the observed entries, keep the two largest singular values, repeat. The score of an item is the mean of its
row. Use it for ratings or ranks in which many pairs were never compared. One step (the default) treats such pairs as
ties, which pulls rarely compared items towards the middle; more ``steps`` fill them in from the other pairs. On search
results, where engines return different documents, one step is much better.

The two largest singular values of a skew-symmetric matrix are equal, so a step needs no full decomposition: subspace
iteration starts from the plane of the previous step, and initially from the plane of e and the row means.

Cost: the pairwise counts, then ``steps`` products of the candidates' matrix with two vectors. Reference: D. Gleich and
L.-H. Lim, Rank aggregation via nuclear norm minimization, KDD 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate import options
from concordant.aggregate.spectral._least_squares import Explained, ExplainsPreferences
from concordant.params import param
from concordant.support import progress
from concordant.types import Bools, Floats, Int32s

TOLERANCE = 1e-12
TURNS = (60, 2)  # at most, multiplications of the plane in the first step, and in later ones
SAME_PLANE = 1e-15  # from which on another multiplication changes nothing


@dataclass(frozen=True, kw_only=True)
class SVP(ExplainsPreferences):
    """Row means of the preference matrix completed at rank two by singular value projection."""

    usual_name = "singular value projection"
    counts: str = options.counts()
    steps: int = param(1, "maximum number of steps of the matrix completion", low=1, high=1e5)

    def explain(self, compared: Floats, mean: Floats, group: Int32s) -> Explained:
        """Complete the mean preferences at rank two; the score is the mean of a row."""
        is_known = compared > 0
        filled = _complete(mean, is_known, self.steps)
        return Explained(filled.mean(axis=2), lambda rows: filled[:, rows], is_known)


def _complete(mean: Floats, is_known: Bools, steps: int) -> Floats:
    """Complete stacked skew-symmetric matrices at rank two by singular value projection.

    Each step moves towards the known cells with step size 1 / (share of known cells), then projects onto the best
    plane.
    """
    m = mean.shape[1]
    result = np.zeros_like(mean)
    unit = np.ldexp(1.0, np.frexp(np.abs(mean).max(axis=(1, 2), initial=0.0))[1])[:, None, None]
    mean = mean / unit  # exact, and squares of the smallest and largest preferences stay in range
    scale = np.abs(mean).max(axis=(1, 2), initial=0.0)
    rows = mean.sum(axis=2)
    # Without any net preference the best plane says nothing of scores: they are all zero.
    active = np.flatnonzero(np.abs(rows).max(axis=1, initial=0.0) > 1e-12 * np.maximum(scale, 1e-300) * m)
    plane = _orthonormal(np.stack([np.ones_like(rows), rows], axis=2)[active])
    share_known = is_known[active].sum(axis=(1, 2)) / max(m * (m - 1), 1)
    stride = 1 / np.maximum(share_known, 1e-300)
    error = np.full(len(active), np.inf)
    for step in progress.iterations(range(steps), "completing preferences"):
        if not len(active):
            break
        if step == 0 and len(active) == len(mean):
            target = stride[:, None, None] * mean
        else:
            gap = np.where(is_known[active], mean[active] - result[active], 0.0)
            target = result[active] + stride[:, None, None] * gap
        for _ in range(TURNS[min(step, 1)]):
            old, plane = plane, _orthonormal(target @ plane)
            if np.abs(plane - old @ (old.transpose(0, 2, 1) @ plane)).max(initial=0.0) < SAME_PLANE:
                break
        core = plane.transpose(0, 2, 1) @ target @ plane
        core = (core - core.transpose(0, 2, 1)) / 2
        filled = plane @ core @ plane.transpose(0, 2, 1)
        new_error = (np.where(is_known[active], mean[active] - filled, 0.0) ** 2).sum(axis=(1, 2))
        is_better = new_error <= error
        # A stride above 1 may overshoot where the compared pairs are few: then walk more slowly from where we were.
        stride = np.where(is_better, stride, np.maximum(1.0, stride / 2))
        is_done = (np.abs(error - new_error) <= TOLERANCE * scale[active] ** 2 * m) & is_better
        is_stuck = ~is_better & (stride <= 1.0) & (new_error - error <= 1e-9 * error)
        result[active[is_better]] = filled[is_better]
        error = np.where(is_better, new_error, error)
        keep = ~(is_done | is_stuck)
        active, plane, stride, error = active[keep], plane[keep], stride[keep], error[keep]
    return np.asarray(result * unit)


def _orthonormal(columns: Floats) -> Floats:
    """Orthonormalise the two columns of every matrix (Gram-Schmidt, twice against rounding)."""
    first, second = columns[:, :, 0], columns[:, :, 1]
    first = first / np.maximum(np.linalg.norm(first, axis=1), 1e-300)[:, None]
    second = second - (first * second).sum(axis=1)[:, None] * first
    second = second - (first * second).sum(axis=1)[:, None] * first
    second = second / np.maximum(np.linalg.norm(second, axis=1), 1e-300)[:, None]
    return np.stack([first, second], axis=2)
