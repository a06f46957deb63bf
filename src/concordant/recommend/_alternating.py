"""Alternating least squares for all factorisations, without a learning rate.

The score of agent u for item i is mean + b_u + c_i + p_u · q_i. With one side fixed, the quadratic approximation of the
loss (``_losses``) is a small least-squares problem for each row of the other side (iteratively reweighted, alternating
least squares). With up to 32 factors, a row is solved exactly by a Cholesky decomposition. With more, a few conjugate
gradient steps from the current row take time linear in the number of factors instead of quadratic.

With a given ``ridge``, the result is the mode of the posterior. With ``ridge="auto"``, it is the mean of a variational
approximation: rows are Gaussian and independent, so each row minimises the quadratic averaged over the uncertainty of
the other side (Lim and Teh 2007). The precision of the prior of every factor, and of the noise of the ratings, is
estimated from the data. The objective is then the negative evidence lower bound

    E[loss] - n/2 log(noise) + sum over rows of KL(row | prior)

It has many local minima. The first sweeps find the mode under priors that allow only strong factors to grow, which
leads to good minima more often than a random start (chosen on validation ratings of MovieLens 1M). If no factor grows,
as with few ratings per row, they are repeated with weaker priors.

Cost of a sweep: O(ratings · factors² + rows · factors³), or O(ratings · factors · steps).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from concordant import kernels
from concordant.kernels.bundles import Rows, Side, StepsFrom, Terms
from concordant.recommend._losses import Loss, Quadratic
from concordant.recommend._observed import Observed
from concordant.support.brief import Brief
from concordant.types import AnyArray, Floats

EXACT = 32  # factors up to which rows are solved by Cholesky and keep whole covariances
STEPS = 3  # of conjugate gradients otherwise
HALVINGS = 8
ROUNDING = 1e-7  # of the objective, relative: less is no rise
MODES = 5  # sweeps of a variational fit that find the mode first
LOOSE = 2  # sweeps after them with weaker priors, before their strengths are found
LOOSER = 3.0  # how much weaker
RETRIES = 3  # of the first sweeps, with priors as much weaker again, while no factor grows
GROWN = 1e-3  # variance of scores that a factor explains, relative to that of the ratings
OFF = 1e12  # a ridge that leaves nothing
SMALLEST, LARGEST = 1e-6, 1e9  # strength of a prior


@dataclass(frozen=True, eq=False)
class Half:
    """One side of a model: a row per agent or item (factors, then the bias), its uncertainty, and the ridge by column.

    ``spread`` holds the covariance of every row (a lower triangle), its variances, or nothing (no columns).
    """

    row: AnyArray
    spread: AnyArray
    ridge: Floats

    @property
    def variance(self) -> AnyArray:
        """The variances of every row, by column: the diagonal of the lower triangles."""
        size = self.row.shape[1]
        if self.spread.shape[1] in (0, size):
            return self.spread
        return self.spread[:, np.cumsum(np.arange(1, size + 1)) - 1]

    def second_moment(self) -> Floats:
        """Return the sum of the expected squares of every column."""
        total = (self.row.astype(np.float64) ** 2).sum(axis=0)
        return np.asarray(total + self.variance.sum(axis=0, dtype=np.float64) if self.spread.shape[1] else total)


@dataclass(frozen=True, eq=False, repr=False)
class State(Brief):
    """Both sides, the mean and, in a variational fit, the precision of the noise (inverse variance)."""

    agents: Half
    items: Half
    mean: float
    noise: float = 1.0


class Sweep(NamedTuple):
    """State of a fit, passed to ``progress``: sweep, maximum number of sweeps, objective, and validation metric."""

    number: int
    of: int
    objective: float
    quality: float | None


@dataclass(frozen=True)
class Plan:
    """Settings of the solver."""

    loss: Callable[[float], Loss]  # of the noise
    is_variational: bool
    has_noise: bool
    sweeps: int
    tolerance: float
    patience: int
    threads: int
    has_biases: bool
    modes: int = MODES  # sweeps before a variational fit looks at uncertainty


class Alternating:
    """State of an alternating least-squares fit."""

    def __init__(self, observed: Observed, plan: Plan, state: State) -> None:
        """Start from a state; the loss due to uncertainty (``doubt``) and the log-determinants are initially 0."""
        self.observed, self.plan, self.state, self.sweep = observed, plan, state, 0
        self._start, self.log_det, self.doubt = state, [0.0, 0.0], 0.0
        self.quadratic = self._around()

    def run(
        self, quality: Callable[[State], float] | None = None, progress: Callable[[Sweep], None] | None = None
    ) -> State:
        """Sweep until the objective or the validation metric no longer improves; return the best state."""
        best, best_quality, last_best, last_objective = self.state, -np.inf, 0, np.inf
        for number in range(1, self.plan.sweeps + 1):
            self.step()
            objective, value = self.objective(), None if quality is None else quality(self.state)
            if progress is not None:
                progress(Sweep(number, self.plan.sweeps, objective, value))
            if value is None:
                best = self.state
                if abs(last_objective - objective) <= self.plan.tolerance * abs(objective) and self._is_settled():
                    break
            elif value > best_quality:
                best, best_quality, last_best = self.state, value, number
            elif number - max(last_best, self._first_sweeps) >= self.plan.patience:
                break
            last_objective = objective
        return best

    @property
    def _first_sweeps(self) -> int:
        """Number of sweeps before a variational fit estimates its priors, while the objective still changes."""
        return self.plan.modes + LOOSE if self.plan.is_variational and self.plan.modes else 0

    @property
    def is_variational(self) -> bool:
        """Whether this sweep accounts for the uncertainty of the rows."""
        return self.plan.is_variational and self.sweep >= self.plan.modes

    def step(self) -> None:
        """Solve the agents, then the items, then update the precisions of the priors and the noise."""
        if self.is_variational and not self.state.items.spread.shape[1]:
            self._find_factors()
            looser = LOOSER if self.plan.modes else 1.0
            agents, items = (_with_uncertainty(half, looser) for half in self._halves())
            self.state = replace(self.state, agents=agents, items=items)
        self._solve(is_agents=True)
        self._solve(is_agents=False)
        if self.is_variational and self.sweep >= self._first_sweeps:
            self._learn_priors()
        self.sweep += 1
        if not self.plan.loss(1.0).is_smooth:
            self.quadratic = self._around()  # such a loss depends on the sweep

    def _find_factors(self) -> None:
        """Repeat the first sweeps with weaker priors while no factor has grown."""
        for _ in range(RETRIES if self.plan.modes else 0):
            sizes = [np.mean(half.row[:, :-1].astype(np.float64) ** 2, axis=0) for half in self._halves()]
            if float((sizes[0] * sizes[1]).max()) * self.state.noise > GROWN:
                return
            agents, items = self._start.agents, self._start.items
            weaker = items.ridge / np.append(np.full(len(items.ridge) - 1, LOOSER), 1.0)
            self._start = replace(self._start, agents=replace(agents, ridge=weaker), items=replace(items, ridge=weaker))
            self.state = self._start
            self.quadratic = self._around()
            for _ in range(self.plan.modes):
                self._solve(is_agents=True)
                self._solve(is_agents=False)

    def _halves(self) -> tuple[Half, Half]:
        return self.state.agents, self.state.items

    def _is_settled(self) -> bool:
        """Return whether the definition of the objective no longer changes."""
        return self.sweep > self._first_sweeps

    def objective(self) -> float:
        """Return the objective: loss plus half the ridge penalty, or the negative evidence lower bound."""
        state, total = self.state, self.quadratic.value
        for half, log_det in zip((state.agents, state.items), self.log_det, strict=True):
            used = half.ridge < OFF
            total += 0.5 * float(half.ridge[used] @ half.second_moment()[used])
            if half.spread.shape[1]:
                n = len(half.row)
                total += 0.5 * (log_det - n * float(np.log(half.ridge).sum()) - n * len(half.ridge))
        if not state.items.spread.shape[1]:
            return float(total)
        if self.plan.has_noise:
            total -= 0.5 * self._n_ratings() * float(np.log(state.noise))
        return float(total + 0.5 * self.doubt)

    # ---- one side ----
    def _solve(self, *, is_agents: bool) -> None:
        """Solve all rows of one side with the other fixed, then update the quadratic at the new scores."""
        before, value = self.state, self.quadratic.value
        side = self.observed.by_agent if is_agents else self.observed.by_item
        half, fixed = (before.agents, before.items) if is_agents else (before.items, before.agents)
        terms = Terms(self.quadratic.target, self.quadratic.curve)
        rows = solve_rows(side, terms, half, fixed, before.mean, self.plan.threads)
        self.log_det[0 if is_agents else 1], self.doubt = float(rows.log_det.sum()), float(rows.doubt.sum())
        solved = replace(half, row=rows.row, spread=rows.spread)
        self.state = _with(before, solved, is_agents=is_agents)
        if is_agents and self.plan.loss(1.0).is_quadratic:
            return  # the items see the same quadratic, whatever the scores are
        self.quadratic = self._around()
        if fixed.spread.shape[1] or self.plan.loss(1.0).is_quadratic or not self.plan.loss(1.0).is_smooth:
            return
        # Far away the quadratic is not a bound of the loss: halve the step while the objective is higher than before.
        goal = value + _penalty(half)
        goal += ROUNDING * abs(goal)
        for _ in range(HALVINGS):
            if self.quadratic.value + _penalty(solved) <= goal:
                return
            solved = replace(solved, row=(solved.row + half.row) / 2)
            self.state = _with(before, solved, is_agents=is_agents)
            self.quadratic = self._around()

    def _around(self) -> Quadratic:
        """Return the quadratic approximation of the loss at the scores of the current state."""
        state, side = self.state, self.observed.by_agent
        rows = state.agents.row, state.items.row
        self._score = kernels.factor_scores(side.ptr, side.other, *rows, state.mean, self.plan.threads)
        return self.plan.loss(state.noise).at(self._score, self.observed, self.sweep)

    # ---- priors ----
    def _learn_priors(self) -> None:
        """Update the precisions of the priors and of the noise to maximise the evidence lower bound."""
        state = self.state
        self.state = replace(state, agents=self._with_ridge(state.agents), items=self._with_ridge(state.items))
        if self.plan.has_noise:
            # The part of the scores' variance that is due to squared errors, by their share of the curvature.
            score_variance = 0.5 * self.doubt * self.quadratic.share / state.noise
            noise = 0.5 * self._n_ratings() / max(self.quadratic.squared + score_variance, 1e-12)
            self.doubt *= self.quadratic.share * noise / state.noise + 1 - self.quadratic.share
            self.state = replace(self.state, noise=noise)
        self.quadratic = self.plan.loss(self.state.noise).at(self._score, self.observed, self.sweep)

    def _with_ridge(self, half: Half) -> Half:
        """Return the side with the prior precision of every column: rows / sum of expected squares (empirical
        Bayes).
        """
        precision = np.clip(len(half.row) / np.maximum(half.second_moment(), 1e-300), SMALLEST, LARGEST)
        if not self.plan.has_biases:
            precision[-1] = OFF  # the last column holds the biases
        return replace(half, ridge=precision)

    def _n_ratings(self) -> float:
        """Return the total weight of the ratings."""
        return float(self.observed.weight_by_entry.sum())


def solve_rows(side: Side, terms: Terms, half: Half, fixed: Half, mean: float, threads: int) -> Rows:
    """Return the rows of one side with the other fixed, exactly or, with many factors, by conjugate gradients."""
    if half.row.shape[1] - 1 <= EXACT:
        return kernels.ridge_rows(side, terms, fixed.row, fixed.spread, half.ridge, mean, threads)
    begin = StepsFrom(np.ascontiguousarray(half.row), STEPS)
    return kernels.ridge_steps(side, terms, fixed.row, fixed.spread, half.ridge, mean, begin, threads)


def spread_columns(size: int) -> int:
    """Return the number of values that represent the uncertainty of a row: covariances, or variances only."""
    return size * (size + 1) // 2 if size - 1 <= EXACT else size


def _with_uncertainty(half: Half, looser: float) -> Half:
    """Return a side with space for the uncertainty of its rows, and with ridges divided by ``looser``."""
    size = half.row.shape[1]
    columns = spread_columns(size)
    weaker = half.ridge / np.append(np.full(size - 1, looser), 1.0)
    return replace(half, ridge=weaker, spread=np.zeros((len(half.row), columns), half.row.dtype))


def _with(state: State, half: Half, *, is_agents: bool) -> State:
    """Return the state with one side replaced."""
    return replace(state, agents=half) if is_agents else replace(state, items=half)


def _penalty(half: Half) -> float:
    """Return half the ridge penalty of a side."""
    return 0.5 * float(half.ridge @ (half.row.astype(np.float64) ** 2).sum(axis=0))
