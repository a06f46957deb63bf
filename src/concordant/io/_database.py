"""Read tables of DuckDB files, and the results of SQL queries over databases and other files.

A database is attached read-only to a connection that can read nothing else, so a view in it cannot reach other files. A
query must be a single SELECT. Over files, each file is a table named like the file without its extension; a single file
is also called ``data``. The columns of csv and json files are whole numbers or numbers if all their cells are written
like numbers (not ``007``), and text otherwise.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.ballots.vocabulary import shorten
from concordant.errors import FormatError, arg, suggest
from concordant.io._duckdb import DuckTable, ParquetTable, countable, opened
from concordant.io._formats import recognise
from concordant.io._source import Source
from concordant.support.duck import as_known_error, connect, identifier, quoted
from concordant.tables.conditions import first_sentence
from concordant.tables.options import Options, listed
from concordant.tables.rows import InputTable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

IN_USE = ("Could not set lock", "already attached", "Unique file handle conflict")
SINGLE = "data"  # the name of a single file in a query
WHOLE = r"-?(0|[1-9][0-9]{0,17})"
NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
BY_SCHEMA = (
    "SELECT schema_name, table_name, 'table' FROM duckdb_tables() WHERE database_name = $1 AND NOT internal "
    "UNION ALL SELECT schema_name, view_name, 'view' FROM duckdb_views() WHERE database_name = $1 AND NOT internal "
    "ORDER BY 3, 1, 2"
)


def choose_table(source: Source, tables: Mapping[str, str], options: Options) -> str:
    """Return the table that the options name, or the only one; the error lists the tables."""
    if not tables:
        raise source.error("the database has no tables: check that this is the right file.")
    names = list(tables)
    if options.table is not None:
        same = [name for name in names if name.casefold() == options.table.strip().casefold()]
        if options.table in names or len(same) == 1:
            return options.table if options.table in names else same[0]
        hint = suggest(options.table, names)
        raise source.error(
            f"the database has no table {shorten(options.table)!r}.{hint} The tables are {listed(names)}."
        )
    stored = [name for name in names if tables[name] == "table"] or names
    if len(stored) > 1:
        shown = [name if tables[name] == "table" else f"{name} (view)" for name in names]
        raise source.error(
            f"the database has {len(names)} tables ({listed(shown)}): choose one with " + arg("table") + "."
        )
    return stored[0]


def query_error(source: Source, problem: Exception, tables: Mapping[str, str] | Sequence[str]) -> FormatError:
    """Create the error for a query that cannot be run; it lists the tables."""
    what = f" cannot be run ({first_sentence(problem)}): it must be one SELECT statement over "
    return source.error(arg("sql") + what + f"{listed(list(tables))}.")


# ---- DuckDB files ----
class Database:
    """A DuckDB file, attached for reading only to connections that can read nothing else."""

    def __init__(self, source: Source) -> None:
        self.source, self.path = source, source.plain_path()
        self.alias = "db_" + hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]

    def paths(self) -> list[str]:
        """Return the file and its write-ahead log."""
        return [self.path, self.path + ".wal"]

    def attach(self, connection: DuckDBPyConnection) -> None:
        """Attach the database to a connection."""
        import duckdb

        try:
            connection.execute(f"ATTACH IF NOT EXISTS {quoted(self.path)} AS {self.alias} (READ_ONLY)")
        except duckdb.Error as problem:
            if any(sign in str(problem) for sign in IN_USE):
                advice = "close it there, or read a copy"
                raise self.source.error(f"the database is open for writing elsewhere: {advice}.") from None
            if as_known_error(problem) is not problem:
                raise
            why = first_sentence(problem).replace(self.path, self.source.name)
            raise self.source.error(f"the database cannot be read ({why}): check that the file is complete.") from None

    def tables(self) -> dict[str, tuple[str, str]]:
        """Return the tables: how each is named in a query, and whether it is a table or a view."""
        with connect(*self.paths(), small=True) as connection:
            self.attach(connection)
            rows = connection.execute(BY_SCHEMA, [self.alias]).fetchall()
        return {
            name if schema == "main" else f"{schema}.{name}": (
                f"{self.alias}.{identifier(schema)}.{identifier(name)}",
                kind,
            )
            for schema, name, kind in rows
        }


class DatabaseTable(ParquetTable):
    """A table or view of a DuckDB file."""

    def __init__(self, source: Source, options: Options) -> None:
        """Choose the table, and read the names and types of its columns."""
        self._database = Database(source)
        tables = self._database.tables()
        kinds = {name: kind for name, (_, kind) in tables.items()}
        self._shown = choose_table(source, kinds, options)
        self._qualified = tables[self._shown][0]
        super().__init__(source, options)

    def path(self) -> str:
        """Return the path of the file; it may contain wildcards, which an attached file does not need to avoid."""
        return self._database.path

    def paths(self) -> list[str]:
        """Return the file and its write-ahead log."""
        return self._database.paths()

    def prepare(self, connection: DuckDBPyConnection) -> None:
        """Attach the database for reading only."""
        self._database.attach(connection)

    def scan(self) -> str:
        """Return the qualified name of the table."""
        return self._qualified

    def place(self, row: int) -> str:
        """Return the location of a row for messages."""
        return f"table {self._shown!r}, row {row + 1}"


# ---- queries ----
class QueryTable(ParquetTable):
    """The result of a query over the tables of some files."""

    def __init__(self, sources: Sequence[Source], options: Options) -> None:
        """Check the query, open the files, and find the columns of the result."""
        self.source, self._text = sources[0], _single_select(sources[0], str(options.sql))
        self._views: dict[str, str] = {}
        self._loaded: dict[str, dict[str, Any]] = {}
        self._databases: list[Database] = []
        self._files: list[DuckTable] = []
        notes: list[str] = []
        for source in sources:
            notes += self._add(source, replace(options, sql=None, where=None, drop_duplicates=False))
        if len(self._views) == 1:
            self._views.setdefault(SINGLE, next(iter(self._views.values())))
        super().__init__(sources[0], options)
        self.notes += notes

    def _add(self, source: Source, options: Options) -> list[str]:
        """Open the tables of a file; return notes on them."""
        from concordant.io._sqlite import SqliteTable, sqlite_tables
        from concordant.io.formats.table import open_as_stored

        kind = recognise(source, options.format)
        if kind.name == "duckdb":
            self._databases.append(Database(source))
            for name, (qualified, _) in self._databases[-1].tables().items():
                self._name(source, name, f"SELECT * FROM {qualified}")
            return []
        if kind.name == "sqlite":
            for name, what in sqlite_tables(source).items():
                if what == "table":
                    self._load(source, name, SqliteTable(source, name))
            return []
        if not kind.is_table:
            what = f" only applies to tables and databases, but the format is {kind.name}: leave it out."
            raise source.error(arg("sql") + what)
        table = open_as_stored(source, replace(options, format=kind.name))
        name = os.path.splitext(source.stem)[0] if os.path.isfile(source.name) else SINGLE
        if countable(table):
            self._files.append(table)
            self._name(source, name, _typed(table))
        else:
            self._load(source, name, table)
        return table.notes

    def _name(self, source: Source, name: str, select: str) -> None:
        """Name a table; reject a name that another table has."""
        if name in self._views:
            raise source.error(f"two tables are called {shorten(name)!r}: rename one of the files.")
        self._views[name] = select

    def _load(self, source: Source, name: str, table: InputTable) -> None:
        """Load a table that DuckDB cannot scan; numbers are recognised as in csv files."""
        hidden = f"loaded_{len(self._loaded)}"
        coded, _ = table.fetch(table.columns, [])
        self._loaded[hidden] = {
            f"c{k}": np.array([*labels.labels, None], object)[codes] for k, (codes, labels) in enumerate(coded.values())
        }
        texts = [f"c{k}::VARCHAR" for k in range(len(coded))]
        with connect() as connection:
            connection.register(hidden, self._loaded[hidden])
            (kinds,) = connection.execute(f"SELECT {_kinds(texts)} FROM {hidden}").fetchall()
        columns = [_as(kind, text, text, name) for kind, text, name in zip(kinds, texts, table.columns, strict=True)]
        self._name(source, name, f"SELECT {', '.join(columns)} FROM {hidden}")

    def path(self) -> str:
        """Return the path of the first file."""
        return self.source.plain_path()

    def paths(self) -> list[str]:
        """Return all files that the query may read."""
        holders: list[Any] = [*self._databases, *self._files]
        return [path for holder in holders for path in holder.paths()]

    def prepare(self, connection: DuckDBPyConnection) -> None:
        """Create the tables that the query may name."""
        for database in self._databases:
            database.attach(connection)
        for table in self._files:
            table.prepare(connection)
        for hidden, columns in self._loaded.items():
            connection.register(hidden, columns)
        for name, select in self._views.items():
            schema, _, plain = name.rpartition(".")
            if schema:
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {identifier(schema)}")
            full = f"{identifier(schema)}.{identifier(plain)}" if schema else identifier(plain)
            connection.execute(f"CREATE VIEW {full} AS {select}")

    def scan(self) -> str:
        """Return the query."""
        return f"({self._text}\n)"

    def problem(self, connection: DuckDBPyConnection, error: Exception) -> FormatError:
        """Return the error for a query that cannot be run."""
        return query_error(self.source, error, list(self._views))


def _single_select(source: Source, query: str) -> str:
    """Return the text of a query; reject anything but a single SELECT."""
    import duckdb

    with connect(small=True) as connection:
        try:
            statements = connection.extract_statements(query)
        except duckdb.Error as problem:
            what = f" is not a query ({first_sentence(problem)}): write one SELECT statement."
            raise source.error(arg("sql", query) + what) from None
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise source.error(arg("sql", query) + " must be one SELECT statement, which only reads.")
    return str(statements[0].query).strip().rstrip(";")


def _typed(table: DuckTable) -> str:
    """Return the SELECT of a file: columns as stored, or as numbers where all cells are written like numbers."""
    if isinstance(table, ParquetTable):
        return f"SELECT * FROM {table.scan()}"
    import duckdb

    texts = list(map(table.text_of, table.columns))
    with opened(table) as connection:
        try:
            found = table.stream(connection, lambda: f"SELECT {_kinds(texts)} FROM {table.scan()}")
        except (duckdb.Error, RuntimeError, ValueError) as problem:
            raise table.explained(connection, problem) from None
    kinds = [float(kind[0]) for kind in found]
    numbers = list(map(table.number_of, table.columns))
    columns = [_as(*one) for one in zip(kinds, texts, numbers, table.columns, strict=True)]
    return f"SELECT {', '.join(columns)} FROM {table.scan()}"


def _kinds(texts: Sequence[str]) -> str:
    """Return SQL that decides for each column: 2 for whole numbers, 1 for numbers, 0 for text."""
    terms = (
        f"(CASE WHEN bool_and(regexp_full_match({text}, {quoted(WHOLE)})) THEN 2 "
        f"WHEN bool_and(regexp_full_match({text}, {quoted(NUMBER)})) THEN 1 ELSE 0 END)::DOUBLE"
        for text in (f"nullif({text}, '')" for text in texts)
    )
    return ", ".join(terms)


def _as(kind: float, text: str, number: str, name: str) -> str:
    """Return the SQL of a column as its type, with its name."""
    value = f"TRY_CAST({text} AS BIGINT)" if kind == 2 else f"TRY_CAST({number} AS DOUBLE)" if kind == 1 else text
    return f"{value} AS {identifier(name)}"
