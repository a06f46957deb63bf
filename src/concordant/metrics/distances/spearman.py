"""Spearman's rho."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from concordant.metrics.distance import DistanceMetric
from concordant.metrics.distances._ranks import correlation


def spearman(reference: ArrayLike, ranks: ArrayLike) -> float:
    """Return Spearman's rank correlation rho over the items that both rank (SciPy).

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
    return correlation("spearmanr", reference, ranks)


@dataclass(frozen=True)
class Spearman(DistanceMetric):
    """Spearman's rank correlation rho, from -1 to 1."""

    aliases = ("rho",)
    higher_is_better = True
    function = staticmethod(spearman)
