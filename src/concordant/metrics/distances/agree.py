"""Agreement of a ranking with pairwise preferences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from concordant import kernels
from concordant.errors import InputError
from concordant.kernels.codes import Missing
from concordant.metrics.distance import DistanceMetric
from concordant.metrics.distances._ranks import floats, tiers, two, vector


def agree(preferences: ArrayLike | tuple[ArrayLike, ArrayLike, ArrayLike], ranks: ArrayLike) -> float:
    """Return the sum of the preferences f(i, j) over the pairs in which a ranking places i before j.

    Parameters
    ----------
    preferences : array-like of shape (n_items, n_items), or tuple of (i, j, f)
        Matrix of preferences, or three arrays: preferred item, other item, and preference.
    ranks : array-like of shape (n_items,)
        Ranks; pairs with tied or unranked items contribute nothing.

    Returns
    -------
    float
        The sum.

    Examples
    --------
    >>> from concordant import metrics
    >>> metrics.agree([[0, 0.9], [0.1, 0]], [1, 2])
    0.9
    """
    rank = vector(ranks, "ranks")
    if isinstance(preferences, tuple) and len(preferences) == 3:
        before, after = (np.asarray(side, np.int64) for side in preferences[:2])
        amount = vector(preferences[2], "preferences")
        if not (before.shape == after.shape == amount.shape):
            raise InputError(
                "The arrays i, j and f of the preferences differ in length: give one value of each per pair."
            )
        if len(before) and (min(before.min(), after.min()) < 0 or max(before.max(), after.max()) >= len(rank)):
            raise InputError(f"An item number in i or j is outside 0..{len(rank) - 1}: give positions in the ranking.")
        kept = rank[before] < rank[after]
    else:
        amount = floats(preferences, "preferences")
        if amount.shape != (len(rank), len(rank)):
            raise InputError(
                f"The preferences must have shape {(len(rank), len(rank))} (items x items), got {amount.shape}."
            )
        kept = rank[:, None] < rank
    amounts = amount[kept]
    if not np.isfinite(amounts).all():
        raise InputError("A preference is NaN or infinite: give finite numbers, 0 for no preference.")
    return float(amounts.sum())


def _agree_with_ranks(reference: ArrayLike, ranks: ArrayLike) -> float:
    """Count the pairs that both rankings order the same way, plus half of those that only the second one orders."""
    both = tiers(*two(reference, ranks))
    discordant, _, ordered = kernels.kendall_counts(both[0], both[1:], Missing.IGNORE)[0].tolist()
    ranked = int((both >= 0).all(axis=0).sum())
    tied_in_ranks = np.bincount(both[1][(both >= 0).all(axis=0)])
    ordered_by_ranks = (ranked * ranked - int((tied_in_ranks**2).sum())) / 2
    return float(ordered - discordant + (ordered_by_ranks - ordered) / 2)


@dataclass(frozen=True)
class Agree(DistanceMetric):
    """Sum of the pairwise preferences that agree with the ranking.

    A reference ranking has preference 1 for the better item of a pair, and 1/2 in both directions for a tie.
    """

    higher_is_better = True
    function = staticmethod(_agree_with_ranks)
