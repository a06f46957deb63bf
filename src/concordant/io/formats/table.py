"""Read and write tables (csv, tsv, json, jsonl, parquet, Arrow, workbooks) of preferences, labels or features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from concordant.errors import InputError, arg
from concordant.io._compose import Columns, columns
from concordant.io._csv import Dialect, sniff
from concordant.io._duckdb import CsvTable, JsonTable, ParquetTable, countable, parquet_of
from concordant.io._formats import WORKBOOKS, Format, Writing, named
from concordant.io._joined import JoinedTable
from concordant.io._plain_csv import open_csv
from concordant.io._source import OLE, Source, names_of
from concordant.io.formats.features import Features, features_of_table
from concordant.io.signs import are_sums, is_stored
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.tables.build import labels_of_table, parts_of_table, transposed_if_named
from concordant.tables.layouts import arranged
from concordant.tables.options import FEATURES, LABELS, PREFERENCES, Options
from concordant.tables.plans import Plan, beyond_counts, has_points
from concordant.tables.roles import planned
from concordant.tables.rows import InputTable
from concordant.tables.selection import choose_rows, is_choosing, notes_together, refuse_empty

BYTES_OF_ROW, BYTES_OF_CELL, BYTES_OF_TIME = 20, 20, 90  # of memory while rows are read, as measured

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
    Format("xlsx", (".xlsx", ".xlsm"), "sheet of an Excel workbook", _HOLDS, True, __name__),
    Format("xlsb", (".xlsb",), "sheet of a binary Excel workbook", _HOLDS, False, __name__),
    Format("xls", (".xls",), "sheet of an Excel 97-2003 workbook", _HOLDS, False, __name__, OLE),
    Format("ods", (".ods",), "sheet of an OpenDocument workbook (LibreOffice)", _HOLDS, False, __name__),
    Format("duckdb", (".duckdb", ".ddb"), "table of a DuckDB database", _HOLDS, False, __name__, b"DUCK", magic_at=8),
    Format(
        *("sqlite", (".sqlite", ".sqlite3", ".db", ".db3"), "table of a SQLite database", _HOLDS, False, __name__),
        magic=b"SQLite format 3\0",
    ),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read one or more tables as preferences."""
    if options.format == "xls":
        from concordant.io.formats import jester

        if jester.is_jester(sources[0]):
            prefs = jester.read(sources, options)
            return prefs if options.where is None else prefs.filter(options.where)
    if is_stored(sources[0]):
        from concordant.io._stored import read_preferences

        return read_preferences(sources)
    table = open_all(sources, options)
    if are_sums(table.columns):
        from concordant.io._stored import refuse_sums

        refuse_sums(table)
    plan = _by_file(table, planned(table, options), sources, options)
    if options.merge:
        return _merged(table, options, plan)
    _require_memory(table, plan)
    return Preferences.of_parts(parts_of_table(table, options, plan))


def _require_memory(table: InputTable, plan: Plan) -> None:
    """Raise an error if a memory limit is set that does not suffice to read all rows."""
    tables = [one for one in getattr(table, "tables", [table]) if countable(one)]
    if not memory.memory_setting() or not tables:
        return
    rows = sum(one.estimated_rows() for one in tables)
    width = BYTES_OF_ROW + BYTES_OF_CELL * len(plan.column) + BYTES_OF_TIME * ("time" in plan.column)
    text = sum(one.size() for one in tables if isinstance(one, CsvTable))  # which may be in memory as a whole
    what = f"Reading about {rows:,.0f} rows of {tables[0].name}"
    memory.require_in_limit(width * rows + text, what, "use a method that needs only counts, such as bradley-terry")


def _by_file(table: InputTable, plan: Plan, sources: Sequence[Source], options: Options) -> Plan:
    """Return the plan with files as agents, if several files rank or rate the same items and no column names agents."""
    roles = [role for role in ("instance", "item") if role in plan.column]
    if (
        len(sources) == 1
        or plan.layout not in ("ranks", "ratings")
        or {"agent", "ballot", "weight"} & {*plan.column, *options.roles}
        or not isinstance(table, JoinedTable)
        or not table.has_repeats([plan.column[role] for role in roles])
    ):
        return plan
    table.with_files(names_of(sources))
    note = "no column names agents, and the files have items in common: each file is an agent"
    return replace(plan, column={**plan.column, "agent": table.file_column}, notes=(*plan.notes, note))


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
    return Labels(*labels_of_table(open_all(sources, options, LABELS), options))


def read_features(sources: Sequence[Source], options: Options) -> Features:
    """Read one table as feature rows."""
    _only(sources)
    return features_of_table(open_all(sources, options, FEATURES), options)


def _only(sources: Sequence[Source]) -> Source:
    if len(sources) > 1:
        raise sources[1].error("tables of features are read one at a time: join them first.")
    return sources[0]


def open_all(sources: Sequence[Source], options: Options, layout: str | None = None) -> InputTable:
    """Open all tables and join them into one."""
    if len(sources) == 1:
        tables = [open_table(sources[0], options, layout)]
        refuse_empty(tables)
        return tables[0]
    if options.sql is not None:
        from concordant.io._database import QueryTable

        tables = [_arranged(filtered(QueryTable(sources, options), options), options, layout)]
        refuse_empty(tables)
        return tables[0]
    tables = [open_table(source, replace(options, drop_duplicates=False), layout) for source in sources]
    refuse_empty(tables)
    joined = JoinedTable(tables)
    joined.notes += notes_together(tables)
    return choose_rows(joined, replace(options, where=None))  # a row may repeat one of another file


def open_table(source: Source, options: Options, layout: str | None = None) -> InputTable:
    """Open one table in the format given by the options, transposed and filtered if the options request it.

    ``layout`` is set for labels and features. A table of preferences that would have no column names after transposing
    is not transposed: it is a matrix whose rows are agents.
    """
    return _arranged(filtered(open_as_stored(source, options, layout), options), options, layout)


def open_as_stored(source: Source, options: Options, layout: str | None = None) -> InputTable:
    """Open one table with the rows and columns of the file, transposed if the options request it."""
    return _open(source, options) if not options.transpose else _transposed(source, options, layout)


def _arranged(table: InputTable, options: Options, layout: str | None) -> InputTable:
    """Return a table of a known layout rewritten so that its columns have roles; features are never rewritten."""
    return table if layout == FEATURES or options.transpose else arranged(table, options, layout or PREFERENCES)


def filtered(table: InputTable, options: Options) -> InputTable:
    """Return the rows that the options keep; DuckDB leaves out the others while it scans a file."""
    if not is_choosing(options):
        return table
    if not countable(table):
        return choose_rows(table, options)
    from concordant.io._filtered import FilteredTable

    return FilteredTable(table, options)


def _transposed(source: Source, options: Options, layout: str | None) -> InputTable:
    """Open one table, transposed."""
    # The names of columns become cells, which may be equal or empty: they are read as cells from the start.
    raw = _open(source, replace(options, header=False, roles={}))
    return transposed_if_named(raw, options, layout) or _open(source, options)


def _open(source: Source, options: Options) -> InputTable:
    """Open one table with the reader of its format."""
    if not source.head.strip():
        raise source.error("the file is empty: there is nothing to read.")
    if options.sql is not None and options.format != "sqlite":
        from concordant.io._database import QueryTable

        return QueryTable([source], options)
    if options.format == "arrow":
        return _arrow(source)
    if options.format in WORKBOOKS:
        from concordant.io._sheets import open_sheet

        return open_sheet(source, options)
    if options.format == "sqlite":
        from concordant.io._sqlite import open_sqlite

        return open_sqlite(source, options)
    if options.format == "duckdb":
        from concordant.io._database import DatabaseTable

        return DatabaseTable(source, options)
    if options.format in ("csv", "tsv"):
        return open_csv(source, sniff(source, options), options)
    if opener := named(options.format or "").opener:
        opened: InputTable = import_module(opener).open_table(source, options)
        return opened
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
    if how.kind.name == "xlsx":
        return _xlsx(table, how), notes
    return _ENCODERS[how.kind.name](table), notes


def _xlsx(columns: Columns, how: Writing) -> bytes:
    """Return the columns as a workbook; its name must not promise macros."""
    from concordant.io._xlsx import workbook

    if (how.name or "").lower().endswith(".xlsm"):
        raise InputError(f"{how.name} is the name of a workbook with macros: use the extension .xlsx.")
    return workbook({name: _cells(column) for name, column in columns.items()}, how.title or "data")


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
