"""Files of any size to a ranking: reduced to counts where the method allows it, read as they are where not.

Files are reduced where somebody says how to work (reduce, workers, a cluster, a limit of memory), names a folder or a
pattern, or where they are large; else they are read as ever. What was done is said in the notes and in ``ranking.ran``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from concordant import api
from concordant.engine.executors import Executor, Serial, running_on
from concordant.engine.instances import rank_apart
from concordant.engine.reduced import rank_sums, statistic_for
from concordant.engine.statistics import Statistic
from concordant.engine.tallies import Tally
from concordant.errors import ConcordantError, InputError
from concordant.io import _many, _rows
from concordant.io._formats import named, recognise
from concordant.io._source import Source, changed, state_of
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.support import memory
from concordant.tables.options import PREFERENCES, Options
from concordant.tables.plans import Plan, beyond_counts
from concordant.tables.roles import plan_columns

HOW = ("reduce", "workers", "cluster", "memory_limit", "skip_bad_files")  # options that ask for a reduction


@dataclass(frozen=True, eq=False)
class Gathered:
    """What was made of files: preferences, or the sums that a method needs."""

    path: Any
    reading: Mapping[str, Any]
    prefs: Preferences | None
    notes: tuple[str, ...]
    counted: str = ""
    """How files were reduced; empty where they were read as they are."""
    sums: tuple[Tally, Statistic, str] | None = None
    choice: api.Default = field(default=api.DEFAULTS[-1])

    def noted(self, notes: Sequence[str]) -> Gathered:
        """Return the same with more notes."""
        prefs = None if self.prefs is None else self.prefs.noted(*notes)
        return replace(self, prefs=prefs, notes=(*self.notes, *notes))

    def whole(self) -> Gathered:
        """Return the same with all ballots at hand, read again where only their sums were kept."""
        if self.sums is None:
            return self
        notes = _many.left_out(self.path, Options.of(PREFERENCES, self.reading))
        prefs = _read_whole(_many.expand(self.path), self.reading).noted(*notes)
        return replace(self, sums=None, prefs=prefs, counted="", notes=prefs.notes)

    def rank(self, method: Method, min_ballots: float | None = None) -> Ranking:
        """Rank by a method, on the workers where there are any."""
        if self.sums is not None:
            tally, statistic, form = self.sums
            if statistic_for(method) is statistic and min_ballots is None:
                return replace(rank_sums(method, tally, form), ran=self.counted)
            return self.whole().rank(method, min_ballots)
        assert self.prefs is not None
        prefs = self.prefs if min_ballots is None else self.prefs.min_ballots(min_ballots)
        limit = self.reading.get("memory_limit")
        with memory.limited(limit), running_on(self.reading.get("workers"), self.reading.get("cluster")) as executor:
            ranking = rank_apart(method, prefs, executor)
        told = () if min_ballots is None else (Notice("few-ballots", prefs.notes[-1]),)
        ran = "; ".join(filter(None, [self.counted, ranking.ran]))
        return replace(ranking, ran=ran, notices=(*told, *ranking.notices))


def asks_for_counts(path: Any, reading: Mapping[str, Any]) -> bool:
    """Say whether files should be reduced if they can be: somebody asks for it, or they are many or large."""
    return any(reading.get(name) for name in HOW) or _many.is_pattern(path) or _many.is_big(_many.expand(path))


def gather_files(
    path: Any, reading: Mapping[str, Any], method: Method | None = None, watch: _many.Watch | None = None
) -> Gathered:
    """Read or reduce files, as the method (None: the one that fits) allows."""
    options, paths = Options.of(PREFERENCES, reading), _many.expand(path)
    notes = _many.left_out(path, options)
    can_read_again = not any(map(_many.is_read_once, paths))  # to plan, then to count
    if paths and can_read_again and asks_for_counts(path, reading):
        before = list(map(state_of, paths))
        with memory.limited(options.memory_limit), running_on(options.workers, options.cluster) as executor:
            found = _reduced(path, paths, reading, options, method, executor, watch)
        for one, state in zip(paths, before, strict=True):
            if state != state_of(one):
                raise changed(str(one))
        if found is not None:
            return found.noted(notes)
    if options.reduce:
        return _of_preferences(path, reading, _many.read_reduced(paths, options).noted(*notes), "")  # says why not
    return _of_preferences(path, reading, _read_whole(paths, reading).noted(*notes), "")


def _read_whole(paths: list[Any], reading: Mapping[str, Any]) -> Preferences:
    """Read files as they are; where bad ones are skipped, each is tried by itself before all are read as one."""
    from concordant.io import read

    plain = {name: value for name, value in reading.items() if name not in HOW or name == "memory_limit"}
    bad: list[tuple[Any, str]] = []
    for path in paths if reading.get("skip_bad_files") else ():
        if _many.is_read_once(path):
            continue
        try:
            read(path, **plain)
        except (ConcordantError, OSError) as problem:
            if _many.is_no_fault(problem):
                raise
            bad.append((path, str(problem)))
    left = {path for path, _ in bad}
    good = [path for path in paths if path not in left]
    if not good:
        raise InputError("No file could be read; the first: " + bad[0][1])
    return read(good if len(good) > 1 else good[0], **plain).noted(*_many.notes_on_bad(bad))


def _of_preferences(path: Any, reading: Mapping[str, Any], prefs: Preferences, counted: str) -> Gathered:
    return Gathered(path, reading, prefs, prefs.notes, counted, choice=api.default_choice(prefs))


def _reduced(
    path: Any,
    paths: list[Any],
    reading: Mapping[str, Any],
    options: Options,
    method: Method | None,
    executor: Executor,
    watch: _many.Watch | None,
) -> Gathered | None:
    """Reduce files to what the method needs; None where it needs all of them as they are."""
    plan = _plan(paths, options)
    if plan is None or beyond_counts(plan, options):
        return None
    if plan.layout == "pairs" and (method is None or "order" not in method.needs):
        roles = dict(options.roles)
        if method is not None and "agent" in plan.column and _needs_agents(method):
            roles["agent"] = plan.column["agent"]
        counted = _many.count_files(paths, replace(options, roles=roles, reduce=True), executor, watch=watch)
        told = _told(counted, "counted", executor)
        return _of_preferences(path, reading, _many.preferences_of(counted), told)
    if _rows.is_countable(plan):
        return _sums(path, paths, reading, options, method, plan, executor, watch)
    return None


def _told(counted: _many.Counted, what: str, executor: Executor) -> str:
    """Say what was done with how many rows, and where."""
    where = "DuckDB in this process" if isinstance(executor, Serial) else f"DuckDB on {executor.place}"
    return f"{counted.rows:,} rows of {counted.files:,} file{'s' * (counted.files != 1)} {what} by {where}"


def _needs_agents(method: Method) -> bool:
    said = (getattr(method, "errors", ""), getattr(method, "adherence", False), "agent_weights" in method.learnt)
    return "agents" in method.needs or said[0] in ("sandwich", "bootstrap") or bool(said[1]) or said[2]


def _plan(paths: list[Any], options: Options) -> Plan | None:
    """Plan the columns by the first file that can be opened; None where it is no table for DuckDB."""
    problem: Exception | None = None
    for path in paths:
        try:
            with Source(path, options) as source:
                kind = named(options.format) if options.format is not None else recognise(source)
                if not kind.is_table or kind.name == "arrow":
                    return None
                return plan_columns(_many.open_table(source, options), options)
        except InputError as error:
            if not options.skip_bad_files or _many.is_no_fault(error):
                raise
            problem = problem or error
    raise InputError("No file could be read; the first: " + str(problem))


def _sums(
    path: Any,
    paths: list[Any],
    reading: Mapping[str, Any],
    options: Options,
    method: Method | None,
    plan: Plan,
    executor: Executor,
    watch: _many.Watch | None,
) -> Gathered | None:
    form = "ratings" if "rating" in plan.column else "rankings"
    choice = next((row for row in api.DEFAULTS if row.form == form and not row.when), None)
    if method is None and ("instance" in plan.column or choice is None):
        return None
    from concordant import registry

    chosen: Any = method or registry.make(choice.method if choice else "borda")
    statistic = statistic_for(chosen)
    if statistic is None:
        return None
    found = _rows.count_files(paths, options, plan, statistic, executor, watch)
    if found.tally is None or not found.is_usable or not found.rows:
        return None
    tally = _rows.unnamed(found.tally, plan)
    counted = _told(found, f"reduced to {statistic.name}", executor)
    notes = (f"{os.path.basename(found.name)}: {plan.describe()}; {counted}", *_many.notes_on_bad(found.bad))
    return Gathered(path, reading, None, notes, counted, (tally, statistic, form), choice or api.DEFAULTS[-1])


def rank_files(path: Any, method: str | Method | None, min_ballots: float | None, given: Mapping[str, Any]) -> Ranking:
    """Rank what files hold; options that the method does not know say how to read."""
    from concordant import registry
    from concordant.params import params_of
    from concordant.tables.options import options_of

    readable = {one.name for one in options_of(PREFERENCES)}
    mine: set[str] = set()
    if isinstance(method, str):
        mine = {one.name for one in params_of(registry.load(registry.resolve(method)[0]))}
    params = {name: value for name, value in given.items() if name in mine or name not in readable}
    reading = {name: value for name, value in given.items() if name not in params}
    if method is not None and not isinstance(method, str) and params:
        raise InputError("Give hyper-parameters to the method object itself, not to rank().")
    made = registry.make(method, **params) if isinstance(method, str) else method
    gathered = gather_files(path, reading, made)
    if made is None:
        made = registry.make(gathered.choice.method, **params)
    return gathered.rank(made, min_ballots)
