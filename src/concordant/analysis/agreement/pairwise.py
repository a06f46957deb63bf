"""The table of pairs of raters: how many items both answer, how often they agree, and the coefficient of the pair."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from concordant.analysis.agreement.categorical import ratio
from concordant.analysis.agreement.codings import Codings
from concordant.types import Floats, Int64s

MAX_RATERS = 2_000  # in the table of pairs: those with the most answers


class Pairs(NamedTuple):
    """Pairs of raters as codes, with the items that both answer and the agreement on them."""

    first: Int64s
    second: Int64s
    n_items: Floats
    agreement: Floats
    """Share of equal answers; NaN for rankings."""
    coefficient: Floats
    """The coefficient of the pair; NaN where it is not defined."""


def pairs_of(codings: Codings, level: str) -> Pairs:
    """Return all pairs of raters who answer an item in common.

    The coefficient is Cohen's kappa of classes, Cohen's kappa with quadratic weights of ordered categories, and
    ICC(3,1), the consistency of two raters, of numbers.
    """
    from scipy.sparse import csr_array

    values, code = codings.categories
    kept = _most_active(codings)
    number = np.full(codings.n_raters, -1)
    number[kept] = np.arange(len(kept))
    is_kept = number[codings.rater] >= 0
    rater, unit, code = number[codings.rater[is_kept]], codings.unit[is_kept], code[is_kept]
    value = codings.value[is_kept] if level in ("interval", "ratio") else code.astype(np.float64)
    value = value - value.mean() if len(value) else value
    shape = (len(kept), codings.n_units)

    def by_rater(weight: Floats, chosen: Any = slice(None)) -> Any:
        return csr_array((weight[chosen], (rater[chosen], unit[chosen])), shape=shape)

    def product(one: Any, other: Any) -> Floats:
        return np.asarray((one @ other.T).toarray(), np.float64)

    ones = np.ones(len(rater))
    present = by_rater(ones)
    n = product(present, present)
    first, second = np.nonzero(np.triu(n, 1))
    n_items = n[first, second]
    of_class = [by_rater(ones, np.flatnonzero(code == k)) for k in range(len(values))] if level == "nominal" else []
    if level == "nominal":
        equal, expected = np.zeros(len(first)), np.zeros(len(first))
        for one in of_class:
            equal += product(one, one)[first, second]
            share = product(one, present)
            expected += share[first, second] * share[second, first] / n_items**2
        agreement = equal / n_items
        coefficient = ratio(agreement - expected, 1 - expected)
    else:
        total, squares = product(by_rater(value), present), product(by_rater(value**2), present)
        crossed = product(by_rater(value), by_rater(value))[first, second]
        a, b = total[first, second] / n_items, total[second, first] / n_items
        a2, b2 = squares[first, second] / n_items, squares[second, first] / n_items
        apart = a2 + b2 - 2 * crossed / n_items
        agreement = _equal(rater, unit, code, shape, first, second) / n_items
        if level == "ordinal":
            coefficient = 1 - ratio(apart, a2 + b2 - 2 * a * b)
        else:
            covariance, spread = crossed / n_items - a * b, a2 - a**2 + b2 - b**2
            coefficient = ratio(2 * covariance, spread)
    halved = n_items / (1 + codings.is_mirrored)
    return Pairs(kept[first], kept[second], halved, agreement, coefficient)


def _most_active(codings: Codings) -> Int64s:
    """Return the raters of the table: those with the most answers, in their own order."""
    n = np.bincount(codings.rater, minlength=codings.n_raters)
    order = np.argsort(-n, kind="stable")[:MAX_RATERS]
    return np.sort(order[n[order] > 0])


def _equal(rater: Int64s, unit: Int64s, code: Int64s, shape: tuple[int, int], first: Int64s, second: Int64s) -> Floats:
    """Return the number of equal answers of pairs of raters: a product of matrices of raters by answers to units."""
    from scipy.sparse import csr_array

    _, answer = np.unique(unit * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    answer = answer.reshape(-1)
    table = csr_array((np.ones(len(rater)), (rater, answer)), shape=(shape[0], int(answer.max(initial=0)) + 1))
    return np.asarray((table @ table.T).toarray()[first, second], np.float64)
