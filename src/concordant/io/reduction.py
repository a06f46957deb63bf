"""Reduce files of any size to the statistics that a method needs: counts of pairs, or sums of rows.

Files are reduced if an option requests it (reduce, workers, a cluster, a memory limit), if a folder or a pattern is
named, or if they are large. The notes and ``ran``, which becomes ``ranking.ran``, report how the files were reduced.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from concordant.api import Summed
from concordant.engine.executors import Executor, Serial, running_on
from concordant.engine.reduced import statistic_for
from concordant.errors import InputError
from concordant.io import _many, _rows
from concordant.io._formats import recognise
from concordant.io._source import Source, changed, state_of
from concordant.io.paths import expand, is_out_of_memory, is_read_once, left_out, notes_on_bad
from concordant.method import Method, needs_agents
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.tables.options import Options
from concordant.tables.plans import Plan, beyond_counts
from concordant.tables.roles import planned


class Reduced(NamedTuple):
    """Data reduced from files: merged preferences, or the sums of rankings or ratings."""

    data: Preferences | Summed
    notes: tuple[str, ...]
    ran: str


class Needs(NamedTuple):
    """How the caller uses the files."""

    method: Method | None
    """The named method, if any."""
    fitting: Callable[[str], Method]
    """Returns the method for a form in one instance if no method was named."""
    ballots: bool = False
    """Whether sums do not suffice for any method."""


def reduce_files(path: Any, options: Options, needs: Needs) -> Reduced | None:
    """Reduce files to the statistics that a method needs; None if it needs all ballots."""
    paths = expand(path)
    # A file is opened twice, to plan and to count.
    if any(map(is_read_once, paths)):
        return None
    notes, before = left_out(path, options), list(map(state_of, paths))
    with memory.limited(options.memory_limit), running_on(options.workers, options.cluster) as executor:
        reduced = _reduced(paths, options, needs, executor)
    for file, state in zip(paths, before, strict=True):
        if state != state_of(file):
            raise changed(str(file))
    return reduced and reduced._replace(notes=(*reduced.notes, *notes))


def _reduced(paths: list[Any], options: Options, needs: Needs, executor: Executor) -> Reduced | None:
    """Reduce files to counts of pairs or sums of rows; None if the method needs all ballots."""
    plan, method = _plan(paths, options), needs.method
    if plan is None or beyond_counts(plan, options) or (method is not None and "points" in method.needed()):
        return None
    if plan.layout == "pairs" and (method is None or "order" not in method.needs):
        roles = dict(options.roles)
        if method is not None and "agent" in plan.column and needs_agents(method):
            roles["agent"] = plan.column["agent"]
        counted = _many.count_files(paths, replace(options, roles=roles, reduce=True), executor)
        prefs = _many.preferences_of(counted)
        return Reduced(prefs, prefs.notes, _summary(counted, "counted", executor))
    if not _rows.is_countable(plan):
        return None
    return _ballots(paths, options) if needs.ballots else _sums(paths, options, needs, plan, executor)


def _ballots(paths: list[Any], options: Options) -> Reduced:
    """Read all ballots of ranks or ratings, because their sums do not suffice for the method."""
    from concordant.io import read_whole

    prefs = read_whole(paths, replace(options, reduce=False))
    return Reduced(prefs, prefs.notes, "")


def _summary(counted: _many.Counted, what: str, executor: Executor) -> str:
    """Return a sentence on the number of rows, how they were reduced, and where."""
    where = "DuckDB in this process" if isinstance(executor, Serial) else f"DuckDB on {executor.place}"
    return f"{counted.rows:,} rows of {counted.files:,} file{'s' * (counted.files != 1)} {what} by {where}"


def _plan(paths: list[Any], options: Options) -> Plan | None:
    """Plan the columns by the first file that can be opened; None if it is not a table for DuckDB."""
    problem: Exception | None = None
    for path in paths:
        try:
            with Source(path, options) as source:
                kind = recognise(source, options.format)
                if not kind.is_table or kind.name == "arrow":
                    return None
                return planned(_many.open_table(source, options), options)
        except InputError as error:
            if not options.skip_bad_files or is_out_of_memory(error):
                raise
            problem = problem or error
    raise InputError("No file could be read. First error: " + str(problem))


def _sums(paths: list[Any], options: Options, needs: Needs, plan: Plan, executor: Executor) -> Reduced | None:
    """Reduce ratings or ranks to the sums that the method needs; None if it needs more."""
    form = "ratings" if "rating" in plan.column else "rankings"
    if needs.method is None and "instance" in plan.column:
        return None
    statistic = statistic_for(needs.method or needs.fitting(form))
    if statistic is None:
        return None
    counted = _rows.count_files(paths, options, plan, statistic, executor)
    if counted.tally is None or not counted.is_usable or not counted.rows:
        return None
    if needs.method is None and form == "ratings" and not counted.tally.sums["total"].value.any():
        return _ballots(paths, options)  # nothing is preferred to anything: another method fits
    ran = _summary(counted, f"reduced to {statistic.name}", executor)
    chosen = counted.choice.notes() if counted.choice is not None else []
    notes = (f"{os.path.basename(counted.name)}: " + plan.describe() + f"; {ran}", *chosen, *notes_on_bad(counted.bad))
    return Reduced(Summed(form, _rows.unnamed(counted.tally, plan)), notes, ran)
