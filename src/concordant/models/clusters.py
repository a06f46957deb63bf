"""Dependent comparisons: all pairs from one ballot, or all ballots of one voter.

The likelihood treats every pair as an independent observation. A ranking of n items gives n (n - 1) / 2 pairs, which
are strongly dependent. Two quantities correct for this:

- **dependence**: the mean ratio of the variance of the gradient to its variance under independent pairs (about (n + 1)
  / 3 for rankings of n items). The log-likelihood is divided by it when it is weighed against the prior.
- **clustered errors**: A J A, with A the inverse of the negative Hessian and J the sum of the outer products of the
  voters' gradients (a voter is a ballot, or with ``errors="sandwich"`` all ballots of an agent in an instance), plus
  the contribution of the prior. The gradients at the fit are too small, so each is inflated by the voter's leverage for
  each item, as in the estimator CR2 (Bell and McCaffrey, 2002). For an item with few voters J is unreliable: up to 500
  voters its variance is at least the one under average dependence, and beyond that at least 500 / voters times it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from concordant import kernels, views
from concordant.ballots.segments import pointer, segment_index, sum_by
from concordant.models.likelihoods.observed import ObservedDuels
from concordant.models.observations.completed import with_missing
from concordant.models.observations.contestants import Design
from concordant.models.observations.duels import Counting, Duels, trusted
from concordant.models.solve.objectives import Fit
from concordant.models.tied import dispersion
from concordant.preferences import Preferences
from concordant.support.brief import Brief
from concordant.types import AnyArray, Floats, Int64s

TYPICAL = 10.0  # voters that the dependence of rankings is worth beside that of the data
MAX_LEVERAGE = 0.95
FEW = 500.0  # voters of an item up to which its own J is not trusted below the average
LARGEST_BLOCK = 2500  # candidates up to which the whole clustered covariance is made
CELLS_AT_ONCE = 4_000_000  # of voters x candidates, or of voters x draws
DENSE = 8  # share of zeros among cells (one in so many is not) up to which dense products are faster
KEYS_OF_BALLOT = 4  # agents x instances per ballot up to which a table of them is faster than sorting
N_DRAWS = 256
N_PROBES = 32  # sign vectors of a trace, whose relative error is sqrt(2 / (probes x items)): below 0.5%


class Voters:
    """The voters (ballots, or all ballots of an agent together), with the gradient of each at a fit."""

    def __init__(
        self, prefs: Preferences, counting: Counting, by_agent: bool = False, design: Design | None = None
    ) -> None:
        self.design = design
        prefs = trusted(prefs, counting.trust) if counting.trust is not None else prefs
        self.prefs, self.counting = prefs, counting = with_missing(prefs, counting.missing), counting
        instance = prefs.instance_of_ballot.astype(np.int64)
        self.unit, self.weight = np.arange(prefs.n_ballots), prefs.weight
        if by_agent and prefs.agent is not None and prefs.agents is not None:
            key, instance = _agents_by_instance(prefs)
            self.unit, self.weight = key, np.ones(len(instance))
        self.row_ptr = pointer(np.bincount(instance, minlength=prefs.n_instances))
        if (np.diff(instance) < 0).any():
            row = np.empty(len(instance), np.int64)
            row[np.argsort(instance, kind="stable")] = np.arange(len(instance))
            self.row = row[self.unit]
        else:
            self.row = self.unit

    @property
    def typical(self) -> float:
        """The expected dependence of rankings of this length, (size + 1) / 3, averaged over pairs."""
        size = np.diff(self.prefs.indptr).astype(np.float64)
        pairs = self.prefs.weight * size * (size - 1)
        return float((pairs * (size + 1)).sum() / (3 * pairs.sum())) if pairs.sum() > 0 else 1.0

    def gradients(self, parts: list[Fit]) -> Gradients:
        """Return the gradient of the log-likelihood of every voter at a fit, in scores and in the other parameters."""
        prefs, n = self.prefs, len(self.weight)
        score, advantage, tie = strengths_at(parts, self.design)
        slot, size = np.ascontiguousarray(prefs.entry_slot, np.int64), np.diff(prefs.indptr)
        slope, extra = kernels.ballot_slopes(
            views.ballots(prefs),
            np.empty(0) if self.counting.counts == "binary" else self.counting.levels(prefs),
            prefs.shown if self.counting.order_effect and prefs.shown is not None else np.empty(0, np.int32),
            score,
            advantage,
            tie,
            _duels(parts[0]).link,
        )
        # A voter with several ballots of different weights: weights enter the sum, the square is taken of the whole.
        weight = prefs.weight / np.sqrt(np.maximum(self.weight[self.unit], 1e-300))
        extra = np.stack([sum_by(self.row, column * weight, n) for column in extra.T], 1)
        value, n_slots = slope * np.repeat(weight, size), prefs.n_slots
        row, voters = (np.repeat(by_ballot, size) for by_ballot in (self.row, np.maximum(self.weight, 1.0)[self.unit]))
        if (design := self.design) is not None:
            in_coefficients = [sum_by(row, value * column[slot], n) for column in design.x.T]
            extra, n_slots = np.column_stack([extra, *in_coefficients]), design.n_slots
            slot, entry, share = design.members(slot)
            row, value, voters = row[entry], value[entry] * share, voters[entry]
        times = sum_by(slot, voters, n_slots)
        ptr, slot, value = kernels.join_entries(row, slot, value, n, n_slots)
        if n < prefs.n_ballots:  # an agent counts once, however many of its ballots name an item
            times = np.bincount(slot, minlength=n_slots).astype(np.float64)
        return Gradients(ptr, slot, value, extra, times, self.row_ptr)


class Agents:
    """The ballots of each agent in an instance, which a bootstrap resamples together."""

    def __init__(self, prefs: Preferences, counting: Counting) -> None:
        assert prefs.agents is not None
        assert prefs.agent is not None
        self.prefs, self.counting = prefs, counting
        self.agent, instance = _agents_by_instance(prefs)
        self.ptr = pointer(np.bincount(instance, minlength=prefs.n_instances))

    def redrawn(self, rng: np.random.Generator) -> Duels:
        """Return the pairwise counts of a bootstrap sample of agents, drawn with replacement within each instance."""
        n, size = int(self.ptr[-1]), np.diff(self.ptr)
        place = (rng.random(n) * np.repeat(size, size)).astype(np.int64)
        times = np.bincount(np.repeat(self.ptr[:-1], size) + place, minlength=n)
        return self.counting.duels(self.prefs.replace(weight=self.prefs.weight * times[self.agent]))


def _agents_by_instance(prefs: Preferences) -> tuple[Int64s, Int64s]:
    """Return the number of the agent of every ballot, counted through all instances, and the instance of each."""
    assert prefs.agents is not None
    assert prefs.agent is not None
    key = prefs.instance_of_ballot.astype(np.int64) * len(prefs.agents) + prefs.agent
    n_keys = prefs.n_instances * len(prefs.agents)
    if n_keys > KEYS_OF_BALLOT * len(key):
        known, number = np.unique(key, return_inverse=True)
        return number.reshape(-1), known // len(prefs.agents)
    is_known = np.zeros(n_keys, bool)
    is_known[key] = True
    return (np.cumsum(is_known) - 1)[key], np.flatnonzero(is_known) // len(prefs.agents)


def strengths_at(parts: list[Fit], design: Design | None) -> tuple[Floats, Floats, Floats]:
    """Return the strength of every contestant at a fit (of every item without a design), advantages and tie
    parameters.
    """
    n = sum(len(part.instances) for part in parts)
    score, advantage, tie = np.zeros(sum(len(part.slots) for part in parts)), np.zeros(n), np.zeros(n)
    coefficient = np.zeros((n, 0 if design is None else design.n_coefficients))
    for part in parts:
        score[part.slots], advantage[part.instances], tie[part.instances] = part.score, part.advantage, part.tie
        coefficient[part.instances] = part.coefficient
    return score if design is None else design.strengths(score, coefficient), advantage, tie


@dataclass(frozen=True, repr=False)
class Gradients(Brief):
    """Derivatives of the log-likelihood of each voter, times the square root of its weight.

    Voters are sorted by instance.

    Voter v has the entries (slot, value) ptr[v]:ptr[v + 1], one per slot; the voters of instance q are row_ptr[q]:
    row_ptr[q + 1]. ``extra`` holds a row per voter for the other parameters, ``times`` is the number of voters by slot.
    """

    ptr: Int64s
    slot: Int64s
    value: Floats
    extra: Floats
    times: Floats
    row_ptr: Int64s


class Rows:
    """The gradients of the voters of one instance: sparse rows S, minus what other parameters explain, times a scale.

    With the gradients E in the other parameters the rows are R = (S - E B) diag(scale), and B is the regression of the
    scores' derivatives on the others' (both from the Hessian). Neither R nor anything else of voters x items is built.
    """

    def __init__(self, ptr: Int64s, slot: Int64s, value: Floats, scale: Floats) -> None:
        self.ptr, self.slot, self.value, self.scale = ptr, slot, value, scale
        self.extra: Floats = np.zeros((len(ptr) - 1, 0))
        self.of_extra: Floats = np.zeros((0, len(scale)))

    def squares(self) -> Floats:
        """Return J = Rᵀ R (items x items)."""
        n, m = len(self.ptr) - 1, len(self.scale)
        if len(self.slot) * DENSE >= n * m:
            total = np.zeros((m, m))
            for start, stop in _blocks(n, m):
                rows = np.zeros((stop - start, m))
                rows[segment_index(self.ptr[start : stop + 1]), self._entries(self.slot, start, stop)] = self._entries(
                    self.value, start, stop
                )
                total += rows.T @ rows
        else:
            total = kernels.outer_products(self.ptr, self.slot, self.value, m)
        if self.extra.shape[1]:
            crossed = self._transposed(self.extra) @ self.of_extra
            total += self.of_extra.T @ (self.extra.T @ self.extra) @ self.of_extra - crossed - crossed.T
        return np.asarray(total * self.scale * self.scale[:, None])

    def trace(self, left: Floats, right: Floats) -> float:
        """Return the trace of (R left)ᵀ (R right)."""
        total, (left, right) = 0.0, (columns * self.scale[:, None] for columns in (left, right))
        for start, stop in _blocks(len(self.ptr) - 1, left.shape[1]):
            sparse, extra = self._sparse(start, stop), self.extra[start:stop]
            of_left, of_right = (sparse @ columns - extra @ (self.of_extra @ columns) for columns in (left, right))
            total += float((of_left * of_right).sum())
        return total

    def noise(self, rng: np.random.Generator, n_draws: int) -> Floats:
        """Return draws with covariance J, a column per draw: Rᵀ times standard normal numbers."""
        total = np.zeros((len(self.scale), n_draws))
        for start, stop in _blocks(len(self.ptr) - 1, n_draws):
            drawn = rng.standard_normal((stop - start, n_draws))
            total += self._sparse(start, stop).T @ drawn - self.of_extra.T @ (self.extra[start:stop].T @ drawn)
        return np.asarray(total * self.scale[:, None])

    def _transposed(self, columns: Floats) -> Floats:
        """Return Sᵀ times columns of numbers of voters."""
        row = segment_index(self.ptr)
        return np.stack([sum_by(self.slot, self.value * column[row], len(self.scale)) for column in columns.T], 1)

    def _sparse(self, start: int, stop: int) -> Any:
        from scipy.sparse import csr_array

        slot, value = self._entries(self.slot, start, stop), self._entries(self.value, start, stop)
        ptr = self.ptr[start : stop + 1] - self.ptr[start]
        return csr_array((value, slot, ptr), shape=(stop - start, len(self.scale)))

    def _entries(self, values: AnyArray, start: int, stop: int) -> AnyArray:
        return values[self.ptr[start] : self.ptr[stop]]


def _blocks(n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last of as many rows as are computed at once."""
    at_once = max(1, CELLS_AT_ONCE // max(n_columns, 1))
    for start in range(0, n_rows, at_once):
        yield start, min(start + at_once, n_rows)


class Scatter:
    """The gradients of voters at one part of a fit; see the module docstring for the formulas."""

    def __init__(self, part: Fit, gradients: Gradients) -> None:
        self.part, self.gradients = part, gradients
        size = np.diff(part.slot_ptr)
        # The prior's curvature on its diagonal, and by how much the fit made gradients smaller.
        self.pull, self.variance = part.prior.pull(part.score, part.slot_ptr), part.variance
        taken = 1 - self.pull * self.variance - np.repeat(1 / np.maximum(size, 1), size)
        leverage = np.clip(taken / np.maximum(gradients.times[part.slots], 1.0), 0.0, MAX_LEVERAGE)
        self.enlarge = 1 / np.sqrt(1 - leverage)
        self.min_share = np.minimum(1.0, FEW / np.maximum(gradients.times[part.slots], 1.0))
        ends = zip(part.slot_ptr[:-1].tolist(), part.slot_ptr[1:].tolist(), strict=True)
        self._squares: dict[int, Floats] = {}
        is_compared = np.diff(_duels(part).duels.ptr) > 0
        self.spans = [(q, slice(a, b)) for q, (a, b) in enumerate(ends) if is_compared[q]]

    def rows(self, q: int, span: slice) -> Rows:
        """Return the inflated gradients of instance q, a row per voter.

        The part explained by the other parameters is projected out, because they are estimated as well.
        """
        g, instance = self.gradients, int(self.part.instances[q])
        voters = slice(g.row_ptr[instance], g.row_ptr[instance + 1])
        entries = slice(g.ptr[voters.start], g.ptr[voters.stop])
        ptr = g.ptr[voters.start : voters.stop + 1] - entries.start
        rows = Rows(ptr, g.slot[entries] - self.part.slots[span.start], g.value[entries], self.enlarge[span])
        if self.part.observed.n_extra:
            side, corner, columns = self._border(q)
            rows.extra, rows.of_extra = g.extra[voters][:, columns], np.asarray(np.linalg.solve(corner, side.T))
        return rows

    def _border(self, q: int) -> tuple[Floats, Floats, list[int]]:
        """Return the negative Hessian between scores and other parameters, among these, and their columns in
        ``extra``.
        """
        objective = self.part.objective(q)
        side, corner = objective.likelihood.border(is_exact=True)
        columns = [int(name == "tie") for name in objective.likelihood.extras()]
        columns += [2 + k for k in range(objective.likelihood.n_coefficients)]
        return side, corner + objective.prior.among_others(len(corner)), columns

    def squares(self, q: int, span: slice) -> Floats:
        """Return J, the sum over voters of the outer products of their gradients (items x items)."""
        if q not in self._squares:
            self._squares[q] = self.rows(q, span).squares()
        return self._squares[q]

    def traces(self) -> tuple[float, float]:
        """Return the trace of J A, and its expectation if pairs were independent, summed over all instances.

        A is the covariance of the scores; without it the trace is estimated from random signs (Hutchinson).
        """
        trace = expected = 0.0
        for q, span in self.spans:
            expected += span.stop - span.start - 1 - float(self.pull[span] @ self.variance[span])
            if self.part.covariance is not None:
                trace += float((self.squares(q, span) * self.part.block(q)).sum())
            else:
                signs = np.random.default_rng(0).choice([-1.0, 1.0], (span.stop - span.start, N_PROBES))
                trace += self.rows(q, span).trace(signs, self.part.times_inverse(signs)) / N_PROBES
        return trace, expected

    def clustered(self, factor: float, rng: np.random.Generator) -> Fit:
        """Return the part with clustered covariances A J A + factor A R A; R is the prior's negative Hessian.

        ``factor`` is the dependence; the variance of an item with few voters is at least ``factor`` times the
        uncorrected one.
        """
        part = replace(
            self.part,
            extra_variance=factor * self.part.extra_variance,
            coefficient_covariance=factor * self.part.coefficient_covariance,
        )
        if not self.spans:
            return part
        if part.covariance is None or (len(part.instances) == 1 and len(part.score) > LARGEST_BLOCK):
            draws = self._draws(factor, rng)
            return replace(part, covariance=None, variance=(draws**2).mean(axis=1), draws=draws)
        covariance, variance = part.covariance.copy(), self.variance.copy()
        block_start = np.concatenate([[0], np.cumsum(np.diff(part.slot_ptr) ** 2)])
        for q, span in self.spans:
            block = part.block(q)
            sandwich = block @ self.squares(q, span) @ block + (factor * self.pull[span] * block) @ block
            stretch = self._stretch(np.diag(sandwich), factor * self.min_share[span] * self.variance[span])
            sandwich *= stretch[:, None] * stretch
            covariance[block_start[q] : block_start[q + 1]], variance[span] = sandwich.reshape(-1), np.diag(sandwich)
        return replace(part, covariance=covariance, variance=variance)

    def _draws(self, factor: float, rng: np.random.Generator) -> Floats:
        """Draw deviations of the scores with the clustered covariance, a column per draw."""
        noise = self.rows(*self.spans[0]).noise(rng, N_DRAWS)
        noise += np.sqrt(factor * self.pull)[:, None] * rng.standard_normal(noise.shape)
        drawn = self.part.times_inverse(noise)
        return np.asarray(
            self._stretch((drawn**2).mean(axis=1), factor * self.min_share * self.variance)[:, None] * drawn
        )

    @staticmethod
    def _stretch(variance: Floats, min_variance: Floats) -> Floats:
        """Return the factors by which standard errors grow so that every variance is at least ``min_variance``."""
        return np.sqrt(np.maximum(min_variance / np.maximum(variance, 1e-300), 1.0))


def dependence(parts: list[Fit], voters: Voters) -> float:
    """Return the ratio of the variance of the gradient to the negative Hessian; at least 1 without ties."""
    gradients = voters.gradients(parts)
    return _dependence([Scatter(part, gradients) for part in parts], voters)


def _dependence(scatters: list[Scatter], voters: Voters) -> float:
    """Return the ratio of traces, shrunk towards the typical ratio for rankings if there are few voters."""
    observed, expected = (sum(column) for column in zip(*(scatter.traces() for scatter in scatters), strict=True))
    min_ratio = dispersion([scatter.part for scatter in scatters])
    ratio = observed / expected if expected > 0 else 1.0
    if voters.counting.counts == "binary":
        n = float(np.maximum(voters.weight, 1.0).sum())
        ratio = (n * ratio + TYPICAL * min_ratio * voters.typical) / (n + TYPICAL)
    return max(ratio, min_ratio)


def clustered(parts: list[Fit], voters: Voters, seed: int | None) -> list[Fit]:
    """Return the parts with sandwich covariances, which allow for dependence between the comparisons of a voter."""
    gradients, rng = voters.gradients(parts), np.random.default_rng(seed)
    scatters = [Scatter(part, gradients) for part in parts]
    factor = _dependence(scatters, voters)
    return [scatter.clustered(factor, rng) for scatter in scatters]


def _duels(part: Fit) -> ObservedDuels:
    assert isinstance(part.observed.plain, ObservedDuels)
    return part.observed.plain
