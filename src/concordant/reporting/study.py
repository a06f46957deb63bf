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
from concordant.evaluation import Evaluation, evaluate, on_shared_instances, rankings_of_runs, run_of_ranking
from concordant.labels import Labels
from concordant.narrative.fields import Field, field_of_preferences
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.request import Request
from concordant.support import progress
from concordant.types import Int64s

MAX_COMPARED = 1_000  # candidates of one instance up to which methods are compared unasked
MAX_CELLS = 2e7  # of all matrices of pairs
METHODS = 6  # compared unasked
SLOW = {"kemeny": 12, "mallows": 60, "ordered-partitions": 60}  # candidates up to which they are compared unasked
RUNS = 20  # agents up to which each one's own order is a system to evaluate
METRICS = ("ndcg@10", "map")
SMOOTHED = 50_000  # matches up to which curves are computed by whole-history, which takes seconds for more


@dataclass(frozen=True, eq=False)
class Data:
    """Preferences, with results that do not depend on the method."""

    prefs: Preferences

    @cached_property
    def description(self) -> Description:
        """The facts, the findings and the suitable methods."""
        return describe(self.prefs, field_of_preferences(self.prefs))

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
        """Pairwise wins, with the same treatment of unranked items as direct comparisons elsewhere."""
        return views.win_matrices(self.prefs, "auto")


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
    def field(self) -> Field:
        """The words of the field of the preferences."""
        return field_of_preferences(self.prefs)

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
            items = self.field.item[1]
            return None, (f"Methods were not compared, because there are too many {items}: choose some with "
                          + arg("methods") + ".",)  # fmt: skip
        rankings: dict[str, Ranking] = {}
        suitable, slow = self._suitable_methods() if self.methods is None else ([], [])
        notes: list[str] = (
            [
                f"Not compared, because they are slow on these data: {', '.join(map(registry.title_of, slow))}; "
                + arg("methods")
                + " includes them."
            ]
            if slow
            else []
        )
        wanted = self.methods or suitable
        with progress.stage("Comparing methods", total=len(wanted)) as begin:
            for name in wanted:
                begin(registry.title_of(name))
                try:
                    rankings[name] = self._ranked_by(name)
                except ConcordantError as problem:
                    if self.methods is not None:
                        raise
                    notes.append(f"{registry.title_of(name)} was left out: " + str(problem))
        return compare_rankings(self.prefs, list(rankings.values()), list(rankings)), tuple(notes)

    def _ranked_by(self, name: str) -> Ranking:
        """Return the ranking by a method; the ranking of the report is reused if it is by that method."""
        is_own = registry.resolve(name) == (self.ranking.method, {})
        if is_own and len(self.ranking.score) == self.prefs.n_slots:
            return self.ranking
        params = dict(self.ranking.params) | {"since": None} if is_own else {}
        return Request(self.prefs, name, params, all_items=True).run().ranking

    @cached_property
    def over_time(self) -> Ranking | None:
        """A ranking with scores over time: this one, or else one of dated matches by a method that follows them.

        None if the preferences are not matches, or have no times.
        """
        prefs, scale = self.prefs, self.ranking.converted
        if self.ranking.past is not None or prefs.time is None:
            return self.ranking if prefs.time is not None else None
        if prefs.form not in ("pairs", "teams"):
            return None
        fast = "trueskill" if prefs.form == "teams" else "glicko2"
        method = "whole-history" if prefs.form == "pairs" and prefs.n_ballots <= SMOOTHED else fast
        try:
            followed = Request(prefs, method).run().ranking
        except ConcordantError:
            return None
        return followed if scale is None or followed.log_odds is None else followed.on_scale(scale.scale)

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
        return {self.own_name: self.ranking} | {
            name: ranking for name, ranking in by_method.items() if name != self.ranking.method
        }

    @cached_property
    def runs(self) -> Mapping[str, Ranking]:
        """The own ranking of each agent (a search run), if there are few agents with scores or ranks."""
        prefs = self.prefs
        if prefs.agents is None or prefs.value is None or len(prefs.agents) > RUNS:
            return {}
        return rankings_of_runs(prefs)

    @cached_property
    def depth(self) -> int | None:
        """The number of documents per query at which fused runs are cut to be evaluated like the single runs: that of
        the longest one. None if nothing is fused.
        """
        prefs = self.prefs
        if prefs.instances is None or prefs.agents is None or prefs.value is None:
            return None
        is_fused = self.field.name == "search" or bool(self.runs)
        return int(np.diff(prefs.indptr).max(initial=1)) if is_fused else None

    @property
    def own_name(self) -> str:
        """The name of the ranking of the report among ``rankings`` and ``evaluations``."""
        return self.ranking.method or "ranking"

    def system_of_run(self, agent: str) -> str:
        """Return the name of an agent's run among ``evaluations``, where a method may have the same name."""
        try:
            registry.resolve(agent)
        except ConcordantError:
            return agent
        return f"{agent} (run)"

    @cached_property
    def run_evaluations(self) -> Mapping[str, Evaluation]:
        """The evaluation of the ranking and of each agent's own run against the labels; empty without labels."""
        runs = {self.system_of_run(agent): run for agent, run in self.runs.items()} if self.labels is not None else {}
        return self._evaluated({self.own_name: self.ranking}, runs)

    @property
    def known_rankings(self) -> Mapping[str, Ranking]:
        """The ranking of the report, and those it is compared with if they were computed already."""
        return self.rankings if "compared" in vars(self) else {self.own_name: self.ranking}

    @property
    def known_evaluations(self) -> Mapping[str, Evaluation]:
        """The evaluations that were computed already."""
        names = [name for name in ("run_evaluations", "evaluations") if name in vars(self)]
        return {system: result for name in names for system, result in vars(self)[name].items()}

    @cached_property
    def evaluations(self) -> Mapping[str, Evaluation]:
        """``run_evaluations`` and the evaluation of each compared method."""
        if self.labels is None:
            return {}
        methods = {name: ranking for name, ranking in self.rankings.items() if name != self.own_name}
        return on_shared_instances({**self.run_evaluations, **self._evaluated(methods)})

    def _evaluated(
        self, rankings: Mapping[str, Ranking], runs: Mapping[str, Ranking] | None = None
    ) -> dict[str, Evaluation]:
        """Return the evaluation of rankings, each as the run that it is when it is fused, and of single runs."""
        if self.labels is None:
            return {}
        if self.depth is not None:
            rankings = {name: run_of_ranking(ranking, self.depth) for name, ranking in rankings.items()}
        systems = {**rankings, **(runs or {})}
        return on_shared_instances(
            {name: evaluate(ranking, self.labels, self.metrics) for name, ranking in systems.items()}
        )


def some(labels: Sequence[str], max_names: int = 4) -> str:
    """Return the first of many names as text for a sentence."""
    shown = ", ".join(labels[:max_names])
    return shown if len(labels) <= max_names else f"{shown} and {len(labels) - max_names:,} more"
