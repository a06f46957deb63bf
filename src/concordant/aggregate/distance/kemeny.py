"""Exact Kemeny: the ranking of least total distance to all ballots, with a proof.

The distance of two rankings counts the pairs they order differently, and one half for each pair only one of them ties.
The consensus of least total distance is the maximum-likelihood ranking of a Mallows model and the only rule that is
neutral, consistent and Condorcet (Young and Levenglick). Finding it is NP-hard; most real elections are easy:

1. Candidates fall into blocks that some optimal ranking keeps apart (strongly connected components of the majorities).
2. A block of up to 18 candidates (14 with ties) is solved by dynamic programming over sets, which counts the optima.
3. A larger one by a linear programme with triangle cuts in rounds (HiGHS). Its bound is rounded up to the next total
   that can occur; local search from its solution gives rankings; when the two meet, that is the proof.
4. Where they do not, reduced costs fix most pairs, and branch and cut decides the rest.

``time_limit`` (30 seconds a call) stops the search, whatever it is doing: the ranking is then the best known, a warning
says so, and the fit holds the bound and the relative gap. (Only the pairwise counts are always finished.) Blocks of
more than 2,000 candidates (1,400 with ties) are left to local search. ``result="weak"`` looks for the best ranking with
ties, often strictly better on ballots with ties. The fit says whether the optimum is unique (where that was decided);
``optima`` > 1 lists up to so many optimal rankings in ``ranking.model.optima()``. ``ranking.model`` also holds bound,
cost and proof per instance. Progress goes to the function set with ``watching``.

Cost: the pairwise counts, then from milliseconds (small blocks) to minutes (100 candidates of random votes). Reference:
J. Kemeny, Mathematics without numbers, Daedalus, 1959; H. P. Young and A. Levenglick, A consistent extension of
Condorcet's election principle, SIAM J. Appl. Math., 1978; V. Conitzer, A. Davenport and J. Kalagnanam, Improved bounds
for computing Kemeny rankings, AAAI 2006.
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
from concordant.types import Bools, Floats, Int64s

Progress = Callable[[float, float], None]
"""Called with a lower bound of the total distance and the least total known, as they change."""

_progress: ContextVar[Progress | None] = ContextVar("progress", default=None)


@contextmanager
def watching(progress: Progress) -> Iterator[None]:
    """Call ``progress(bound, total)`` while large blocks are being solved, for rankings made inside this context.

    Both are weights over all instances; when they meet, the ranking is proven.
    """
    token = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(token)


@dataclass(frozen=True, kw_only=True)
class Kemeny(WeighsMajorities):
    """Minimum total Kemeny distance, proven optimal or with an optimality gap."""

    apart = True
    matrices = 8
    waives = {"neutrality": "of several optimal rankings one is returned, preferring the order of net wins"}
    watching = staticmethod(watching)

    result: str = options.result()
    time_limit: float | None = param(30.0, "time limit in seconds; then the best ranking found is returned", low=0)
    optima: int = param(1, "maximum number of optimal rankings to list per instance", low=1, high=1e6)
    missing: str = options.missing()
    seed: int | None = param(0, "seed of the local search (the optimum does not depend on it)", low=0)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of candidates behind every slot (ties half); the fit holds totals, bound and gap."""
        deadline = Deadline(self.time_limit)
        costs = pair_costs(prefs, self.missing)
        blocks = split(costs, self.result == "weak")
        solved = solve_blocks(blocks, deadline, self.seed, _reporter(blocks))
        model = _consensus(prefs, Optima(blocks, solved, deadline), self.optima)
        return finish(prefs, costs, model.tier, fit=model.fit(), warnings=model.notices(prefs), model=model)

    def proof(self, ranking: Ranking) -> list[str]:
        """Return a sentence on whether the ranking is proven optimal and unique, or how far it may be from the
        optimum.
        """
        model = ranking.model
        if not isinstance(model, Consensus):
            return []
        instances = model.prefs.instances
        q = 0 if ranking.instance is None or instances is None else instances.code(ranking.instance, "instance")
        if not model.is_proven[q]:
            return [
                f"The search was stopped: another ranking may cost up to {model.gap[q]:.2%} less ("
                + arg("time_limit")
                + " gives it more seconds)."
            ]
        uniqueness = {True: "; no other ranking costs as little", False: "; others cost as little", None: ""}
        return [f"Proven optimal: no ranking has a smaller total distance{uniqueness[model.is_unique[q]]}."]


@dataclass(frozen=True)
class Consensus:
    """What is known of the optimum of every instance: the best ranking's cost, the bound, uniqueness, other optima."""

    prefs: Preferences
    tier: Int64s
    """The tier of every slot in the ranking returned."""
    cost: Floats
    """Total distance of the ranking, per instance."""
    bound: Floats
    """Lower bound of the total distance of any ranking, per instance."""
    is_proven: Bools
    is_unique: tuple[bool | None, ...]
    """Whether no other ranking costs as little, None where that is not known."""
    found: tuple[tuple[Int64s, ...], ...]

    @property
    def gap(self) -> Floats:
        """How far the ranking may be above the optimum, relative to its cost, per instance."""
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
        """Return the figures of all instances together."""
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
        """Return notices where the optimum is not proven, and where it is not unique."""
        warnings = []
        unproven = np.flatnonzero(~self.is_proven)
        if len(unproven):
            where = in_instances(prefs, unproven)
            text: str = (
                f"stopped before the proof was complete: the ranking may be up to {self.gap.max():.2%} above the least "
                f"total distance{where}; " + arg("time_limit") + " gives more seconds"
            )
            warnings.append(Notice("not-proven-optimal", text))
        several = np.flatnonzero([unique is False for unique in self.is_unique])
        if len(several):
            text = f"other rankings have the same least total distance{in_instances(prefs, several)}"
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


def _reporter(blocks: Blocks) -> BlockProgress:
    """Return a function of (block, bound, cost) that reports the sums over all blocks to whoever is watching."""
    progress = _progress.get()
    if progress is None:
        return lambda _block, _bound, _cost: None
    cost, unit = blocks.totals(blocks.start)[0], blocks.unit
    cheaper_way = np.minimum(
        np.minimum(blocks.before, kernels.transpose_matrices(blocks.ptr, blocks.before)), blocks.tied
    )
    bound = np.add.reduceat(cheaper_way, blocks.matrix_start[:-1]) / 2  # every pair is in the matrix twice
    between = blocks.costs.total(blocks.join(blocks.start)) - blocks.total(blocks.start)

    def report(block: int, new_bound: float, new_cost: float) -> None:
        bound[block], cost[block] = new_bound, new_cost
        progress(float(bound @ unit) + between, float(cost @ unit) + between)

    return report
