"""Tables in files: csv, tsv, json, jsonl, parquet and Arrow (feather), of preferences, labels or features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from concordant.errors import InputError
from concordant.io._options import Options
from concordant.io._source import Source
from concordant.io.features import Features, features_of_table
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.roles import plan_columns
from concordant.tables import Table, labels_of_table, parts_of_table

if TYPE_CHECKING:
    from concordant.io._csv import Dialect


def read(sources: Sequence[Source], options: Options, kind: str) -> Preferences:
    """Read a table as preferences; several are read as one."""
    table = _open_all(sources, options, kind)
    if options.merge:
        return _read_merged(table, options)
    parts = parts_of_table(
        table,
        options.roles,
        form=options.form,
        strict=options.strict,
        skip_bad_rows=options.skip_bad_rows,
    )
    return Preferences(**parts)


def _read_merged(table: Table, options: Options) -> Preferences:
    """Read a table and join equal ballots; pairs are counted by DuckDB before anything else is made of them."""
    from concordant.io._duckdb import CsvTable, DuckTable
    from concordant.io._reduce import LONGEST_LINE, ReducedTable

    plan = plan_columns(
        table.columns,
        options.roles,
        form=options.form,
        strict=options.strict,
        has_header=table.has_header,
        where=table.name,
    )
    if "time" in plan.column:
        raise InputError("merge forgets the order of events: leave out time=, or merge.")
    says_agent = options.roles.get("agent") is not None
    if plan.form != "pairs" or not isinstance(table, DuckTable):
        parts = parts_of_table(
            table, options.roles, form=options.form, strict=options.strict, skip_bad_rows=options.skip_bad_rows
        )
        prefs = Preferences(**parts)
        says_agent = True  # only of pairs may the agents be forgotten
    else:
        if "agent" in plan.column and not says_agent:
            table.notes.append(f"agents ({plan.column['agent']}) are forgotten: say agent= to keep them apart")
            plan = replace(plan, column={role: name for role, name in plan.column.items() if role != "agent"})
        if isinstance(table, CsvTable):
            table.longest_line = LONGEST_LINE
        reduced = ReducedTable(table, plan, skip_bad_rows=options.skip_bad_rows)
        parts = parts_of_table(reduced, reduced.roles(plan), form="pairs", skip_bad_rows=options.skip_bad_rows)
        parts["notes"][0] = f"{table.name}: {reduced.rows:,} pairs; {plan.describe()}; merged while reading"
        prefs = Preferences(**parts)
    merged = prefs.merge(agents=says_agent)
    merged.notes = (*prefs.notes, *merged.notes)
    return merged


def read_as(sources: Sequence[Source], options: Options, dialect: Dialect, roles: Mapping[str, object]) -> Preferences:
    """Read a csv file whose layout is known: its columns have these roles where the user names no others."""
    from concordant.io._duckdb import CsvTable

    table = CsvTable(_only(sources), dialect, skip_bad_rows=options.skip_bad_rows)
    said = {role: column for role, column in options.roles.items() if column is not None}
    parts = parts_of_table(
        table, {**roles, **said}, form=options.form, strict=False, skip_bad_rows=options.skip_bad_rows
    )
    return Preferences(**parts)


def read_labels(sources: Sequence[Source], options: Options, kind: str) -> Labels:
    """Read a table as labels; several are read as one."""
    table = _open_all(sources, options, kind)
    return Labels(*labels_of_table(table, options.roles, strict=options.strict, skip_bad_rows=options.skip_bad_rows))


def read_features(
    sources: Sequence[Source], options: Options, kind: str, *, n_features: int | None, dtype: str
) -> Features:
    """Read one table as feature rows."""
    return features_of_table(
        _open(_only(sources), options, kind),
        options.roles,
        strict=options.strict,
        skip_bad_rows=options.skip_bad_rows,
        n_features=n_features,
        dtype=dtype,
    )


def _only(sources: Sequence[Source]) -> Source:
    if len(sources) > 1:
        raise sources[1].error("tables of features are read one at a time: join them first.")
    return sources[0]


def _open_all(sources: Sequence[Source], options: Options, kind: str) -> Table:
    tables = [_open(source, options, kind) for source in sources]
    if len(tables) == 1:
        return tables[0]
    from concordant.io._joined import JoinedTable

    return JoinedTable(tables)


def _open(source: Source, options: Options, kind: str) -> Table:
    if not source.head.strip():
        raise source.error("the file is empty: there is nothing to read.")
    if kind in ("csv", "tsv"):
        from concordant.io import _csv
        from concordant.io._duckdb import CsvTable

        dialect = _csv.sniff(
            source,
            delimiter=options.delimiter or ("\t" if kind == "tsv" else None),
            header=options.header,
            wanted=[value for value in options.roles.values() if isinstance(value, str)],
        )
        return CsvTable(source, dialect, skip_bad_rows=options.skip_bad_rows, pad_short_rows=options.form == "places")
    if kind in ("json", "jsonl"):
        from concordant.io._duckdb import JsonTable

        return JsonTable(source, skip_bad_rows=options.skip_bad_rows)
    if kind == "parquet":
        from concordant.io._duckdb import ParquetTable

        return ParquetTable(source)
    return _arrow(source)


def _arrow(source: Source) -> Table:
    """Open an Arrow file with pyarrow, which checks every offset and code; DuckDB would have to download a reader.

    polars reads Arrow files too, but a damaged one can end the process.
    """
    from importlib.util import find_spec

    from concordant.frames import FrameTable

    if not find_spec("pyarrow"):
        raise source.error("Arrow files need pyarrow: pip install pyarrow, or give the DataFrame you read it into.")
    import pyarrow as pa

    content = source.read_bytes()  # no memory map: a file that changes under one ends the process
    try:
        opened: Any = pa.ipc.open_file(content) if content.startswith(b"ARROW1") else pa.ipc.open_stream(content)
        frame = opened.read_all()
        frame.validate(full=True)
        return FrameTable(frame, source.name)
    except Exception as problem:
        why = (str(problem).splitlines() or [type(problem).__name__])[0][:100]
        raise source.error(f"the Arrow data cannot be read ({why}): check the file.") from None
