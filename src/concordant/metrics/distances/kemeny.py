"""Kemeny's distance: discordant pairs, and a penalty for pairs tied in one ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from concordant import kernels
from concordant.errors import InputError
from concordant.kernels.codes import Missing
from concordant.metrics.distance import DistanceMetric
from concordant.metrics.distances._ranks import matrix, tiers, two, vector
from concordant.params import param
from concordant.types import Floats, Int64s

_MISSING = {"ignore": Missing.IGNORE, "last": Missing.LAST, "last-free": Missing.LAST_FREE}
_MISSING_DOC = "items missing from one ranking: not compared, last, or last without cost among themselves"


def kemeny(
    reference: ArrayLike, ranks: ArrayLike, *, p: float = 0.5, missing: str = "ignore", normalised: bool = False
) -> float:
    """Count discordant pairs plus ``p`` for each pair tied in exactly one ranking, in O(n log n).

    ``normalised`` divides by the number of pairs that are counted at all: those both rankings order and, if
    ``p`` is above 0, those only one of them orders (0 if there is none).
    """
    first, second = two(reference, ranks)
    return float(kendall_to_each(first, second[None, :], p=p, missing=missing, normalised=normalised)[0])


def kendall_to_each(
    reference: ArrayLike, ranks: ArrayLike, *, p: float = 0.5, missing: str = "ignore", normalised: bool = False
) -> Floats:
    """Return the distance of one ranking (M items) to each of N rankings (N x M), see :func:`kemeny`."""
    code, penalty = _checked(missing, p)
    first, others = vector(reference, "reference"), matrix(ranks)
    if others.shape[1] != len(first):
        raise InputError(
            f"The reference has {len(first)} items but the rankings have {others.shape[1]}: rank the same items."
        )
    counts = kernels.kendall_counts(tiers(first)[0], tiers(*others), code)
    return _distances(counts, penalty, normalised)


def kendall_matrix(ranks: ArrayLike, p: float = 0.5, missing: str = "ignore", normalised: bool = False) -> Floats:
    """Return the distances between all pairs of N rankings of M items (N x M, NaN: not ranked).

    The distance is that of :func:`kemeny`; without ties and missing items it is the number of discordant pairs.
    Up to 200 items the rankings are compared as bit sets over pairs of items, above that in O(M log M) each.
    """
    code, penalty = _checked(missing, p)
    return kernels.kendall_matrix(tiers(*matrix(ranks)), code, penalty, bool(normalised))


def _checked(missing: str, p: float) -> tuple[int, float]:
    """Return ``missing`` as the kernels' code, and the penalty; raise if one is invalid."""
    if missing not in _MISSING or not 0 <= p <= 1:
        Kemeny(p=p, missing=missing)  # raises the error
    return int(_MISSING[missing]), float(p)


def _distances(counts: Int64s, penalty: float, normalised: bool) -> Floats:
    """Return distances from counts (discordant, tied once, ordered by both) per ranking."""
    discordant, tied_once, ordered = counts.T.astype(np.float64)
    distance: Floats = discordant + penalty * tied_once
    if normalised:
        comparable = ordered + tied_once if penalty > 0 else ordered
        distance = distance / np.maximum(comparable, 1)
    return distance


@dataclass(frozen=True)
class Kemeny(DistanceMetric):
    """Kendall's distance plus a penalty for each pair tied in exactly one of the two rankings."""

    function = staticmethod(kemeny)
    p: float = param(0.5, "penalty for a pair tied in exactly one ranking", low=0, high=1)
    missing: str = param("ignore", _MISSING_DOC, choices=tuple(_MISSING))
    normalised: bool = param(False, "divide by the number of pairs that at least one ranking orders")
