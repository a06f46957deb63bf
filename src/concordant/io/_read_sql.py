"""Read the result of a query that an open connection runs: by Arrow where the driver offers it, else row by row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from typing import Any

from concordant.errors import ConcordantError, InputError
from concordant.preferences import Preferences
from concordant.tables.build import parts_of_table, transposed_if_named
from concordant.tables.frames import FrameTable
from concordant.tables.options import Options
from concordant.tables.rows import InputTable
from concordant.tables.selection import choose_rows, refuse_empty
from concordant.tables.values import ValueTable

NAME = "the query"
ROWS = 10_000  # fetched at a time


def read_sql(connection: Any, query: str, params: Any, options: Options) -> Preferences:
    """Run a query and read its result as preferences."""
    if not callable(getattr(connection, "cursor", None)):
        raise InputError(
            f"A DB-API or ADBC connection has a method cursor, but {type(connection).__name__} has none: open a "
            "connection with the driver, or give engine.raw_connection() of an SQLAlchemy engine."
        )
    if not isinstance(query, str):
        raise InputError(f"The query must be a text with one SELECT statement, not {type(query).__name__}.")
    table = _result(connection, query, params)
    if options.transpose:
        table = transposed_if_named(table, options) or table
    table = choose_rows(table, options)
    refuse_empty([table])
    return Preferences.of_parts(parts_of_table(table, options))


def _result(connection: Any, query: str, params: Any) -> InputTable:
    """Run a query; whatever the driver raises becomes an error about the query."""
    try:
        with closing(connection.cursor()) as cursor:
            cursor.execute(query) if params is None else cursor.execute(query, params)
            if hasattr(cursor, "fetch_arrow_table") and find_spec("pyarrow"):
                return FrameTable(cursor.fetch_arrow_table(), NAME)
            if cursor.description is None:
                raise InputError("The query returns no rows: write a SELECT statement.")
            names = [column[0] for column in cursor.description]
            return ValueTable(NAME, names, _batches(cursor))
    except (ConcordantError, MemoryError):
        raise
    except Exception as problem:  # every driver has its own errors
        why = (str(problem).splitlines() or [""])[0].rstrip(". ")
        raise InputError(f"The query failed ({type(problem).__name__}: {why}): check the query.") from problem


def _batches(cursor: Any) -> Iterator[Any]:
    """Yield the rows of a result, some at a time."""
    while rows := cursor.fetchmany(ROWS):
        yield rows
