"""Exact Kemeny: the ranking with the smallest total distance to all ballots, proven optimal.

The Kemeny distance of two rankings is the number of discordant pairs, plus one half for each pair that only one of them
ties. The consensus is the maximum-likelihood ranking of a Mallows model and the only rule that is neutral, consistent
and Condorcet (Young and Levenglick). Finding it is NP-hard, but most real elections are easy:

1. Candidates are divided into blocks that some optimal ranking keeps separate (strongly connected components of the
   majority graph).
2. A block of up to 18 candidates (14 with ties) is solved by dynamic programming over sets, which also counts the
   optima.
3. A larger block is solved by a linear programme with triangle cuts (HiGHS). Its bound is rounded up to the next
   possible total; local search from its solution gives rankings. If the two agree, the ranking is proven optimal.
4. Otherwise, reduced costs fix most pairs, and branch and cut solves the rest.

``time_limit`` (30 seconds a call) stops the search at any step except the pairwise counts: the ranking is then the best
known one, a warning says so, and the fit has the bound and the relative gap. Blocks of more than 2,000 candidates
(1,400 with ties) are solved by local search only. ``result="weak"`` finds the best ranking with ties, which is often
strictly better for ballots with ties. The fit says whether the optimum is unique (if known); ``optima`` is the maximum
number of optimal rankings listed in ``ranking.model.optima()``. ``ranking.model`` also has the bound, cost and proof of
each instance. ``watching`` sets a function that receives progress.

Cost: the pairwise counts, then from milliseconds (small blocks) to minutes (100 candidates with random votes).
Reference: J. Kemeny, Mathematics without numbers, Daedalus, 1959; H. P. Young and A. Levenglick, A consistent extension
of Condorcet's election principle, SIAM J. Appl. Math., 1978; V. Conitzer, A. Davenport and J. Kalagnanam, Improved
bounds for computing Kemeny rankings, AAAI 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.aggregate import options
from concordant.aggregate.distance._outcome import finish
from concordant.aggregate.explain.overruled import WeighsMajorities
from concordant.ballots.segments import sum_by
from concordant.errors import arg
from concordant.method import Outcome
from concordant.models.notices import in_instances
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.solvers.ordering.blocks import Blocks, split
from concordant.solvers.ordering.costs import pair_costs
from concordant.solvers.ordering.deadline import Deadline
from concordant.solvers.ordering.exact import PRECISION, BlockProgress, solve_blocks
from concordant.solvers.ordering.optima import Optima
from concordant.support import progress
from concordant.support.brief import Brief
from concordant.types import Bools, Floats, Int64s

Watch = Callable[[float, float], None]
"""Called with the lower bound on the total distance and the smallest known total whenever they change."""

_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Call ``watch(bound, total)`` while large blocks are being solved, for rankings computed inside this context.

    The bound and the total are sums over all instances; when they are equal, the ranking is proven optimal.
    """
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


@dataclass(frozen=True, kw_only=True)
class Kemeny(WeighsMajorities):
    """Minimum total Kemeny distance, proven optimal or with an optimality gap."""

    usual_name = "Kemeny"
    apart = True
    matrices = 8
    waives = {"neutrality": "it returns one of several optimal rankings, preferring the order of net wins"}

    result: str = options.result()
    time_limit: float | None = param(30.0, "time limit in seconds; then the best ranking found is returned", low=0)
    optima: int = param(1, "maximum number of optimal rankings to list per instance", low=1, high=1e6)
    missing: str = options.missing()
    seed: int | None = param(0, "seed for the local search (the optimum does not depend on it)", low=0)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of candidates ranked below every slot (ties half).

        The fit contains totals, bound and gap.
        """
        deadline = Deadline(self.time_limit)
        costs = pair_costs(prefs, self.missing)
        blocks = split(costs, self.result == "weak")
        with progress.stage("") as step:
            solved = solve_blocks(blocks, deadline, self.seed, _reporter(blocks, step))
        model = _consensus(prefs, Optima(blocks, solved, deadline), self.optima)
        return finish(prefs, costs, model.tier, fit=model.fit(), warnings=model.notices(prefs), model=model)

    def proof(self, ranking: Ranking) -> list[str]:
        """Return a sentence on whether the ranking is proven optimal and unique, or on its optimality gap."""
        model = ranking.model
        if not isinstance(model, Consensus):
            return []
        instances = model.prefs.instances
        q = 0 if ranking.instance is None or instances is None else instances.code(ranking.instance, "instance")
        if not model.is_proven[q]:
            return [
                f"The search reached its time limit: the total distance may be up to {model.gap[q]:.2%} above "
                f"the minimum (" + arg("time_limit") + " extends the search)."
            ]
        uniqueness = {
            True: ", and this is the only optimal ranking",
            False: "; other rankings have the same distance",
            None: "",
        }
        return [f"Proven optimal: no ranking has a smaller total distance{uniqueness[model.is_unique[q]]}."]


@dataclass(frozen=True, repr=False)
class Consensus(Brief):
    """The solution of every instance: cost of the best ranking, lower bound, uniqueness, other optima."""

    prefs: Preferences
    tier: Int64s
    """The tier of every slot in the ranking returned."""
    cost: Floats
    """Total distance of the ranking, per instance."""
    bound: Floats
    """Lower bound on the total distance of any ranking, per instance."""
    is_proven: Bools
    is_unique: tuple[bool | None, ...]
    """Whether the optimum is unique; None if that is not known."""
    found: tuple[tuple[Int64s, ...], ...]

    @property
    def gap(self) -> Floats:
        """Optimality gap relative to the cost of the ranking, per instance."""
        return np.where(self.cost > 0, (self.cost - self.bound) / np.maximum(self.cost, 1e-300), 0.0)

    def optima(self, instance: int = 0) -> list[list[list[str]]]:
        """Return the optimal rankings that were listed, each as tiers of labels, best first."""
        start = int(self.prefs.slot_ptr[instance])
        slots = self.prefs.slot_item[start : int(self.prefs.slot_ptr[instance + 1])]
        labels = np.array(self.prefs.items.take(slots), object)
        return [
            [labels[tier == level].tolist() for level in range(int(tier.max(initial=-1)) + 1)]
            for tier in self.found[instance]
        ]

    def fit(self) -> dict[str, float]:
        """Return statistics over all instances."""
        total, bound = float(self.cost.sum()), float(self.bound.sum())
        figures = {
            "lower_bound": bound,
            "gap": max(total - bound, 0.0) / total if total > 0 else 0.0,
            "proven": float(self.is_proven.all()),
        }
        if all(unique is not None for unique in self.is_unique):
            figures["unique"] = float(all(self.is_unique))
        return figures

    def notices(self, prefs: Preferences) -> tuple[Notice, ...]:
        """Return notices about instances whose optimum is not proven or not unique."""
        warnings = []
        unproven = np.flatnonzero(~self.is_proven)
        if len(unproven):
            where = in_instances(prefs, unproven)
            text: str = (
                f"time limit reached before optimality was proven: the ranking may be up to "
                f"{self.gap.max():.2%} above the minimum total distance{where}; " + arg("time_limit") + " "
                "extends the search"
            )
            warnings.append(Notice("not-proven-optimal", text))
        several = np.flatnonzero([unique is False for unique in self.is_unique])
        if len(several):
            text = f"other rankings have the same minimum total distance{in_instances(prefs, several)}"
            warnings.append(Notice("several-optima", text))
        return tuple(warnings)


def _consensus(prefs: Preferences, optima: Optima, limit: int) -> Consensus:
    """Gather cost, bound, proof and uniqueness of every instance; list up to ``limit`` optima."""
    blocks, solved, tier = optima.blocks, optima.solved, optima.tier
    costs, n = blocks.costs, prefs.n_instances
    total = costs.totals(tier)[0]
    bound = total - sum_by(blocks.instance, solved.cost - solved.bound, n)
    is_proven = sum_by(blocks.instance, solved.cost - solved.bound > PRECISION * solved.cost, n) == 0
    is_unique = tuple(optima.is_unique(q) if is_proven[q] else None for q in range(n))
    listed_optima = tuple(
        (optima.listed(q, limit) if limit > 1 and is_proven[q] else ())
        or (tier[costs.slot_ptr[q] : costs.slot_ptr[q + 1]],)
        for q in range(n)
    )
    return Consensus(prefs, tier, total * costs.unit, bound * costs.unit, is_proven, is_unique, listed_optima)


def _reporter(blocks: Blocks, step: progress.Stage) -> BlockProgress:
    """Return a function of (block, bound, cost) that reports the sums over all blocks as progress."""
    watch = _watch.get()
    if watch is None and not progress.is_heard():
        return lambda _block, _bound, _cost: None
    cost, unit = blocks.totals(blocks.start)[0], blocks.unit
    cheaper_way = np.minimum(
        np.minimum(blocks.before, kernels.transpose_matrices(blocks.ptr, blocks.before)), blocks.tied
    )
    bound = np.add.reduceat(cheaper_way, blocks.matrix_start[:-1]) / 2  # every pair is in the matrix twice
    between = blocks.costs.total(blocks.join(blocks.start)) - blocks.total(blocks.start)

    def report(block: int, new_bound: float, new_cost: float) -> None:
        bound[block], cost[block] = new_bound, new_cost
        low, total = float(bound @ unit) + between, float(cost @ unit) + between
        step(f"total distance {total:,.0f}, within {100 * (total - low) / max(total, 1e-300):.2g}%")
        if watch is not None:
            watch(low, total)

    return report
