"""Read a DataFrame (pandas, polars, pyarrow, …) as a table of preferences, through narwhals.

Text in Arrow memory is encoded there, without creating Python objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from concordant.ballots.vocabulary import Coded, coded_of_stream, encode, read_arrow, shorten, speaks_arrow
from concordant.errors import ConcordantError, InputError, arg
from concordant.tables.build import transposed_if_named
from concordant.tables.layouts import arranged, invited
from concordant.tables.options import FEATURES, PREFERENCES, Options, normalise
from concordant.tables.plans import Names, beyond_counts, has_points
from concordant.tables.roles import plan_columns
from concordant.tables.rows import InputTable
from concordant.types import Bools, Floats

T = TypeVar("T")


def is_frame(given: object) -> bool:
    """Return whether an object has named columns, as DataFrames do."""
    return hasattr(type(given), "columns") or hasattr(type(given), "column_names")


def frame_of(columns: Mapping[str, Any], backend: str | None = None) -> Any:
    """Return a DataFrame of these columns.

    ``backend`` is pandas, polars or pyarrow, by default the first one installed.
    """
    import importlib.util

    import narwhals as nw

    known = ("pandas", "polars", "pyarrow")
    chosen = backend or next((name for name in known if importlib.util.find_spec(name)), None)
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


COUNT = "weight of equal rows"


def grouped_pairs(frame: Any, options: Options) -> tuple[Any, Options, str] | None:
    """Count equal pairs with the engine of a lazy frame: (counts, options to read them, note); or None."""
    import narwhals as nw

    try:
        lazy = nw.from_native(frame, allow_series=False, pass_through=True)
    except Exception:  # FrameTable says what is wrong with it
        return None
    if not isinstance(lazy, nw.LazyFrame) or isinstance(frame, nw.DataFrame):
        return None
    table = Names("the frame", list(map(str, lazy.collect_schema().names())))
    if invited(frozenset(map(normalise, table.columns)), options):
        return None
    try:
        plan = plan_columns(table, options)
    except InputError:  # FrameTable says what is wrong, or recognises a matrix by its numbers
        return None
    if options.transpose or plan.layout != "pairs" or beyond_counts(plan, options) or has_points(plan):
        return None
    keys = {role: name for role, name in plan.column.items() if role != "weight"}
    if options.roles.get("agent") is None:
        keys.pop("agent", None)
    weight = plan.column.get("weight")
    total = nw.len() if weight is None else nw.col(weight).sum()
    counts = lazy.group_by(*keys.values()).agg(total.alias(COUNT)).collect().sort(*keys.values())
    roles = {**dict.fromkeys(("agent", "instance", "tie")), **keys, "weight": COUNT}
    if plan.is_grouped:
        roles |= {"by": roles["instance"], "instance": None}
    note = f"pairs of a lazy frame, counted by its engine: {len(counts):,} different ones"
    return counts, replace(options, roles=roles, layout="pairs"), note


def table_of_frame(frame: Any, options: Options, layout: str | None = None) -> InputTable:
    """Return a frame as a table, transposed if the options request it."""
    table = FrameTable(frame)
    if options.transpose:
        return transposed_if_named(table, options, layout) or table
    return table if layout == FEATURES else arranged(table, options, layout or PREFERENCES)


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
        return self.frame.get_column(self._original[column])

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
        missing = _missing(series)
        if not missing.any():
            return encode(series.to_numpy() if _is_number(dtype) else series.to_list(), column)
        present, vocabulary = encode(series.filter((~missing).tolist()).to_list(), column)
        codes = np.full(len(missing), -1, np.int32)
        codes[~missing] = present
        return codes, vocabulary

    def _numbers(self, column: str) -> Floats:
        """Return a numeric column as float64, NaN if a value is missing or not a number."""
        series = self._series(column)
        if _is_number(str(series.dtype)) or str(series.dtype) == "Boolean":
            values = (
                [np.nan if v is None else v for v in series.to_list()] if series.null_count() else series.to_numpy()
            )
            return np.ascontiguousarray(values, np.float64)
        return np.array([_number(value) for value in series.to_list()], np.float64)

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at a few rows, None for empty cells."""
        series = self._series(column)
        values = [series[row] for row in rows]
        return [None if value is None or value != value else str(value) for value in values]

    def first(self, count: int) -> list[list[str | None]]:
        """Return the first cells of every column."""
        rows = range(min(count, len(self.frame)))
        return [self.cells(name, rows) for name in self.columns]

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names this row."""
        where = self.name if row < 0 else f"{self.name}, row {row + 1}"
        return InputError(f"{where}: " + message)

    def place(self, row: int) -> str:
        """Return the location of a row for messages."""
        return f"row {row + 1}"


def _text_type() -> Any:
    import narwhals as nw

    return nw.String


def _is_number(dtype: str) -> bool:
    return dtype.startswith(("Int", "UInt", "Float"))


def _missing(series: Any) -> Bools:
    values = series.to_list()
    return np.array([value is None or value != value or value == "" for value in values], bool)


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")
