"""Kendall's distance: discordant pairs."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from concordant.metrics.distance import DistanceMetric
from concordant.metrics.distances.kemeny import kemeny
from concordant.params import param


def kendall(reference: ArrayLike, ranks: ArrayLike, *, normalised: bool = False) -> float:
    """Return the Kendall distance: the number of pairs that the two rankings order differently, in O(n log n).

    Parameters
    ----------
    reference : array-like of shape (n_items,)
        Ranks of the reference (the truth, if there is one); NaN for unranked items.
    ranks : array-like of shape (n_items,)
        Ranks to compare with it.
    normalised : bool, default False
        Divide by the number of pairs that both rankings order (0 if there are none).

    Returns
    -------
    float
        The distance.

    Examples
    --------
    >>> from concordant import metrics
    >>> metrics.kendall([1, 2, 3], [3, 2, 1])
    3.0
    """
    return kemeny(reference, ranks, p=0.0, normalised=normalised)


@dataclass(frozen=True)
class Kendall(DistanceMetric):
    """Number of discordant pairs: pairs that the two rankings order differently."""

    function = staticmethod(kendall)
    normalised: bool = param(False, "divide by the number of pairs that both rankings order")
