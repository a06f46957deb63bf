"""Reduce many files to counts, a share of the files at a time, and merge the counts.

DuckDB reduces each share to a tally within bounded memory, so memory use grows with the number of distinct rows and not
with the number of rows. Files may be reduced in this process, by several processes or on a cluster; the counts are
bit-identical.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from concordant.ballots.form import READ_AS
from concordant.engine.executors import Executor, Processes, Serial, WorkerError, running_on
from concordant.engine.statistics import pair_counts, preferences_of_pairs
from concordant.engine.tallies import GrowingTally, Tally, merge_all
from concordant.errors import ConcordantError, FormatError, InputError, action, arg
from concordant.io import _coded
from concordant.io._duckdb import DuckTable, countable
from concordant.io._formats import recognise
from concordant.io._reduce import LONGEST_LINE, ReducedTable, require_counts
from concordant.io._source import Source
from concordant.io._together import Alike, alike
from concordant.io.paths import MAX_NOTES, is_out_of_memory, is_read_once, notes_on_bad, reads_together
from concordant.io.signs import is_stored
from concordant.preferences import Preferences
from concordant.support import memory, progress
from concordant.tables.bad_rows import summed
from concordant.tables.build import parts_of_table
from concordant.tables.conditions import nothing_left
from concordant.tables.options import Options
from concordant.tables.plans import Names, Plan, beyond_counts
from concordant.tables.roles import planned
from concordant.tables.rows import InputTable
from concordant.tables.selection import Choice, choice_of

NO_MARGINS = "margins are not kept: only wins, losses and ties are counted"
MAX_TOGETHER = 1000  # files in one query
SHARE_BYTES = 1 << 30  # of files in one query: merging its counts costs little beside
MERGED_AT_ONCE = 2_000_000  # rows of counts that are kept before they are merged
NOT_REDUCED = action("whole", "read the files without reduce")


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts of pairs or rows from some files."""

    tally: Tally | None
    rows: int
    columns: tuple[tuple[str, str], ...]
    """Roles and names of the columns that were read; they must be the same in all files."""
    name: str
    about: str
    notes: tuple[str, ...] = ()
    files: int = 1
    bad: tuple[tuple[Any, str], ...] = ()
    """The files that were left out, each with its problem."""
    is_usable: bool = True
    """Whether every row can be counted; if not, the usual reader reports why."""
    choice: Choice | None = None
    """How the rows were chosen, if some were left out on request."""
    seal: str = ""
    """Digest of the counts made by the worker that counted them; empty in this process."""

    def digest(self) -> str:
        """Return the digest of the counts."""
        about = (self.rows, self.files, self.columns, self.is_usable, [str(path) for path, _ in self.bad])
        return f"{about!r} {'' if self.tally is None else self.tally.digest()}"

    def sealed(self) -> Counted:
        """Return these counts with their digest."""
        return replace(self, seal=self.digest())

    def opened(self) -> Counted:
        """Return these counts without the digest, or raise an error if they are not what the worker counted."""
        if self.seal != self.digest():
            what = "Counts that a worker returned were changed on the way"
            raise WorkerError(what + ": check the memory and the network of the cluster, and run the command again.")
        return replace(self, seal="")


def merge_counted(parts: list[Counted]) -> Counted:
    """Add up the counts of several files; reject files with different columns."""
    good = [part for part in parts if part.tally is not None]
    bad = tuple(path_and_problem for part in parts for path_and_problem in part.bad)
    is_usable = all(part.is_usable for part in parts)
    choices = [part.choice for part in parts if part.choice is not None]
    choice = reduce(Choice.plus, choices) if choices else None
    files = sum(part.files for part in parts)
    if not good:
        return replace(parts[0], files=files, bad=bad, is_usable=is_usable, choice=choice)
    first = good[0]
    for later in good[1:]:
        if later.columns != first.columns:
            raise FormatError(
                f"the columns ({_listed(later)}) differ from those of {first.name} ({_listed(first)}): rename them, "
                "or read the files separately.",
                path=later.name,
            )
    notes = tuple(summed(note for part in good for note in part.notes))
    return Counted(
        merge_all([part.tally for part in good if part.tally is not None]),
        sum(part.rows for part in good),
        first.columns,
        first.name,
        first.about,
        notes,
        files,
        bad,
        is_usable,
        choice,
    )


def _listed(part: Counted) -> str:
    return ", ".join(f"{role} {name!r}" for role, name in part.columns)


def count_pairs(path: Any, options: Options, limit: str | None) -> Counted:
    """Count the pairs of one file; a task for an executor."""
    return count_table(path, options, limit, lambda table: counted_pairs(table, planned(table, options), options))


def count_share(paths: Sequence[Any], options: Options, limit: str | None) -> Counted:
    """Count the pairs of some files, with one query for those whose columns agree; a task for an executor."""
    if len(paths) == 1:
        return count_pairs(paths[0], options, limit)
    with memory.limited(limit), alike(paths, options) as groups:
        return merged(one for group in groups for one in _counted_alike(group, options, limit))


def _counted_alike(group: Alike, options: Options, limit: str | None) -> Iterator[Counted]:
    """Count files whose columns agree; if that fails, in halves, until the file at fault is alone."""
    if len(group.paths) == 1:
        yield count_pairs(group.paths[0], options, limit)
        return
    try:
        table = group.table(options)
        if table is not None:
            yield replace(counted_pairs(table, planned(table, options), options), files=len(group.paths))
            return
    except (ConcordantError, OSError) as problem:
        if is_out_of_memory(problem):
            raise
    for half in group.halves():
        yield from _counted_alike(half, options, limit)


def count_table(path: Any, options: Options, limit: str | None, count: Callable[[InputTable], Counted]) -> Counted:
    """Apply ``count`` to one file; if bad files are skipped, return the error instead of raising it."""
    try:
        with memory.limited(limit), Source(path, options) as source:
            return count(open_table(source, options))
    except (ConcordantError, OSError) as problem:
        if not options.skip_bad_files or is_out_of_memory(problem):
            raise
        return Counted(None, 0, (), str(path), "", files=0, bad=((path, str(problem)),))


def open_table(source: Source, options: Options) -> InputTable:
    """Open a file as a table; reject other formats."""
    from concordant.io.formats.table import open_table

    kind = recognise(source, options.format)
    if not kind.is_table:
        what = f"this looks like {kind.name}, but only tables can be reduced to counts: "
        raise source.error(what + NOT_REDUCED + ".")
    if is_stored(source):
        raise source.error("this file holds sums, not rows: name it alone, or name the other files.")
    return open_table(source, replace(options, format=kind.name))


def counted_pairs(table: InputTable, plan: Plan, options: Options) -> Counted:
    """Count the pairs of a table, with DuckDB if possible."""
    if "time" in plan.column:
        what = "Counts of pairs do not keep the order of events"
        raise InputError(what + ": leave out " + arg("time") + ", or read the table without reduction.")
    beyond = beyond_counts(plan, options)
    if beyond:
        raise InputError(
            "Only pairwise counts are kept, but "
            + arg(beyond)
            + " needs more than counts: leave it out, or "
            + NOT_REDUCED
            + "."
        )
    if plan.layout != "pairs":
        what = f"the rows are {plan.layout}, but only pairs can be reduced to counts: "
        raise table.error(-1, what + NOT_REDUCED + ".")
    plan, forgotten = _without_agents(plan, options)
    columns, choice = tuple(sorted(plan.column.items())), choice_of(table)
    if choice is not None and choice.is_empty:  # the rows of another file may meet the condition
        return Counted(None, 0, columns, table.name, plan.describe(), choice=choice)
    if countable(table):
        tally, rows, notes = _counted_in_engine(table, plan, options)
        all_notes = tuple(summed([*forgotten, *notes]))
        counted = Counted(tally, rows, columns, table.name, plan.describe(), all_notes)
    else:
        prefs = Preferences.of_parts(parts_of_table(table, options, plan))
        counts = pair_counts(prefs), prefs.n_ballots
        counted = Counted(*counts, columns, table.name, plan.describe(), (*prefs.notes[1:], *_on_margins(prefs)))
    own = () if choice is None else choice.notes()
    return replace(counted, notes=tuple(note for note in counted.notes if note not in own), choice=choice)


def _counted_in_engine(table: DuckTable, plan: Plan, options: Options) -> tuple[Tally, int, list[str]]:
    """Count the pairs of a table in DuckDB; return (tally, rows, notes)."""
    table.longest_line = LONGEST_LINE
    total: GrowingTally | None = None
    rows, notes = 0, []
    for piece in _pieces(table, plan, options):
        parts = parts_of_table(piece, options, piece.plan)
        prefs = Preferences.of_parts(parts)
        tally = pair_counts(prefs, piece.weights_of(prefs.weight))
        total = total or GrowingTally(piece.capacity or len(tally))
        total.add(tally)
        rows += piece.rows
        notes += [*parts["notes"][1 + len(table.notes) :], *_on_margins(prefs)]  # all pieces share the table's notes
    assert total is not None
    return total.done(), rows, [*table.notes, *notes]


def _on_margins(prefs: Preferences) -> tuple[str, ...]:
    """Return a note on margins, which counts do not keep."""
    return (NO_MARGINS,) if prefs.points is not None else ()


def _pieces(table: DuckTable, plan: Plan, options: Options) -> Any:
    """Return the groups of equal rows; a large table with agents is returned in several pieces."""
    is_large = table.size() >= _coded.LARGE
    return (
        _coded.pieces(table, plan, options)
        if is_large and "agent" in plan.column
        else [ReducedTable(table, plan, options)]
    )


def _without_agents(plan: Plan, options: Options) -> tuple[Plan, list[str]]:
    """Return the plan without agents and a note, unless the user named the agent column."""
    if "agent" not in plan.column or options.roles.get("agent") is not None:
        return plan, []
    note = f"agents ({plan.column['agent']}) are not kept: use " + arg("agent") + " to keep them"
    return plan.without("agent"), [note]


def count_files(paths: Sequence[Any], options: Options, executor: Executor) -> Counted:
    """Count the pairs of all files on an executor, a share at a time; the workers also merge the counts."""
    counted = count_parts(shares(named_for(paths, executor), executor.workers), options, executor, count_share)
    if counted.files + len(counted.bad) != len(paths):
        what = f"{counted.files + len(counted.bad):,} files were counted, but {len(paths):,} were named"
        raise WorkerError(f"{what}: run the command again, and report this as a bug if it happens again.")
    return counted


def shares(paths: Sequence[Any], workers: int) -> list[list[Any]]:
    """Divide files into shares of neighbours of about the same size: at least one for each worker."""
    sizes = [os.path.getsize(path) if not is_read_once(path) and os.path.isfile(path) else 0 for path in paths]
    least = max(workers, -(-len(paths) // MAX_TOGETHER), -(-sum(sizes) // SHARE_BYTES))
    ends = np.cumsum([size + 1 for size in sizes])
    share = (ends - 1) * min(least, len(paths)) // ends[-1]
    return [[path for path, own in zip(paths, share, strict=True) if own == number] for number in np.unique(share)]


def named_for(paths: Sequence[Any], executor: Executor) -> list[Any]:
    """Return the files as paths that are valid for all workers of an executor."""
    return list(paths) if isinstance(executor, Serial) else [_absolute(path) for path in paths]


def count_parts(parts: Sequence[Any], options: Options, executor: Executor, task: Any) -> Counted:
    """Count the pairs in each part of the data by calling ``task`` on it; the workers merge the counts."""
    with progress.stage("counting", len(parts)) as step:
        counted = partial(_counted, step, time.perf_counter())
        if isinstance(executor, Serial):
            return _count_here(parts, options, task, counted)
        return _count_there(parts, options, executor, task, counted)


def _counted(step: progress.Stage, start: float, done: int, rows: int) -> None:
    """Report how many parts and rows have been counted, and how fast."""
    speed = rows / max(time.perf_counter() - start, 1e-9) / 1e6
    step(f"{rows:,} rows, {speed:.1f} million rows/s", done)


def _count_there(
    parts: Sequence[Any], options: Options, executor: Executor, task: Any, counted: Callable[[int, int], None]
) -> Counted:
    """Count the parts on the workers, which also merge the counts."""
    rows = 0
    limit, plain = _share_of_limit(options.memory_limit, executor), replace(options, cluster=None)
    partial_counts = [executor.hold(_sealed, task, part, plain, limit) for part in parts]
    counts = [executor.submit(_rows_of, part) for part in partial_counts]
    for done, count in enumerate(executor.completed(counts), 1):
        rows += executor.result(count)
        counted(done, rows)
    return executor.reduce(_merged_sealed, partial_counts).opened()


def _sealed(task: Any, part: Any, options: Options, limit: str | None) -> Counted:
    """Count a part on a worker."""
    counted: Counted = task(part, options, limit)
    return counted.sealed()


def _merged_sealed(parts: list[Counted]) -> Counted:
    """Merge counts on a worker."""
    return merge_counted([part.opened() for part in parts]).sealed()


def _rows_of(counted: Counted) -> int:
    return counted.rows


def _count_here(parts: Sequence[Any], options: Options, task: Any, counted: Callable[[int, int], None]) -> Counted:
    """Count the parts one after another in this process, and merge them."""

    def counts() -> Iterator[Counted]:
        rows = 0
        for done, part in enumerate(parts, 1):
            one = task(part, options, options.memory_limit)
            rows += one.rows
            yield one
            counted(done, rows)

    return merged(counts())


def merged(parts: Iterable[Counted]) -> Counted:
    """Add up counts as they come: once for all if they are few, else whenever they are as many as the sum so far."""
    pending: list[Counted] = []
    room = MERGED_AT_ONCE
    for part in parts:
        pending.append(part)
        if sum(map(_size_of, pending)) > room:
            pending = [merge_counted(pending)]
            room = MERGED_AT_ONCE + 2 * _size_of(pending[0])
    return pending[0] if len(pending) == 1 else merge_counted(pending)


def _size_of(counted: Counted) -> int:
    return 0 if counted.tally is None else len(counted.tally)


def _absolute(path: Any) -> Any:
    if is_read_once(path):
        raise InputError(
            "Standard input, pipes and open files can only be read in this process: name files, or leave out "
            + arg("workers")
            + "."
        )
    return os.path.abspath(path)


def _share_of_limit(limit: str | None, executor: Executor) -> str | None:
    """Divide the memory limit among the processes of this machine; a worker of a cluster has its own limit."""
    if limit is None or not isinstance(executor, Processes):
        return limit
    with memory.limited(limit):
        return str(memory.allowance() // executor.workers)


def read_reduced(paths: Sequence[Any], options: Options) -> Preferences:
    """Read files of pairs as counts, in this process or on the workers given by the options."""
    if reads_together(options) and len(paths) > 1:
        given = arg("sql") if options.sql is not None else arg("drop_duplicates")
        raise InputError(
            given + " relates the rows of several files, which are counted one by one: " + NOT_REDUCED + "."
        )
    with running_on(options.workers, options.cluster) as executor:
        return preferences_of(count_files(paths, options, executor))


def preferences_of(counted: Counted) -> Preferences:
    """Return counts of pairs as merged preferences, with notes on what was read."""
    if counted.tally is None and not counted.bad:
        assert counted.choice is not None
        raise nothing_left(Names(counted.name, []), str(counted.choice.where), counted.choice.n_rows)
    if counted.tally is None:
        raise InputError("No file could be read. First error: " + counted.bad[0][1])
    more = f" and {counted.files - 1} more" if counted.files > 1 else ""
    read = f"{os.path.basename(counted.name)}{more}: {counted.rows:,} pairs; " + counted.about
    chosen = counted.choice.notes() if counted.choice is not None else []
    notes = (read + "; merged while reading", *chosen, *counted.notes[:MAX_NOTES], *notes_on_bad(counted.bad))
    if counted.files > 1:
        require_counts(len(counted.tally))
    prefs = preferences_of_pairs(counted.tally, notes)
    return prefs.with_facts({READ_AS: {"columns": dict(counted.columns)}})
