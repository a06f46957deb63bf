"""Read and write tables (csv, tsv, json, jsonl, parquet, Arrow, workbooks) of preferences, labels or features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from concordant.errors import InputError, arg
from concordant.io._compose import Columns, columns
from concordant.io._csv import Dialect, sniff
from concordant.io._duckdb import JsonTable, ParquetTable, parquet_of
from concordant.io._formats import WORKBOOKS, Format, Writing
from concordant.io._plain_csv import open_csv
from concordant.io._source import OLE, Source
from concordant.io.formats.features import Features, features_of_table
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.tables.build import labels_of_table, parts_of_table, transposed_if_named
from concordant.tables.layouts import arranged
from concordant.tables.options import FEATURES, LABELS, PREFERENCES, Options
from concordant.tables.plans import Plan, beyond_counts, has_points
from concordant.tables.roles import planned
from concordant.tables.rows import InputTable

_HOLDS = (PREFERENCES, LABELS, FEATURES)
FORMATS = (
    Format("csv", (".csv",), "comma-separated table (or ; | tab)", _HOLDS, True, __name__),
    Format("tsv", (".tsv", ".tab"), "tab-separated table", _HOLDS, True, __name__),
    Format(
        *("jsonl", (".jsonl", ".ndjson"), "JSON Lines table, one object per line", _HOLDS, True, __name__),
        sniff=lambda head: head.lstrip()[:1] == b"{",
        borrows=(".json",),
    ),
    Format(
        *("json", (".json",), "JSON list of objects", _HOLDS, True, __name__),
        sniff=lambda head: head.lstrip()[:1] == b"[",
        borrows=(".jsonl", ".ndjson"),
    ),
    Format("parquet", (".parquet", ".pq"), "Parquet table", _HOLDS, True, __name__, b"PAR1"),
    Format(
        *("arrow", (".arrow", ".feather", ".ipc"), "Arrow or Feather table (needs pyarrow)", _HOLDS, False),
        module=__name__,
        magic=b"ARROW1",
    ),
    Format("xlsx", (".xlsx", ".xlsm"), "sheet of an Excel workbook", _HOLDS, False, __name__),
    Format("xlsb", (".xlsb",), "sheet of a binary Excel workbook", _HOLDS, False, __name__),
    Format("xls", (".xls",), "sheet of an Excel 97-2003 workbook", _HOLDS, False, __name__, OLE),
    Format("ods", (".ods",), "sheet of an OpenDocument workbook (LibreOffice)", _HOLDS, False, __name__),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read one or more tables as preferences."""
    if options.format == "xls":
        from concordant.io.formats import jester

        if jester.is_jester(sources[0]):
            return jester.read(sources, options)
    table = _open_all(sources, options)
    plan = planned(table, options)
    if options.merge:
        return _merged(table, options, plan)
    return Preferences.of_parts(parts_of_table(table, options, plan))


def _merged(table: InputTable, options: Options, plan: Plan) -> Preferences:
    """Read a table and merge equal ballots; pairs are counted by DuckDB while they are read."""
    from concordant.io._many import counted_pairs, preferences_of

    if "time" in plan.column:
        raise InputError("Merging loses the order of events: leave out " + arg("time") + " or " + arg("merge") + ".")
    if plan.layout == "pairs" and table.is_countable and not (beyond_counts(plan, options) or has_points(plan)):
        return preferences_of(counted_pairs(table, plan, options))
    prefs = Preferences.of_parts(parts_of_table(table, options, plan))
    return prefs.merge(agents=True).noted(*prefs.notes)


def read_as(sources: Sequence[Source], options: Options, dialect: Dialect, roles: Mapping[str, object]) -> Preferences:
    """Read a csv file with a known layout: its columns have these roles unless the user names others."""
    roles_given = {role: column for role, column in options.roles.items() if column is not None}
    options = replace(options, roles={**roles, **roles_given}, strict=False)
    return Preferences.of_parts(parts_of_table(open_csv(_only(sources), dialect, options), options))


def read_labels(sources: Sequence[Source], options: Options) -> Labels:
    """Read one or more tables as labels."""
    return Labels(*labels_of_table(_open_all(sources, options, LABELS), options))


def read_features(sources: Sequence[Source], options: Options) -> Features:
    """Read one table as feature rows."""
    return features_of_table(open_table(_only(sources), options, FEATURES), options)


def _only(sources: Sequence[Source]) -> Source:
    if len(sources) > 1:
        raise sources[1].error("tables of features are read one at a time: join them first.")
    return sources[0]


def _open_all(sources: Sequence[Source], options: Options, layout: str | None = None) -> InputTable:
    """Open all tables and join them into one."""
    tables = [open_table(source, options, layout) for source in sources]
    if len(tables) == 1:
        return tables[0]
    from concordant.io._joined import JoinedTable

    return JoinedTable(tables)


def open_table(source: Source, options: Options, layout: str | None = None) -> InputTable:
    """Open one table in the format given by the options, transposed if the options request it.

    ``layout`` is set for labels and features. A table of preferences that would have no column names after transposing
    is not transposed: it is a matrix whose rows are agents.
    """
    if not options.transpose:
        table = _open(source, options)
        return table if layout == FEATURES else arranged(table, options, layout or PREFERENCES)
    # The names of columns become cells, which may be equal or empty: they are read as cells from the start.
    raw = _open(source, replace(options, header=False, roles={}))
    return transposed_if_named(raw, options, layout) or _open(source, options)


def _open(source: Source, options: Options) -> InputTable:
    """Open one table with the reader of its format."""
    if not source.head.strip():
        raise source.error("the file is empty: there is nothing to read.")
    if options.format == "arrow":
        return _arrow(source)
    if options.format in WORKBOOKS:
        from concordant.io._sheets import open_sheet

        return open_sheet(source, options)
    if options.format in ("csv", "tsv"):
        return open_csv(source, sniff(source, options), options)
    return (ParquetTable if options.format == "parquet" else JsonTable)(source, options)


def _arrow(source: Source) -> InputTable:
    """Open an Arrow file with pyarrow, which checks every offset and code; DuckDB would have to download an extension.

    polars reads Arrow files as well, but a damaged file can crash the process.
    """
    from importlib.util import find_spec

    if not find_spec("pyarrow"):
        raise source.error("Arrow files need pyarrow: pip install pyarrow, or pass the data as a DataFrame.")
    import pyarrow as pa

    from concordant.tables.frames import FrameTable

    content = source.read_bytes()  # no memory map: a file that changes under one ends the process
    try:
        opened: Any = pa.ipc.open_file(content) if content.startswith(b"ARROW1") else pa.ipc.open_stream(content)
        frame = opened.read_all()
        frame.validate(full=True)
        return FrameTable(frame, source.name)
    except Exception as problem:
        why = (str(problem).splitlines() or [type(problem).__name__])[0][:100]
        raise source.error(f"the Arrow data cannot be read ({why}): check the file.") from None


# ---- writing ----
def write(data: Any, how: Writing) -> tuple[bytes, list[str]]:
    """Return the content of a table, and notes on what it leaves out."""
    table, notes = (dict(data), []) if isinstance(data, Mapping) else columns(data, how.layout)
    if how.spreadsheet:
        table = {_text_cell(name): list(map(_text_cell, _cells(column))) for name, column in table.items()}
    return _ENCODERS[how.kind.name](table), notes


def _text_cell(cell: Any) -> Any:
    """Return a cell that a spreadsheet treats as text and not as a formula: with a leading apostrophe."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def _csv(columns: Columns, delimiter: str = ",") -> bytes:
    """Return the columns as csv."""
    import csv
    import io

    cells = [_cells(column) for column in columns.values()]
    # The csv module leaves a lone carriage return unquoted, which readers take for the end of a line.
    has_return = any(isinstance(cell, str) and "\r" in cell for column in cells for cell in column)
    text = io.StringIO(newline="")
    writer = csv.writer(
        text,
        delimiter=delimiter,
        lineterminator="\n",
        quoting=csv.QUOTE_NONNUMERIC if has_return else csv.QUOTE_MINIMAL,
    )
    writer.writerow(columns)
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue().encode("utf-8")


def _tsv(columns: Columns) -> bytes:
    return _csv(columns, "\t")


def _json_objects(columns: Columns) -> list[str]:
    """Return one JSON object per row."""
    import json

    names = list(columns)
    rows = zip(*map(_cells, columns.values()), strict=True)
    return [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows]


def _jsonl(columns: Columns) -> bytes:
    return "".join(line + "\n" for line in _json_objects(columns)).encode("utf-8")


def _json(columns: Columns) -> bytes:
    return ("[\n" + ",\n".join(_json_objects(columns)) + "\n]\n").encode("utf-8")


_ENCODERS = {"csv": _csv, "tsv": _tsv, "jsonl": _jsonl, "json": _json, "parquet": parquet_of}


def _cells(column: Any) -> list[Any]:
    """Return plain Python values, with whole numbers as integers."""
    values = column.tolist() if hasattr(column, "tolist") else column
    if values and isinstance(values[0], float):
        # Cells kept from being formulas come here a second time, and some are whole numbers by then.
        return [int(value) if _is_whole(value) else value for value in values]
    return values  # type: ignore[no-any-return]


def _is_whole(value: float | None) -> bool:
    return value is not None and float(value).is_integer() and abs(value) < 2**53
