"""Distances between rankings of the same items, with ties and missing items.

A ranking is a vector of ranks, one per item: lower is better, equal is tied, NaN is not ranked. Only the order
inside a vector matters, never the size of its numbers. The first argument is the reference (the truth, where
there is one).

What happens to items that a ranking leaves out is an explicit choice where it matters:

- ``missing="ignore"``: only the items both rank are compared;
- ``missing="last"``: unranked items are one last bucket;
- ``missing="last-free"``: one last bucket, and pairs inside it cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from concordant import kernels
from concordant.errors import InputError, ParameterError, arg
from concordant.kernels.codes import Missing
from concordant.metrics.value import Metric, parse_all
from concordant.params import param, values_of
from concordant.registry import METRICS
from concordant.types import Floats, Int32s, Int64s

_MISSING = {"ignore": Missing.IGNORE, "last": Missing.LAST, "last-free": Missing.LAST_FREE}
_MISSING_DOC = "items one ranking leaves out: not compared, last, or last at no cost among themselves"


def compare_ranks(
    reference: ArrayLike, ranks: ArrayLike, metrics: str | Metric | Iterable[str | Metric]
) -> dict[str, float]:
    """Compare a ranking with a reference: the value of every distance metric by its name."""
    values = {}
    for metric in parse_all(metrics):
        if not isinstance(metric, DistanceMetric):
            raise ParameterError(f"{metric} needs relevance labels, not a second ranking: use evaluate_arrays.")
        values[str(metric)] = metric.compare(reference, ranks)
    return values


def kendall(reference: ArrayLike, ranks: ArrayLike, *, normalised: bool = False) -> float:
    """Count the pairs of items that the two rankings order differently, in O(n log n).

    ``normalised`` divides by the number of pairs both rankings order (0 if there is none).
    """
    return kemeny(reference, ranks, p=0.0, normalised=normalised)


def kemeny(
    reference: ArrayLike, ranks: ArrayLike, *, p: float = 0.5, missing: str = "ignore", normalised: bool = False
) -> float:
    """Count discordant pairs plus ``p`` for each pair tied in exactly one ranking, in O(n log n).

    ``normalised`` divides by the number of pairs that are counted at all: those both rankings order and, if
    ``p`` is above 0, those only one of them orders (0 if there is none).
    """
    one, other = _two(reference, ranks)
    return float(kendall_to_each(one, other[None, :], p=p, missing=missing, normalised=normalised)[0])


def kendall_to_each(
    reference: ArrayLike, ranks: ArrayLike, *, p: float = 0.5, missing: str = "ignore", normalised: bool = False
) -> Floats:
    """Return the distance of one ranking (M items) to each of N rankings (N x M), see :func:`kemeny`."""
    code, penalty = _checked(missing, p)
    one, others = _vector(reference, "reference"), _matrix(ranks)
    if others.shape[1] != len(one):
        raise InputError(
            f"The reference has {len(one)} items but the rankings have {others.shape[1]}: rank the same items."
        )
    counts = kernels.kendall_counts(_tiers(one)[0], _tiers(*others), code)
    return _distances(counts, penalty, normalised)


def kendall_matrix(ranks: ArrayLike, p: float = 0.5, missing: str = "ignore", normalised: bool = False) -> Floats:
    """Return the distances between all pairs of N rankings of M items (N x M, NaN: not ranked).

    The distance is that of :func:`kemeny`; without ties and missing items it is the number of discordant pairs.
    Up to 200 items the rankings are compared as bit sets over pairs of items, above that in O(M log M) each.
    """
    code, penalty = _checked(missing, p)
    return kernels.kendall_matrix(_tiers(*_matrix(ranks)), code, penalty, bool(normalised))


def tau_b(reference: ArrayLike, ranks: ArrayLike) -> float:
    """Return Kendall's tau-b over the items both rank (SciPy); NaN when one ranking ties everything."""
    return _correlation("kendalltau", reference, ranks)


def spearman(reference: ArrayLike, ranks: ArrayLike) -> float:
    """Return Spearman's rho over the items both rank (SciPy); NaN when one ranking ties everything."""
    return _correlation("spearmanr", reference, ranks)


def _correlation(name: str, reference: ArrayLike, ranks: ArrayLike) -> float:
    both = _common(reference, ranks)
    if any(len(one) < 2 or bool((one == one[0]).all()) for one in both):
        return float("nan")
    from scipy import stats

    return float(getattr(stats, name)(*both).statistic)


def footrule(reference: ArrayLike, ranks: ArrayLike, *, missing: str = "ignore") -> float:
    """Sum how far the positions of each item lie apart; a tied item has the mean position of its bucket."""
    if missing not in ("ignore", "last"):
        raise ParameterError(arg("missing", missing) + " is not a choice of footrule: use 'ignore' or 'last'.")
    one, other = _common(reference, ranks) if missing == "ignore" else _two(reference, ranks)
    return float(np.abs(_positions(one) - _positions(other)).sum())


def position_error(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the position the prediction gives to the truly best item, minus 1.

    Tied predictions have the mean position of their bucket, items without a prediction are the last bucket; of
    several truly best items the best placed counts.
    """
    one, other = _two(truth, predicted)
    known_to_either = ~(np.isnan(one) & np.isnan(other))
    one, other = one[known_to_either], other[known_to_either]
    if np.isnan(one).all():
        raise InputError("The true ranking ranks nothing: give at least one true rank.")
    best = one == np.nanmin(one)
    return float(_positions(other)[best].min() - 1)


def discounted_error(truth: ArrayLike, predicted: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Sum ``v_i |rank_i - rank'_i|`` over the items both rank.

    ``weights`` holds v per item; the default ``1/log2(1 + true rank)`` makes mistakes at the top cost most.
    """
    one, other = _two(truth, predicted)
    both = ~np.isnan(one) & ~np.isnan(other)
    position, guess = _positions(one[both]), _positions(other[both])
    if weights is None:
        weight = 1 / np.log2(1 + position)
    else:
        given = _vector(weights, "weights")
        if len(given) != len(one):
            raise InputError(f"There are {len(given)} weights for {len(one)} items: give one weight per item.")
        weight = given[both]
    return float((weight * np.abs(position - guess)).sum())


def agree(preferences: ArrayLike | tuple[ArrayLike, ArrayLike, ArrayLike], ranks: ArrayLike) -> float:
    """Sum the pair preferences f(i, j) that a ranking keeps, that is with i ranked before j.

    ``preferences`` is a matrix (items x items) or a tuple of three arrays (i, j, f). Items tied or not ranked
    keep nothing.
    """
    rank = _vector(ranks, "ranks")
    if isinstance(preferences, tuple) and len(preferences) == 3:
        before, after = (np.asarray(side, np.int64) for side in preferences[:2])
        amount = _vector(preferences[2], "preferences")
        if not (before.shape == after.shape == amount.shape):
            raise InputError("The arrays i, j and f of the preferences differ in length: give one of each per pair.")
        if len(before) and (min(before.min(), after.min()) < 0 or max(before.max(), after.max()) >= len(rank)):
            raise InputError(f"A preference names an item outside 0..{len(rank) - 1}: check i and j.")
        kept = rank[before] < rank[after]
    else:
        amount = _floats(preferences, "preferences")
        if amount.shape != (len(rank), len(rank)):
            raise InputError(f"The preferences have shape {amount.shape}: give {len(rank)} x {len(rank)}, as items.")
        kept = rank[:, None] < rank
    amounts = amount[kept]
    if not np.isfinite(amounts).all():
        raise InputError("A preference is NaN or infinite: give finite numbers, 0 where nothing is preferred.")
    return float(amounts.sum())


def _agree_with_ranks(reference: ArrayLike, ranks: ArrayLike) -> float:
    """Count the pairs that both rankings order alike, and half of those that only the second one orders."""
    tiers = _tiers(*_two(reference, ranks))
    discordant, _, ordered = kernels.kendall_counts(tiers[0], tiers[1:], Missing.IGNORE)[0].tolist()
    ranked = int((tiers >= 0).all(axis=0).sum())
    tied_in_ranks = np.bincount(tiers[1][(tiers >= 0).all(axis=0)])
    ordered_by_ranks = (ranked * ranked - int((tied_in_ranks**2).sum())) / 2
    return float(ordered - discordant + (ordered_by_ranks - ordered) / 2)


def _checked(missing: str, p: float) -> tuple[int, float]:
    if missing not in _MISSING or not 0 <= p <= 1:
        Kemeny(p=p, missing=missing)  # says what is wrong
    return int(_MISSING[missing]), float(p)


def _distances(counts: Int64s, penalty: float, normalised: bool) -> Floats:
    discordant, tied_once, ordered = counts.T.astype(np.float64)
    distance: Floats = discordant + penalty * tied_once
    if normalised:
        comparable = ordered + tied_once if penalty > 0 else ordered
        distance = distance / np.maximum(comparable, 1)
    return distance


def _positions(ranks: Floats) -> Floats:
    """Return the mean position of each item's bucket, from 1; unranked items are the last bucket."""
    _, bucket, size = np.unique(ranks, return_inverse=True, return_counts=True)
    end = np.cumsum(size)
    return (end - (size - 1) / 2)[bucket.reshape(-1)]


def _tiers(*ranks: Floats) -> Int32s:
    """Turn ranks into whole numbers in [0, items), -1 for unranked, in the same order with the same ties."""
    stacked = np.stack(ranks)
    rankings, items = stacked.shape
    unranked = np.isnan(stacked)
    whole = np.where(unranked, 1, stacked)
    if ((whole >= 1) & (whole <= items) & (whole == np.floor(whole))).all():
        return np.where(unranked, -1, whole - 1).astype(np.int32)
    order = np.argsort(stacked, axis=1)
    in_order = np.take_along_axis(stacked, order, axis=1)
    rises = np.zeros((rankings, items), np.int32)
    rises[:, 1:] = in_order[:, 1:] > in_order[:, :-1]
    tier = np.empty((rankings, items), np.int32)
    np.put_along_axis(tier, order, np.cumsum(rises, axis=1, dtype=np.int32), axis=1)
    tier[unranked] = -1
    return tier


def _floats(values: ArrayLike | tuple[ArrayLike, ...], name: str) -> Floats:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} holds something that is no number: give an array of numbers.") from None


def _vector(values: ArrayLike, name: str) -> Floats:
    array = _floats(values, name)
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions: give one rank per item in a one-dimensional array.")
    return array


def _matrix(ranks: ArrayLike) -> Floats:
    array = _floats(ranks, "ranks")
    if array.ndim != 2 or not array.size:
        raise InputError(f"ranks has shape {array.shape}: give rankings x items, at least one of each.")
    return array


def _two(reference: ArrayLike, ranks: ArrayLike) -> tuple[Floats, Floats]:
    one, other = _vector(reference, "reference"), _vector(ranks, "ranks")
    if len(one) != len(other):
        raise InputError(f"The rankings have {len(one)} and {len(other)} items: rank the same items, NaN if unranked.")
    if not len(one):
        raise InputError("The rankings are empty: rank at least one item.")
    return one, other


def _common(reference: ArrayLike, ranks: ArrayLike) -> tuple[Floats, Floats]:
    one, other = _two(reference, ranks)
    both = ~np.isnan(one) & ~np.isnan(other)
    return one[both], other[both]


@dataclass(frozen=True)
class DistanceMetric(Metric):
    """A metric of one ranking against a reference ranking of the same items.

    ``function`` takes the two vectors of ranks and the options by name.
    """

    kind: ClassVar[str] = "distance"
    higher_is_better: ClassVar[bool] = False
    function: ClassVar[Callable[..., float]]

    def compare(self, reference: ArrayLike, ranks: ArrayLike) -> float:
        """Compare two vectors of ranks."""
        return type(self).function(reference, ranks, **values_of(self))


@METRICS.add
@dataclass(frozen=True)
class Kendall(DistanceMetric):
    """Number of pairs of items that the two rankings order differently."""

    name = "kendall"
    function = staticmethod(kendall)
    normalised: bool = param(False, "divide by the number of pairs that both rankings order")


@METRICS.add
@dataclass(frozen=True)
class Kemeny(DistanceMetric):
    """Kendall's distance plus a penalty for each pair tied in exactly one of the two rankings."""

    name = "kemeny"
    function = staticmethod(kemeny)
    p: float = param(0.5, "penalty of a pair tied in exactly one ranking", low=0, high=1)
    missing: str = param("ignore", _MISSING_DOC, choices=tuple(_MISSING))
    normalised: bool = param(False, "divide by the number of pairs that at least one ranking orders")


@METRICS.add
@dataclass(frozen=True)
class TauB(DistanceMetric):
    """Kendall's rank correlation with the usual correction for ties, from -1 to 1."""

    name = "tau-b"
    aliases = ("taub", "tau")
    higher_is_better = True
    function = staticmethod(tau_b)


@METRICS.add
@dataclass(frozen=True)
class Spearman(DistanceMetric):
    """Spearman's rank correlation rho, from -1 to 1."""

    name = "spearman"
    aliases = ("rho",)
    higher_is_better = True
    function = staticmethod(spearman)


@METRICS.add
@dataclass(frozen=True)
class Footrule(DistanceMetric):
    """Sum over items of how far their positions lie apart (Spearman's footrule)."""

    name = "footrule"
    function = staticmethod(footrule)
    missing: str = param("ignore", "items one ranking leaves out: not compared, or last", choices=("ignore", "last"))


@METRICS.add
@dataclass(frozen=True)
class PositionError(DistanceMetric):
    """Number of items predicted before the truly best one."""

    name = "position-error"
    function = staticmethod(position_error)


@METRICS.add
@dataclass(frozen=True)
class DiscountedError(DistanceMetric):
    """Footrule whose items count less the lower they truly rank."""

    name = "discounted-error"
    function = staticmethod(discounted_error)


@METRICS.add
@dataclass(frozen=True)
class Agree(DistanceMetric):
    """Sum of the pair preferences that the order keeps.

    A reference ranking prefers by 1 what it puts first, and by 1/2 each way what it ties.
    """

    name = "agree"
    higher_is_better = True
    function = staticmethod(_agree_with_ranks)
