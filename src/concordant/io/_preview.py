"""Preview a file: its format, its first rows and the inferred column roles."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from concordant.errors import ConcordantError
from concordant.io import Preview
from concordant.io._formats import recognise
from concordant.io._source import PathLike, Source
from concordant.io.formats.table import open_table
from concordant.tables.options import PREFERENCES, Options
from concordant.tables.roles import planned

MAX_COLUMNS = 120  # of a preview with nested fields


def preview(path: PathLike, n_rows: int, options_given: dict[str, Any]) -> Preview:
    """Preview a file as the reader of preferences would interpret it."""
    options = Options.of(PREFERENCES, options_given)
    with ExitStack() as stack:
        source = stack.enter_context(Source(path, options))
        kind = recognise(source, options.format)
        if not kind.is_table:
            lines = source.head.decode("utf-8", "replace").splitlines()[:n_rows]
            return Preview(kind.name, (), tuple((line,) for line in lines))
        table: Any = open_table(source, replace(options, format=kind.name))
        columns = _columns(table)
        cells = table.first(n_rows) if columns == tuple(table.columns) else table.first(n_rows, columns)
        rows, sheets = tuple(zip(*cells, strict=True)), getattr(table, "sheets", ())
        try:
            return Preview(kind.name, columns, rows, planned(table, options), sheets=sheets)
        except ConcordantError as problem:
            return Preview(kind.name, columns, rows, None, str(problem), sheets)


def _columns(table: Any) -> tuple[str, ...]:
    """Return the columns of a table, with the fields of nested columns in place of these columns."""
    look = getattr(table, "structure", lambda _: None)
    is_nested = {name for name in table.columns if isinstance(look(name), Mapping)}
    names = [field for name in table.columns for field in (table.fields(name) if name in is_nested else [name])]
    return tuple(names if len(names) <= max(MAX_COLUMNS, len(table.columns)) else table.columns)
