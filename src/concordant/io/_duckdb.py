"""Read csv, json and parquet tables through DuckDB.

Every csv and json column is read as text. Numbers are parsed by TRY_CAST, so that a cell that is not a number leads to
an error message with its line number and is never guessed. Results leave DuckDB as an Arrow stream, and the kernels
encode the labels without creating Python strings. ``support.duck``
opens connections that can read only the named files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from concordant import kernels
from concordant.ballots.vocabulary import Coded, coded_of_stream
from concordant.errors import FormatError, InputError
from concordant.io import _csv
from concordant.io._nested import NestedTable, fields_of_type
from concordant.io._source import Source
from concordant.support.duck import SHARE, as_known_error, connect, identifier, quoted
from concordant.tables import nested
from concordant.tables.bad_rows import SKIP_HINT, left_out
from concordant.tables.options import Options
from concordant.types import Floats

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from concordant.tables.rows import InputTable

SMALL = 4 << 20  # a file this small is read faster by one thread
LONGEST_LINE = 64 << 20


class DuckTable(NestedTable):
    """A file that DuckDB can scan. Subclasses define how, and how to locate a row."""

    has_header, is_countable = True, True
    longest_line: int | None = None
    """Maximum size of a line of text; None if the file size sets the limit."""
    like: str = ""
    """Another file with the same columns, whose plan is known."""

    def __init__(self, source: Source, options: Options) -> None:
        super().__init__()
        self.source, self.name, self.skip = source, source.name, options.skip_bad_rows
        self.notes: list[str] = []
        self.columns: list[str] = []
        self.roles: dict[str, str] = {}

    # ---- what a subclass says ----
    def scan(self) -> str:
        """Return the table function call that scans the file."""
        return self.scan_of([self.path()])

    def scan_of(self, paths: Sequence[str]) -> str:
        """Return the table function call that scans files like this one, one after another."""
        raise NotImplementedError

    def bare_number_of(self, column: str) -> str | None:
        """Return a faster ``number_of`` for a query that may fail if a cell is not a number; None if there is none."""
        return None

    def problem(self, connection: DuckDBPyConnection, error: Exception) -> FormatError:
        """Convert DuckDB's error into one sentence, with the line if known."""
        return _translated(self.source, error)

    def line(self, row: int) -> int | None:
        """Return the line of a row, None if the format has no lines."""
        return None

    # ---- the table ----
    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""
        wanted = [*map(self.text_of, texts), *map(self.number_of, numbers)]
        columns = self._query(", ".join(wanted))
        coded = {name: coded_of_stream(parts) for name, parts in zip(texts, columns, strict=False)}
        values = dict(zip(numbers, map(np.asarray, columns[len(texts) :]), strict=True))
        return coded, values

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at a few rows, None for empty cells."""
        codes, vocabulary = coded_of_stream(self._query(self.text_of(column))[0])
        return [None if codes[row] < 0 else vocabulary[int(codes[row])] for row in rows]

    def first(self, count: int, names: Sequence[str] = ()) -> list[list[str | None]]:
        """Return the first cells of every column, or of these columns and fields, without reading the rest."""
        columns = self._query(", ".join(map(self.text_of, names or self.columns)), f" LIMIT {count}")
        coded = map(coded_of_stream, columns)
        return [[None if code < 0 else labels[code] for code in codes.tolist()] for codes, labels in coded]

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names this row's location."""
        line = None if row < 0 else self.line(row)
        where = f"{self.place(row)}: " if line is None and row >= 0 else ""
        return FormatError(where + message, path=self.name, line=line)

    def place(self, row: int) -> str:
        """Return the location of a row for messages."""
        line = self.line(row)
        return f"row {row + 1}" if line is None else f"line {line}"

    def _query(self, select: str, limit: str = "") -> list[Any]:
        """Return the columns of a SELECT over this file; a failure becomes an error about the file."""
        import duckdb

        with opened(self, small=self.size() < SMALL) as connection:
            try:
                return self.stream(connection, lambda: f"SELECT {select} FROM {self.scan()}{limit}")
            except (duckdb.Error, RuntimeError, ValueError) as error:
                raise self.explained(connection, error) from None

    def explained(self, connection: DuckDBPyConnection, error: Exception) -> BaseException:
        """Return the error for a failed query: Ctrl-C, lack of memory or disk space, or a problem in the file."""
        known_error = as_known_error(error)
        return self.problem(connection, error) if known_error is error else known_error

    def path(self) -> str:
        """Return the path of the file to read; if it contains wildcards, an alias that DuckDB does not expand."""
        path = self.source.plain_path()
        return self.source.alias() if re.search(r"[*?\[\]{}]", path) else path

    def paths(self) -> list[str]:
        """Return the files that a connection must be able to read."""
        return [self.path()]

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return os.path.getsize(self.path())

    def estimated_rows(self) -> float:
        """Return about how many rows the file has, 0 if that is not known without reading it."""
        return 0

    def prepare(self, connection: DuckDBPyConnection) -> None:
        """Create in a new connection what ``scan`` refers to; nothing for a file that it names."""

    def stream(self, connection: DuckDBPyConnection, query: Callable[[], str]) -> list[Any]:
        """Run a query built with ``scan`` and return its columns in the form of ``kernels.read_stream``."""
        relation = connection.sql(query())
        return [parts for _, _, parts in kernels.read_stream(relation.__arrow_c_stream__())]


@contextmanager
def opened(*tables: DuckTable, small: bool = False, share: float = SHARE) -> Iterator[DuckDBPyConnection]:
    """Open a database in which queries over these tables run; see ``connect``."""
    with connect(*(path for table in tables for path in table.paths()), small=small, share=share) as connection:
        for table in tables:
            table.prepare(connection)
        yield connection


def countable(table: InputTable) -> TypeGuard[DuckTable]:
    """Return whether DuckDB can count the rows of a table."""
    return table.is_countable


class CsvTable(DuckTable):
    """A csv or tsv file."""

    def __init__(self, source: Source, dialect: _csv.Dialect, options: Options) -> None:
        """Store the dialect; columns are called c0, c1, … in queries."""
        super().__init__(source, options)
        self.dialect, self.has_header = dialect, dialect.has_header
        self.columns = list(dialect.columns)
        self._pad = options.layout == "places"
        self._tolerant = False
        self._rejected: set[int] = set()
        self._position = {name: f"c{k}" for k, name in enumerate(self.columns)}
        self._lines: list[int] | None = None

    def scan_of(self, paths: Sequence[str]) -> str:
        """Return the read_csv call with every option set, so that DuckDB infers nothing.

        If bad rows are skipped, raise an error for a row with far too many fields, which DuckDB would take hours to
        reject.
        """
        size = os.path.getsize(self.source.plain_path())
        longest = self.longest_line or min(max(2 * size, 2_000_000), LONGEST_LINE)
        names = ", ".join(f"{name}: 'VARCHAR'" for name in self._position.values())
        options = {
            "columns": "{" + names + "}",
            "auto_detect": "false",
            "header": str(self.has_header).lower(),
            "delim": quoted(self.dialect.delimiter),
            "quote": "'\"'",
            "escape": "'\"'",
            "nullstr": "''",
            "compression": "'none'",
            "max_line_size": str(longest),
            "buffer_size": str(max(2 * longest, 8 << 20)),
            "strict_mode": str(not self._tolerant).lower(),
        }
        if self._pad:  # in parallel DuckDB cannot pad rows whose quoted fields hold line ends
            options |= {"null_padding": "true", "parallel": "false"}
        if self.skip:
            if wide_row := _csv.wide_row(self.source.plain_path(), self.dialect):
                what = f"the row has {wide_row[1]:,} fields, but the table has {len(self.columns)} columns"
                raise self.source.error(
                    f"{what}: remove the extra fields, or quote fields that contain the delimiter.", wide_row[0]
                )
            options["store_rejects"] = "true"
        return f"read_csv({_listed(paths)}, {', '.join(f'{k}={v}' for k, v in options.items())})"

    def raw_of(self, column: str) -> tuple[str, Any]:
        """Return the column without the space that some writers put after every delimiter."""
        name = self._position[column]
        return (f"nullif(trim({name}), '')" if self.dialect.spaces_after_delimiter else name), None

    def number_of(self, column: str) -> str:
        """Return the column as a number; if the delimiter is a semicolon, a comma may be the decimal separator."""
        if column not in self._position:
            return super().number_of(column)
        # Through trim, because DuckDB takes a bare cast into its csv reader, where it fails instead of giving NULL.
        text = f"trim({self.text_of(column)})"
        if self.dialect.delimiter == ";":
            text = f"replace({text}, ',', '.')"
        return f"TRY_CAST({text} AS DOUBLE)"

    def bare_number_of(self, column: str) -> str | None:
        """Return the column cast while it is parsed, which fails where a cell is not a number."""
        return f"TRY_CAST({self.text_of(column)} AS DOUBLE)"

    def stream(self, connection: DuckDBPyConnection, query: Callable[[], str]) -> list[Any]:
        """Run a query (again if line endings differ), and note which rows DuckDB left out."""
        import duckdb

        try:
            columns = super().stream(connection, query)
        except (duckdb.Error, RuntimeError, ValueError) as error:
            if self._tolerant or "invalid state" not in str(error):
                raise
            self._tolerant = True  # lines that end in different ways are no reason to stop
            columns = super().stream(connection, query)
        if self.skip:
            self._note_rejects(connection)
        return columns

    def _note_rejects(self, connection: DuckDBPyConnection) -> None:
        """Note which lines were left out and why; only once, because every query leaves out the same lines."""
        rejects = self._rejects(connection)
        if rejects and not self._rejected:
            self._rejected = {line for line, _, _ in rejects}
            reasons: dict[str, list[int]] = {}
            for line, kind, message in rejects:
                reasons.setdefault(_rejection(kind, message), []).append(line)
            self.notes += [left_out(reason, len(lines), f"line {lines[0]}") for reason, lines in reasons.items()]

    def _rejects(self, connection: DuckDBPyConnection) -> list[tuple[int, str, str]]:
        """Return (line, kind, message) of the rows that DuckDB rejected; lines are derived from byte positions."""
        import duckdb

        try:
            rejected = connection.execute(
                "SELECT byte_position, error_type, error_message FROM reject_errors "
                "QUALIFY row_number() OVER (PARTITION BY line) = 1 ORDER BY byte_position"
            ).fetchall()
        except duckdb.Error:
            return []
        lines, n_read, line = [], 0, 1
        with open(self.source.plain_path(), "rb") as file:
            for position, kind, message in rejected:
                skipped = file.read(max(position - 1 - n_read, 0))
                line += skipped.count(b"\n") if b"\n" in skipped else skipped.count(b"\r")
                n_read += len(skipped)
                lines.append((line, str(kind), str(message)))
        return lines

    def problem(self, connection: DuckDBPyConnection, error: Exception) -> FormatError:
        """Run the scan again, collect the rows that DuckDB rejects, and return an error with the first such line."""
        import duckdb

        skip, self.skip = self.skip, True
        try:
            connection.execute(f"SELECT count(*) FROM {self.scan()}").fetchall()
        except duckdb.Error as second_error:
            return _translated(self.source, second_error)
        finally:
            self.skip = skip
        rejects = self._rejects(connection)
        if not rejects:
            return _translated(self.source, error)
        line, kind, message = rejects[0]
        if "UNICODE" in kind:
            return self.source.not_utf_8(line)
        return self.source.error(_rejection(kind, message) + SKIP_HINT, line)

    def estimated_rows(self) -> float:
        """Return the size of the file divided by the mean length of its first lines."""
        head = self.source.head
        return os.path.getsize(self.source.plain_path()) * (head.count(b"\n") + 1) / max(len(head), 1)

    def line(self, row: int) -> int | None:
        """Return the line on which a record begins."""
        if self._lines is None:
            self._lines = list(_csv.record_lines(self.source.plain_path(), self.dialect, self._rejected))
        return self._lines[row] if row < len(self._lines) else None


class JsonTable(DuckTable):
    """JSON objects, one per line (jsonl) or in one list (json)."""

    def __init__(self, source: Source, options: Options) -> None:
        """Distinguish a list of objects from one object per line, and read the names of the fields."""
        super().__init__(source, options)
        start = source.head.lstrip()[:1]
        if start not in (b"{", b"["):
            raise source.error("this is not JSON: write one object per line, or one list of objects.")
        self._is_list = start == b"["
        self._first_object: Any = None
        self.columns = self._names()

    def _names(self) -> list[str]:
        """Return the fields of the objects, without reading their values."""
        import duckdb

        with connect(self.path(), small=True) as connection:
            try:
                # Depth one: only the keys matter here, their values are read as text later.
                columns = connection.sql(f"SELECT * FROM {self._call([self.path()], 'maximum_depth=1')}").columns
            except duckdb.Error as error:
                raise self.problem(connection, error) from None
        if columns == ["json"]:
            raise self._not_objects() or self.source.error(
                "the JSON values are not objects: write one object with named fields per row."
            )
        return list(columns)

    def _call(self, paths: Sequence[str], more: str) -> str:
        """Return the read_json call with additional options."""
        kind = "array" if self._is_list else "newline_delimited"
        ignore = ", ignore_errors=true" if self.skip and not self._is_list else ""
        size = max(1 << 24, min(2 * max(map(os.path.getsize, paths)), 1 << 30))
        return (
            f"read_json({_listed(paths)}, format='{kind}', compression='none', "
            f"maximum_object_size={size}{ignore}, {more})"
        )

    def scan_of(self, paths: Sequence[str]) -> str:
        """Return the read_json call with every field as text."""
        fields = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in self.columns)
        return self._call(paths, f"columns={{{fields}}}")

    def structure(self, column: str) -> nested.Structure:
        """Return the fields of a column in the first object."""
        import json

        if self._first_object is None:
            text = self.source.head.decode("utf-8", "replace").lstrip("[ \n\r\t\ufeff")
            try:
                self._first_object = json.JSONDecoder().raw_decode(text)[0]
            except (ValueError, RecursionError):  # an object that is longer than what was read to recognise the file
                self._first_object = {}
        return nested.structure_of([self._first_object.get(column)])

    def problem(self, connection: DuckDBPyConnection, error: Exception) -> FormatError:
        """Return the error for the first line that is not a JSON object."""
        return self._not_objects() or _translated(self.source, error)

    def _not_objects(self) -> FormatError | None:
        """Return the error for the first line that is not a JSON object.

        DuckDB's own line numbers can be off by one.
        """
        import json

        if self._is_list:
            return None
        with open(self.source.plain_path(), encoding="utf-8", errors="surrogateescape") as file:
            for number, text in enumerate(file, 1):
                if any("\udc80" <= sign <= "\udcff" for sign in text):
                    return self.source.not_utf_8(number)
                try:
                    if text.strip() and not isinstance(json.loads(text), dict):
                        return self.source.error(
                            "the line is not a JSON object: write each row as an object with named fields.", number
                        )
                except ValueError as problem:
                    why = str(problem).split(":")[0]
                    return self.source.error(
                        f"the line is not valid JSON ({why}): write one JSON object per line.", number
                    )
                except RecursionError:
                    return self.source.error("the JSON is nested too deeply: write one flat object per row.", number)
        return None

    def line(self, row: int) -> int | None:
        """Return the line of an object; objects in a list may share a line."""
        if self._is_list:
            return None
        with open(self.source.plain_path(), "rb") as file:
            filled = (number for number, text in enumerate(file, 1) if text.strip())
            return next((number for k, number in enumerate(filled) if k == row), None)


class ParquetTable(DuckTable):
    """A parquet file; its columns have types."""

    def __init__(self, source: Source, options: Options, connection: DuckDBPyConnection | None = None) -> None:
        """Read the names and types of the columns, through an open connection if there is one."""
        super().__init__(source, options)
        if connection is not None:
            self._describe(connection)
            return
        with opened(self, small=True) as own_connection:
            self._describe(own_connection)

    def _describe(self, connection: DuckDBPyConnection) -> None:
        import duckdb

        try:
            relation = connection.sql(f"SELECT * FROM {self.scan()}")
            self.columns = list(relation.columns)
            self._type = dict(zip(relation.columns, relation.types, strict=True))
        except duckdb.Error as error:
            raise self.problem(connection, error) from None
        except RuntimeError:  # DuckDB cannot make a str of such a name
            raise self.source.error("the name of a column is not UTF-8: check that the file is complete.") from None

    def scan_of(self, paths: Sequence[str]) -> str:
        """Return the read_parquet call."""
        return f"read_parquet({_listed(paths)})"

    def estimated_rows(self) -> float:
        """Return the number of rows."""
        with opened(self, small=True) as connection:
            found = connection.execute(f"SELECT count(*) FROM {self.scan()}").fetchone()
        return int(found[0]) if found else 0

    def raw_of(self, column: str) -> tuple[str, Any]:
        """Return a column and its type."""
        return identifier(column), self._type[column]

    def structure(self, column: str) -> nested.Structure:
        """Return the fields of a column according to its type."""
        return fields_of_type(self._type[column])


def _listed(paths: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, paths))}]"


def _rejection(kind: str, message: str) -> str:
    """Return a sentence that explains why DuckDB rejected a row."""
    if match := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return f"the row has {match[2]} field{'s' * (match[2] != '1')}, but the table has {match[1]} columns"
    return {
        "UNQUOTED VALUE": "a quotation mark is not closed, or text follows a closing one",
        "LINE SIZE OVER MAXIMUM": f"the line is longer than {LONGEST_LINE:,} bytes",
        "INVALID ENCODING": "the text is not UTF-8",
        "INVALID UNICODE": "the text is not UTF-8",
    }.get(kind, f"the row cannot be read ({message.splitlines()[0]})")


def _translated(source: Source, error: Exception) -> FormatError:
    """Return the first sentence of DuckDB's message as an error that names the file."""
    first = str(error).splitlines()[0].replace(source.plain_path(), source.name)
    first = re.sub(r"^(\w+ )+Error: ", "", first).rstrip(". ")
    if "nicode" in str(error) or "utf-8" in str(error).lower():
        return source.not_utf_8(None)
    return source.error(f"the file cannot be read ({first}): check that its content matches its name.")


def parquet_of(columns: Mapping[str, Any]) -> bytes:
    """Return columns of text and numbers as the content of a parquet file."""
    from tempfile import TemporaryDirectory

    table = {
        name: np.array(column, object) if isinstance(column, list) else np.asarray(column)
        for name, column in columns.items()
    }
    with TemporaryDirectory(prefix="concordant-") as folder, connect(path := f"{folder}/table", small=True) as opened:
        opened.register("columns_to_write", table)
        opened.execute(f"COPY columns_to_write TO {quoted(path)} (FORMAT parquet)")
        return Path(path).read_bytes()
