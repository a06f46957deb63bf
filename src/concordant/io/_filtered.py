"""Filter a table that DuckDB scans within the scan, so that files larger than memory are still counted by DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.ballots.vocabulary import coded_of_stream
from concordant.errors import FormatError
from concordant.io._duckdb import DuckTable, opened
from concordant.tables.conditions import Condition, cannot_apply, not_readable, parse_condition
from concordant.tables.nested import Structure
from concordant.tables.options import Options
from concordant.tables.selection import Choice, drops_duplicates, key_columns, shown_key
from concordant.types import Int64s

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROW = '"row of the file, from 0"'


class FilteredTable(DuckTable):
    """The rows of a table that meet a condition, without repeated rows; it is read and located like its base."""

    def __init__(self, base: DuckTable, options: Options) -> None:
        """Check the condition and the cells that it reads, and note how many rows are left out."""
        self.base, self.source, self.name, self.skip = base, base.source, base.name, base.skip
        self.notes, self.columns, self.has_header = base.notes, base.columns, base.has_header
        self.choice = Choice()
        self.dialect = getattr(base, "dialect", None)
        self._condition, self._keys = "", list[str]()
        if options.where is not None:
            self._take(parse_condition(options.where, base))
        if drops_duplicates(options):
            self._keys = key_columns(base, options.drop_duplicates)
            self._count_repeated()
        self.notes += self.choice.notes()

    def _take(self, condition: Condition) -> None:
        """Add a condition to the scan, after checking in one scan that all cells can be read as it needs."""
        import duckdb

        both = [(self.text_of(use.column), self.number_of(use.column)) for use in condition.uses]
        sql = condition.sql([use.sql(*of) for use, of in zip(condition.uses, both, strict=True)])
        bad = [f"min({of[0]}) FILTER ({use.is_bad(*of)})" for use, of in zip(condition.uses, both, strict=True)]
        counts = ["count(*)::DOUBLE", f"count(*) FILTER ({sql})::DOUBLE"]
        with opened(self.base) as connection:
            try:
                query = f"SELECT {', '.join([*counts, *(f'{one}::VARCHAR' for one in bad)])} FROM "
                total, kept, *cells = self.base.stream(connection, lambda: query + self.base.scan())
            except (duckdb.Error, RuntimeError, ValueError) as problem:
                if str(problem).startswith(("Conversion Error", "Binder Error", "Invalid Input Error: Type")):
                    raise cannot_apply(self.base, condition, problem) from None
                raise self.explained(connection, problem) from None
        for use, cell in zip(condition.uses, map(coded_of_stream, cells), strict=True):
            if cell[0][0] >= 0:
                raise not_readable(self.base, use, cell[1][0])
        self.choice = Choice(condition.text, int(total[0]), int(total[0] - kept[0]))
        self._condition = sql

    def _count_repeated(self) -> None:
        """Note how many repeated rows are left out."""
        keys = ", ".join(f"{self.text_of(key)} AS k{k}" for k, key in enumerate(self._keys))
        names = ", ".join(f"k{k}" for k in range(len(self._keys)))
        where = f" WHERE {self._condition}" if self._condition else ""

        def query() -> str:
            rows = f"SELECT {keys} FROM {self.base.scan()}{where}"
            grouped = f"SELECT count(*) AS n FROM ({rows}) GROUP BY {names}"
            return f"SELECT coalesce(sum(n), 0)::DOUBLE, count(*)::DOUBLE FROM ({grouped})"

        total, distinct = self._run(query)
        n_repeated = int(total[0] - distinct[0])
        self.choice = self.choice._replace(by=shown_key(self._keys, self.base), n_repeated=n_repeated)

    def _run(self, query: Callable[[], str]) -> list[Any]:
        """Run a query over the base; a failure becomes an error about the file."""
        import duckdb

        with opened(self.base) as connection:
            try:
                return self.base.stream(connection, query)
            except (duckdb.Error, RuntimeError, ValueError) as problem:
                raise self.explained(connection, problem) from None

    # ---- the table ----
    def scan(self) -> str:
        """Return the rows of the base that are kept, in order."""
        return f"(SELECT * EXCLUDE ({ROW}) FROM {self._numbered()})" if self._keys else self._meeting("*")

    def _meeting(self, columns: str) -> str:
        where = f" WHERE {self._condition}" if self._condition else ""
        return f"(SELECT {columns} FROM {self.base.scan()}{where})"

    def _numbered(self) -> str:
        """Return the rows that are kept, with their number in the file."""
        numbered = f"(SELECT *, row_number() OVER () - 1 AS {ROW} FROM {self.base.scan()})"
        where = f" WHERE {self._condition}" if self._condition else ""
        if not self._keys:
            return f"(SELECT * FROM {numbered}{where})"
        keys = ", ".join(map(self.text_of, self._keys))
        first = f"row_number() OVER (PARTITION BY {keys} ORDER BY {ROW}) = 1"
        return f"(SELECT * FROM {numbered}{where} QUALIFY {first} ORDER BY {ROW})"

    @cached_property
    def _rows(self) -> Int64s:
        """The number in the file of each row that is kept."""
        (rows,) = self._run(lambda: f"SELECT {ROW}::DOUBLE FROM {self._numbered()}")
        return np.asarray(rows).astype(np.int64)

    def text_of(self, column: str) -> str:
        """Return the SQL expression for a column as text."""
        return self.base.text_of(column)

    def number_of(self, column: str) -> str:
        """Return the SQL expression for a column as a number."""
        return self.base.number_of(column)

    def resolve(self, name: str) -> str | None:
        """Return the full name of a column or of a nested field; None if there is none."""
        return self.base.resolve(name)

    def fields(self, column: str) -> list[str]:
        """Return the dotted names of the nested fields of a column."""
        return self.base.fields(column)

    def structure(self, column: str) -> Structure:
        """Return the fields of a column as far as they are known without reading the rows."""
        return self.base.structure(column)

    def path(self) -> str:
        """Return the path of the file to read."""
        return self.base.path()

    def paths(self) -> list[str]:
        """Return the files that a connection must be able to read."""
        return self.base.paths()

    def size(self) -> int:
        """Return the size of what is scanned in bytes."""
        return self.base.size()

    def prepare(self, connection: DuckDBPyConnection) -> None:
        """Create in a new connection what ``scan`` refers to."""
        self.base.prepare(connection)

    def stream(self, connection: DuckDBPyConnection, query: Callable[[], str]) -> list[Any]:
        """Run a query built with ``scan`` as the base does."""
        return self.base.stream(connection, query)

    def problem(self, connection: DuckDBPyConnection, error: Exception) -> FormatError:
        """Convert DuckDB's error into one sentence."""
        return self.base.problem(connection, error)

    def line(self, row: int) -> int | None:
        """Return the line of a row, None if the format has no lines."""
        return self.base.line(int(self._rows[row])) if row < len(self._rows) else None

    def place(self, row: int) -> str:
        """Return the location of a row in the file."""
        return self.base.place(int(self._rows[row])) if row < len(self._rows) else f"row {row + 1}"

    @property
    def longest_line(self) -> int | None:
        """Maximum size of a line of text."""
        return self.base.longest_line

    @longest_line.setter
    def longest_line(self, size: int | None) -> None:
        self.base.longest_line = size
