"""Count files with the same columns as one table: one query groups the rows of all of them.

A file joins the others if DuckDB reads it as it is stored and the columns and their types agree. All other files are
counted alone: compressed files, files in another encoding, published layouts, files without rows. If the common query
fails, or a row of it cannot be used, the files are halved until the file at fault is alone, so that its own reader
names the file and the line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from concordant.errors import ConcordantError, FormatError, InputError
from concordant.io import _csv
from concordant.io._duckdb import CsvTable, DuckTable, JsonTable, ParquetTable, opened
from concordant.io._formats import recognise
from concordant.io._source import Source
from concordant.io.paths import is_out_of_memory, is_read_once
from concordant.support.duck import connect, quoted
from concordant.tables.layouts import arranged, invited
from concordant.tables.nested import Structure
from concordant.tables.options import Options, normalise
from concordant.tables.roles import planned
from concordant.tables.selection import drops_duplicates

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WILDCARDS = re.compile(r"[*?\[\]{}]")


class TogetherTable(DuckTable):
    """Files with the same columns, scanned one after another by one call."""

    def __init__(self, tables: Sequence[DuckTable]) -> None:
        """Take everything but the rows from the first table."""
        self.tables, self._like = tables, tables[0]
        self.source, self.name, self.skip = self._like.source, self._like.name, self._like.skip
        self.columns, self.has_header, self.roles = self._like.columns, self._like.has_header, self._like.roles
        self.dialect = getattr(self._like, "dialect", None)
        self.notes = []

    def scan(self) -> str:
        """Return the table function call that scans all files."""
        return self._like.scan_of(self.paths())

    def paths(self) -> list[str]:
        """Return the files that a connection must be able to read."""
        return [table.path() for table in self.tables]

    def size(self) -> int:
        """Return the size of all files in bytes."""
        return sum(map(os.path.getsize, self.paths()))

    def text_of(self, column: str) -> str:
        """Return the SQL expression for a column as text."""
        return self._like.text_of(column)

    def number_of(self, column: str) -> str:
        """Return the SQL expression for a column as a number."""
        return self._like.number_of(column)

    def bare_number_of(self, column: str) -> str | None:
        """Return a faster ``number_of`` for a query that may fail if a cell is not a number."""
        return self._like.bare_number_of(column)

    def resolve(self, name: str) -> str | None:
        """Return the name of a column; None for nested fields, which need not agree."""
        return name if name in self.columns else None

    def fields(self, column: str) -> list[str]:
        """Return no nested fields: they need not agree."""
        return []

    def structure(self, column: str) -> Structure:
        """Return the fields of a column of the first file."""
        return self._like.structure(column)

    def stream(self, connection: DuckDBPyConnection, query: Callable[[], str]) -> list[Any]:
        """Run a query built with ``scan`` as the first table does."""
        return self._like.stream(connection, query)

    # ---- what only a file on its own can say ----
    def problem(self, connection: DuckDBPyConnection, error: Exception) -> FormatError:
        """Return an error that makes the files be counted apart, so that the file at fault names itself."""
        return FormatError("the files cannot be read together.", path=self.name)

    def error(self, row: int, message: str) -> InputError:
        """Return an error that makes the files be counted apart, so that the file at fault names the row."""
        return FormatError(message, path=self.name)

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return no cells: they are for messages, which a file on its own gives."""
        return [None] * len(rows)

    def place(self, row: int) -> str:
        """Return the file and the location of a row in it."""
        with opened(self, small=True) as connection:
            for table in self.tables:
                found = connection.execute(f"SELECT count(*) FROM {table.scan()}").fetchone()
                count = int(found[0]) if found else 0
                if row < count:
                    return f"{table.place(row)} of {os.path.basename(table.name)}"
                row -= count
        return f"row {row + 1}"

    @property
    def longest_line(self) -> int | None:
        """Maximum size of a line of text."""
        return self._like.longest_line

    @longest_line.setter
    def longest_line(self, size: int | None) -> None:
        self._like.longest_line = size


@dataclass(frozen=True)
class Alike:
    """Files in which the columns agree; a file to be counted alone has no table."""

    paths: list[Any]
    tables: list[DuckTable]

    def halves(self) -> tuple[Alike, Alike]:
        """Return the first and the second half of the files."""
        half = len(self.paths) // 2
        return Alike(self.paths[:half], self.tables[:half]), Alike(self.paths[half:], self.tables[half:])

    def table(self, options: Options) -> DuckTable | None:
        """Return the rows of all files that the options keep, as one table; None if DuckDB cannot count them."""
        from concordant.io.formats.table import filtered

        together = TogetherTable(self.tables)
        chosen: Any = arranged(filtered(together, options), options)
        return chosen if isinstance(chosen, DuckTable) and chosen.is_countable else None


@contextmanager
def alike(paths: Sequence[Any], options: Options) -> Iterator[list[Alike]]:
    """Open files and return those whose columns agree together, in order of the first file of each group."""
    groups: dict[object, Alike] = {}
    with ExitStack() as stack:
        for k, (path, table) in enumerate(zip(paths, _tables(paths, options, stack), strict=True)):
            group = groups.setdefault(k if table is None else _signature(table), Alike([], []))
            group.paths.append(path)
            if table is not None:
                group.tables.append(table)
        yield list(groups.values())


def _tables(paths: Sequence[Any], options: Options, stack: ExitStack) -> Iterator[DuckTable | None]:
    """Yield the table of each file that can be scanned together with others, None for all other files."""
    if options.sql is not None or options.transpose or drops_duplicates(options):
        yield from (None for _ in paths)
        return
    stored = [None if is_read_once(path) else os.path.abspath(path) for path in paths]
    first: dict[object, str] = {}
    with connect(*(path for path in stored if path is not None), small=True) as connection:
        tables = [None if path is None else _opened(path, options, stack, connection) for path in stored]
        empty = _without_rows(tables, connection)
    for table in tables:
        is_good = table is not None and table.path() not in empty and _is_planned(table, options, first)
        yield table if is_good else None


def _without_rows(tables: Sequence[DuckTable | None], connection: DuckDBPyConnection) -> set[str]:
    """Return the parquet files that declare no rows."""
    paths = ", ".join(quoted(table.path()) for table in tables if isinstance(table, ParquetTable))
    if not paths:
        return set()
    declared = connection.execute(f"SELECT file_name, num_rows FROM parquet_file_metadata([{paths}])").fetchall()
    return {str(path) for path, count in declared if not count}


def _is_planned(table: DuckTable, options: Options, first: dict[object, str]) -> bool:
    """Return whether the columns have roles, and all of them are columns of the file and not nested fields."""
    table.like = first.setdefault(_signature(table), table.name)
    try:
        plan = planned(table, options)
    except ConcordantError:
        return False
    return set(plan.column.values()) <= set(table.columns)


def _opened(path: str, options: Options, stack: ExitStack, connection: DuckDBPyConnection) -> DuckTable | None:
    """Open a file that can be scanned together with others; None for all other files, also for bad ones."""
    import duckdb

    if WILDCARDS.search(path):
        return None
    try:
        source = Source(path, options)
        if source.compression is not None or source.encoding is not None or not source.head.strip():
            source.close()
            return None
        stack.enter_context(source)
        kind = recognise(source, options.format).name
        table = _table(source, replace(options, format=kind), connection)
        if table is None or invited(frozenset(map(normalise, table.columns)), options):
            return None
    except (ConcordantError, OSError, duckdb.Error) as problem:
        if is_out_of_memory(problem):
            raise
        return None
    return table


def _table(source: Source, options: Options, connection: DuckDBPyConnection) -> DuckTable | None:
    """Open a table; None if it cannot be scanned together with others."""
    if options.format == "parquet":
        return ParquetTable(source, options, connection)
    if options.format == "jsonl":
        return JsonTable(source, options)
    if options.format not in ("csv", "tsv") or options.skip_bad_rows:  # lines left out are located file by file
        return None
    dialect = _csv.sniff(source, options)
    has_row = next(_csv.record_lines(source.plain_path(), dialect), None) is not None
    return CsvTable(source, dialect, options) if has_row else None


def _signature(table: DuckTable) -> object:
    """Return what must agree in files that are scanned together."""
    types = [str(table.raw_of(column)[1]) for column in table.columns] if isinstance(table, ParquetTable) else []
    return type(table), tuple(table.columns), tuple(types), getattr(table, "dialect", None), tuple(table.roles.items())
