"""Preview a file: its format, its first rows and the inferred column roles."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from concordant.errors import ConcordantError
from concordant.io import Preview
from concordant.io._formats import recognise
from concordant.io._source import PathLike, Source
from concordant.io.formats.table import open_table, with_roles
from concordant.tables.options import PREFERENCES, Options
from concordant.tables.roles import planned


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
        columns, rows = tuple(table.columns), tuple(zip(*table.first(n_rows), strict=True))
        try:
            return Preview(kind.name, columns, rows, planned(table, with_roles(table, options)))
        except ConcordantError as problem:
            return Preview(kind.name, columns, rows, None, str(problem))
