"""The evaluated systems of a study: the fused run, the single runs and compared methods, and their baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from concordant import registry
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.evaluation import Evaluation
from concordant.reporting.metric_texts import known, metric_name, short_headings
from concordant.reporting.sections import Cell, Named
from concordant.reporting.study import Study
from concordant.types import Floats

NAME = 60  # characters of the name of a run, a query or a document


@dataclass(frozen=True, eq=False)
class Systems:
    """The evaluated systems of a study, the fused run first, and the baseline that they are compared with.

    These are the fused run and the single runs; compared methods are among them if they were chosen, or if there are
    no runs.
    """

    study: Study
    asked: str = ""
    """The chosen baseline; the best single run if empty or unknown."""

    @cached_property
    def results(self) -> Mapping[str, Evaluation]:
        """The evaluation of every system, over the same queries."""
        has_methods = self.study.methods is not None or not self.study.runs
        return self.study.evaluations if has_methods else self.study.run_evaluations

    @cached_property
    def other_methods(self) -> list[str]:
        """Compared methods that are not among the systems."""
        return [name for name in self.study.evaluations if name not in self.results]

    @property
    def own(self) -> str:
        """The name of the fused run."""
        return self.study.own_name

    @cached_property
    def metrics(self) -> dict[str, str]:
        """The headings of the metrics in tables, by metric; sentences use the names of the metrics."""
        return short_headings(self.results[self.own].per_instance)

    @property
    def main(self) -> str:
        """The first metric, by which systems are ordered."""
        return next(iter(self.metrics))

    @property
    def metric(self) -> str:
        """The name of the first metric in sentences."""
        return metric_name(self.main)

    @cached_property
    def runs(self) -> list[str]:
        """The names of the single runs among the systems."""
        return [self.study.system_of_run(agent) for agent in self.study.runs]

    @cached_property
    def agents(self) -> list[str]:
        """The agents of the single runs, best first by the first metric."""
        names = self.study.runs
        return sorted(names, key=lambda agent: -known(self.mean(self.study.system_of_run(agent))))

    def mean(self, system: str) -> float:
        """Return the mean of the first metric."""
        return self.results[system].means[self.main]

    @cached_property
    def best_run(self) -> str | None:
        """The single run with the highest mean of the first metric; None without runs."""
        return max(self.runs, key=lambda name: known(self.mean(name)), default=None)

    @cached_property
    def baseline(self) -> str | None:
        """The system that the others are compared with; None if there is only one."""
        if self.asked in self.results:
            return self.asked
        if self.asked and self.study.system_of_run(self.asked) in self.results:
            return self.study.system_of_run(self.asked)
        others = (name for name in self.results if name != self.own)
        return self.best_run or next(others, None)

    @property
    def has_unknown_baseline(self) -> bool:
        """Whether the chosen baseline is not one of the systems."""
        return bool(self.asked) and self.baseline not in (self.asked, self.study.system_of_run(self.asked))

    @property
    def compared(self) -> str:
        """The system whose difference from the baseline is shown by query: the fused run, unless it is the baseline."""
        if self.baseline != self.own:
            return self.own
        return self.best_run or next(name for name in self.results if name != self.own)

    @property
    def queries(self) -> Vocabulary:
        """The evaluated queries."""
        return self.results[self.own].instances or Vocabulary([""])

    def values(self, system: str, metric: str = "") -> Floats:
        """Return the values of a metric, by default of the first, by query."""
        return self.results[system].per_instance[metric or self.main]

    def shown(self, system: str) -> str:
        """Return the name of a system for a sentence: a method by its usual name."""
        return shorten(system, NAME) if system in self.runs else registry.title_of(system)

    def cell(self, system: str) -> Cell:
        """Return the name of a system for a table; the fused run says that it is."""
        if system == self.own:
            return Named(self.shown(system), "fused run" if self.runs else system)
        return shorten(system, NAME) if system in self.runs else Named(self.shown(system), system)

    @cached_property
    def gains(self) -> Floats | None:
        """The difference of ``compared`` from the baseline in the first metric, by query; None without a baseline."""
        return None if self.baseline is None else self.values(self.compared) - self.values(self.baseline)
