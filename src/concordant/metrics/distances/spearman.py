"""Spearman's rho."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from concordant.metrics.distance import DistanceMetric
from concordant.metrics.distances._ranks import correlation


def spearman(reference: ArrayLike, ranks: ArrayLike) -> float:
    """Return Spearman's rho over the items both rank (SciPy); NaN when one ranking ties everything."""
    return correlation("spearmanr", reference, ranks)


@dataclass(frozen=True)
class Spearman(DistanceMetric):
    """Spearman's rank correlation rho, from -1 to 1."""

    aliases = ("rho",)
    higher_is_better = True
    function = staticmethod(spearman)
