"""Spearman's footrule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from concordant.errors import ParameterError, arg
from concordant.metrics.distance import DistanceMetric
from concordant.metrics.distances._ranks import common, positions, two
from concordant.params import param


def footrule(reference: ArrayLike, ranks: ArrayLike, *, missing: str = "ignore") -> float:
    """Return Spearman's footrule: the sum of the absolute differences between positions.

    Tied items share the mean position of their tie group.

    Parameters
    ----------
    reference : array-like of shape (n_items,)
        Ranks of the reference (the truth, if there is one); NaN for unranked items.
    ranks : array-like of shape (n_items,)
        Ranks to compare with it.
    missing : {'ignore', 'last'}, default 'ignore'
        Treatment of items that a ranking does not rank.

    Returns
    -------
    float
        The distance.

    Examples
    --------
    >>> from concordant import metrics
    >>> metrics.footrule([1, 2, 3], [3, 2, 1])
    4.0
    """
    if missing not in ("ignore", "last"):
        raise ParameterError(arg("missing", missing) + " is not valid for footrule: use 'ignore' or 'last'.")
    first, second = common(reference, ranks) if missing == "ignore" else two(reference, ranks)
    return float(np.abs(positions(first) - positions(second)).sum())


@dataclass(frozen=True)
class Footrule(DistanceMetric):
    """Sum of the absolute differences between the items' positions (Spearman's footrule)."""

    function = staticmethod(footrule)
    missing: str = param(
        "ignore",
        "items missing from one ranking: ignore (not compared), or last (tied in last place)",
        choices=("ignore", "last"),
    )
