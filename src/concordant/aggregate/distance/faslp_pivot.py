"""FASLP-Pivot: randomised pivoting on the fractional solution of the Kemeny linear programme.

The linear relaxation of the exact Kemeny programme is solved with HiGHS and triangle cuts; x(i, j) in [0, 1] is the
degree to which i precedes j. Pivoting then puts candidate i left of pivot j with probability x(i, j). The best of
``repeats`` runs is kept, or the best input ballot if its cost is lower: 4/3 of the optimum in expectation. If the
solution is integral, as it usually is, the first run is the Kemeny optimum. The fit contains the lower bound from
the linear programme.

Cost: the pairwise counts, then a linear programme of candidates² variables per block of each instance (10 s for 100
candidates with random votes, milliseconds if the majorities have few cycles). Reference: N. Ailon, M. Charikar and A.
Newman, Aggregating inconsistent information: ranking and clustering, Journal of the ACM, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.aggregate import options
from concordant.aggregate.distance._inputs import better_of
from concordant.aggregate.distance._outcome import finish
from concordant.aggregate.explain.overruled import WeighsMajorities
from concordant.ballots.segments import places
from concordant.errors import arg
from concordant.method import Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.solvers.ordering.blocks import split
from concordant.solvers.ordering.costs import pair_costs
from concordant.solvers.ordering.deadline import Deadline
from concordant.solvers.ordering.relaxation import Relaxation, is_too_large, min_cost
from concordant.support import progress
from concordant.types import Floats, Int64s

MAX_DRAWS = 10_000_000  # numbers drawn at once


@dataclass(frozen=True, kw_only=True)
class FaslpPivot(WeighsMajorities):
    """Randomised pivot rounding of the Kemeny linear programme, best of several runs."""

    usual_name = "FASLP-Pivot"
    matrices = 20
    waives = {"neutrality": "it uses the first optimal solution of the programme that it finds"}

    repeats: int = param(10, "number of runs; the best result is kept", low=1, high=1e5)
    pick: bool = param(True, "return the best input ballot if its cost is lower")
    time_limit: float | None = param(30.0, "time limit in seconds for the linear programmes of all instances", low=0)
    missing: str = options.missing()
    seed: int | None = param(0, "seed for the pivots and the rounding", low=0)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of candidates ranked below every slot, the total distance and its lower bound."""
        deadline, is_late = Deadline(self.time_limit), False
        costs = pair_costs(prefs, self.missing)
        blocks = split(costs, allow_ties=False)
        tier = np.zeros(len(blocks.slot), np.int64)
        bound = np.zeros(len(blocks.size))
        for block in progress.steps(np.flatnonzero(blocks.size > 1).tolist(), "solving linear programmes"):
            before, _ = blocks.matrices(block)
            x = (1 + np.sign(before.T - before)) / 2  # without a solution of the programme, as FAS-Pivot has it
            bound[block] = min_cost(before, None)
            if deadline.is_over() or is_too_large(len(before), allow_ties=False):
                is_late = True
            else:
                programme = Relaxation(before, None, deadline)
                is_late |= not programme.run(lambda _: False, forgets=True)
                if np.isfinite(programme.bound):
                    x, bound[block] = programme.x, max(bound[block], programme.bound)
            tier[blocks.ptr[block] : blocks.ptr[block + 1]] = self._round(before, x)
        ranking = blocks.join(tier)
        # Pairs of different blocks cost in this ranking as little as they can.
        lower = costs.total(ranking) - blocks.total(tier) + float(bound @ blocks.unit)
        reason = "the linear programme was not solved within the limits of time and memory"
        late_notice = Notice("time-limit", reason + ": raise " + arg("time_limit"))
        chosen = better_of(prefs, costs, ranking) if self.pick else ranking
        return finish(prefs, costs, chosen, fit={"lower_bound": lower}, warnings=(late_notice,) if is_late else ())

    def _round(self, before: Floats, x: Floats) -> Int64s:
        """Return the positions of the best of several pivoting runs on the fractional solution ``x``."""
        n = len(before)
        ptr, flat = np.array([0, n]), np.ascontiguousarray(before).reshape(-1)
        rng = np.random.default_rng(self.seed)
        is_whole = bool((np.minimum(x, 1 - x) < 1e-6).all())
        best, lowest_cost = np.arange(n), np.inf
        runs = 1 if is_whole else self.repeats
        for _ in range(0, runs, batch := max(1, MAX_DRAWS // (n * n))):
            count = min(batch, runs)
            draw = _draws(rng, count, n)
            orders = kernels.pivot_orders(ptr, np.ascontiguousarray(x).reshape(-1), rng.random((count, n)), draw)
            rows = places(ptr, orders)
            totals = kernels.ranking_totals(ptr, flat, flat, rows)[:, 0]
            if totals.min() < lowest_cost:
                best, lowest_cost = rows[np.argmin(totals)], float(totals.min())
        return best


def _draws(rng: np.random.Generator, count: int, n: int) -> Floats:
    """Draw a number strictly inside (0, 1) for every pair, so that pairs with x = 0 or 1 are never reversed."""
    return np.clip(rng.random((count, n * n)), 1e-6, 1 - 1e-6)
