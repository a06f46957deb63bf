"""Kendall's distance: discordant pairs."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from concordant.metrics.distance import DistanceMetric
from concordant.metrics.distances.kemeny import kemeny
from concordant.params import param


def kendall(reference: ArrayLike, ranks: ArrayLike, *, normalised: bool = False) -> float:
    """Count the pairs of items that the two rankings order differently, in O(n log n).

    ``normalised`` divides by the number of pairs both rankings order (0 if there is none).
    """
    return kemeny(reference, ranks, p=0.0, normalised=normalised)


@dataclass(frozen=True)
class Kendall(DistanceMetric):
    """Number of discordant pairs: pairs that the two rankings order differently."""

    function = staticmethod(kendall)
    normalised: bool = param(False, "divide by the number of pairs that both rankings order")
