"""Ratings and ranks of any size reduced to sums: one SQL text over all files at once.

The rows of a ballot may stand in different files, so that DuckDB looks at all of them together, within bounded memory.
Where a row cannot be used, or an item stands twice in a ballot, nothing is counted: the usual reader says where.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from concordant.engine.statistics import LABELLED, Statistic
from concordant.engine.tallies import Tally
from concordant.io._duckdb import DuckTable, connect
from concordant.kernels import read_stream
from concordant.roles import Plan
from concordant.vocabulary import coded_of_stream

BAD = (
    "item IS NULL OR ballot IS NULL OR level IS NULL OR NOT isfinite(level) OR abs(level) > 1e12 "
    "OR weight IS NULL OR NOT isfinite(weight) OR weight < 0 OR weight > 1e12"
)
TWICE = "SELECT 1 FROM rows GROUP BY instance, ballot, item HAVING count(*) > 1 LIMIT 1"
UNEQUAL = "SELECT 1 FROM rows GROUP BY instance, ballot HAVING min(weight) <> max(weight) LIMIT 1"


def is_countable(plan: Plan) -> bool:
    """Say whether the rows are ratings or ranks of which nothing was guessed that must be looked at first."""
    both = "rank" in plan.column and "rating" in plan.column
    return plan.layout in ("ranks", "ratings") and not both and "instance" not in plan.guessed


def count_rows(tables: Sequence[DuckTable], plan: Plan, statistic: Statistic) -> tuple[Tally, int] | None:
    """Count the rows of tables with the same columns: (tally, rows); None where some row cannot be used."""
    import duckdb

    with connect(*(table.path() for table in tables)) as connection:
        try:
            relation = " UNION ALL ".join(_rows(table, plan) for table in tables)
            query = f"WITH rows AS ({relation}) "
            total, bad = _first(connection.execute(f"{query} SELECT count(*), count(*) FILTER ({BAD}) FROM rows"))
            checks = [TWICE, *([UNEQUAL] if "weight" in plan.column else [])]
            if bad or not total or any(connection.execute(f"{query} {check}").fetchone() for check in checks):
                return None
            # The texts of the statistics begin with WITH or SELECT; "rows" goes before either.
            rest = statistic.query.removeprefix("WITH ")
            joined = f"{query[:-1]}, {rest}" if rest != statistic.query else query + rest
            columns: list[Any] = [parts for _, _, parts in read_stream(connection.sql(joined).__arrow_c_stream__())]
        except (duckdb.Error, RuntimeError) as error:
            raise tables[0].explained(connection, error) from None
    coded: list[Any] = [
        coded_of_stream(part) if name in LABELLED else part for name, part in zip(statistic.keys, columns, strict=False)
    ]
    return statistic.of_columns([*coded, *columns[len(coded) :]]), total


def _first(found: Any) -> tuple[int, int]:
    total, bad = found.fetchone()
    return int(total), int(bad)


def _rows(table: DuckTable, plan: Plan) -> str:
    def text(role: str) -> str:
        return f"nullif({table.text_of(plan.column[role])}, '')"

    instance = f"coalesce({text('instance')}, '?')" if "instance" in plan.column else "'?'"
    owner = next((role for role in ("ballot", "agent") if role in plan.column), None)
    level = (
        table.number_of(plan.column["rating"])
        if "rating" in plan.column
        else f"-{table.number_of(plan.column['rank'])}"
    )
    weight = table.number_of(plan.column["weight"]) if "weight" in plan.column else "1::DOUBLE"
    ballot = "'?'" if owner is None else text(owner)
    return (
        f"SELECT {instance} AS instance, {ballot} AS ballot, {text('item')} AS item, {level} AS level, "
        f"{weight} AS weight FROM {table.scan()}"
    )


def unnamed(tally: Tally, plan: Plan) -> Tally:
    """Return the tally with the one instance unnamed, where no column names it."""
    from concordant.vocabulary import Vocabulary

    if "instance" in plan.column:
        return tally
    labels: dict[str, Any] = {**tally.labels, "instance": Vocabulary([""])}
    return Tally(tally.keys, tally.domain, labels, tally.sums)
