"""Read tables of SQLite files with Python's sqlite3.

The file is never modified: it is opened read-only and immutable; if a journal or write-ahead log belongs to it, a copy
of both is read. A hostile file cannot do more than be read: nothing but SELECT is allowed, no extension can be loaded,
no other file attached, functions in views and generated columns must be harmless (``trusted_schema``), and recursive
queries are rejected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from concordant.ballots.vocabulary import Coded
from concordant.errors import FormatError, InputError
from concordant.io._database import choose_table, query_error
from concordant.io._source import Source
from concordant.support.duck import identifier
from concordant.tables.derived import as_numbers
from concordant.tables.options import Options
from concordant.tables.values import ValueTable, encode_rows
from concordant.types import Floats

if TYPE_CHECKING:
    import sqlite3

ROWS = 10_000  # fetched at a time
SIDECARS = ("-wal", "-journal")
LONGEST_VALUE = 1 << 28
FORBIDDEN = ("load_extension", "fts3_tokenizer", "writefile", "readfile", "edit", "eval")
TABLES = (
    "SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY rowid"
)


def open_sqlite(source: Source, options: Options) -> ValueTable:
    """Open a table of a SQLite file, or run a query over the file."""
    if options.sql is not None:
        return _queried(source, options.sql)
    tables = sqlite_tables(source)
    return SqliteTable(source, choose_table(source, tables, options))


def sqlite_tables(source: Source) -> dict[str, str]:
    """Return the tables and views of a SQLite file, and which of both each is; virtual tables are left out."""
    with _connected(source) as connection:
        rows = connection.execute(TABLES).fetchall()
    return {str(name): str(kind) for name, kind, sql in rows if not str(sql).upper().startswith("CREATE VIRTUAL")}


class SqliteTable(ValueTable):
    """A table of a SQLite file; columns are read when they are fetched."""

    def __init__(self, source: Source, table: str) -> None:
        self._source, self._table = source, table
        with _connected(source) as connection:
            described = connection.execute(f"SELECT * FROM {identifier(table)} LIMIT 0").description
        super().__init__(source.name, [column[0] for column in described], [])
        self._original = dict(zip(self.columns, (column[0] for column in described), strict=True))
        self._known: dict[str, Coded] = {}

    def _read(self, columns: Sequence[str], limit: str = "") -> list[Coded]:
        """Return columns as codes with labels."""
        names = ", ".join(identifier(self._original[name]) for name in columns)
        with _connected(self._source) as connection:
            cursor = connection.execute(f"SELECT {names} FROM {identifier(self._table)}{limit}")
            return encode_rows(len(columns), _batches(cursor))

    def _column(self, name: str) -> Coded:
        if name not in self._known:
            self._known |= dict(zip([name], self._read([name]), strict=True))
        return self._known[name]

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""
        wanted = [name for name in dict.fromkeys([*texts, *numbers]) if name not in self._known]
        if wanted:
            self._known |= dict(zip(wanted, self._read(wanted), strict=True))
        return {name: self._known[name] for name in texts}, {name: as_numbers(self._known[name]) for name in numbers}

    def first(self, count: int) -> list[list[str | None]]:
        """Return the first cells of every column, without reading the rest."""
        coded = self._read(self.columns, f" LIMIT {int(count)}")
        return [[None if code < 0 else labels[code] for code in codes.tolist()] for codes, labels in coded]

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names this row's location."""
        return FormatError(message if row < 0 else f"{self.place(row)}: " + message, path=self.name)

    def place(self, row: int) -> str:
        """Return the location of a row for messages."""
        return f"table {self._table!r}, row {row + 1}"


def _queried(source: Source, query: str) -> ValueTable:
    """Return the result of a query over a SQLite file."""
    import sqlite3

    with _connected(source) as connection:
        try:
            cursor = connection.execute(query)
            if cursor.description is None:
                raise sqlite3.ProgrammingError("it is not a SELECT statement")
            names = [column[0] for column in cursor.description]
            return ValueTable(source.name, names, _batches(cursor))
        except (sqlite3.Error, sqlite3.Warning) as problem:
            raise query_error(source, problem, sqlite_tables(source)) from None


def _batches(cursor: Any) -> Iterator[list[Any]]:
    """Yield the rows of a query, some at a time."""
    while rows := cursor.fetchmany(ROWS):
        yield rows


@contextmanager
def _connected(source: Source) -> Iterator[sqlite3.Connection]:
    """Open a SQLite file for reading only; a failure becomes an error about the file."""
    import sqlite3

    _refuse_truncated(source)
    with _readable(source.plain_path()) as (path, how):
        try:
            with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?{how}", uri=True)) as connection:
                _lock(connection)
                yield connection
        except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError) as problem:
            if "UTF-8" in str(problem).upper():
                raise source.error("the database contains text that is not UTF-8: convert it to UTF-8.") from None
            why = (str(problem).splitlines() or [""])[0].rstrip(".")
            raise source.error(f"the database cannot be read ({why}): check that the file is complete.") from None


def _refuse_truncated(source: Source) -> None:
    """Reject a file shorter than its header says: SQLite would read the missing pages as empty."""
    head, size = source.head[:100], os.path.getsize(source.plain_path())
    page_size, n_pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    is_valid = head[24:28] == head[92:96]  # else the number of pages is not up to date
    if is_valid and size < n_pages * (65536 if page_size == 1 else page_size):
        raise source.error("the database is shorter than its header says: the file is truncated, copy it again.")


def _lock(connection: sqlite3.Connection) -> None:
    """Allow nothing but reading."""
    import sqlite3

    for pragma in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0"):
        connection.execute(f"PRAGMA {pragma}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    if hasattr(connection, "setconfig"):  # from Python 3.12 on
        for name, is_on in (("DEFENSIVE", True), ("ENABLE_TRIGGER", False)):
            connection.setconfig(getattr(sqlite3, f"SQLITE_DBCONFIG_{name}"), is_on)
    connection.set_authorizer(_is_allowed)


def _is_allowed(action: int, _: str | None, name: str | None, *__: str | None) -> int:
    """Return whether a query may do something: read, select, call a function that stays inside the database."""
    import sqlite3

    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and str(name).lower() not in FORBIDDEN:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


@contextmanager
def _readable(path: str) -> Iterator[tuple[str, str]]:
    """Return a path and how to open it: the file itself, or a copy with the changes that its journal holds."""
    import shutil
    import tempfile

    sidecars = [name for name in SIDECARS if os.path.exists(path + name) and os.path.getsize(path + name)]
    if not sidecars:
        yield path, "mode=ro&immutable=1"
        return
    with tempfile.TemporaryDirectory(prefix="concordant-") as folder:
        copy = os.path.join(folder, "copy.db")
        for name in ("", *sidecars):
            shutil.copyfile(path + name, copy + name)
        yield copy, "mode=rw"
