"""Linear relaxation for exact Kemeny ranking: pair variables and triangle cuts added in rounds, solved by HiGHS.

Without ties x(i, j) = 1 - x(j, i) is 1 if i is before j; with ties x(i, j) is 1 if i is not behind j, and x(i, j) +
x(j, i) >= 1. Both satisfy the triangle constraints x(i, j) + x(j, k) - x(i, k) <= 1. There are O(n^3) of these and few
bind, so they are added lazily: solve, find violated ones, add the most violated of each pair, and solve again with a
warm start. The value of each round is a lower bound. (The rounds are implemented here because HiGHS's lazy-constraint
callback does not fire.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from concordant import kernels
from concordant.solvers.ordering.deadline import Deadline
from concordant.support.interrupts import interruptible
from concordant.types import Bools, Floats, Int32s, Int64s

VIOLATION = 1e-6
CUTS_PER_PAIR = 2  # more cuts a round mean fewer rounds of slower programmes: two was fastest from 40 to 100 items
OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "solver": "simplex",
    "presolve": "off",
    "simplex_scale_strategy": 0,
    "simplex_dual_edge_weight_strategy": 1,  # Devex: steepest edge starts over, at a price, after every change of basis
}
LARGEST_PROGRAMME = 2_000_000  # variables (2,000 items, 1,400 with ties): about 2 GB with its cuts
MAX_TRIPLES = 50_000_000  # looked at for violations at a time
LARGEST_COST = 1e6  # larger ones are scaled: HiGHS works with absolute tolerances


def is_too_large(n: int, allow_ties: bool) -> bool:
    """Return whether the linear programme of n items would take too much memory."""
    return n * (n - 1) // (1 if allow_ties else 2) > LARGEST_PROGRAMME


def min_cost(before: Floats, tied: Floats | None) -> float:
    """Return the sum of the lowest costs of all pairs, a trivial lower bound."""
    upper = np.triu_indices(len(before), 1)
    cheapest = np.minimum(before, before.T)[upper]
    return float((cheapest if tied is None else np.minimum(cheapest, tied[upper])).sum())


@dataclass
class Relaxation:
    """The linear programme of one block: ``before`` and, with ties, ``tied`` are its square cost matrices."""

    before: Floats
    tied: Floats | None
    deadline: Deadline = field(default_factory=Deadline)
    bound: float = field(init=False, default=-np.inf)
    """The value of the last programme, in units of cost."""
    x: Floats = field(init=False)
    """The last solution: x(i, j) for every ordered pair."""
    value: Floats = field(init=False)
    """The same by variable."""

    def __post_init__(self) -> None:
        """Set up variables, costs and (with ties) the constraints x(i, j) + x(j, i) >= 1.

        x(i, j) is ``_offset[i, j] + _sign[i, j] * value[_column[i, j]]``; the cost is ``constant + cost @ value``.
        """
        n = len(self.before)
        upper = np.triu_indices(n, 1)
        i, j = upper if self.tied is None else np.nonzero(~np.eye(n, dtype=bool))
        self.pair = i, j
        self._column = np.zeros((n, n), np.int64)
        self._sign, self._offset = np.ones((n, n)), np.zeros((n, n))
        self._column[i, j] = np.arange(len(i))
        if self.tied is None:
            self._column[j, i] = np.arange(len(i))
            self._sign[j, i], self._offset[j, i] = -1.0, 1.0
            self.constant = float(self.before[j, i].sum())
            self.cost = self.before[i, j] - self.before[j, i]
        else:
            self.constant = float((self.before + self.before.T - self.tied)[upper].sum())
            self.cost = self.tied[i, j] - self.before[j, i]
        self.min_cost = min_cost(self.before, self.tied)
        self._scale = max(float(np.abs(self.cost).max(initial=0.0)) / LARGEST_COST, 1.0)
        self._make_solver()
        self.x, self.value = np.zeros((n, n)), np.zeros(len(i))
        if self.tied is not None:
            columns = np.stack([self._column[upper], self._column.T[upper]], axis=1)
            self.add_rows(columns, np.ones(columns.shape), low=np.ones(len(columns)))

    def _make_solver(self) -> None:
        """Create the HiGHS solver, with variables between 0 and 1 and scaled costs."""
        import highspy

        make: Any = highspy.Highs
        solver = make()
        for option, value in OPTIONS.items():
            solver.setOptionValue(option, value)
        n = len(self.cost)
        solver.addVars(n, np.zeros(n), np.ones(n))
        solver.changeColsCost(n, np.arange(n, dtype=np.int32), self.cost / self._scale)
        status = highspy.HighsModelStatus
        self.solver, self._infinity = solver, highspy.kHighsInf
        self._beyond = status.kObjectiveBound
        self._optimal, self._infeasible = status.kOptimal, (status.kInfeasible, status.kUnboundedOrInfeasible)

    def add_rows(
        self, columns: Int64s, values: Floats, *, low: Floats | None = None, high: Floats | None = None
    ) -> None:
        """Add constraints, each on the same number of variables."""
        rows, width = columns.shape
        unbounded = np.full(rows, self._infinity)
        self.solver.addRows(
            rows,
            -unbounded if low is None else low,
            unbounded if high is None else high,
            rows * width,
            np.arange(0, rows * width, width, dtype=np.int32),
            columns.reshape(-1).astype(np.int32),
            np.ascontiguousarray(values, np.float64).reshape(-1),
        )

    # ---- solving ----
    def solve(self) -> bool:
        """Solve the current programme; False if the time ran out first (the old bound remains)."""
        left = min(self.deadline.left(), 1e9)
        if left <= 0:
            return False
        self.solver.setOptionValue("time_limit", self.solver.getRunTime() + left)
        interruptible(self.solver.run)
        status = self.solver.getModelStatus()
        if status in self._infeasible or status == self._beyond:
            self.bound = np.inf
            return True
        if status != self._optimal:
            return False
        self.bound = self.current_value()
        self.value = np.asarray(self.solver.getSolution().col_value)
        self.x[self.pair] = self.value
        if self.tied is None:
            self.x[self.pair[::-1]] = 1 - self.value
        return True

    def current_value(self) -> float:
        """Return the objective value at which HiGHS stopped, in units of cost."""
        return float(self.solver.getInfo().objective_function_value) * self._scale + self.constant

    def is_infeasible(self) -> bool:
        """Return whether HiGHS found the programme infeasible."""
        return self.solver.getModelStatus() in self._infeasible

    def prices(self) -> Floats:
        """Return the reduced cost of every variable, in units of cost."""
        return np.asarray(self.solver.getSolution().col_dual) * self._scale

    def run(self, is_enough: Callable[[Relaxation], bool], *, forgets: bool = False) -> bool:
        """Solve and add cuts until none is violated or ``is_enough`` returns True; False if the time ran out first.

        With ``forgets``, cuts that do not bind are dropped whenever the bound has risen: more rounds of smaller
        programmes, twice as fast for many items. Earlier bases are then invalid.
        """
        bound_before = -np.inf
        while self.solve():
            if is_enough(self) or not np.isfinite(self.bound):
                return True
            violated = self._violated()
            if violated is None:
                return False
            if not len(violated[0]):
                return True
            if forgets and self.bound > bound_before + VIOLATION * max(abs(self.bound), 1.0):
                self._drop_slack_rows()
                bound_before = self.bound
            self._cut(*violated)
        return False

    def _violated(self) -> tuple[Int32s, Int32s, Int32s] | None:
        """Return the most violated triangles of each pair as arrays i, j, k; None if the time ran out."""
        n = len(self.x)
        rows = max(1, MAX_TRIPLES // n**2)
        parts = []
        for first in range(0, n, rows):
            if first and self.deadline.is_over():
                return None
            last = min(first + rows, n)
            parts.append(kernels.violated_triangles(self.x, VIOLATION, CUTS_PER_PAIR, self.tied is None, first, last))
        i, j, k = (np.concatenate(corner) for corner in zip(*parts, strict=True))
        return i, j, k

    def _cut(self, i: Int32s, j: Int32s, k: Int32s) -> None:
        """Add the constraints x(i, j) + x(j, k) - x(i, k) <= 1."""
        sides = ((i, j, 1.0), (j, k, 1.0), (i, k, -1.0))
        columns = np.stack([self._column[a, b] for a, b, _ in sides], axis=1)
        values = np.stack([sign * self._sign[a, b] for a, b, sign in sides], axis=1)
        offset = sum(sign * self._offset[a, b] for a, b, sign in sides)
        self.add_rows(columns, values, high=1.0 - np.asarray(offset))

    def _drop_slack_rows(self) -> None:
        """Drop the cuts that do not bind in the last solution; they are added again if violated."""
        import highspy

        status = np.array([int(row_status) for row_status in self.solver.getBasis().row_status])
        rows = np.flatnonzero(status == int(highspy.HighsBasisStatus.kBasic)).astype(np.int32)
        if self.tied is not None:
            rows = rows[rows >= len(self.before) * (len(self.before) - 1) // 2]  # those of the pairs stay
        if len(rows):
            self.solver.deleteRows(len(rows), rows)

    # ---- bounds of variables ----
    def set_bounds(self, columns: Int64s, low: Floats, high: Floats) -> None:
        """Set the bounds of some variables."""
        if len(columns):
            self.solver.changeColsBounds(len(columns), columns.astype(np.int32), low, high)

    def stop_beyond(self, cost: float) -> None:
        """Stop a programme (as infeasible) once its value provably exceeds a cost."""
        self.solver.setOptionValue("objective_bound", (cost - self.constant) / self._scale)

    def basis(self) -> object:
        """Return the basis of the last solved programme, for a warm start."""
        return self.solver.getBasis()

    def set_basis(self, basis: Any) -> None:
        """Start the next programme from a basis; cuts added since then are basic (slack)."""
        import highspy

        status = basis.row_status
        added = self.solver.getNumRow() - len(status)
        if added:
            basis.row_status = [*status, *[highspy.HighsBasisStatus.kBasic] * added]
        self.solver.setBasis(basis)

    def is_whole(self) -> bool:
        """Return whether all variables are integral: the last solution is then a ranking if it violates no cut."""
        return bool((np.minimum(self.value, 1 - self.value) < VIOLATION).all())

    def by_reduced_cost(self, room: float) -> tuple[Bools, Bools]:
        """Return the variables that are 0, and those that are 1, in every ranking within ``room`` of the bound."""
        price = self.prices()
        slack = VIOLATION * max(1.0, self._scale)
        return (self.value < VIOLATION) & (price > room + slack), (self.value > 1 - VIOLATION) & (-price > room + slack)

    # ---- between rankings and solutions ----
    def tier(self) -> Int64s:
        """Derive a ranking from the last solution: items by the sum of x(i, j) over j; with ties, equal sums are tied.

        This is exact for an integral solution, and a rounding heuristic otherwise.
        """
        standing = np.rint(self.x.sum(axis=1) * 1e6) if self.tied is not None else self.x.sum(axis=1)
        if self.tied is None:
            order = np.argsort(-standing, kind="stable")
            tier = np.empty(len(order), np.int64)
            tier[order] = np.arange(len(order))
            return tier
        return np.asarray(np.unique(-standing, return_inverse=True)[1].reshape(-1), np.int64)

    def forbid(self, tier: Int64s) -> None:
        """Exclude one ranking: at least one variable must differ from it."""
        i, j = self.pair
        chosen = (tier[i] < tier[j]) if self.tied is None else (tier[i] <= tier[j])
        columns = np.arange(len(i))[None, :]
        self.add_rows(columns, np.where(chosen, 1.0, -1.0)[None, :], high=np.array([chosen.sum() - 1.0]))
