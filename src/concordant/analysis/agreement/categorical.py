"""Coefficients of classes and ordered categories, as functions of sums over units, so that a bootstrap is a product.

With n_uk raters who give unit u category k, m_u = sum_k n_uk, and weights of agreement w_kl (1 on the diagonal):

- *percent agreement*: p_a, the mean over units with m_u >= 2 of sum_kl w_kl n_uk (n_ul - [k = l]) / (m_u (m_u - 1))
- *Fleiss' kappa*: (p_a - p_e) / (1 - p_e) with p_e = sum_kl w_kl pi_k pi_l, pi_k the mean of n_uk / m_u over units
- *Gwet's AC1, AC2*: the same with p_e = (sum_kl w_kl) sum_k pi_k (1 - pi_k) / (q (q - 1)) for q categories
- *Cohen's kappa*, *Scott's pi*: two raters; p_e from the distribution of each rater, or from their mean, over the units
  that both answer
- *Krippendorff's alpha*: 1 - D_o / D_e of coincidences o_kl = sum_u n_uk (n_ul - [k = l]) / (m_u - 1)

With missing answers, these are the forms of K. Gwet, Handbook of Inter-Rater Reliability, 2014, and K. Krippendorff,
Content Analysis, 2018. Linear and quadratic weights are by position in the list of categories.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from concordant.analysis.agreement.codings import Codings, sums_by_block
from concordant.ballots.segments import sum_by
from concordant.errors import NeedError
from concordant.types import AnyArray, Floats, Int64s

MAX_CATEGORIES = 64  # of weighted coefficients, which keep a table of categories by categories per block


class Statistic(NamedTuple):
    """A coefficient as a function of how often blocks of units count."""

    n_blocks: int
    at: Callable[[Floats], Floats]
    """The coefficient by replicate, from the weight of every block (in columns) in every replicate (in rows)."""


class Counts:
    """Counts of answers by unit and category, summed over blocks of units."""

    def __init__(self, codings: Codings, seed: int) -> None:
        self.codings = codings
        self.q = codings.n_categories
        cells = self.q**2 if self.q <= MAX_CATEGORIES else self.q
        self.block = codings.block_of_unit(cells, seed)
        self.n_blocks = int(self.block.max(initial=-1)) + 1
        _, code = codings.categories
        key, count = np.unique(codings.unit * max(self.q, 1) + code, return_counts=True)
        self.cell_unit, self.cell_code, self.cell_count = key // max(self.q, 1), key % max(self.q, 1), count
        size = codings.size
        self.is_comparable = size >= 2
        with np.errstate(divide="ignore"):
            self.per_pair = np.where(self.is_comparable, 1 / np.maximum(size - 1, 1), 0.0)
            self.per_answer = np.where(size > 0, 1 / np.maximum(size, 1), 0.0)

    def by_block(self, weight_of_unit: Floats) -> Floats:
        """Return the sums of weighted counts by block and category."""
        weight = self.cell_count * weight_of_unit[self.cell_unit]
        index = self.block[self.cell_unit] * self.q + self.cell_code
        return sum_by(index, weight, self.n_blocks * self.q).reshape(self.n_blocks, self.q)

    def of_units(self, *columns: AnyArray) -> Floats:
        """Return sums over units by block."""
        return sums_by_block(self.block, self.n_blocks, np.stack(columns, axis=1))

    def equal_pairs(self, weight_of_unit: Floats) -> Floats:
        """Return the weighted number of ordered pairs of equal answers by block."""
        pairs = self.cell_count * (self.cell_count - 1.0) * weight_of_unit[self.cell_unit]
        return sum_by(self.block[self.cell_unit], pairs, self.n_blocks)

    def tables(self, weight_of_unit: Floats) -> Floats:
        """Return the weighted number of ordered pairs of answers by block, category and category."""
        first = np.searchsorted(self.cell_unit, self.cell_unit)
        cells_of_unit = np.bincount(self.cell_unit, minlength=self.codings.n_units)
        times = cells_of_unit[self.cell_unit]
        one = np.repeat(np.arange(len(times)), times)
        other = np.arange(len(one)) - np.repeat(np.cumsum(times) - times, times) + np.repeat(first, times)
        pairs = self.cell_count[one] * (self.cell_count[other] - (one == other))
        index = (self.block[self.cell_unit[one]] * self.q + self.cell_code[one]) * self.q + self.cell_code[other]
        tables = sum_by(index, pairs * weight_of_unit[self.cell_unit[one]], self.n_blocks * self.q**2)
        return tables.reshape(self.n_blocks, self.q**2)

    def refuse_many(self, what: str) -> None:
        """Reject weighted coefficients of many categories."""
        if self.q > MAX_CATEGORIES:
            raise NeedError(f"{what} with weights needs at most {MAX_CATEGORIES} categories, got {self.q:,}.")


def weights_of(q: int, kind: str) -> Floats:
    """Return the weights of agreement of q categories in order: identity, linear or quadratic."""
    if kind == "identity" or q < 2:
        return np.eye(q)
    distance = np.abs(np.subtract.outer(np.arange(q), np.arange(q))) / (q - 1)
    return np.asarray(1 - (distance if kind == "linear" else distance**2), np.float64)


def ratio(above: AnyArray, below: AnyArray) -> Floats:
    """Return quotients; NaN where the denominator is 0."""
    quotient = np.divide(above, below, out=np.full(np.shape(above), np.nan), where=np.abs(below) > 1e-15)
    return np.asarray(quotient, np.float64)


def beyond_chance(observed: Floats, expected: Floats) -> Floats:
    """Return (p_a - p_e) / (1 - p_e)."""
    return ratio(observed - expected, 1 - expected)


# ---- several raters ----
def percent_agreement(counts: Counts) -> Statistic:
    """Return the share of pairs of raters who agree."""
    return Statistic(counts.n_blocks, partial(_percent, sums=_observed(counts, "identity")))


def _observed(counts: Counts, kind: str) -> Floats:
    """Return the sum of the agreement of units and the number of units, by block."""
    weight = counts.per_pair * counts.per_answer
    if kind == "identity":
        agreed = counts.equal_pairs(weight)
    else:
        agreed = counts.tables(weight) @ weights_of(counts.q, kind).ravel()
    return np.stack([agreed, counts.of_units(counts.is_comparable)[:, 0]], axis=1)


def _percent(weights: Floats, sums: Floats) -> Floats:
    total = weights @ sums
    return ratio(total[:, 0], total[:, 1])


def chance_corrected(counts: Counts, chance: str, kind: str = "identity") -> Statistic:
    """Return Fleiss' kappa ("fleiss") or Gwet's AC1 and AC2 ("gwet")."""
    if kind != "identity":
        counts.refuse_many({"fleiss": "Fleiss' kappa", "gwet": "Gwet's AC2"}[chance])
    observed, shares = _observed(counts, kind), counts.by_block(counts.per_answer)
    weighted, q = (None if kind == "identity" else weights_of(counts.q, kind)), counts.q

    def statistic(weights: Floats) -> Floats:
        share = weights @ shares
        share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
        if chance == "gwet":
            total = q if weighted is None else weighted.sum()
            expected = total * (share * (1 - share)).sum(axis=1) / max(q * (q - 1), 1)
        else:
            expected = (share * (share if weighted is None else share @ weighted)).sum(axis=1)
        return beyond_chance(_percent(weights, observed), expected)

    return Statistic(counts.n_blocks, statistic)


# ---- two raters ----
def of_two_raters(counts: Counts, chance: str, kind: str = "identity") -> Statistic:
    """Return Cohen's kappa ("cohen") or Scott's pi ("scott") of two raters."""
    codings, q = counts.codings, counts.q
    if kind != "identity":
        counts.refuse_many("Cohen's kappa")
    _, code = codings.categories
    raters = np.unique(codings.rater)
    if len(raters) != 2:
        raise NeedError(f"Cohen's kappa and Scott's pi compare two raters, got {len(raters):,}: see the pairs.")
    is_both = codings.size[codings.unit] == 2
    unit = codings.unit[is_both][::2]
    a, b = code[is_both][::2], code[is_both][1::2]
    block = counts.block[unit]
    first, second = (_by_category(block, one, counts.n_blocks, q) for one in (a, b))
    weighted = None if kind == "identity" else weights_of(q, kind)
    agreed = (a == b).astype(np.float64) if weighted is None else weighted[a, b]
    sums = np.stack([np.bincount(block, agreed, counts.n_blocks), np.bincount(block, minlength=counts.n_blocks)], 1)

    def statistic(weights: Floats) -> Floats:
        total = weights @ sums
        n = np.maximum(total[:, 1:], 1e-300)
        of_first, of_second = weights @ first / n, weights @ second / n
        if chance == "scott":
            of_first = of_second = (of_first + of_second) / 2
        expected = (of_first * (of_second if weighted is None else of_second @ weighted)).sum(axis=1)
        return beyond_chance(ratio(total[:, 0], total[:, 1]), expected)

    return Statistic(counts.n_blocks, statistic)


def _by_category(block: Int64s, code: Int64s, n_blocks: int, q: int) -> Floats:
    return np.bincount(block * q + code, minlength=n_blocks * q).reshape(n_blocks, q).astype(np.float64)


# ---- Krippendorff's alpha ----
def alpha_of_classes(counts: Counts) -> Statistic:
    """Return Krippendorff's alpha at the nominal level."""
    coincidences = counts.by_block(counts.is_comparable.astype(np.float64))
    equal = counts.equal_pairs(counts.per_pair)

    def statistic(weights: Floats) -> Floats:
        n_k = weights @ coincidences
        n = n_k.sum(axis=1)
        expected = ratio(n**2 - (n_k**2).sum(axis=1), np.maximum(n - 1, 0))
        return 1 - ratio(n - weights @ equal, expected)

    return Statistic(counts.n_blocks, statistic)


def alpha_by_tables(counts: Counts, level: str) -> Statistic:
    """Return Krippendorff's alpha of at most 64 ordered categories or ratios."""
    coincidences, q = counts.tables(counts.per_pair), counts.q
    values = counts.codings.categories[0]
    fixed = None if level == "ordinal" else ratio_metric(values)

    def statistic(weights: Floats) -> Floats:
        table = (weights @ coincidences).reshape(-1, q, q)
        n_k = table.sum(axis=2)
        n = n_k.sum(axis=1)
        if fixed is None:
            place = np.cumsum(n_k, axis=1) - n_k / 2
            metric = (place[:, :, None] - place[:, None, :]) ** 2
        else:
            metric = fixed[None]
        observed = (table * metric).sum(axis=(1, 2))
        expected = (n_k[:, :, None] * n_k[:, None, :] * metric).sum(axis=(1, 2))
        return 1 - ratio(np.maximum(n - 1, 0) * observed, expected)

    return Statistic(counts.n_blocks, statistic)


def ratio_metric(values: Floats) -> Floats:
    """Return ((a - b) / (a + b))² of all pairs of values, 0 for a pair of zeros."""
    return ratio_distance(values[:, None], values[None, :])


def ratio_distance(one: Floats, other: Floats) -> Floats:
    """Return ((a - b) / (a + b))²; 0 where a and b are 0."""
    total = one + other
    distance = np.divide(one - other, total, out=np.zeros(np.broadcast(one, other).shape), where=total != 0)
    return distance**2
