"""Kendall's tau-b."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from concordant.metrics.distance import DistanceMetric
from concordant.metrics.distances._ranks import correlation


def tau_b(reference: ArrayLike, ranks: ArrayLike) -> float:
    """Return Kendall's tau-b over the items both rank (SciPy); NaN when one ranking ties everything."""
    return correlation("kendalltau", reference, ranks)


@dataclass(frozen=True)
class TauB(DistanceMetric):
    """Kendall's rank correlation tau-b, corrected for ties, from -1 to 1."""

    aliases = ("taub", "tau")
    higher_is_better = True
    function = staticmethod(tau_b)
