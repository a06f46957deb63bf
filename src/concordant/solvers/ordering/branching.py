"""Branch and cut: if the linear relaxation leaves a gap, branch on pairs until every node is closed.

Each node fixes some pairs and solves the linear programme with cuts that all nodes share. The search is best-first: the
lowest bound of the open nodes is a global lower bound at any time, so a search that is stopped early still reports an
optimality gap. The branching pair is chosen by strong branching (a few simplex steps on both sides of some candidates)
and pseudo-costs from earlier branchings.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from concordant.solvers.ordering.relaxation import VIOLATION, Relaxation
from concordant.support.interrupts import interruptible
from concordant.types import Floats, Int64s

CANDIDATES = 8
TRIAL_STEPS = 40
CERTAIN = 0.99  # of a step: a bound exactly one step below the cost must not pass for more because of rounding
UNLIMITED = 2**31 - 1
Improve = Callable[[Int64s], tuple[Int64s, float]]


@dataclass(order=True)
class Node:
    """A node of the search tree: fixed variables, and the basis of its solved programme."""

    bound: float
    number: int
    columns: Int64s = field(compare=False)
    values: Floats = field(compare=False)
    basis: object = field(compare=False)

    def child(self, number: int, column: int, value: float) -> Node:
        """Return a child node with one more variable fixed."""
        return Node(self.bound, number, np.append(self.columns, column), np.append(self.values, value), self.basis)


@dataclass
class BranchAndCut:
    """The search over one block; ``best`` is the cheapest ranking known, with cost ``cost``.

    Only rankings that cost at most ``cost - step`` are searched for. ``improve`` returns a better ranking and its cost;
    ``report`` is called with (bound, cost) as they change.
    """

    programme: Relaxation
    best: Int64s
    cost: float
    step: float
    improve: Improve
    report: Callable[[float, float], None] = lambda _bound, _cost: None
    bound: float = field(init=False, default=-np.inf)
    is_root_whole: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Start with all variables free and no pseudo-costs."""
        n = len(self.programme.cost)
        self._low, self._high = np.zeros(n), np.ones(n)  # bounds of the variables in all nodes
        self._gain, self._tries = np.zeros((n, 2)), np.zeros((n, 2))
        self._count = 0

    @property
    def goal(self) -> float:
        """The cost that a node's bound must not exceed."""
        return self.cost - CERTAIN * self.step

    def is_closed(self, bound: float) -> bool:
        """Return whether a node with this lower bound cannot contain a cheaper ranking."""
        return bound > self.goal

    def run(self) -> bool:
        """Search until the best ranking is proven optimal; False if the time ran out first."""
        finished = self.programme.run(self._examine, forgets=True)
        self.bound = min(max(self.programme.bound, self.programme.min_cost), self.cost)
        if not finished:
            return self.is_closed(self.bound)
        if self.is_closed(self.programme.bound):
            return self._close()
        self.is_root_whole = self.programme.is_whole()
        self._narrow()
        return self._search()

    def _examine(self, programme: Relaxation) -> bool:
        """After a round of cuts, round the solution to a ranking, and return whether its bound ends the search."""
        if np.isfinite(programme.bound):
            self._try_rounding()
        self.report(min(programme.bound, self.cost), self.cost)
        return self.is_closed(programme.bound)

    def _try_rounding(self) -> None:
        """Turn the last solution into a ranking, and keep it if it is cheaper than the best."""
        tier, cost = self.improve(self.programme.tier())
        if cost < self.cost:
            self.best, self.cost = tier, cost

    def _close(self) -> bool:
        """Record that the best ranking is proven optimal."""
        self.bound = self.cost
        self.report(self.bound, self.cost)
        return True

    def _narrow(self) -> None:
        """Fix the variables that have the same value in every cheaper ranking (reduced-cost fixing)."""
        at_zero, at_one = self.programme.by_reduced_cost(self.goal - self.programme.bound)
        self._high[at_zero] = 0.0
        self._low[at_one] = 1.0

    # ---- the tree ----
    def _search(self) -> bool:
        """Branch on the open node with the lowest bound until no node is open; False if the time ran out first."""
        root = Node(self.programme.bound, 0, np.zeros(0, np.int64), np.zeros(0), self.programme.basis())
        open_nodes = [] if self.is_root_whole else [root]
        while open_nodes:
            self.bound = min(open_nodes[0].bound, self.cost)
            self.report(self.bound, self.cost)
            node = heapq.heappop(open_nodes)
            if self.is_closed(node.bound):
                break
            # The last solution may belong to another node: from its own basis this node's is found again at once.
            if not self._evaluate(node, node.basis):
                return False
            if self.is_closed(node.bound):
                continue
            column, basis = self._choose(node.bound), self.programme.basis()
            for value in (0.0, 1.0):
                self._count += 1
                child = node.child(self._count, column, value)
                if not self._evaluate(child, basis):
                    return False
                if self.is_closed(child.bound):
                    continue
                self._try_rounding()
                if not self.is_closed(child.bound) and not self.programme.is_whole():
                    child.basis = self.programme.basis()  # a whole solution is its own rounding: nothing to split
                    heapq.heappush(open_nodes, child)
        return self._close()

    def _evaluate(self, node: Node, basis: object) -> bool:
        """Solve the linear programme of a node and raise its bound; False if the time ran out."""
        low, high = self._low.copy(), self._high.copy()
        low[node.columns] = high[node.columns] = node.values
        self.programme.set_bounds(np.arange(len(low)), low, high)
        self.programme.set_basis(basis)
        self.programme.stop_beyond(self.goal)
        if not self.programme.run(lambda programme: self.is_closed(programme.bound)):
            return False
        node.bound = max(node.bound, self.programme.bound)
        return True

    def _choose(self, bound: float) -> int:
        """Choose the branching variable: the fractional one for which the product of both bound gains is largest.

        Candidates are ranked by pseudo-costs, and the best few are tried for some simplex steps (strong branching).
        """
        programme, value = self.programme, self.programme.value.copy()
        missing = self.goal - bound
        fractional = np.flatnonzero(np.minimum(value, 1 - value) > VIOLATION)
        down = self._expected(fractional, 0) * value[fractional]
        up = self._expected(fractional, 1) * (1 - value[fractional])
        promise = np.maximum(down, 1e-6) * np.maximum(up, 1e-6) * (1 + 1e-3 * np.abs(programme.cost[fractional]))
        best, best_gain = int(fractional[0]), -1.0
        basis = programme.basis()
        programme.solver.setOptionValue("simplex_iteration_limit", TRIAL_STEPS)
        for column in fractional[np.argsort(-promise, kind="stable")][:CANDIDATES].tolist():
            gains = [self._gain_of(column, side, bound, value[column], basis) for side in (0, 1)]
            gain = max(min(gains[0], missing), 1e-6) * max(min(gains[1], missing), 1e-6)
            if gain > best_gain:
                best, best_gain = column, gain
            if min(gains) >= missing or programme.deadline.is_over():
                break
        programme.solver.setOptionValue("simplex_iteration_limit", UNLIMITED)
        programme.set_basis(basis)
        return best

    def _expected(self, columns: Int64s, side: int) -> Floats:
        """Return the pseudo-cost of each variable: its mean bound gain per unit change, or that of all if untried."""
        was_tried = self._tries[columns, side] > 0
        n_tries = self._tries[:, side].sum()
        mean = self._gain[:, side].sum() / n_tries if n_tries else 1.0
        return np.where(was_tried, self._gain[columns, side] / np.maximum(self._tries[columns, side], 1), mean)

    def _gain_of(self, column: int, side: int, bound: float, value: float, basis: object) -> float:
        """Fix a variable to ``side`` for a few simplex steps; return the bound gain and record it."""
        programme = self.programme
        programme.solver.changeColBounds(column, float(side), float(side))
        programme.set_basis(basis)
        interruptible(programme.solver.run)
        missing = self.goal - bound
        gain = missing + 1 if programme.is_infeasible() else max(programme.current_value() - bound, 0.0)
        programme.solver.changeColBounds(column, 0.0, 1.0)  # a fractional variable was free
        self._gain[column, side] += min(gain, 4 * missing) / max(value if side == 0 else 1 - value, VIOLATION)
        self._tries[column, side] += 1
        return gain
