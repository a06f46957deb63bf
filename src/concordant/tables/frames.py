"""Read a DataFrame (pandas, polars, pyarrow, …) as a table of preferences, through narwhals.

Text in Arrow memory is encoded there, without creating Python objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from concordant.ballots.build import LIBRARIES
from concordant.ballots.vocabulary import Coded, coded_of_stream, encode, read_arrow, shorten, speaks_arrow
from concordant.errors import ConcordantError, InputError, arg
from concordant.tables.build import transposed_if_named
from concordant.tables.cells import encode_cells
from concordant.tables.derived import as_text
from concordant.tables.layouts import arranged, invited
from concordant.tables.nested import FrameFields, Structure, dig, structure_of
from concordant.tables.options import FEATURES, IF_ANY, PREFERENCES, Options, normalise
from concordant.tables.plans import Names, Plan, beyond_counts, has_points
from concordant.tables.roles import plan_columns
from concordant.tables.rows import InputTable
from concordant.tables.selection import choose_rows, is_choosing, refuse_empty
from concordant.types import Bools, Floats, Int64s

T = TypeVar("T")


def is_frame(given: object) -> bool:
    """Return whether an object has named columns, as DataFrames do."""
    return hasattr(type(given), "columns") or hasattr(type(given), "column_names")


def names_of(frame: Any) -> list[str]:
    """Return the texts among the column names of a DataFrame of any library."""
    if hasattr(frame, "collect_schema"):  # a lazy frame of polars
        return list(frame.collect_schema().names())
    names: Any = getattr(frame, "column_names", None) or getattr(frame, "columns", ())
    return [name for name in names if isinstance(name, str)] if hasattr(names, "__iter__") else []


def frame_of(columns: Mapping[str, Any], backend: str | None = None, library: str | None = None) -> Any:
    """Return a DataFrame of these columns.

    ``backend`` is pandas, polars or pyarrow; by default the ``library`` that the data came from, or else the first one
    installed.
    """
    import importlib.util

    import narwhals as nw

    known = LIBRARIES
    wanted = (library, *known) if library in known else known
    chosen = backend or next((name for name in wanted if name and importlib.util.find_spec(name)), None)
    if chosen is None:
        raise ConcordantError("No DataFrame library is installed: pip install pandas, polars or pyarrow.")
    if chosen not in known:
        raise InputError(arg("backend", chosen) + f" is not a known library: use one of {', '.join(known)}.")
    frame: Any = nw.from_dict(columns, backend=chosen)  # type: ignore[arg-type]
    return frame.to_native()


def matrix_of_frame(frame: Any) -> tuple[Floats, list[Any] | None, list[str]]:
    """Read a DataFrame as a matrix of numbers: (matrix, labels of the rows, names of the columns).

    Rows are labelled by the only text column, or else by the pandas index; None if there is neither.
    """
    table = FrameTable(frame)
    types = {column: str(dtype) for column, dtype in zip(table.columns, table.frame.schema.values(), strict=True)}
    texts = [column for column, dtype in types.items() if dtype in ("String", "Categorical", "Enum", "Object")]
    if len(texts) > 1:
        raise InputError(
            "A rank matrix has one text column, which names the items, but several columns contain text "
            f"({', '.join(texts[:3])}): keep one of them."
        )
    agents = [column for column in table.columns if column not in texts]
    _, numbers = table.fetch([], agents)
    matrix = np.column_stack(list(numbers.values())) if agents else np.empty((len(table.frame), 0))
    if texts:
        return matrix, table._series(texts[0]).to_list(), agents
    index = getattr(frame, "index", None)
    return matrix, None if index is None else list(index), agents


@dataclass
class LazyNames(Names):
    """The column names of a lazy frame, and the fields of its structs."""

    types: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._fields = FrameFields(self.columns, lambda column: structure_of_type(self.types[column]))

    def resolve(self, name: str) -> str | None:
        """Return the full name of a column or of a field of a struct; None if there is none."""
        return name if name in self.columns else self._fields.find(name)

    def expression(self, name: str) -> Any:
        """Return the expression of a field of a struct, under its dotted name."""
        import narwhals as nw

        column, path = self._fields.path(name)
        expression = nw.col(column)
        for key in path:
            expression = expression.struct.field(key)
        return expression.alias(name)


COUNT, ROWS = "weight of equal rows", "number of equal rows"


class LazyTable(NamedTuple):
    """A lazy frame with a plan: its rows are still with its engine."""

    frame: Any
    """The narwhals frame, with a column for every column and field of the plan."""
    plan: Plan
    engine: str


def lazy_table(frame: Any, options: Options) -> LazyTable | None:
    """Plan a lazy frame whose rows can stay with its engine; None if all rows have to be read."""
    import narwhals as nw

    if is_choosing(options) or options.transpose:
        return None
    try:
        lazy = nw.from_native(frame, allow_series=False, pass_through=True)
    except Exception:  # FrameTable says what is wrong with it
        return None
    if not isinstance(lazy, nw.LazyFrame) or isinstance(frame, nw.DataFrame):
        return None
    schema = lazy.collect_schema()
    table = LazyNames("the frame", list(map(str, schema.names())), types=dict(schema))
    if invited(frozenset(map(normalise, table.columns)), options):
        return None
    try:
        plan = plan_columns(table, options)
    except InputError:  # FrameTable says what is wrong, or recognises a matrix by its numbers
        return None
    if beyond_counts(plan, options):
        return None
    if fields := [name for name in plan.column.values() if name not in table.columns]:
        lazy = lazy.with_columns(*map(table.expression, fields))
    return LazyTable(lazy, plan, engine_of(lazy))


def engine_of(lazy: Any) -> str:
    """Return the name of the engine of a lazy frame, for ``ranking.ran``."""
    name = str(lazy.implementation.value)
    if name == "ibis":
        backend = lazy.to_native().get_backend().name
        return f"{_ENGINES.get(backend, backend)} through ibis"
    return _ENGINES.get(name, name)


_ENGINES = {"duckdb": "DuckDB", "dask": "Dask", "pyspark": "Spark", "postgres": "Postgres", "sqlite": "SQLite"}
_ENGINES |= {"bigquery": "BigQuery", "snowflake": "Snowflake"}


def grouped_pairs(frame: Any, options: Options) -> tuple[InputTable, Options, str, str] | None:
    """Count equal pairs with the engine of a lazy frame; None if it has to be read.

    Return the counts, the options to read them, a note, and a sentence on where they were counted.
    """
    import narwhals as nw

    table = lazy_table(frame, options)
    if table is None or table.plan.layout != "pairs" or has_points(table.plan):
        return None
    lazy, plan, engine = table
    keys = {role: name for role, name in plan.column.items() if role != "weight"}
    if options.roles.get("agent") is None:
        keys.pop("agent", None)
    weight = plan.column.get("weight")
    total = [] if weight is None else [nw.col(weight).sum().alias(COUNT)]
    counts = lazy.group_by(*keys.values()).agg(*total, nw.len().alias(ROWS)).collect().sort(*keys.values())
    if weight is None:  # not counted twice, which Dask cannot do
        counts = counts.with_columns(nw.col(ROWS).alias(COUNT))
    roles: dict[str, Any] = {**dict.fromkeys(("agent", "instance", "tie")), **keys, "weight": COUNT}
    if "tie" in keys and options.roles.get("tie") is None:
        roles["tie"] = IF_ANY + keys["tie"]  # not named by the user
    if plan.is_grouped:
        roles |= {"by": roles["instance"], "instance": None}
    note = f"pairs of a lazy frame, counted by its engine: {len(counts):,} different ones"
    groups = GroupedFrame(counts)
    ran = f"{groups.n_rows:,} rows counted by {engine}, which returned {len(counts):,} counts"
    return groups, replace(options, roles=roles, layout="pairs"), note, ran


def table_of_frame(frame: Any, options: Options, layout: str | None = None) -> InputTable:
    """Return a frame as a table, transposed if the options request it."""
    table: InputTable = FrameTable(frame)
    if options.transpose:
        table = transposed_if_named(table, options, layout) or table
    if is_choosing(options):
        table = choose_rows(table, options)
        refuse_empty([table])
    return table if layout == FEATURES or options.transpose else arranged(table, options, layout or PREFERENCES)


class FrameTable:
    """A DataFrame with columns by name; rows are counted from 1."""

    has_header, is_countable = True, False

    def __init__(self, frame: Any, name: str = "the frame") -> None:
        """Open a DataFrame of any library through narwhals; reject repeated column names."""
        import narwhals as nw
        from narwhals.exceptions import DuplicateError

        try:
            native = nw.from_native(frame, allow_series=False)
        except DuplicateError as problem:
            which = ", ".join(re.findall(r"- (.*) \d+ times", str(problem)))
            raise InputError(f"{name} has several columns with the same name ({which}): rename all but one.") from None
        except TypeError:
            raise InputError(
                f"Expected a DataFrame of pandas, polars or pyarrow, got {type(frame).__name__}."
            ) from None
        self.frame: Any = native.collect() if isinstance(native, nw.LazyFrame) else native
        self.name = name
        names = list(self.frame.columns)
        self.columns = [str(column) for column in names]
        twice = [column for column in dict.fromkeys(self.columns) if self.columns.count(column) > 1]
        if twice:
            raise InputError(f"{name} has several columns with the same name ({twice[0]!r}): rename all but one.")
        self._original = dict(zip(self.columns, names, strict=True))
        self.notes: list[str] = []
        self._fields = FrameFields(self.columns, self._structure)

    def _structure(self, column: str) -> Structure:
        """Return the fields of a column: of a struct by its type, otherwise by its values."""
        series = self._series(column)
        is_struct = str(series.dtype).startswith("Struct")
        return structure_of_type(series.dtype) if is_struct else structure_of(series.to_list())

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""
        return (
            {column: self._read(self._text, column) for column in texts},
            {column: self._read(self._numbers, column) for column in numbers},
        )

    def _read(self, read: Callable[[str], T], column: str) -> T:
        """Read a column; if its library cannot convert a value to a Python object, the error names the column."""
        try:
            return read(column)
        except (OverflowError, ValueError, TypeError, NotImplementedError) as problem:
            if isinstance(problem, ConcordantError):
                raise
            why = (str(problem).splitlines() or [type(problem).__name__])[0]
            raise self.error(
                -1, f"the column {shorten(column)!r} cannot be read ({why}): convert it to text."
            ) from None

    def _series(self, column: str) -> Any:
        """Return a column, or the values of a nested field."""
        if column in self._original:
            return self.frame.get_column(self._original[column])
        parent, path = self._fields.path(column)
        return values_at(self.frame.get_column(self._original[parent]), path, self.frame.implementation)

    def resolve(self, name: str) -> str | None:
        """Return the full name of a column or of a nested field; None if there is none."""
        return name if name in self.columns else self._fields.find(name)

    def fields(self, column: str) -> list[str]:
        """Return the dotted names of the nested fields of a column."""
        return self._fields.names(column) if column in self.columns else []

    def structure(self, column: str) -> Structure:
        """Return the fields of a column as far as they are known from its type."""
        return structure_of_type(self.frame.schema[self._original[column]])

    def _text(self, column: str) -> Coded:
        """Return a text column as codes (-1 for missing) with labels, directly from Arrow memory if possible."""
        series = self._series(column)
        native = series.to_native()
        dtype = str(series.dtype)
        if dtype in ("String", "Categorical", "Enum") and speaks_arrow(native):
            kind, parts = read_arrow(native, column)
            if kind == "text":
                return coded_of_stream(parts)
        if dtype == "Boolean":
            series = series.cast(_text_type())
        if dtype.startswith(("Struct", "List", "Array")) or (dtype == "Object" and _has_objects(series)):
            return encode_cells(list(map(_shown, series.to_list())), column)
        if dtype.startswith("Float"):
            return as_text(self._numbers(column))
        missing = _missing(series)
        if not missing.any():
            return encode(series.to_numpy() if _is_number(dtype) else series.to_list(), column)
        present, vocabulary = encode(series.filter((~missing).tolist()).to_list(), column)
        codes = np.full(len(missing), -1, np.int32)
        codes[~missing] = present
        return codes, vocabulary

    def _numbers(self, column: str) -> Floats:
        """Return a numeric column as float64, NaN if a value is missing or not a number.

        A nested field that is itself an object of numbers is their sum.
        """
        is_plain = column in self._original and self.structure(column) is None
        if inner := [] if is_plain else self._fields.inner(column):
            parts = np.stack([self._numbers(name) for name in inner])
            return np.where(np.isnan(parts).all(axis=0), np.nan, np.nansum(parts, axis=0))
        series = self._series(column)
        if _is_number(str(series.dtype)) or str(series.dtype) == "Boolean":
            values = series.to_numpy()
            if series.null_count():
                values = [np.nan if gone else v for v, gone in zip(series.to_list(), series.is_null(), strict=True)]
            return np.ascontiguousarray(values, np.float64)
        return np.array([_number(value) for value in series.to_list()], np.float64)

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at a few rows, None for empty cells."""
        series = self._series(column)
        some = series[list(rows)]
        return [None if gone else str(value) for value, gone in zip(some.to_list(), _missing(some), strict=True)]

    def first(self, count: int, names: Sequence[str] = ()) -> list[list[str | None]]:
        """Return the first cells of every column, or of these columns and fields."""
        rows = range(min(count, len(self.frame)))
        return [self.cells(name, rows) for name in names or self.columns]

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names this row."""
        where = self.name if row < 0 else f"{self.name}, row {row + 1}"
        return InputError(f"{where}: " + message)

    def place(self, row: int) -> str:
        """Return the location of a row for messages."""
        return f"row {row + 1}"


class GroupedFrame(FrameTable):
    """Groups of equal rows, counted by the engine of a lazy frame; notes count rows, not groups."""

    def __init__(self, frame: Any) -> None:
        super().__init__(frame)
        self.columns.remove(ROWS)
        self._n_rows = self._numbers(ROWS)
        self.n_rows = int(self._n_rows.sum())

    def rows_in(self, groups: Int64s) -> int:
        """Return the number of rows that some groups represent."""
        return int(self._n_rows[groups].sum())

    def place(self, row: int) -> str:
        """Return the location of a group: its engine does not say where its rows are."""
        return f"group {row + 1} of equal rows"


def _text_type() -> Any:
    import narwhals as nw

    return nw.String


def values_at(series: Any, path: Sequence[str], backend: Any) -> Any:
    """Return the values of a nested field: of a struct by its engine, of Python objects and JSON texts one by one."""
    import narwhals as nw

    keys = list(path)
    while keys and str(series.dtype).startswith("Struct"):
        series = series.struct.field(keys.pop(0))
    if not keys:
        return series
    values = [dig(value, tuple(keys)) for value in series.to_list()]
    try:
        return nw.new_series(".".join(path), values, backend=backend)
    except (TypeError, ValueError, OverflowError):  # values of several types
        texts = [None if value is None else str(value) for value in values]
        return nw.new_series(".".join(path), texts, backend=backend)


def structure_of_type(dtype: Any) -> Structure:
    """Return the fields of a struct by its type; None for other types."""
    if not str(dtype).startswith("Struct"):
        return None
    return {one.name: structure_of_type(one.dtype) for one in dtype.fields}


def _has_objects(series: Any) -> bool:
    return any(isinstance(value, (dict, list)) for value in series.to_list())


def _shown(value: object) -> str | None:
    """Return a value as text, nested ones as JSON."""
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return None if value is None or value != value else str(value)


def _is_number(dtype: str) -> bool:
    return dtype.startswith(("Int", "UInt", "Float"))


def _missing(series: Any) -> Bools:
    """Return which cells are missing: null, NaN or empty text; the null of pandas cannot be compared."""
    rows = zip(series.to_list(), series.is_null().to_list(), strict=True)
    return np.array([gone or value != value or value == "" for value, gone in rows], bool)


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")
