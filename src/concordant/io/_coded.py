"""Count the pairs of a large table by agent: labels are replaced by integer codes, and equal codes are grouped.

If agents are kept, there are nearly as many groups as rows, so a table of groups with their labels would be larger than
the file. DuckDB therefore builds a dictionary for each column, encodes each row as one integer key (the agent first) in
a table that it may spill to disk, and counts equal keys for a range of agents at a time. Ranges share no keys, so each
one becomes a piece of the tally.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import Coded, Vocabulary, coded_of_stream
from concordant.engine.statistics import exact_sum
from concordant.errors import InputError, arg
from concordant.io._duckdb import DuckTable, opened
from concordant.io._reduce import ReducedTable, key_of
from concordant.support.limits import sql_weight
from concordant.tables.options import Options
from concordant.tables.plans import Plan
from concordant.types import Int32s

LARGE = 64 << 20  # bytes of a file from which numbering pays
ROWS_AT_ONCE = 2_000_000
SHARE = 0.25  # of the memory allowed goes to DuckDB, the rest to what is counted
MAX_KEYS = 1 << 62


class Piece(ReducedTable):
    """Groups of equal rows for a range of agents."""

    def __init__(
        self, table: DuckTable, plan: Plan, options: Options, texts: dict[str, Coded], sums: dict[str, Any]
    ) -> None:
        self._given = texts, [*texts, *(sums[name] for name in ("whole", "high", "low", "numbers", "least", "rows"))]
        super().__init__(table, plan, options)

    def _reduce(self, only_good: bool = False) -> list[Any]:
        return self._given[1]

    def _keyed(self) -> dict[str, Coded]:
        return self._given[0]


def pieces(table: DuckTable, plan: Plan, options: Options) -> Iterator[Piece]:
    """Yield the groups of equal rows of a table of pairs with agents, a range of agents at a time."""
    import duckdb

    role_of = {name: role for role, name in plan.column.items() if role != "weight"}
    names = sorted(role_of, key=lambda name: role_of[name] != "agent")  # agents first, else in their order
    with opened(table, share=SHARE) as connection:
        try:
            dictionaries = [_number(connection, table, key_of(table, plan, name), k) for k, name in enumerate(names)]
            sizes = [len(our_code) for our_code, _ in dictionaries]
            keys = [key_of(table, plan, name) for name in names]
            rows, ranges = _cut(connection, table, keys, sizes, plan.column.get("weight"))
            for low, high in ranges:
                counted = _count(connection, low, high)
                texts, key = {}, counted.pop("k")
                for (our_code, vocabulary), name, size in reversed(list(zip(dictionaries, names, sizes, strict=True))):
                    texts[name] = (our_code[key % size], vocabulary)
                    key //= size
                if len(counted["rows"]):
                    piece = Piece(table, plan, options, {name: texts[name] for name in names}, counted)
                    piece.capacity = rows
                    yield piece
        except (duckdb.Error, RuntimeError) as error:
            raise table.explained(connection, error) from None


def _number(connection: Any, table: DuckTable, key: str, k: int) -> tuple[Int32s, Vocabulary]:
    """Create the dictionary ``d{k}`` of an SQL expression (codes from 1, 0 for missing).

    Return the vocabulary code for each entry (-1 for missing), and the labels.
    """
    connection.execute(
        f"CREATE TEMP TABLE d{k} AS SELECT x, row_number() OVER (ORDER BY x) AS code "
        f"FROM (SELECT DISTINCT {key} AS x FROM {table.scan()}) WHERE x IS NOT NULL"
    )
    (parts,) = DuckTable.stream(table, connection, lambda: f"SELECT x FROM d{k} ORDER BY code")
    codes, vocabulary = coded_of_stream(parts)
    return np.concatenate([[-1], codes]).astype(np.int32), vocabulary


def _cut(
    connection: Any, table: DuckTable, keys: list[str], sizes: list[int], weight: str | None
) -> tuple[int, Iterator[tuple[int, int]]]:
    """Create the table ``numbered`` with one key per row.

    Return its number of rows, and ranges of keys that cover whole agents. A key is a mixed-radix number: the code of
    the agent first, then the codes of the other columns. The dictionaries ``d0``, ``d1``, … are dropped.
    """
    n_keys = 1
    for size in sizes:
        n_keys *= size
    if n_keys > MAX_KEYS:
        what = "there are too many agents and items to count each agent separately"
        raise InputError(what + ": leave out " + arg("agent") + ".", path=table.name)
    key = "0"
    for k, size in enumerate(sizes):
        key = f"({key} * {size} + coalesce(d{k}.code, 0))"
    joins = " ".join(f"LEFT JOIN d{k} ON d{k}.x = t.text{k}" for k in range(len(keys)))
    texts = ", ".join(f"{key} AS text{k}" for k, key in enumerate(keys))
    weight_read, weight_kept = ("", "") if weight is None else (f", {table.number_of(weight)} AS w", ", t.w")
    rows_read = f"(SELECT {texts}{weight_read} FROM {table.scan()}) t"
    connection.execute(f"CREATE TEMP TABLE numbered AS SELECT {key}::BIGINT AS k{weight_kept} FROM {rows_read} {joins}")
    for k in range(len(keys)):
        connection.execute(f"DROP TABLE d{k}")
    rows = int(connection.execute("SELECT count(*) FROM numbered").fetchone()[0])
    keys_per_agent = n_keys // sizes[0]
    n_ranges = max(1, min(sizes[0], -(-rows // ROWS_AT_ONCE)))
    return rows, pairwise([keys_per_agent * (sizes[0] * r // n_ranges) for r in range(n_ranges + 1)])


def _count(connection: Any, low: int, high: int) -> dict[str, Any]:
    """Count equal keys from ``low`` up to ``high`` (exclusive), with exact sums of their weights."""
    has_weight = any(row[0] == "w" for row in connection.execute("DESCRIBE numbered").fetchall())
    sums = "count(*)::DOUBLE, 0::DOUBLE, 0::DOUBLE, count(*)::DOUBLE, 0::DOUBLE"
    if has_weight:
        usable = f"CASE WHEN {sql_weight('w')} THEN w END"
        sums = f"{exact_sum(usable)}, count({usable})::DOUBLE, coalesce(min(w), 0)"
    query = f"SELECT k, {sums}, count(*)::DOUBLE FROM numbered WHERE k >= {low} AND k < {high} GROUP BY k ORDER BY k"
    columns = connection.execute(query).fetchnumpy()
    return dict(zip(("k", "whole", "high", "low", "numbers", "least", "rows"), columns.values(), strict=True))
