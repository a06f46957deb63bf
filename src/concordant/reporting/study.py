"""Results behind a report: preferences, their ranking, other methods' rankings and labels, computed on first access.

Results that depend only on the preferences (``Data``) are cached separately, so that another method or option does not
recompute them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from concordant import registry, views
from concordant.analysis import findings
from concordant.analysis.advice import usual_rules
from concordant.analysis.comparing import Comparison, compare_rankings
from concordant.analysis.describing import Description, describe
from concordant.analysis.findings import Agreement
from concordant.analysis.groups.comparison import GroupComparison
from concordant.errors import ConcordantError, arg
from concordant.evaluation import Evaluation, evaluate, on_shared_instances, ranking_of_run
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.request import Request
from concordant.types import Int64s

MAX_COMPARED = 1_000  # candidates of one instance up to which methods are compared unasked
MAX_CELLS = 2e7  # of all matrices of pairs
METHODS = 6  # compared unasked
SLOW = {"kemeny": 12, "mallows": 60, "ordered-partitions": 60}  # candidates up to which they are compared unasked
RUNS = 20  # agents up to which each one's own order is a system to evaluate
METRICS = ("ndcg@10", "map")
_TOO_MANY = (
    "Methods were not compared: there are too many candidates. " + arg("methods", shown="A,B") + " selects some."
)


@dataclass(frozen=True, eq=False)
class Data:
    """Preferences, with results that do not depend on the method."""

    prefs: Preferences

    @cached_property
    def description(self) -> Description:
        """The facts, the findings and the suitable methods."""
        return describe(self.prefs)

    @cached_property
    def agreement(self) -> Agreement | None:
        """The share of each agent's pairs that agree with the majority of all others."""
        return findings.agreement(self.prefs)

    @property
    def largest(self) -> int:
        """The number of candidates of the largest instance."""
        return int(np.diff(self.prefs.slot_ptr).max(initial=0))

    @property
    def may_compare(self) -> bool:
        """Whether comparing methods and counting pairs is cheap enough to do by default."""
        size = np.diff(self.prefs.slot_ptr).astype(np.float64)
        return self.largest <= MAX_COMPARED and float((size**2).sum()) <= MAX_CELLS

    @cached_property
    def matrices(self) -> views.WinMatrices:
        """Pairwise wins on ballots that list both items."""
        return views.win_matrices(self.prefs, "ignore")


@dataclass(frozen=True, eq=False)
class Study:
    """A ranking of some preferences, with other methods' rankings and an evaluation if labels are known."""

    data: Data
    ranking: Ranking
    methods: tuple[str, ...] | None = None
    """Methods to compare; by default some that fit the data, none if empty."""
    labels: Labels | None = None
    metrics: tuple[str, ...] = METRICS
    grouping: Callable[[], GroupComparison] | None = None
    """Compares groups of ballots, if there are any."""

    @property
    def prefs(self) -> Preferences:
        """The preferences."""
        return self.data.prefs

    @cached_property
    def groups(self) -> GroupComparison | None:
        """The comparison of groups; None without groups."""
        return None if self.grouping is None else self.grouping()

    @cached_property
    def compared(self) -> tuple[Comparison | None, tuple[str, ...]]:
        """The comparison, or None, and notes on methods that were left out."""
        if self.methods == () or (self.methods is None and self.prefs.classes is not None):
            return None, ()
        if self.methods is None and not self.data.may_compare:
            return None, (_TOO_MANY,)
        rankings: dict[str, Ranking] = {}
        suitable, slow = self._suitable_methods() if self.methods is None else ([], [])
        notes: list[str] = (
            [
                f"Not compared, because they are slow on these data: {', '.join(slow)}; "
                + arg("methods")
                + " includes them."
            ]
            if slow
            else []
        )
        for name in self.methods or suitable:
            try:
                rankings[name] = self._ranked_by(name)
            except ConcordantError as problem:
                if self.methods is not None:
                    raise
                notes.append(f"{name} was left out: " + str(problem))
        return compare_rankings(self.prefs, list(rankings.values()), list(rankings)), tuple(notes)

    def _ranked_by(self, name: str) -> Ranking:
        """Return the ranking by a method; the ranking of the report is reused if it is by that method."""
        is_own = registry.resolve(name) == (self.ranking.method, {})
        if is_own and len(self.ranking.score) == self.prefs.n_slots:
            return self.ranking
        params = dict(self.ranking.params) | {"since": None} if is_own else {}
        return Request(self.prefs, name, params, all_items=True).run().ranking

    @cached_property
    def order(self) -> Int64s:
        """The slots of the preferences in the order of the ranking; unranked slots come last."""
        return views.order_of(self.prefs, self.ranking)

    def _suitable_methods(self) -> tuple[list[str], list[str]]:
        """Return the methods to compare by default: (those to run, those left out as too slow)."""
        suitable = [advice.method for advice in self.data.description.methods]
        named = dict.fromkeys([self.ranking.method, *usual_rules(self.prefs), *suitable, "borda", "copeland"])
        own_method, size = self.ranking.method, self.data.largest  # what is there already takes no time
        slow = [name for name in named if name != own_method and size > SLOW.get(name, size)]
        return [name for name in named if name not in slow][:METHODS], slow

    @cached_property
    def dispute(self) -> str:
        """A sentence on the disagreement of the compared methods about the winner of one contest; empty if there is
        none.
        """
        if self.ranking.n_instances != 1 or (self.methods is None and not usual_rules(self.prefs)):
            return ""
        compared = self.compared[0]
        if compared is None or not self.n_unranked:
            return "" if compared is None else compared.dispute_by(registry.usual_name)
        keep = np.zeros(self.prefs.n_slots, bool)
        keep[self.order[: len(self.ranking.score)]] = True
        return replace(compared, rankings=tuple(ranking.only(keep) for ranking in compared.rankings)).dispute_by(
            registry.usual_name
        )

    @property
    def n_unranked(self) -> int:
        """The number of candidates that the ranking leaves out."""
        return self.prefs.n_slots - len(self.ranking.score)

    def beyond(self, what: str) -> str:
        """Return a sentence if a section includes candidates that the ranking leaves out; otherwise empty."""
        if not self.n_unranked:
            return ""
        outside = "1 of which is" if self.n_unranked == 1 else f"{self.n_unranked:,} of which are"
        kind = "items" if self.prefs.n_instances == 1 else "candidates of the instances"
        return f"{what} all {self.prefs.n_slots:,} {kind}, {outside} not in the ranking above."

    @cached_property
    def rankings(self) -> Mapping[str, Ranking]:
        """The ranking of the report and those it is compared with, by method."""
        compared = self.compared[0]
        by_method = {} if compared is None else dict(zip(compared.names, compared.rankings, strict=True))
        return {self.ranking.method or "ranking": self.ranking} | {
            name: ranking for name, ranking in by_method.items() if name != self.ranking.method
        }

    @cached_property
    def evaluations(self) -> Mapping[str, Evaluation]:
        """The evaluation of each ranking against the labels, and of each agent's own ranking if there are few
        agents.
        """
        if self.labels is None:
            return {}
        systems: dict[str, Ranking] = dict(self.rankings)
        prefs = self.prefs
        if prefs.agents is not None and prefs.value is not None and len(prefs.agents) <= RUNS:
            for agent in prefs.agents:
                systems.setdefault(agent, _run(prefs, agent))
        evaluations = {name: evaluate(ranking, self.labels, self.metrics) for name, ranking in systems.items()}
        return on_shared_instances(evaluations)


def _run(prefs: Preferences, agent: str) -> Ranking:
    return ranking_of_run(prefs.select(agents=agent))


def some(labels: Sequence[str], max_names: int = 4) -> str:
    """Return the first of many names as text for a sentence."""
    shown = ", ".join(labels[:max_names])
    return shown if len(labels) <= max_names else f"{shown} and {len(labels) - max_names:,} more"
