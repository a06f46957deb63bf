"""Pairwise comparison models: likelihood, derivatives and fits (NumPy reference of duels.cpp)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from concordant.kernels import links
from concordant.kernels.bundles import Ballots, Belief, DuelRows, DuelTerms, Fitted, WarmStart
from concordant.kernels.newton import fit_all
from concordant.types import Floats, Int32s, Int64s

__all__ = [
    "ballot_slopes",
    "duel_terms",
    "fit_duels",
    "worth_terms",
]

PAIRS_AT_ONCE = 1_000_000


def duel_terms(duels: DuelRows, score: Floats, advantage: float, tie: float, link: int) -> DuelTerms:
    """Return the log-likelihood of pairwise comparisons at these scores, with its derivatives."""
    d = score[duels.first] - score[duels.second]
    if len(duels.order):
        d = d + duels.order * advantage
    x, n = np.array(tie), len(score)
    terms = links.terms(link, d, x, duels.won, duels.lost, duels.tied)
    gradient = np.bincount(duels.first, terms.slope, n) - np.bincount(duels.second, terms.slope, n)
    slope_x = float(terms.slope_x.sum())
    bend = float(links.bend_of_tie(link, x, np.array(slope_x)))
    diagonal = np.bincount(duels.first, terms.curve, n) + np.bincount(duels.second, terms.curve, n)
    has_tie = links.has_tie_parameter(link)
    rows = (terms.slope, terms.curve, terms.cross if has_tie else np.empty(0))
    side = np.bincount(duels.first, terms.cross, n) - np.bincount(duels.second, terms.cross, n)
    slots = (gradient.astype(float), diagonal.astype(float), side.astype(float) if has_tie else np.empty(0))
    return DuelTerms(float(terms.value.sum()), *slots, *rows, slope_x, float(terms.curve_x.sum()), bend)


def worth_terms(first: Int32s, second: Int32s, total: Floats, balance: Floats, score: Floats) -> DuelTerms:
    """Return the terms of Bradley-Terry without position bias.

    ``total`` is the number of comparisons by row, ``balance`` the wins of slots minus half of their comparisons.
    """
    n, d = len(score), score[first] - score[second]
    up, down, _ = links.chances(links.BRADLEY_TERRY, d, np.zeros(len(d)))
    curve, surplus = total * up * down, total * (up - down) / 2
    gradient = balance - np.bincount(first, surplus, n) + np.bincount(second, surplus, n)
    diagonal = np.bincount(first, curve, n) + np.bincount(second, curve, n)
    value = float(balance @ score - total @ (np.abs(d) / 2 + np.log1p(np.exp(-np.abs(d)))))
    nothing = np.empty(0)
    return DuelTerms(value, gradient, diagonal.astype(float), nothing, nothing, curve, nothing, 0.0, 0.0, 0.0)


def ballot_slopes(
    ballots: Ballots, level: Floats, shown: Int32s, score: Floats, advantage: Floats, tie: Floats, link: int
) -> tuple[Floats, Floats]:
    """Return derivatives of the log-likelihood of single ballots, all pairs of a ballot together.

    They are by entry (in its item's score) and by ballot (in the position bias and the tie parameter). A pair is
    weighted by the difference of its levels (or 1); pairs within the last tier of an open ballot do not count.
    ``level`` and ``shown`` may be empty.
    """
    _, instance, indptr, slot, tier, _, is_open = ballots
    size = np.diff(indptr)
    slope, extra = np.zeros(len(slot)), np.zeros((len(size), 2))
    for m in np.unique(size[size > 1]).tolist():
        ahead, behind = np.triu_indices(m, 1)
        own_ballots = np.flatnonzero(size == m)
        at_once = max(1, PAIRS_AT_ONCE // len(ahead))
        for ballot in np.split(own_ballots, range(at_once, len(own_ballots), at_once)):
            first, second = (indptr[ballot][:, None] + place for place in (ahead, behind))
            is_tie = tier[first] == tier[second]
            amount = np.abs(level[first] - level[second]) if len(level) else np.ones(first.shape)
            last = tier[indptr[ballot + 1] - 1]
            amount = amount * ~((tier[first] == last[:, None]) & is_tie & (is_open[ballot] > 0)[:, None])
            lead = np.sign(shown[second] - shown[first]) if len(shown) else np.zeros(first.shape)
            d = score[slot[first]] - score[slot[second]] + lead * advantage[instance[ballot]][:, None]
            x = np.broadcast_to(tie[instance[ballot]][:, None], d.shape)
            counts = (amount * ~is_tie, 0 * amount, amount * is_tie)
            terms = links.terms(link, *(v.ravel() for v in (d, x, *counts)))
            lead_slope, tie_slope = terms.slope.reshape(d.shape), terms.slope_x.reshape(d.shape)
            for entry, sign in ((first, 1.0), (second, -1.0)):
                slope += np.bincount(entry.ravel(), sign * lead_slope.ravel(), len(slot))
            extra[ballot, 0], extra[ballot, 1] = (lead * lead_slope).sum(axis=1), tie_slope.sum(axis=1)
    return slope, extra


def fit_duels(
    slot_ptr: Int64s,
    duel_ptr: Int64s,
    duels: DuelRows,
    link: int,
    belief: Belief,
    warm_start: WarmStart,
    small_step: float,
    with_errors: bool,
) -> Fitted:
    """Fit every instance by Newton's method; instances of one size are fitted together."""
    size, owner = np.diff(slot_ptr), np.repeat(np.arange(len(slot_ptr) - 1), np.diff(duel_ptr))

    def batches() -> Iterator[tuple[Int64s, _Batch]]:
        """Yield the instances of each size (number of candidates) with their likelihood."""
        for m in np.unique(size[size > 0]).tolist():
            instances, rows = np.flatnonzero(size == m), np.flatnonzero(size[owner] == m)
            base = slot_ptr[owner[rows]].astype(np.int32)
            chosen = DuelRows._make(column[rows] if len(column) else column for column in duels)
            local = chosen._replace(first=chosen.first - base, second=chosen.second - base)
            yield (
                instances,
                _Batch(local, np.searchsorted(instances, owner[rows]), (len(instances), m), link, len(duels.order) > 0),
            )

    return fit_all(slot_ptr, batches(), belief, warm_start, small_step, with_errors)


class _Batch:
    """The likelihood of n instances of m candidates each; see the class DuelLikelihood of duels.cpp."""

    def __init__(self, rows: DuelRows, owner: Int64s, shape: tuple[int, int], link: int, has_order: bool) -> None:
        """Set up the parameters of an instance: m scores, then position bias and tie parameter if present."""
        self.rows, self.owner, self.link = rows, owner, link
        self.n, self.m = shape
        self.has_order, self.has_tie = has_order, links.has_tie_parameter(link)
        self.size = self.m + self.has_order + self.has_tie
        self.total = self._by_instance(rows.won + rows.lost + rows.tied)
        self.is_concave = link != links.RAO_KUPPER

    def extras(self) -> dict[str, int]:
        """Return the columns of the position bias and the tie parameter, if the model has them."""
        places = {"advantage": self.m if self.has_order else -1, "tie": self.size - 1 if self.has_tie else -1}
        return {name: column for name, column in places.items() if column >= 0}

    def start(self) -> Floats:
        """Return the starting point: scores 0, and x such that equal items tie as observed, P(tie) = e^x / (2 +
        e^x).
        """
        point = np.zeros((self.n, self.size))
        if self.has_tie:
            share = self._by_instance(self.rows.tied) / np.maximum(self.total, 1e-300)
            inside = np.clip(share, 1e-9, 1 - 1e-9)
            point[:, -1] = np.clip(np.log(2 * inside / (1 - inside)), -5, 5)
        return point

    def evaluate(self, point: Floats) -> Floats:
        """Return the log-likelihood of every instance at a point; keep the terms for the derivatives."""
        rows, owner = self.rows, self.owner
        d = point[owner, rows.first] - point[owner, rows.second]
        if self.has_order:
            d = d + rows.order * point[owner, self.m]
        self.x = point[:, -1] if self.has_tie else np.zeros(self.n)
        self.terms = links.terms(self.link, d, self.x[owner], rows.won, rows.lost, rows.tied)
        return self._by_instance(self.terms.value)

    def gradient(self) -> Floats:
        """Return the gradient at the point last evaluated: instances x parameters."""
        parts = [self._by_slot(self.terms.slope)]
        if self.has_order:
            parts.append(self._by_instance(self.rows.order * self.terms.slope)[:, None])
        if self.has_tie:
            parts.append(self._by_instance(self.terms.slope_x)[:, None])
        return np.concatenate(parts, axis=1)

    def hessian(self, is_exact: bool) -> Floats:
        """Return the negative Hessian there; if not exact, without the negative part of the tie parameter's bend."""
        m, terms, order = self.m, self.terms, self.rows.order
        hessian = np.zeros((self.n, self.size, self.size))
        cell = (self.owner * m + self.rows.first) * m + self.rows.second
        between = np.bincount(cell, terms.curve, self.n * m * m).reshape(self.n, m, m)
        between = between + between.transpose(0, 2, 1)
        hessian[:, :m, :m] = -between
        hessian[:, np.arange(m), np.arange(m)] += between.sum(axis=2)
        if self.has_order:
            hessian[:, m, m] = self._by_instance(order**2 * terms.curve)
            hessian[:, m, :m] = hessian[:, :m, m] = self._by_slot(order * terms.curve)
        if self.has_tie:
            bend = links.bend_of_tie(self.link, self.x, self._by_instance(terms.slope_x))
            hessian[:, -1, -1] = self._by_instance(terms.curve_x) + (bend if is_exact else np.maximum(bend, 0.0))
            hessian[:, -1, :m] = hessian[:, :m, -1] = self._by_slot(terms.cross)
            if self.has_order:
                hessian[:, -1, m] = hessian[:, m, -1] = self._by_instance(order * terms.cross)
        return hessian

    def _by_instance(self, by_row: Floats) -> Floats:
        """Sum values of rows by instance."""
        return np.asarray(np.bincount(self.owner, by_row, self.n), np.float64)

    def _by_slot(self, by_row: Floats) -> Floats:
        """Sum values of rows by candidate, plus for the first and minus for the second."""
        places = (self.owner * self.m + side for side in (self.rows.first, self.rows.second))
        up, down = (np.bincount(place, by_row, self.n * self.m) for place in places)
        return np.asarray(up - down).reshape(self.n, self.m)
