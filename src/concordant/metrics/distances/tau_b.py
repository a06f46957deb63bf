"""Kendall's tau-b."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from concordant.metrics.distance import DistanceMetric
from concordant.metrics.distances._ranks import correlation


def tau_b(reference: ArrayLike, ranks: ArrayLike) -> float:
    """Return Kendall's rank correlation tau-b over the items that both rank (SciPy).

    Parameters
    ----------
    reference : array-like of shape (n_items,)
        Ranks of the reference (the truth, if there is one); NaN for unranked items.
    ranks : array-like of shape (n_items,)
        Ranks to compare with it.

    Returns
    -------
    float
        The correlation, NaN if a ranking ties all items.
    """
    return correlation("kendalltau", reference, ranks)


@dataclass(frozen=True)
class TauB(DistanceMetric):
    """Kendall's rank correlation tau-b, corrected for ties, from -1 to 1."""

    aliases = ("taub", "tau")
    higher_is_better = True
    function = staticmethod(tau_b)
