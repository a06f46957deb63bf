"""Coefficients of numbers: Krippendorff's alpha and intraclass correlations, as functions of sums over units.

The six intraclass correlations of P. Shrout and J. Fleiss, Intraclass correlations: uses in assessing rater
reliability, Psychological Bulletin 1979 (in brackets, the names of K. McGraw and S. Wong, 1996). With mean squares
between units (R), between raters (C), within units (W) and residual (E) of n units and k raters:

- ICC(1,1) [ICC(1)] = (R - W) / (R + (k - 1) W): every unit has other raters; ICC(1,k) = (R - W) / R
- ICC(2,1) [ICC(A,1)] = (R - E) / (R + (k - 1) E + k (C - E) / n): absolute agreement;
  ICC(2,k) = (R - E) / (R + (C - E) / n)
- ICC(3,1) [ICC(C,1)] = (R - E) / (R + (k - 1) E): consistency, apart from constants by rater; ICC(3,k) = (R - E) / R

With missing answers, the one-way forms use all units with two answers and the mean number of raters
k = (N - sum m²/N) / (n - 1); the two-way forms use the units that all raters answer.
"""

from __future__ import annotations

import numpy as np

from concordant.analysis.agreement.categorical import Statistic, ratio, ratio_distance
from concordant.analysis.agreement.codings import Codings, sums_by_block
from concordant.ballots.segments import sum_by
from concordant.errors import NeedError
from concordant.types import AnyArray, Floats

MAX_VALUES = 5_000  # of alpha at the ratio level, whose expected disagreement compares all pairs of values
PAIRS_AT_ONCE = 5_000_000


def _comparable(codings: Codings) -> Codings:
    return codings.of_units(codings.size >= 2)


def _moments(codings: Codings) -> tuple[Floats, Floats, Floats]:
    """Return number, sum and sum of squares of the answers by unit, of values centred for accuracy."""
    value = codings.value - (codings.value.mean() if len(codings.value) else 0.0)
    n = codings.n_units
    return codings.size, sum_by(codings.unit, value, n), sum_by(codings.unit, value**2, n)


def alpha_of_numbers(codings: Codings, seed: int) -> Statistic:
    """Return Krippendorff's alpha at the interval level."""
    kept = _comparable(codings)
    m, total, squares = _moments(kept)
    columns = np.stack([m, total, squares, 2 * (m * squares - total**2) / (m - 1)], axis=1)
    sums = _by_block(kept, columns, seed)

    def statistic(weights: Floats) -> Floats:
        n, total, squares, observed = (weights @ sums).T
        return 1 - ratio((n - 1) * observed, 2 * (n * squares - total**2))

    return Statistic(len(sums), statistic)


def _by_block(codings: Codings, columns: AnyArray, seed: int) -> Floats:
    block = codings.block_of_unit(columns.shape[1], seed)
    return sums_by_block(block, int(block.max(initial=-1)) + 1, columns)


def alpha_of_ranks(codings: Codings) -> Statistic:
    """Return Krippendorff's alpha at the ordinal level, of any number of categories, one unit per block.

    The squared distance of two categories is that of their mid-ranks among all comparable answers, so that this is
    alpha at the interval level of mid-ranks, which differ between replicates.
    """
    kept = _comparable(codings)
    values, code = kept.categories
    m = kept.size

    def one(weight: Floats) -> float:
        w = weight[kept.unit]
        n_k = np.bincount(code, w, len(values))
        place = (np.cumsum(n_k) - n_k / 2)[code]
        place = place - n_k.sum() / 2
        total, squares = np.bincount(kept.unit, place, kept.n_units), np.bincount(kept.unit, place**2, kept.n_units)
        observed = float((weight * 2 * (m * squares - total**2) / (m - 1)).sum())
        n = n_k.sum()
        expected = 2 * (n * (w * place**2).sum() - (w * place).sum() ** 2)
        return float(1 - (n - 1) * observed / expected) if expected > 0 else np.nan

    return Statistic(kept.n_units, lambda weights: np.array([one(weight) for weight in weights]))


def alpha_of_ratios(codings: Codings, seed: int) -> Statistic:
    """Return Krippendorff's alpha at the ratio level, of many values."""
    kept = _comparable(codings)
    values, code = kept.categories
    if len(values) > MAX_VALUES:
        raise NeedError(
            f"Alpha at the ratio level compares all pairs of values, of which there may be {MAX_VALUES:,}, got "
            f"{len(values):,}: round the answers, or use the interval level."
        )
    observed = np.zeros(kept.n_units)
    start = np.searchsorted(kept.unit, np.arange(kept.n_units))
    place = np.arange(len(code)) - start[kept.unit]
    for distance in range(1, int(kept.size.max(initial=0))):  # answers this far apart in the list of a unit
        one = np.flatnonzero(place >= distance)
        apart = ratio_distance(kept.value[one], kept.value[one - distance])
        observed += np.bincount(kept.unit[one], 2 * apart, kept.n_units)
    block = kept.block_of_unit(len(values), seed)
    n_blocks = int(block.max(initial=-1)) + 1
    marginals = np.bincount(block[kept.unit] * len(values) + code, minlength=n_blocks * len(values))
    marginals = marginals.reshape(n_blocks, len(values)).astype(np.float64)
    sums = np.bincount(block, observed / (kept.size - 1), n_blocks)

    def statistic(weights: Floats) -> Floats:
        n_k, expected = weights @ marginals, np.zeros(len(weights))
        step = max(PAIRS_AT_ONCE // len(values), 1)
        for low in range(0, len(values), step):
            metric = ratio_distance(values[low : low + step, None], values[None, :])
            expected += (n_k[:, low : low + step] * (n_k @ metric.T)).sum(axis=1)
        return 1 - ratio((n_k.sum(axis=1) - 1) * (weights @ sums), expected)

    return Statistic(n_blocks, statistic)


# ---- intraclass correlations ----
def one_way(codings: Codings, form: str, seed: int) -> Statistic:
    """Return ICC(1,1) or ICC(1,k)."""
    kept = _comparable(codings)
    m, total, squares = _moments(kept)
    sums = _by_block(kept, np.stack([np.ones_like(m), m, m**2, total, squares, total**2 / m], axis=1), seed)

    def statistic(weights: Floats) -> Floats:
        n, answers, sizes, total, squares, between = (weights @ sums).T
        within = ratio(squares - between, answers - n)
        among = ratio(between - total**2 / np.maximum(answers, 1), n - 1)
        k = ratio(answers - sizes / np.maximum(answers, 1), n - 1)
        return ratio(among - within, among if form == "1,k" else among + (k - 1) * within)

    return Statistic(len(sums), statistic)


def two_way(codings: Codings, form: str, seed: int) -> Statistic:
    """Return ICC(2,1), ICC(3,1), ICC(2,k) or ICC(3,k) of the units that all raters answer."""
    present, rater = np.unique(codings.rater, return_inverse=True)
    k = len(present)
    is_complete = codings.size == k
    n_complete = int(is_complete.sum())
    if n_complete < 2 or k < 2 or codings.names is None:
        raise NeedError(
            f"ICC({form}) needs at least two items that all {k:,} raters answer, with names of the raters, got "
            f"{n_complete:,}: use ICC(1,1), which allows for missing answers."
        )
    order = np.flatnonzero(is_complete[codings.unit])
    order = order[np.lexsort((rater.reshape(-1)[order], codings.unit[order]))]
    table = codings.value[order].reshape(n_complete, k)
    table = table - table.mean()
    kept = codings.of_units(is_complete)
    columns = np.column_stack([np.ones(n_complete), (table**2).sum(axis=1), table.sum(axis=1) ** 2 / k, table])
    sums = _by_block(kept, columns, seed)

    def statistic(weights: Floats) -> Floats:
        total = weights @ sums
        n, squares, between, raters = total[:, 0], total[:, 1], total[:, 2], total[:, 3:]
        centre = raters.sum(axis=1) ** 2 / (n * k)
        of_raters = (raters**2).sum(axis=1) / n - centre
        among, by_rater = ratio(between - centre, n - 1), of_raters / (k - 1)
        rest = ratio(squares - between - of_raters, (n - 1) * (k - 1))
        below = {
            "2,1": among + (k - 1) * rest + k * (by_rater - rest) / n,
            "3,1": among + (k - 1) * rest,
            "2,k": among + (by_rater - rest) / n,
            "3,k": among,
        }[form]
        return ratio(among - rest, below)

    return Statistic(len(sums), statistic)
