"""Many files as one table of any size: each is reduced to its counts, and the counts are merged.

A file is worked on by DuckDB within bounded memory and leaves a tally, so that what is held grows with the different
things said and not with how often they were said. Files are parts: they may be reduced here, by processes or on a
cluster, with the same counts bit by bit.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from typing import Any

from concordant.engine.executors import Executor, Processes, Serial, running_on
from concordant.engine.statistics import pair_counts, preferences_of_pairs
from concordant.engine.tallies import Growing, Tally, merge_all
from concordant.errors import ConcordantError, FormatError, InputError, RoomError, arg
from concordant.io import _coded
from concordant.io._duckdb import CsvTable, DuckTable
from concordant.io._formats import named, recognise
from concordant.io._reduce import LONGEST_LINE, ReducedTable
from concordant.io._source import Source
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.support.files import is_address, without_folders
from concordant.tables.build import parts_of_table
from concordant.tables.options import Options
from concordant.tables.plans import Plan, beyond_counts
from concordant.tables.roles import plan_columns
from concordant.tables.rows import Table

BIG = 256 << 20  # bytes from which files are reduced without being asked
MOST_NOTES = 12

Watch = Callable[[int, int, int, float], None]  # (parts done, parts, rows, seconds); a part is a file as a rule


def expand(path: Any) -> list[Any]:
    """Return the files that are meant by names, patterns (``votes/*.parquet``) and folders, in order."""
    found: list[Any] = []
    for one in path if isinstance(path, (list, tuple)) else [path]:
        if (inside := _inside(one)) is None:
            found.append(one)
            continue
        files = [name for name in inside if os.path.isfile(name)]
        if not files:
            is_folder = os.path.isdir(one)
            what = "the folder holds no files: name another" if is_folder else "no file matches this pattern: check it"
            raise FormatError(f"{what}.", path=os.fspath(one))
        found += files
    return found


def _inside(one: Any) -> list[str] | None:
    """Return what a folder holds or what a pattern matches, hidden entries aside; None for anything else."""
    if not isinstance(one, (str, os.PathLike)) or os.path.isfile(one):
        return None
    name = os.fspath(one)
    if os.path.isdir(name):
        return sorted(entry.path for entry in os.scandir(name) if not entry.name.startswith((".", "_")))
    is_pattern = has_magic(name) and not os.path.exists(name) and not is_address(name)
    return sorted(one for one in glob(name, recursive=True) if not os.path.isdir(one)) if is_pattern else None


def left_out(path: Any, options: Options, *, is_noted: bool = True) -> list[str]:
    """Name what folders hold besides files (broken links, pipes, other folders); refuse it where no note can tell."""
    names = path if isinstance(path, (list, tuple)) else [path]
    odd = [name for one in names for name in _inside(one) or () if not os.path.isfile(name)]
    if odd and (options.strict or not is_noted):
        raise FormatError(f"this is {_kind(odd[0])}: remove it, or name the files to read.", path=odd[0])
    more = [f"left out {len(odd) - MOST_NOTES:,} more entries that are not files"] if len(odd) > MOST_NOTES else []
    return [f"left out {name}: this is {_kind(name)}" for name in odd[:MOST_NOTES]] + more


def _kind(path: str) -> str:
    if os.path.isdir(path):
        return "a folder"
    return "neither a file nor a folder" if os.path.exists(path) else "a link to a file that does not exist"


def is_pattern(path: Any) -> bool:
    """Say whether a folder or a pattern is named, which stands for files."""
    names = path if isinstance(path, (list, tuple)) else [path]
    texts = [os.fspath(one) for one in names if isinstance(one, (str, os.PathLike))]
    return any(os.path.isdir(one) or (has_magic(one) and not os.path.exists(one)) for one in texts)


def is_read_once(path: Any) -> bool:
    """Say whether something gives its content once only: standard input, an open file, a pipe."""
    if not isinstance(path, (str, os.PathLike)) or os.fspath(path) == "-":
        return True
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def is_big(paths: Sequence[Any]) -> bool:
    """Say whether files are so large that they had better be reduced."""
    return (
        sum(os.path.getsize(one) for one in paths if isinstance(one, (str, os.PathLike)) and os.path.isfile(one)) > BIG
    )


@dataclass(frozen=True, eq=False)
class Counted:
    """What was counted of some files."""

    tally: Tally | None
    rows: int
    columns: tuple[tuple[str, str], ...]
    """Role and name of the columns that were read; files must agree."""
    name: str
    about: str
    notes: tuple[str, ...] = ()
    files: int = 1
    bad: tuple[tuple[Any, str], ...] = ()
    """The files that were left out, and what is wrong with each."""
    is_usable: bool = True
    """Whether every row can be counted; where not, the usual reader says why."""


def merge_counted(parts: list[Counted]) -> Counted:
    """Add up what was counted of several files."""
    good = [part for part in parts if part.tally is not None]
    bad = tuple(one for part in parts for one in part.bad)
    is_usable = all(part.is_usable for part in parts)
    if not good:
        return replace(parts[0], bad=bad, is_usable=is_usable)
    first = good[0]
    for other in good[1:]:
        if other.columns != first.columns:
            raise FormatError(
                f"the columns ({_listed(other)}) are not those of {first.name} ({_listed(first)}): name them alike, or "
                "read the files one by one.",
                path=other.name,
            )
    notes = tuple(dict.fromkeys(note for part in good for note in part.notes))
    return Counted(
        merge_all([part.tally for part in good if part.tally is not None]),
        sum(part.rows for part in good),
        first.columns,
        first.name,
        first.about,
        notes,
        sum(part.files for part in good),
        bad,
        is_usable,
    )


def _listed(part: Counted) -> str:
    return ", ".join(f"{role} {name!r}" for role, name in part.columns)


def count_pairs(path: Any, options: Options, limit: str | None) -> Counted:
    """Count the pairs of one file; a task for an executor."""
    return count_table(path, options, limit, lambda table: counted_pairs(table, plan_columns(table, options), options))


def count_table(path: Any, options: Options, limit: str | None, count: Callable[[Table], Counted]) -> Counted:
    """Count something of one file; where bad files are skipped, say what is wrong with it instead of failing."""
    try:
        with memory.limited(limit), Source(path, options) as source:
            return count(open_table(source, options))
    except (ConcordantError, OSError) as problem:
        if not options.skip_bad_files or is_no_fault(problem):
            raise
        return Counted(None, 0, (), str(path), "", files=0, bad=((path, str(problem)),))


def is_no_fault(problem: Exception) -> bool:
    """Say whether a file could not be read for lack of room: it is good, and leaving it out would be wrong."""
    return isinstance(problem, RoomError) or getattr(problem, "errno", None) == errno.ENOSPC


def open_table(source: Source, options: Options) -> Table:
    """Open a file as a table, refusing what is none."""
    from concordant.io.formats.table import open_table

    kind = named(options.format) if options.format is not None else recognise(source)
    if not kind.is_table:
        raise source.error(f"this looks like {kind.name}, and only tables can be reduced: read it without reduce.")
    return open_table(source, replace(options, format=kind.name))


def counted_pairs(table: Table, plan: Plan, options: Options) -> Counted:
    """Count the pairs of a table, by DuckDB where it can."""
    if "time" in plan.column:
        what = "merge and reduce forget the order of events"
        raise InputError(what + ": leave out " + arg("time") + ", or read the table as it is.")
    more = beyond_counts(plan, options)
    if more:
        raise InputError(
            "reduce keeps counts of pairs, and " + arg(more) + " says more than counts can: leave out reduce, or it."
        )
    if plan.layout != "pairs":
        raise table.error(-1, f"the rows are {plan.layout}, and only pairs can be reduced to counts: leave out reduce.")
    plan, forgotten = _without_agents(plan, options)
    columns = tuple(sorted(plan.column.items()))
    if not isinstance(table, DuckTable):
        prefs = Preferences.of_parts(parts_of_table(table, options, plan))
        return Counted(pair_counts(prefs), prefs.n_ballots, columns, table.name, plan.describe(), prefs.notes[1:])
    if isinstance(table, CsvTable):
        table.longest_line = LONGEST_LINE
    grown: Growing | None = None
    rows, notes = 0, [*forgotten]
    for piece in _pieces(table, plan, options):
        parts = parts_of_table(piece, options, piece.plan)
        prefs = Preferences.of_parts(parts)
        tally = pair_counts(prefs, piece.weights_of(prefs.weight))
        grown = grown or Growing(piece.room or len(tally))
        grown.add(tally)
        rows += piece.rows
        notes += parts["notes"][1:]
    told = tuple(dict.fromkeys(notes))
    assert grown is not None
    return Counted(grown.done(), rows, columns, table.name, plan.describe(), told)


def _pieces(table: DuckTable, plan: Plan, options: Options) -> Any:
    is_large = os.path.getsize(table.path()) >= _coded.LARGE
    return (
        _coded.pieces(table, plan, options)
        if is_large and "agent" in plan.column
        else [ReducedTable(table, plan, options)]
    )


def _without_agents(plan: Plan, options: Options) -> tuple[Plan, list[str]]:
    """Forget agents that nobody asked to keep."""
    if "agent" not in plan.column or options.roles.get("agent") is not None:
        return plan, []
    note = f"agents ({plan.column['agent']}) are forgotten: say " + arg("agent") + " to keep them apart"
    return plan.without("agent"), [note]


def count_files(
    paths: Sequence[Any], options: Options, executor: Executor, task: Any = count_pairs, watch: Watch | None = None
) -> Counted:
    """Count all files on an executor; the counts are merged by its workers."""
    return count_parts(named_for(paths, executor), options, executor, task, watch)


def named_for(paths: Sequence[Any], executor: Executor) -> list[Any]:
    """Return files under names that every worker of an executor understands."""
    return list(paths) if isinstance(executor, Serial) else [_absolute(path) for path in paths]


def count_parts(
    parts: Sequence[Any], options: Options, executor: Executor, task: Any, watch: Watch | None = None
) -> Counted:
    """Count parts of the data, each whatever the task takes for one; the counts are merged by the workers."""
    if isinstance(executor, Serial):
        return _count_here(parts, options, task, watch)
    start, rows = time.perf_counter(), 0
    limit, plain = _share_of_limit(options.memory_limit, executor), replace(options, cluster=None)
    held = [executor.hold(task, part, plain, limit) for part in parts]
    counts = [executor.submit(_rows_of, one) for one in held]
    for done, count in enumerate(executor.completed(counts), 1):
        rows += executor.result(count)
        if watch is not None:
            watch(done, len(held), rows, time.perf_counter() - start)
    return executor.reduce(merge_counted, held)


def _rows_of(counted: Counted) -> int:
    return counted.rows


def _count_here(parts: Sequence[Any], options: Options, task: Any, watch: Watch | None) -> Counted:
    """Count part by part in this process, keeping one tally."""
    start, rows = time.perf_counter(), 0
    found: Counted | None = None
    for done, part in enumerate(parts, 1):
        one = task(part, options, options.memory_limit)
        rows += one.rows
        found = one if found is None else merge_counted([found, one])
        if watch is not None:
            watch(done, len(parts), rows, time.perf_counter() - start)
    assert found is not None
    return found


def _absolute(path: Any) -> Any:
    if is_read_once(path):
        raise InputError("Standard input, pipes and open files stay in this process: name files, or leave out workers.")
    return os.path.abspath(path)


def _share_of_limit(limit: str | None, executor: Executor) -> str | None:
    """Divide the memory among the processes of this machine; a worker of a cluster has its own."""
    if limit is None or not isinstance(executor, Processes):
        return limit
    with memory.limited(limit):
        return str(memory.allowance() // executor.workers)


def read_reduced(paths: Sequence[Any], options: Options, watch: Watch | None = None) -> Preferences:
    """Read files of pairs as their counts, where the options say."""
    with running_on(options.workers, options.cluster) as executor:
        return preferences_of(count_files(paths, options, executor, watch=watch))


def preferences_of(counted: Counted) -> Preferences:
    """Return counts of pairs as merged preferences, with notes on what was read."""
    if counted.tally is None:
        raise InputError("No file could be read; the first: " + counted.bad[0][1])
    more = f" and {counted.files - 1} more" if counted.files > 1 else ""
    read = f"{os.path.basename(counted.name)}{more}: {counted.rows:,} pairs; {counted.about}; merged while reading"
    return preferences_of_pairs(counted.tally, (read, *counted.notes[:MOST_NOTES], *notes_on_bad(counted.bad)))


def notes_on_bad(bad: Sequence[tuple[Any, str]]) -> list[str]:
    """Say which files were left out."""
    return ["left out a file: " + without_folders(sentence, [path]) for path, sentence in bad[:MOST_NOTES]]
