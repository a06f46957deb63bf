"""Rank tables of sums, and keep sums of files that arrive over time.

``sums_of_files`` and ``sums_of_frame`` recognise tables of sums: files that ``add_files`` wrote, and the results of the
queries of ``engine.warehouse``. ``add_files`` adds the files that are not in the sums yet. It holds a lock from reading
the old sums to replacing them, so that two writers add one after the other, and checks that nobody else replaced them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from concordant.api import Summed
from concordant.engine.executors import Executor, running_on
from concordant.engine.reduced import statistic_for
from concordant.engine.statistics import Statistic
from concordant.engine.sums import read_sums, refuse_other_method, statistic_of
from concordant.errors import FormatError, InputError, arg
from concordant.io import _many, _rows, reduction
from concordant.io._formats import recognise
from concordant.io._source import Source, changed, state_of
from concordant.io._stored import (
    KINDS,
    PAIRS,
    Counted,
    Stored,
    add_up,
    parquet_of,
    preferences_of,
    read_stored,
)
from concordant.io.paths import expand, is_read_once, left_out, notes_on_bad, reads_together
from concordant.io.reduction import Needs, Reduced
from concordant.io.signs import is_stored
from concordant.support import memory, progress
from concordant.support.files import locked, replace_file
from concordant.tables.frames import FrameTable, LazyTable
from concordant.tables.options import Options
from concordant.tables.plans import Plan, beyond_counts
from concordant.tables.rows import InputTable

CHUNK = 1 << 20


# ---- ranking sums ----
def sums_of_files(path: Any, options: Options, needs: Needs) -> Reduced | None:
    """Return the content of files of sums as a method needs it; None if the first file is none."""
    paths = expand(path)
    with Source(paths[0], options) as source:
        if is_stored(source):
            return _of_stored([_opened(name, options) for name in paths], paths, needs)
        if len(paths) > 1 or not recognise(source, options.format).is_table:
            return None
        return sums_of_table(_many.open_table(source, options), needs)


def sums_of_table(table: InputTable, needs: Needs) -> Reduced | None:
    """Return the content of a table of sums as a method needs it; None if the table is none."""
    statistic = statistic_of(table.columns)
    if statistic is None:
        return None
    form, tally = read_sums(table, statistic)
    name = os.path.basename(table.name)
    ran = f"{len(tally):,} sums read from {name}"
    return _summed(statistic, Summed(form, tally), name, ran, needs)


def sums_of_frame(frame: Any, needs: Needs) -> Reduced | None:
    """Return the content of a DataFrame of sums as a method needs it; None if it is none."""
    return sums_of_table(FrameTable(frame), needs)


def sums_of_lazy_frame(table: LazyTable, needs: Needs) -> Reduced | None:
    """Return the sums of a lazy frame of ratings or ranks, computed by its engine.

    None if the rows have to be read, or are pairs, which are counted by the engine while they are read.
    """
    from concordant.io._lazy import sums_of_lazy

    if needs.ballots or not _rows.is_countable(table.plan):
        return None
    form = "ratings" if "rating" in table.plan.column else "rankings"
    if needs.method is None and "instance" in table.plan.column:
        return None
    statistic = statistic_for(needs.method or needs.fitting(form))
    found = None if statistic is None else sums_of_lazy(table, statistic)
    if statistic is None or found is None:
        return None
    _, tally, rows = found
    if needs.method is None and form == "ratings" and not tally.sums["total"].value.any():
        return None  # nothing is preferred to anything: another method fits
    ran = f"{rows:,} rows reduced to {statistic.name} by {table.engine}, which returned {len(tally):,} sums"
    notes = (f"a lazy frame: {table.plan.describe()}; {ran}",)
    return Reduced(Summed(form, tally), notes, ran)


def _summed(statistic: Statistic, data: Summed, name: str, ran: str, needs: Needs) -> Reduced:
    """Return sums for a method, which must need no others."""
    method = needs.method or needs.fitting(data.form)
    wanted = statistic_for(method)
    if (
        needs.ballots
        or wanted is None
        or not set(wanted.sums) <= set(statistic.sums)
        or len(wanted.keys) != len(statistic.keys)
    ):
        raise refuse_other_method(statistic, "this request" if needs.ballots else method.name, name)
    return Reduced(data, (f"{name}: {statistic.name} of {data.form}",), ran)


def _of_stored(parts: Sequence[Stored], paths: Sequence[Any], needs: Needs) -> Reduced:
    """Return files of sums, added up, as a method needs them."""
    total = add_up(parts, paths)
    name = os.path.basename(os.fspath(paths[0])) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    ran = f"{total.rows:,} rows of {len(total.files):,} file{'s' * (len(total.files) != 1)}, counted in {name}"
    statistic = KINDS[total.kind]
    if statistic is not None:
        return _summed(statistic, Summed(total.form, total.tally), name, ran, needs)
    prefs = preferences_of(total, name)
    return Reduced(prefs, prefs.notes, ran)


def _opened(path: Any, options: Options) -> Stored:
    with Source(path, options) as source:
        if not is_stored(source):
            raise source.error("this file holds no sums, but others do: rank the sums and the other files separately.")
        return read_stored(source)


# ---- keeping sums ----
class Added(NamedTuple):
    """What was added to a file of sums."""

    files: int
    rows: int
    total_files: int
    total_rows: int
    notes: tuple[str, ...]


def add_files(path: Any, target: str, options: Options, kind: str = "items", copies: bool = False) -> Added:
    """Count the files that are not in the sums yet, and replace the file of sums by one that holds them all.

    ``kind`` of ratings and ranks is "items" or "levels". With ``copies``, a file with the content of another one is
    counted.
    """
    _refuse_target(target)
    if reads_together(options):
        given = arg("sql") if options.sql is not None else arg("drop_duplicates")
        raise InputError(
            given + " relates the rows of several files, which are counted at different times: leave it out."
        )
    with locked(target):
        before = state_of(target) if os.path.exists(target) else None
        old = None
        if before is not None:
            with Source(target) as source:
                if not is_stored(source):
                    raise source.error("this file exists and holds no sums: name another file.")
                old = read_stored(source)
        names = [name for name in expand(path) if not _is_file(name, target)]
        notes = left_out(path, options)
        new, told = _unknown(names, old, target, copies)
        notes += told
        added = None
        if new:
            added = _counted(new, options, kind)
        if added is not None and added.stored.files:
            total = added.stored if old is None else old.plus(added.stored, os.fspath(new[0].path))
            if (state_of(target) if os.path.exists(target) else None) != before:
                raise changed(target)
            replace_file(target, parquet_of(total))
            old = total
        found = () if added is None else added.stored.files
        return Added(
            len(found),
            added.stored.rows if added else 0,
            len(old.files) if old else 0,
            old.rows if old else 0,
            (*(added.notes if added else ()), *notes),
        )


class _New(NamedTuple):
    """A file to count: its path, its path as seen from the sums, its checksum, and its state when that was taken."""

    path: Any
    name: str
    sha256: str
    state: Any


class _Summary(NamedTuple):
    stored: Stored
    notes: tuple[str, ...]


def _is_file(name: Any, target: str) -> bool:
    """Return whether an input is the file of sums itself; reject inputs that cannot be recognised later."""
    if is_read_once(name):
        raise InputError("Standard input and pipes cannot be recognised when they come again: name files.")
    if not os.path.exists(name):
        with Source(name):  # says what is wrong with the name
            pass
    return os.path.exists(target) and os.path.samefile(name, target)


def _refuse_target(target: str) -> None:
    if not target.lower().endswith((".parquet", ".pq")):
        raise InputError(f"{target} is not a name for sums, which are stored in Parquet: end it in .parquet.")


def _unknown(names: Sequence[Any], old: Stored | None, target: str, copies: bool) -> tuple[list[_New], list[str]]:
    """Return the files that are not in the sums yet, and notes on the others."""
    folder = os.path.dirname(os.path.abspath(target))
    by_name = {} if old is None else {one.name: one for one in old.files}
    by_content = {} if old is None else {one.sha256: one.name for one in old.files}
    new: list[_New] = []
    notes: list[str] = []
    known = 0
    with progress.stage("checking files", len(names)) as step:
        for done, path in enumerate(names, 1):
            state, name = state_of(path), _seen_from(folder, path)
            content = _checksum(path)
            if name in by_name and by_name[name].sha256 != content:
                raise FormatError(
                    "the file has changed since it was counted: give new rows a new file, or reduce all files into "
                    "another file of sums.",
                    path=os.fspath(path),
                )
            if name in by_name:
                known += 1
            elif content in by_content and not copies:
                twin = by_content[content]
                text = f"left out {name}: it has the content of {twin}; use "
                notes.append(text + arg("count_copies") + " to count it as well")
            else:
                new.append(_New(path, name, content, state))
                by_content[content] = name
            step(name, done)
    if known:
        notes.append(f"{known:,} file{'s are' if known > 1 else ' is'} in the sums already")
    return new, notes


def _seen_from(folder: str, path: Any) -> str:
    """Return a path relative to the folder of the sums, so that both can be moved together."""
    full = str(os.path.abspath(os.fspath(path)))
    try:
        return os.path.relpath(full, folder).replace(os.sep, "/")
    except ValueError:  # on another drive of Windows
        return full.replace(os.sep, "/")


def _checksum(path: Any) -> str:
    with open(path, "rb") as file:
        checksum: str = hashlib.file_digest(file, "sha256").hexdigest()
    return checksum


def _counted(new: Sequence[_New], options: Options, kind: str) -> _Summary:
    """Count new files; a file that is skipped because it cannot be read is not recorded."""
    paths = [one.path for one in new]
    plan = reduction._plan(paths, options)
    if plan is None:
        raise FormatError("only tables that DuckDB reads can be reduced to sums.", path=os.fspath(paths[0]))
    if beyond := beyond_counts(plan, options):
        raise InputError("Sums do not keep what " + arg(beyond) + " needs: leave it out, or rank the files themselves.")
    with memory.limited(options.memory_limit), running_on(options.workers, options.cluster) as executor:
        count = _count_pairs if plan.layout == PAIRS else partial(_count_rows, kind=kind)
        stored, bad, notes = count(paths, options, plan, executor)
    for one in new:
        if one.state != state_of(one.path):
            raise changed(os.fspath(one.path))
    stored = replace(stored, columns=(*stored.columns, *_chosen(options)))
    left = {os.path.abspath(os.fspath(path)) for path, _ in bad}
    files = tuple(Counted(one.name, one.sha256) for one in new if os.path.abspath(os.fspath(one.path)) not in left)
    return _Summary(replace(stored, files=files), (*notes, *notes_on_bad(bad)))


def _chosen(options: Options) -> list[tuple[str, str]]:
    """Return the options that decide which rows are counted, which are recorded with the columns."""
    chosen = [("where", options.where)] if options.where is not None else []
    return [*chosen, *([("both_bad", options.both_bad)] if options.both_bad != "tie" else [])]


_Counts = tuple[Stored, tuple[tuple[Any, str], ...], tuple[str, ...]]


def _count_pairs(paths: Sequence[Any], options: Options, plan: Plan, executor: Executor) -> _Counts:
    """Count files of pairs; return the sums, the files that were left out, and notes."""
    total = _many.count_files(paths, replace(options, reduce=True), executor)
    if total.tally is None:
        raise InputError("No file could be read. First error: " + total.bad[0][1])
    return Stored(PAIRS, PAIRS, total.columns, total.tally, total.rows), total.bad, (plan.describe(), *total.notes)


def _count_rows(paths: Sequence[Any], options: Options, plan: Plan, executor: Executor, kind: str) -> _Counts:
    """Count files of ratings or ranks, and list their ballots."""
    if not _rows.is_countable(plan):
        raise InputError(f"the rows are {plan.layout}, but only pairs, ratings and ranks can be reduced to sums.")
    statistic = KINDS[kind]
    assert statistic is not None
    form = "ratings" if "rating" in plan.column else "rankings"
    scan = partial(_rows.scan_file, plan=plan, alone=False)
    seen = _many.count_parts(_many.named_for(paths, executor), options, executor, scan)
    total = _rows.count_files(paths, options, plan, statistic, executor)
    if total.tally is None or not total.is_usable or seen.tally is None:
        raise InputError(
            "Some rows cannot be counted: a cell is missing, a number is out of range, an item is twice on a ballot, "
            "or rows of one ballot have different weights. Rank the files themselves to see which, and correct them."
        )
    ballots = np.sort(np.asarray(seen.tally.keys["ballot"], np.int64))
    columns = tuple(sorted(plan.column.items()))
    stored = Stored(kind, form, columns, _rows.unnamed(total.tally, plan), total.rows, ballots=ballots)
    return stored, total.bad, (plan.describe(),)
