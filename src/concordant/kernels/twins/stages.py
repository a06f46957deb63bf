"""Stagewise choice in NumPy (twin of stages.cpp).

``mark`` says what starts at an entry: 1 a tier that is chosen, 2 the rest (nothing more is chosen), 0 the tier goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from concordant.types import AnyArray, Bytes, Floats, Int32s, Int64s

__all__ = ["fit_stages", "stage_curvature", "stage_rates", "stage_sums"]

CHOSEN = 1
LEAST_LOG_WORTH = -320.0
PAIRS_AT_ONCE = 4_000_000
ENTRIES_AT_ONCE = 16_384


def stage_sums(
    indptr: Int64s, slot: Int32s, mark: Bytes, weight: Floats, worth: Floats
) -> tuple[float, Floats, Floats]:
    """Return (value, gain, rate) of all stages; tiers of one item add neither value nor gain, they are the caller's.

    ``rate`` of a slot is the sum of weight / remaining worth over the stages it remains in; ``gain`` the sum of
    weight / tier worth over the chosen tiers of several items it stands in.
    """
    rate, value = np.zeros(len(worth)), 0.0
    for ballots, entries in _equal_lengths(indptr, len(worth)):
        slots, is_stage, own = slot[entries], mark[entries] == CHOSEN, weight[ballots]
        tail = _tails(worth[slots])
        share = own / tail
        if is_stage[:-1].all() and not is_stage[-1].any():  # strict ballots: all but the last entry are chosen
            share[-1] = 0.0
            value -= float(np.log(tail[:-1]).sum(axis=0) @ own)
        else:
            share *= is_stage
            value -= float((is_stage * np.log(tail)).sum(axis=0) @ own)
        rate += np.bincount(slots.ravel(), weights=np.cumsum(share, axis=0).ravel(), minlength=len(worth))
    first, last, mass = _tied_tiers(indptr, mark, weight)
    gain: Floats = np.zeros(len(worth))
    if len(first):
        inside = _spans(first, last)
        starts = np.cumsum(last - first) - (last - first)
        tier = np.add.reduceat(worth[slot[inside]], starts)
        value += float(mass @ np.log(tier))
        gain += np.bincount(slot[inside], weights=np.repeat(mass / tier, last - first), minlength=len(worth))
    return value, gain, rate


def stage_rates(indptr: Int64s, slot: Int32s, draw: Floats, worth: Floats) -> Floats:
    """Return by slot the sum of draw / remaining worth over all entries up to its own, in every ballot."""
    rate = np.zeros(len(worth))
    for _, entries in _equal_lengths(indptr, len(worth)):
        slots = slot[entries]
        so_far = np.cumsum(draw[entries] / _tails(worth[slots]), axis=0)
        rate += np.bincount(slots.ravel(), weights=so_far.ravel(), minlength=len(worth))
    return rate


def stage_curvature(indptr: Int64s, slot: Int32s, mark: Bytes, weight: Floats, worth: Floats) -> Floats:
    """Return the second derivatives of minus the log-likelihood by score, as a square matrix over the slots."""
    return np.subtract(*_curvatures(indptr, slot, mark, weight, worth))


def fit_stages(
    slot_ptr: Int64s,
    ballot_ptr: Int64s,
    indptr: Int64s,
    slot: Int32s,
    mark: Bytes,
    weight: Floats,
    prior: float,
    is_gamma: bool,
    max_steps: int,
    tolerance: float,
    with_errors: bool,
    with_evidence: bool,
) -> tuple[Floats, Floats, Floats, Floats, Int32s, Bytes, Floats, Floats]:
    """Fit every instance by Newton's method: (score, covariance, value, norm, steps, is_definite, penalty, log_det).

    ``value`` is the log-likelihood, ``norm`` the largest derivative relative to the weight of all stages. The
    covariance is that of scores that sum to zero, one block per instance, NaN where the second derivative is not
    definite; it is empty without ``with_errors``. ``log_det`` (0 without ``with_evidence``) is the log-determinant of
    the curvature without that of ties and without the direction "all scores up by the same".
    """
    n = len(slot_ptr) - 1
    score = np.zeros(int(slot_ptr[-1]))
    block = np.concatenate([[0], np.cumsum(np.diff(slot_ptr) ** 2)])
    covariance = np.zeros(int(block[-1]) if with_errors else 0)
    value, norm, steps = np.zeros(n), np.zeros(n), np.zeros(n, np.int32)
    is_definite, penalty, log_det = np.ones(n, np.uint8), np.zeros(n), np.zeros(n)
    for q in range(n):
        span = slice(int(slot_ptr[q]), int(slot_ptr[q + 1]))
        if span.stop - span.start < 2:
            continue
        own = slice(int(ballot_ptr[q]), int(ballot_ptr[q + 1]))
        entries = slice(int(indptr[own.start]), int(indptr[own.stop]))
        fit = _Fit(
            indptr[own.start : own.stop + 1] - indptr[own.start],
            slot[entries] - np.int32(span.start),
            mark[entries],
            weight[own],
            span.stop - span.start,
            prior,
            is_gamma,
        )
        fit.run(max_steps, tolerance)
        score[span], value[q], norm[q], steps[q] = fit.score, fit.value - fit.penalty, fit.norm, fit.steps
        penalty[q] = fit.penalty
        if with_errors:
            covariance[block[q] : block[q + 1]], is_definite[q] = fit.covariance()
        if with_evidence:
            log_det[q] = fit.log_det()
    return score, covariance, value, norm, steps, is_definite, penalty, log_det


class _Fit:
    """The fit of one instance; see stages.cpp."""

    def __init__(
        self, indptr: Int64s, slot: Int32s, mark: Bytes, weight: Floats, m: int, prior: float, is_gamma: bool
    ) -> None:
        self.data, self.m, self.prior, self.is_gamma = (indptr, slot, mark, weight), m, prior, is_gamma
        chosen = np.flatnonzero(mark == CHOSEN)
        ballot = np.repeat(np.arange(len(weight)), np.diff(indptr))
        goes_on = np.append(mark[1:] == 0, False)
        goes_on[indptr[1:][np.diff(indptr) > 0] - 1] = False
        alone = chosen[~goes_on[chosen]]
        self.has_ties = len(alone) < len(chosen)
        self.wins = np.bincount(slot[alone], weights=weight[ballot[alone]], minlength=m)
        self.total = float(weight[ballot[chosen]].sum())
        self.score, self.norm, self.steps = np.zeros(m), 0.0, 0
        self.value = self._evaluate(self.score)

    def run(self, max_steps: int, tolerance: float) -> None:
        scale = self.total + self.prior
        for self.steps in range(max_steps + 1):
            before = float(np.abs(self.gradient).max())
            if self.steps == max_steps or before <= tolerance * scale:
                break
            factor, _ = self._curve()
            step = np.linalg.solve(factor.T, np.linalg.solve(factor, self.gradient))
            slope, length = float(self.gradient @ step), 1.0
            is_rounding = slope <= 1e-12 * (abs(self.value) + 1e-3 * self.total)
            for _ in range(60):
                trial = self.score + length * step
                following = self._evaluate(trial)
                if is_rounding or following >= self.value + 1e-4 * length * slope:
                    break
                length /= 2
            self.score, self.value = trial, following
            is_small = np.abs(step).max() <= 1e-14 * (1 + np.abs(trial).max())
            if is_small or (is_rounding and np.abs(self.gradient).max() > before / 2):
                break
        self.norm = float(np.abs(self.gradient).max() / max(scale, 1e-300))
        self.score = self.score - self.score.mean()

    def covariance(self) -> tuple[Floats, bool]:
        self._evaluate(self.score)
        factor, is_definite = self._curve()
        if not is_definite:
            return np.full(self.m**2, np.nan), False
        inverse = np.linalg.inv(factor)
        along = self.m * (self.shift * self.m + (0.0 if self.is_gamma else self.prior))
        return (inverse.T @ inverse - 1 / along).reshape(-1), True

    def log_det(self) -> float:
        self._evaluate(self.score)
        had_ties, self.has_ties = self.has_ties, False
        factor, _ = self._curve()
        self.has_ties = had_ties
        along = self.shift * self.m + (0.0 if self.is_gamma else self.prior)
        return 2 * float(np.log(np.diag(factor)).sum()) - float(np.log(along))

    def _evaluate(self, score: Floats) -> float:
        top = score.max()
        self.worth = worth = np.exp(np.maximum(score - top, LEAST_LOG_WORTH))
        value, gain, rate = stage_sums(*self.data, worth)
        value += float(self.wins @ (score - top))
        self.gradient = self.wins + worth * (gain - rate)
        if self.is_gamma:
            self.penalty = float(self.prior * (score - top - np.log(worth.sum())).sum())
            self.gradient = self.gradient + self.prior * (1 - self.m * worth / worth.sum())
        else:
            self.penalty = float(-self.prior / 2 * (score @ score))
            self.gradient = self.gradient - self.prior * score
        return value + self.penalty

    def _curve(self) -> tuple[Floats, bool]:
        remaining, tied = _curvatures(*self.data, self.worth)
        if self.is_gamma:
            share = self.worth / self.worth.sum()
            remaining += self.prior * self.m * (np.diag(share) - np.outer(share, share))
        else:
            remaining[np.diag_indices(self.m)] += self.prior
        self.shift = max(float(np.trace(remaining)), 1e-300) / self.m**2
        remaining += self.shift
        if self.has_ties:
            factor = _factorise(remaining - tied)
            if factor is not None:
                return factor, True
        lift = 0.0
        for _ in range(60):
            factor = _factorise(remaining + lift * np.eye(self.m))
            if factor is not None:
                return factor, not self.has_ties and lift == 0
            lift = 1e-10 * self.shift * self.m if lift == 0 else lift * 10
        return np.eye(self.m), False


def _factorise(matrix: Floats) -> Floats | None:
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(factor) if (np.diag(factor) ** 2 > 1e-13 * np.diag(matrix)).all() else None


def _curvatures(indptr: Int64s, slot: Int32s, mark: Bytes, weight: Floats, worth: Floats) -> tuple[Floats, Floats]:
    """Return the curvature of what remains and the part that tiers of several items take off it."""
    m = len(worth)
    matrix, slope = np.zeros(m * m), np.zeros(m)
    for ballots, entries in _equal_lengths(indptr, len(worth)):
        length = entries.shape[0]
        earlier, later = np.triu_indices(length, 1)
        rows = max(1, PAIRS_AT_ONCE // (len(earlier) + length))
        for start in range(0, len(ballots), rows):
            some = entries[:, start : start + rows]
            slots, is_stage = slot[some].astype(np.int64), mark[some] == CHOSEN
            tail = _tails(worth[slots])
            own = weight[ballots[start : start + rows]]
            first, second = (np.cumsum(np.where(is_stage, own / tail**k, 0.0), axis=0) for k in (1, 2))
            slope += np.bincount(slots.ravel(), weights=first.ravel(), minlength=m)
            for a, b in ((earlier, later), (later, earlier), (np.arange(length), np.arange(length))):
                key = slots[a] * m + slots[b]
                height = second[np.minimum(a, b)]
                matrix -= np.bincount(key.ravel(), weights=height.ravel(), minlength=m * m)
    square = matrix.reshape(m, m) * np.outer(worth, worth)
    square[np.diag_indices(m)] += slope * worth
    tied = np.zeros((m, m))
    for start, stop, own in zip(*_tied_tiers(indptr, mark, weight), strict=True):
        inside = slot[start:stop]
        share = worth[inside] / worth[inside].sum()
        tied[np.ix_(inside, inside)] += own * (np.diag(share) - np.outer(share, share))
    return square, tied


def _tails(worth: Floats) -> Floats:
    tail = np.empty_like(worth)
    np.cumsum(worth[::-1], axis=0, out=tail[::-1])
    return tail


def _equal_lengths(indptr: Int64s, n_slots: int) -> Iterator[tuple[AnyArray, Int64s]]:
    """Group ballots by length: some ballots and their entries, a column each (long rows add up fast).

    Not too many at once: what fits into the cache is worked on several times faster.
    """
    sizes = np.diff(indptr)
    at_once = max(ENTRIES_AT_ONCE, 4 * n_slots)
    for length in np.flatnonzero(np.bincount(sizes)).tolist() if len(sizes) else []:
        if length:
            ballots = np.flatnonzero(sizes == length)
            step = max(1, at_once // length)
            for start in range(0, len(ballots), step):
                some = ballots[start : start + step]
                yield some, indptr[some] + np.arange(length)[:, None]


def _tied_tiers(indptr: Int64s, mark: Bytes, weight: Floats) -> tuple[Int64s, Int64s, Floats]:
    """Return start, end and weight of the chosen tiers that hold several items."""
    starts = np.flatnonzero(mark)
    if len(starts) == len(mark):
        return starts[:0], starts[:0], np.zeros(0)
    ends = np.append(starts[1:], len(mark))
    is_tied = (mark[starts] == CHOSEN) & (ends - starts > 1)
    ballot = np.searchsorted(indptr, starts[is_tied], side="right") - 1
    return starts[is_tied], ends[is_tied], weight[ballot]


def _spans(first: AnyArray, last: AnyArray) -> Int64s:
    sizes = last - first
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(first - np.cumsum(sizes) + sizes, sizes))
