"""Count equal rows of pairs in DuckDB while reading, so that a table may be larger than memory.

The table is grouped by the columns for the two sides and the outcome, as text. The weight of a group is the exact sum
of its rows' weights. The result is a small table, sorted by its labels, which is processed like any other table. The
line of a row is looked up only for a message.

If agents are kept, there are nearly as many groups as rows. Labels are then replaced by integer codes, each row is
encoded as one integer, and DuckDB groups the integers range by range, so that no text is stored twice and no range
needs much memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from concordant.ballots.merging import rows_as_scalars
from concordant.ballots.vocabulary import Coded, by_label, coded_of_stream
from concordant.engine.statistics import exact_sum
from concordant.engine.tallies import Sums
from concordant.errors import InputError, arg
from concordant.io._duckdb import DuckTable, opened
from concordant.support import memory
from concordant.support.duck import INTERRUPTED, memory_limit_error
from concordant.support.limits import COUNTED, sql_weight
from concordant.tables.bad_rows import SKIP_HINT
from concordant.tables.options import Options
from concordant.tables.plans import Plan, has_points
from concordant.types import Floats, Int64s

WEIGHT = "weight of equal rows"
BYTES_OF_GROUP = 120  # of memory that equal rows take from the query to the preferences, as measured
LONGEST_LINE = 2_000_000  # room for a line; a larger one costs memory in every thread


def require_counts(distinct: int) -> None:
    """Raise an error if the counts of that many distinct rows would exceed the memory limit."""
    what = f"Counting {distinct:,} distinct rows"
    memory.require_in_limit(BYTES_OF_GROUP * distinct, what, "leave out columns such as " + arg("agent"))


def key_of(table: DuckTable, plan: Plan, name: str) -> str:
    """Return the SQL expression by which rows are grouped for a column, as text.

    Points become 1 and 0 for the side with more and with fewer points, so that games are grouped by their result.
    """
    text = table.text_of(name)
    if not has_points(plan) or name not in (plan.column["left_score"], plan.column["right_score"]):
        return text
    left, right = (table.number_of(plan.column[role]) for role in ("left_score", "right_score"))
    own, other = (left, right) if name == plan.column["left_score"] else (right, left)
    are_known = f"coalesce(isfinite({left}) AND isfinite({right}), false)"
    return f"CASE WHEN NOT {are_known} THEN {text} WHEN {own} > {other} THEN '1' ELSE '0' END"


class ReducedTable:
    """The groups of equal rows of a table of pairs."""

    has_header, is_countable = True, False
    capacity = 0
    """Maximum number of groups in total if these are only some of them; 0 if these are all."""

    def __init__(self, table: DuckTable, plan: Plan, options: Options) -> None:
        """Group the rows of a table by all columns of the plan but the weight."""
        self.table, self.name, self.notes = table, table.name, table.notes
        self._skip = options.skip_bad_rows
        keys = {role: name for role, name in plan.column.items() if role != "weight"}
        self.plan = replace(plan, column=keys | {"weight": WEIGHT}, unread=(), guessed=frozenset())
        self._keys = list(keys.values())
        self._weight = plan.column.get("weight")
        self.columns = [*self._keys, WEIGHT]
        self.rows = 0
        self._texts: dict[str, Coded] = {}
        self._groups = self._reduce()

    def _reduce(self, only_good: bool = False) -> list[Any]:
        """Group equal rows in DuckDB; ``only_good`` leaves out rows whose weight is out of range."""
        import duckdb

        with opened(self.table) as connection:
            try:
                bare = None if self._skip or self._weight is None else self.table.bare_number_of(self._weight)
                if bare is not None:
                    try:  # faster, but it fails where a cell is not a number
                        return self._run(connection, bare)
                    except (duckdb.Error, RuntimeError) as error:
                        if memory_limit_error(error) or str(error) in INTERRUPTED:
                            raise
                weight = None if self._weight is None else self.table.number_of(self._weight)
                return self._run(connection, weight, only_good)
            except (duckdb.Error, RuntimeError) as error:
                raise self.table.explained(connection, error) from None

    def _run(self, connection: Any, weight: str | None, only_good: bool = False) -> list[Any]:
        """Return the key columns and the statistics of each group.

        The statistics are the sum of weights (whole, high, low), the number of usable weights, the smallest weight and
        the number of rows.
        """
        names = [f"k{k}" for k in range(len(self._keys))]
        chosen = [
            f"{key_of(self.table, self.plan, key)} AS {name}" for key, name in zip(self._keys, names, strict=True)
        ]
        total = "count(*)::DOUBLE"
        if weight is not None:
            chosen.append(f"{weight} AS w")
            usable = f"CASE WHEN {sql_weight('w')} THEN w END"
            total = f"{exact_sum(usable)}, count({usable})::DOUBLE, coalesce(min(w), 0), count(*)::DOUBLE"
        keys = ", ".join(names)

        def query() -> str:
            inner = f"SELECT {', '.join(chosen)} FROM {self.table.scan()}"
            if only_good:
                inner = f"SELECT * FROM ({inner}) WHERE {sql_weight('w')}"
            return f"SELECT {keys}, {total} FROM ({inner}) GROUP BY {keys}"

        columns = self.table.stream(connection, query)
        if weight is None:
            count, none = columns[-1], np.broadcast_to(0.0, len(columns[-1]))
            columns[-1:] = [count, none, none, count, none, count]
        return columns

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return the columns of the groups.

        The weight column holds the numbers of the groups from 1 (see ``weights_of``).
        """
        require_counts(len(self._groups[-1]))
        rows = self._counted(self._groups)
        if self._has_odd_weights():
            self._groups = self._without_odd_weights(rows)
        self.rows = self._counted(self._groups)
        self._texts = self._keyed()
        number = np.arange(1.0, len(self._groups[-1]) + 1)
        return {name: self._texts[name] for name in texts}, dict.fromkeys(numbers, number)

    def _keyed(self) -> dict[str, Coded]:
        """Sort the groups by their labels, which DuckDB returns in any order; return the key columns."""
        keys, rest = self._groups[: len(self._keys)], self._groups[len(self._keys) :]
        coded = [by_label(*coded_of_stream(parts)) for parts in keys]
        codes = np.stack([codes for codes, _ in coded], 1)
        order = np.argsort(rows_as_scalars(codes)) if len(codes) else np.zeros(0, np.int64)
        taken = {id(column): column[order] for column in {id(column): column for column in rest}.values()}
        self._groups = [*keys, *(taken[id(column)] for column in rest)]
        return {name: (codes[order], labels) for name, (codes, labels) in zip(self._keys, coded, strict=True)}

    def weights_of(self, groups: Floats) -> Sums:
        """Return the exact weights of the groups that ``fetch`` numbered."""
        whole, high, low = (np.asarray(column) for column in self._groups[len(self._keys) : len(self._keys) + 3])
        group = groups.astype(np.int64) - 1
        return Sums.of_halves(np.nan_to_num(whole), np.nan_to_num(high), np.nan_to_num(low)).take(group)

    @staticmethod
    def _counted(groups: Sequence[Any]) -> int:
        return int(np.asarray(groups[-1]).sum())

    def _has_odd_weights(self) -> bool:
        """Return whether any weight is negative or not a number."""
        numbers, smallest, rows = (np.asarray(column) for column in self._groups[-3:])
        return not ((numbers == rows).all() and (smallest >= 0).all())

    def _without_odd_weights(self, rows: int) -> list[Any]:
        """Return the groups without rows whose weight is out of range, or raise an error for the first such row."""
        if not self._skip:
            cell = self.table.cells(self._weight or "", [row := self._first_odd_weight()])[0]
            what = "missing" if cell is None else f"{cell!r}, not {COUNTED}"
            raise self.table.error(row, f"the weight is {what}" + SKIP_HINT)
        groups = self._reduce(only_good=True)
        count = rows - self._counted(groups)
        self.notes.append(f"left out {count:,} row{'s' * (count > 1)}: the weight is out of range")
        return groups

    def _first_odd_weight(self) -> int:
        number = self.table.number_of(self._weight or "")
        return self._first_row(f"NOT coalesce({sql_weight(number)}, false)")

    def _first_row(self, condition: str) -> int:
        """Return the first row (from 0) that meets an SQL condition, -1 if there is none."""
        query = f"SELECT row - 1 FROM (SELECT *, row_number() OVER () AS row FROM {self.table.scan()}) "
        with opened(self.table, small=True) as connection:
            row = connection.execute(f"{query} WHERE {condition} ORDER BY row LIMIT 1").fetchone()
        return int(row[0]) if row else -1

    # ---- where a group stands: at its first row ----
    def _row_of(self, group: int) -> int:
        """Return the first row of a group, found by its keys."""
        conditions = []
        for name in self._keys:
            cell = self.cells(name, [group])[0]
            text = key_of(self.table, self.plan, name)
            literal = "NULL" if cell is None else "'" + cell.replace("'", "''") + "'"
            conditions.append(f"nullif({text}, '') IS NOT DISTINCT FROM {literal}")
        return self._first_row(" AND ".join(conditions))

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at some groups, None for empty cells."""
        codes, vocabulary = self._texts[column]
        return [None if codes[row] < 0 else vocabulary[int(codes[row])] for row in rows]

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names the first row of a group."""
        return self.table.error(row if row < 0 else self._row_of(row), message)

    def rows_in(self, groups: Int64s) -> int:
        """Return the number of rows that some groups represent."""
        return int(np.asarray(self._groups[-1])[groups].sum())

    def place(self, row: int) -> str:
        """Return the location of the first row of a group."""
        return self.table.place(self._row_of(row))
