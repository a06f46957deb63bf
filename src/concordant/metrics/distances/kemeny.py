"""Kemeny's distance: discordant pairs, with a penalty for pairs tied in one ranking."""

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
_MISSING_DOC = (
    "items missing from one ranking: ignore (not compared), last (tied in last place), or last-free (last, pairs of "
    "missing items not counted)"
)


def kemeny(
    reference: ArrayLike, ranks: ArrayLike, *, p: float = 0.5, missing: str = "ignore", normalised: bool = False
) -> float:
    """Return the Kemeny distance: discordant pairs plus a penalty for pairs tied in one ranking, in O(n log n).

    Parameters
    ----------
    reference : array-like of shape (n_items,)
        Ranks of the reference (the truth, if there is one); NaN for unranked items.
    ranks : array-like of shape (n_items,)
        Ranks to compare with it.
    p : float, default 0.5
        Penalty of a pair that is tied in exactly one ranking.
    missing : {'ignore', 'last', 'last-free'}, default 'ignore'
        Treatment of items that a ranking does not rank.
    normalised : bool, default False
        Divide by the number of pairs that can contribute to the distance: those that both rankings order and, if ``p``
        is above 0, those that only one of them orders (0 if there are none).

    Returns
    -------
    float
        The distance.

    Examples
    --------
    >>> from concordant import metrics
    >>> metrics.kemeny([1, 2, 3], [1, 2, 2])
    0.5
    """
    first, second = two(reference, ranks)
    return float(kendall_to_each(first, second[None, :], p=p, missing=missing, normalised=normalised)[0])


def kendall_to_each(
    reference: ArrayLike, ranks: ArrayLike, *, p: float = 0.5, missing: str = "ignore", normalised: bool = False
) -> Floats:
    """Return the Kemeny distance of one ranking to each of several.

    Parameters
    ----------
    reference : array-like of shape (n_items,)
        Ranks of the reference (the truth, if there is one); NaN for unranked items.
    ranks : array-like of shape (n_rankings, n_items)
        Rankings to compare with it.
    p : float, default 0.5
        Penalty of a pair that is tied in exactly one ranking.
    missing : {'ignore', 'last', 'last-free'}, default 'ignore'
        Treatment of items that a ranking does not rank.
    normalised : bool, default False
        Divide by the number of pairs, as in ``kemeny``.

    Returns
    -------
    ndarray of shape (n_rankings,)
        The distances.
    """
    code, penalty = _checked(missing, p)
    first, others = vector(reference, "reference"), matrix(ranks)
    if others.shape[1] != len(first):
        raise InputError(
            f"The reference has {len(first)} items but the rankings have {others.shape[1]}: rank the same items."
        )
    counts = kernels.kendall_counts(tiers(first)[0], tiers(*others), code)
    return _distances(counts, penalty, normalised)


def kendall_matrix(ranks: ArrayLike, p: float = 0.5, missing: str = "ignore", normalised: bool = False) -> Floats:
    """Return the Kemeny distances between all pairs of rankings.

    Without ties and missing items, these are the numbers of discordant pairs. With up to 200 items, rankings are
    compared as bit sets over pairs of items, with more in O(n log n) each.

    Parameters
    ----------
    ranks : array-like of shape (n_rankings, n_items)
        Rankings; NaN marks unranked items.
    p : float, default 0.5
        Penalty of a pair that is tied in exactly one ranking.
    missing : {'ignore', 'last', 'last-free'}, default 'ignore'
        Treatment of items that a ranking does not rank.
    normalised : bool, default False
        Divide by the number of pairs, as in ``kemeny``.

    Returns
    -------
    ndarray of shape (n_rankings, n_rankings)
        The distances.
    """
    code, penalty = _checked(missing, p)
    return kernels.kendall_matrix(tiers(*matrix(ranks)), code, penalty, bool(normalised))


def _checked(missing: str, p: float) -> tuple[int, float]:
    """Return ``missing`` as the code of the kernels, and the penalty; raise an error if one is invalid."""
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
