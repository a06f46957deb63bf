"""Reduce tables of ratings or ranks of any size to sums, with one SQL query over whole ballots.

First, each file is scanned to check that all rows can be used and to list its ballots. If no ballot occurs in two
files, each file is a part that is counted separately. Otherwise, each part is a share of the ballots and takes their
rows from all files. An executor counts the parts, each within bounded memory, and the merged result is exact, like that
of pair counts. If a row cannot be used, or a ballot contains an item twice, nothing is counted, and the usual reader
reports the location.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import coded_of_stream
from concordant.engine.executors import Executor
from concordant.engine.statistics import LABELLED, Statistic
from concordant.engine.tallies import Sums, Tally
from concordant.io import _many
from concordant.io._duckdb import DuckTable, countable, opened
from concordant.io._many import Counted
from concordant.io._source import Source
from concordant.kernels import read_stream
from concordant.support import memory
from concordant.support.limits import sql_weight
from concordant.tables.options import Options
from concordant.tables.plans import Plan
from concordant.tables.roles import planned
from concordant.tables.rows import InputTable
from concordant.tables.selection import choice_of

BAD = (
    "item IS NULL OR ballot IS NULL OR level IS NULL OR NOT isfinite(level) OR abs(level) > 1e12 "
    f"OR weight IS NULL OR NOT {sql_weight('weight')} OR weight > 1e12"
)
TWICE = "SELECT 1 FROM rows GROUP BY instance, ballot, item HAVING count(*) > 1 LIMIT 1"
UNEQUAL = "SELECT 1 FROM rows GROUP BY instance, ballot HAVING min(weight) <> max(weight) LIMIT 1"

# A ballot's number is the same on every machine, whatever its version of DuckDB. Two ballots of one number do no harm.
NUMBER = "md5_number_lower(instance || chr(31) || ballot)"
BALLOTS = f"SELECT {NUMBER} AS number FROM (SELECT DISTINCT instance, ballot FROM rows WHERE ballot IS NOT NULL)"


def is_countable(plan: Plan) -> bool:
    """Return whether the rows are ratings or ranks (not both) and no inferred instance column needs checking."""
    both = "rank" in plan.column and "rating" in plan.column
    return plan.layout in ("ranks", "ratings") and not both and "instance" not in plan.guessed


@dataclass(frozen=True)
class Part:
    """A part of the data with complete ballots: all ballots in ``paths``, or one of ``shares`` shares of them."""

    paths: tuple[Any, ...]
    share: int = 0
    shares: int = 1


def count_files(
    paths: Sequence[Any],
    options: Options,
    plan: Plan,
    statistic: Statistic,
    executor: Executor,
) -> Counted:
    """Count the rows of files on an executor; the result has no tally if some row cannot be used."""
    names = _many.named_for(paths, executor)
    scanned = _many.count_parts(names, options, executor, partial(scan_file, plan=plan, alone=len(names) == 1))
    if scanned.tally is None or not scanned.is_usable or not scanned.rows:
        return scanned
    skipped = {path for path, _ in scanned.bad}
    good = [name for name in names if name not in skipped]
    parts = [Part((name,)) for name in good]
    if (scanned.tally.sums["files"].whole > 1).any():
        parts = [Part(tuple(good), share, executor.workers) for share in range(executor.workers)]
    task = partial(count_part, plan=plan, statistic=statistic)
    counted = _many.count_parts(parts, options, executor, task)
    return Counted(
        *(counted.tally if counted.is_usable else None, scanned.rows, scanned.columns, scanned.name, scanned.about),
        files=scanned.files,
        bad=scanned.bad,
        choice=scanned.choice,
        is_usable=counted.is_usable,
    )


# ---- tasks for an executor ----
def scan_file(path: Any, options: Options, limit: str | None, plan: Plan, alone: bool) -> Counted:
    """Scan one file: number of rows, whether all can be used, and hashes of its ballots, unless it is the only file."""
    return _many.count_table(path, options, limit, lambda table: _seen(table, options, plan, alone))


def _seen(table: InputTable, options: Options, plan: Plan, alone: bool) -> Counted:
    """Scan an open table; see ``scan_file``."""
    import duckdb

    columns = tuple(sorted(plan.column.items()))
    if not countable(table) or planned(table, options).column != plan.column:
        return Counted(None, 0, columns, table.name, "", is_usable=False)
    with opened(table) as connection:
        try:
            query = f"WITH rows AS ({_rows(table, plan)}) "
            ((rows, bad),) = connection.execute(
                f"{query} SELECT count(*), count(*) FILTER ({BAD}) FROM rows"
            ).fetchall()
            numbers = [] if alone else connection.execute(query + BALLOTS).fetchnumpy()["number"].view(np.int64)
        except (duckdb.Error, RuntimeError) as error:
            raise table.explained(connection, error) from None
    ballots = np.unique(np.asarray(numbers, np.int64))
    tally = Tally({"ballot": ballots}, {}, {}, {"files": Sums(np.ones(len(ballots), np.int64))})
    about = plan.describe()
    return Counted(tally, int(rows), columns, table.name, about, is_usable=not bad, choice=choice_of(table))


def count_part(part: Part, options: Options, limit: str | None, plan: Plan, statistic: Statistic) -> Counted:
    """Count the rows of whole ballots."""
    with memory.limited(limit), ExitStack() as stack:
        sources = [stack.enter_context(Source(path, options)) for path in part.paths]
        tables = [_many.open_table(source, options) for source in sources]
        tally_and_rows = count_rows(list(filter(countable, tables)), plan, statistic, part)
    return Counted(
        tally_and_rows and tally_and_rows[0],
        tally_and_rows[1] if tally_and_rows else 0,
        (),
        tables[0].name,
        "",
        is_usable=tally_and_rows is not None,
    )


def count_rows(tables: Sequence[DuckTable], plan: Plan, statistic: Statistic, part: Part) -> tuple[Tally, int] | None:
    """Count the rows of tables with the same columns; return (tally, rows), or None if a ballot cannot be used."""
    import duckdb

    with opened(*tables) as connection:
        try:
            relation = " UNION ALL ".join(_rows(table, plan) for table in tables)
            if part.shares > 1:
                relation = f"SELECT * FROM ({relation}) WHERE {NUMBER} % {part.shares} = {part.share}"
            query = f"WITH rows AS ({relation}) "
            checks = [TWICE, *([UNEQUAL] if "weight" in plan.column else [])]
            if any(connection.execute(f"{query} {check}").fetchall() for check in checks):
                return None
            ((total,),) = connection.execute(f"{query} SELECT count(*) FROM rows").fetchall()
            # The texts of the statistics begin with WITH or SELECT; "rows" goes before either.
            rest = statistic.query.removeprefix("WITH ")
            joined = f"{query[:-1]}, {rest}" if rest != statistic.query else query + rest
            columns: list[Any] = [parts for _, _, parts in read_stream(connection.sql(joined).__arrow_c_stream__())]
        except (duckdb.Error, RuntimeError) as error:
            raise tables[0].explained(connection, error) from None
    if not total:
        return statistic.zero, 0
    coded: list[Any] = [
        coded_of_stream(part) if name in LABELLED else part for name, part in zip(statistic.keys, columns, strict=False)
    ]
    return statistic.of_columns([*coded, *columns[len(coded) :]]), int(total)


def _rows(table: DuckTable, plan: Plan) -> str:
    """Return the SELECT for the columns instance, ballot, item, level (larger is better) and weight of a table."""

    def text(role: str) -> str:
        return f"nullif({table.text_of(plan.column[role])}, '')"

    instance = f"coalesce({text('instance')}, '?')" if "instance" in plan.column else "'?'"
    ballot_role = next((role for role in ("ballot", "agent") if role in plan.column), None)
    level = (
        table.number_of(plan.column["rating"])
        if "rating" in plan.column
        else f"-{table.number_of(plan.column['rank'])}"
    )
    weight = table.number_of(plan.column["weight"]) if "weight" in plan.column else "1::DOUBLE"
    ballot = "'?'" if ballot_role is None else text(ballot_role)
    return (
        f"SELECT {instance} AS instance, {ballot} AS ballot, {text('item')} AS item, {level} AS level, "
        f"{weight} AS weight FROM {table.scan()}"
    )


def unnamed(tally: Tally, plan: Plan) -> Tally:
    """Return the tally with its only instance unnamed if no column names it."""
    from concordant.ballots.vocabulary import Vocabulary

    if "instance" in plan.column:
        return tally
    labels: dict[str, Any] = {**tally.labels, "instance": Vocabulary([""])}
    return Tally(tally.keys, tally.domain, labels, tally.sums)
