"""Stagewise choice: Plackett-Luce models (NumPy reference of stages.cpp).

``mark`` is what starts at an entry: 1 a chosen tier, 2 the rest (nothing more is chosen), 0 nothing (the tier
continues).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from concordant.kernels.bundles import Belief, Fitted, StageRows, WarmStart
from concordant.kernels.newton import fit_all
from concordant.types import AnyArray, Bytes, Floats, Int32s, Int64s

__all__ = ["fit_stages", "stage_hessian", "stage_product", "stage_rates", "stage_sums"]

CHOSEN = 1
MIN_LOG_WORTH = -320.0
PAIRS_AT_ONCE = 4_000_000
ENTRIES_AT_ONCE = 16_384


def stage_sums(stages: StageRows, worth: Floats) -> tuple[float, Floats, Floats]:
    """Return (value, gain, rate) of all stages; for tiers of one item the caller adds value and gain.

    ``rate`` of a slot is the sum of weight / remaining worth over the stages it remains in; ``gain`` the sum of weight
    / tier worth over the chosen tiers of several items that contain it.
    """
    indptr, slot, mark, weight = stages
    rate, value = np.zeros(len(worth)), 0.0
    for ballots, entries in _equal_lengths(indptr, len(worth)):
        slots, is_stage, ballot_weight = slot[entries], mark[entries] == CHOSEN, weight[ballots]
        tail = _tails(worth[slots])
        share = ballot_weight / tail
        if is_stage[:-1].all() and not is_stage[-1].any():  # strict ballots: all but the last entry are chosen
            share[-1] = 0.0
            value -= float(np.log(tail[:-1]).sum(axis=0) @ ballot_weight)
        else:
            share *= is_stage
            value -= float((is_stage * np.log(tail)).sum(axis=0) @ ballot_weight)
        rate += np.bincount(slots.ravel(), weights=np.cumsum(share, axis=0).ravel(), minlength=len(worth))
    first, last, mass = _tied_tiers(indptr, mark, weight)
    gain: Floats = np.zeros(len(worth))
    if len(first):
        inside = _spans(first, last)
        starts = np.cumsum(last - first) - (last - first)
        tier_worth = np.add.reduceat(worth[slot[inside]], starts)
        value += float(mass @ np.log(tier_worth))
        gain += np.bincount(slot[inside], weights=np.repeat(mass / tier_worth, last - first), minlength=len(worth))
    return value, gain, rate


def stage_rates(indptr: Int64s, slot: Int32s, draw: Floats, worth: Floats) -> Floats:
    """Return, by slot, the sum of draw / remaining worth over all entries up to its own, in every ballot.

    Gibbs sampling adds this to the rate of the gamma distribution of a worth; ``draw`` is a gamma draw by entry.
    """
    rate = np.zeros(len(worth))
    for _, entries in _equal_lengths(indptr, len(worth)):
        slots = slot[entries]
        so_far = np.cumsum(draw[entries] / _tails(worth[slots]), axis=0)
        rate += np.bincount(slots.ravel(), weights=so_far.ravel(), minlength=len(worth))
    return rate


def stage_hessian(stages: StageRows, worth: Floats) -> Floats:
    """Return the Hessian of the negative log-likelihood by score, as a square matrix over the slots."""
    return np.subtract(*_curvatures(stages, worth))


def stage_product(stages: StageRows, worth: Floats, rate: Floats, x: Floats) -> Floats:
    """Return ``stage_hessian`` times the columns of ``x``; ``rate`` is rate minus gain of ``stage_sums``."""
    worth_x = worth[:, None] * x
    product = rate[:, None] * worth_x
    for ballots, entries in _equal_lengths(stages.indptr, len(worth)):
        slots, is_stage, ballot_weight = stages.slot[entries], stages.mark[entries] == CHOSEN, stages.weight[ballots]
        tail = _tails(worth[slots])
        for c in range(x.shape[1]):
            taken = np.cumsum(np.where(is_stage, ballot_weight * _tails(worth_x[slots, c]) / tail**2, 0.0), axis=0)
            by_entry = worth[slots] * taken
            product[:, c] -= np.bincount(slots.ravel(), weights=by_entry.ravel(), minlength=len(worth))
    first, last, mass = _tied_tiers(stages.indptr, stages.mark, stages.weight)
    if len(first):
        slots, starts = stages.slot[_spans(first, last)], np.cumsum(last - first) - (last - first)
        share = mass / np.add.reduceat(worth[slots], starts) ** 2
        for c in range(x.shape[1]):
            tier_part = np.repeat(share * np.add.reduceat(worth_x[slots, c], starts), last - first) * worth[slots]
            product[:, c] += np.bincount(slots, weights=tier_part, minlength=len(worth))
    return product


def fit_stages(
    slot_ptr: Int64s,
    ballot_ptr: Int64s,
    stages: StageRows,
    belief: Belief,
    warm_start: WarmStart,
    small_step: float,
    with_errors: bool,
) -> Fitted:
    """Fit every instance by Newton's method, one after the other."""

    def batches() -> Iterator[tuple[Int64s, _One]]:
        """Yield every instance with at least two candidates, and its likelihood."""
        for q in np.flatnonzero(np.diff(slot_ptr) > 1).tolist():
            ballots = slice(int(ballot_ptr[q]), int(ballot_ptr[q + 1]))
            indptr = stages.indptr[ballots.start : ballots.stop + 1]
            entries = slice(int(indptr[0]), int(indptr[-1]))
            local = stages.slot[entries] - np.int32(slot_ptr[q])
            part = StageRows(indptr - indptr[0], local, stages.mark[entries], stages.weight[ballots])
            yield np.array([q]), _One(part, int(slot_ptr[q + 1] - slot_ptr[q]))

    return fit_all(slot_ptr, batches(), belief, warm_start, small_step, with_errors)


class _One:
    """The likelihood of the stages of one instance; see the class StageLikelihood of stages.cpp."""

    def __init__(self, stages: StageRows, m: int) -> None:
        """Sum, for every item, the weight of the tiers that contain only it (``wins``), and of all chosen tiers."""
        indptr, slot, mark, weight = stages
        self.stages, self.m, self.size = stages, m, m
        chosen = np.flatnonzero(mark == CHOSEN)
        ballot = np.repeat(np.arange(len(weight)), np.diff(indptr))
        goes_on = np.append(mark[1:] == 0, False)
        goes_on[indptr[1:][np.diff(indptr) > 0] - 1] = False
        alone = chosen[~goes_on[chosen]]
        self.is_concave = len(alone) == len(chosen)
        self.wins = np.bincount(slot[alone], weights=weight[ballot[alone]], minlength=m)
        self.total = np.array([weight[ballot[chosen]].sum()])

    def extras(self) -> dict[str, int]:
        return {}

    def start(self) -> Floats:
        return np.zeros((1, self.m))

    def evaluate(self, point: Floats) -> Floats:
        """Return the log-likelihood at scores, and store the terms for the derivatives."""
        above = point[0] - point[0].max()
        self.worth = np.exp(np.maximum(above, MIN_LOG_WORTH))
        value, self.gain, self.rate = stage_sums(self.stages, self.worth)
        return np.array([value + float(self.wins @ above)])

    def gradient(self) -> Floats:
        return np.asarray(self.wins + self.worth * (self.gain - self.rate))[None]

    def hessian(self, is_exact: bool) -> Floats:
        """Return the negative Hessian, or without the tied tiers a positive semi-definite bound."""
        remaining, tied = _curvatures(self.stages, self.worth)
        return np.asarray(remaining - tied if is_exact else remaining)[None]


def _curvatures(stages: StageRows, worth: Floats) -> tuple[Floats, Floats]:
    """Return the negative Hessian of the remaining worths, and the part that tiers of several items subtract."""
    indptr, slot, mark, weight = stages
    m = len(worth)
    # With R_k the worth remaining at stage k: H_ij = -w_i w_j sum of weight / R_k² over the stages both remain in, plus
    # w_i times the sum of weight / R_k on the diagonal.
    matrix, slope = np.zeros(m * m), np.zeros(m)
    for ballots, entries in _equal_lengths(indptr, len(worth)):
        length = entries.shape[0]
        earlier, later = np.triu_indices(length, 1)
        rows = max(1, PAIRS_AT_ONCE // (len(earlier) + length))
        for start in range(0, len(ballots), rows):
            chunk = entries[:, start : start + rows]
            slots, is_stage = slot[chunk].astype(np.int64), mark[chunk] == CHOSEN
            tail = _tails(worth[slots])
            ballot_weight = weight[ballots[start : start + rows]]
            rate, square_rate = (np.cumsum(np.where(is_stage, ballot_weight / tail**k, 0.0), axis=0) for k in (1, 2))
            slope += np.bincount(slots.ravel(), weights=rate.ravel(), minlength=m)
            for a, b in ((earlier, later), (later, earlier), (np.arange(length), np.arange(length))):
                key = slots[a] * m + slots[b]
                curvature = square_rate[np.minimum(a, b)]
                matrix -= np.bincount(key.ravel(), weights=curvature.ravel(), minlength=m * m)
    square = matrix.reshape(m, m) * np.outer(worth, worth)
    square[np.diag_indices(m)] += slope * worth
    tied = np.zeros((m, m))
    for start, stop, ballot_weight in zip(*_tied_tiers(indptr, mark, weight), strict=True):
        inside = slot[start:stop]
        share = worth[inside] / worth[inside].sum()
        tied[np.ix_(inside, inside)] += ballot_weight * (np.diag(share) - np.outer(share, share))
    return square, tied


def _tails(worth: Floats) -> Floats:
    """Return sums of worth from every entry to the end of its ballot (a column)."""
    tail = np.empty_like(worth)
    np.cumsum(worth[::-1], axis=0, out=tail[::-1])
    return tail


def _equal_lengths(indptr: Int64s, n_slots: int) -> Iterator[tuple[AnyArray, Int64s]]:
    """Group ballots by length; yield chunks of ballots and their entries, a column per ballot.

    Chunks are small enough for the cache, which makes them several times faster.
    """
    sizes = np.diff(indptr)
    at_once = max(ENTRIES_AT_ONCE, 4 * n_slots)
    for length in np.flatnonzero(np.bincount(sizes)).tolist() if len(sizes) else []:
        if length:
            ballots = np.flatnonzero(sizes == length)
            step = max(1, at_once // length)
            for start in range(0, len(ballots), step):
                chunk = ballots[start : start + step]
                yield chunk, indptr[chunk] + np.arange(length)[:, None]


def _tied_tiers(indptr: Int64s, mark: Bytes, weight: Floats) -> tuple[Int64s, Int64s, Floats]:
    """Return start, end and weight of the chosen tiers with several items."""
    starts = np.flatnonzero(mark)
    if len(starts) == len(mark):
        return starts[:0], starts[:0], np.zeros(0)
    ends = np.append(starts[1:], len(mark))
    is_tied = (mark[starts] == CHOSEN) & (ends - starts > 1)
    ballot = np.searchsorted(indptr, starts[is_tied], side="right") - 1
    return starts[is_tied], ends[is_tied], weight[ballot]


def _spans(first: AnyArray, last: AnyArray) -> Int64s:
    """Return all numbers of the ranges first … last - 1, one range after the other."""
    sizes = last - first
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(first - np.cumsum(sizes) + sizes, sizes))
