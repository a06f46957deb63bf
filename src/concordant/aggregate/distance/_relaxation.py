"""The linear programme behind exact Kemeny: pair variables, triangle cuts added in rounds, on HiGHS.

Without ties x(i, j) = 1 - x(j, i) says that i is before j; with ties x(i, j) says that i is not behind j, and
x(i, j) + x(j, i) >= 1. Both obey x(i, j) + x(j, k) - x(i, k) <= 1, of which there are cubically many and few matter:
solve, look for violated ones, add the worst of each pair, solve again from where the last round ended. Every round's
value is a lower bound. HiGHS's callback for lazy constraints does not fire, so the integer programme works in the same
way: solve, look, add, solve again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from concordant import kernels
from concordant.types import Bools, Floats, Int64s

VIOLATION = 1e-6
CUTS_PER_PAIR = 2  # more cuts a round mean fewer rounds of slower programmes: two was fastest from 40 to 100 items


@dataclass
class Relaxation:
    """The programme of one block: ``before`` and, where ties are allowed, ``tied`` are its square cost matrices."""

    before: Floats
    tied: Floats | None
    deadline: float = np.inf
    bound: float = -np.inf
    """The best lower bound so far, in units of cost."""
    x: Floats = field(init=False)
    """The last solution: x(i, j) for every ordered pair."""
    is_solved: bool = False
    """Whether no cut is violated any more."""

    def __post_init__(self) -> None:
        n = self.n
        self._upper = np.triu_indices(n, 1)
        if self.tied is None:
            i, j = self._upper
            self._constant = float(self.before.T[i, j].sum())
            cost = self.before[i, j] - self.before[j, i]
        else:
            i, j = np.nonzero(~np.eye(n, dtype=bool))
            cost = self.tied[i, j] - self.before[j, i]
            own = (self.before + self.before.T - self.tied)[self._upper]
            self._constant = float(own.sum())
        self._pair = i, j
        self._column = np.zeros((n, n), np.int64)
        self._sign = np.ones((n, n))
        self._offset = np.zeros((n, n))
        self._column[i, j] = np.arange(len(i))
        if self.tied is None:
            self._column[j, i] = np.arange(len(i))
            self._sign[j, i], self._offset[j, i] = -1.0, 1.0
        self.cost = cost
        self._solver = self._make_solver(cost)
        self.x = np.zeros((n, n))
        if self.tied is not None:
            a, b = self._upper
            columns = np.stack([self._column[a, b], self._column[b, a]], axis=1)
            self._add_rows(columns, np.ones(columns.shape), low=np.ones(len(a)))

    @property
    def n(self) -> int:
        """How many items are ordered."""
        return len(self.before)

    def _make_solver(self, cost: Floats) -> Any:
        import highspy

        solver = highspy.Highs()
        for option, value in {"output_flag": False, "threads": 1, "solver": "simplex", "presolve": "off"}.items():
            solver.setOptionValue(option, value)
        n = len(cost)
        solver.addVars(n, np.zeros(n), np.ones(n))
        solver.changeColsCost(n, np.arange(n, dtype=np.int32), np.ascontiguousarray(cost, np.float64))
        self._infinity = highspy.kHighsInf
        self._optimal = highspy.HighsModelStatus.kOptimal
        return solver

    def _add_rows(self, columns: Int64s, values: Floats, low: Floats | None = None, high: Floats | None = None) -> None:
        rows, width = columns.shape
        unbounded = np.full(rows, self._infinity)
        self._solver.addRows(
            rows,
            -unbounded if low is None else low,
            unbounded if high is None else high,
            rows * width,
            np.arange(0, rows * width, width, dtype=np.int32),
            columns.reshape(-1).astype(np.int32),
            np.ascontiguousarray(values, np.float64).reshape(-1),
        )

    # ---- rounds ----
    def run(self, is_enough: Callable[[Relaxation], bool]) -> None:
        """Solve and cut until nothing is violated, ``is_enough`` says so, or the time is over."""
        while self.solve():
            self.is_solved = not self.cut()
            if is_enough(self) or self.is_solved:
                return

    def solve(self) -> bool:
        """Solve the programme as it stands; False when the time ran out first (the old bound stays)."""
        left = self.deadline - time.perf_counter()
        if left <= 0:
            return False
        self._solver.setOptionValue("time_limit", float(min(left, 1e9)) + self._solver.getRunTime())
        self._solver.run()
        if self._solver.getModelStatus() != self._optimal:
            return False
        self.bound = max(self.bound, self._solver.getInfo().objective_function_value + self._constant)
        self._read()
        return True

    def _read(self) -> None:
        self.value = np.asarray(self._solver.getSolution().col_value)
        i, j = self._pair
        self.x[i, j] = self.value
        if self.tied is None:
            self.x[j, i] = 1 - self.value

    def cut(self) -> int:
        """Add the violated triangles of the last solution; return how many."""
        i, j, k = kernels.violated_triangles(self.x, VIOLATION, CUTS_PER_PAIR, self.tied is None)
        if len(i):
            sides = ((i, j, 1.0), (j, k, 1.0), (i, k, -1.0))
            columns = np.stack([self._column[a, b] for a, b, _ in sides], axis=1)
            values = np.stack([sign * self._sign[a, b] for a, b, sign in sides], axis=1)
            offset = sum(sign * self._offset[a, b] for a, b, sign in sides)
            self._add_rows(columns, values, high=1.0 - np.asarray(offset))
        return len(i)

    # ---- fixing ----
    def fix(self, allowed: float) -> int:
        """Fix every pair whose other value would raise the bound by more than ``allowed``; return how many are free.

        A ranking that costs at most ``bound + allowed`` keeps a variable at its bound if its reduced cost exceeds
        ``allowed``.
        """
        price = np.asarray(self._solver.getSolution().col_dual)
        at_zero, at_one = self.value < VIOLATION, self.value > 1 - VIOLATION
        is_fixed = (np.abs(price) > allowed + VIOLATION) & (at_zero | at_one)
        self._settle(is_fixed, at_one)
        return int((~self.is_fixed).sum())

    def _settle(self, is_fixed: Bools, at_one: Bools) -> None:
        columns = np.flatnonzero(is_fixed).astype(np.int32)
        self.is_fixed = is_fixed
        values = at_one[columns].astype(np.float64)
        self._solver.changeColsBounds(len(columns), columns, values, values)

    # ---- the integer programme ----
    def solve_integer(self, incumbent: Floats, gap: float) -> tuple[float, bool]:
        """Solve with whole variables: (bound, whether all triangles hold).

        ``incumbent`` is a known solution (x), ``gap`` how far from it a bound is as good as a proof.
        """
        import highspy

        solver, n = self._solver, len(self.cost)
        solver.changeColsIntegrality(
            n, np.arange(n, dtype=np.int32), np.full(n, int(highspy.HighsVarType.kInteger), np.uint8)
        )
        left = self.deadline - time.perf_counter()
        if left <= 0:
            return self.bound, False
        for option, value in {
            "presolve": "on",
            "solver": "choose",
            "mip_abs_gap": gap * (1 - VIOLATION),
            "mip_rel_gap": 0.0,
            "time_limit": float(min(left, 1e9)) + solver.getRunTime(),
        }.items():
            solver.setOptionValue(option, value)
        start = highspy.HighsSolution()
        start.col_value = incumbent[self._pair].tolist()
        solver.setSolution(start)
        solver.run()
        info = solver.getInfo()
        bound = info.mip_dual_bound + self._constant
        if not np.isfinite(bound):
            return self.bound, False
        self.bound = max(self.bound, bound)
        if solver.getModelStatus() != self._optimal:
            return self.bound, False
        self._read()
        return self.bound, not self.cut()
