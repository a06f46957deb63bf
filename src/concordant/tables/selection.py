"""Choose the rows of a table: those that meet a condition, without repeated rows.

This works for every table, through its columns as text and numbers. Tables that DuckDB scans are filtered in the scan
instead (``io._filtered``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from concordant.ballots.vocabulary import Coded, shorten
from concordant.errors import InputError, UnknownColumnError, arg, suggest
from concordant.support.duck import connect
from concordant.tables.conditions import (
    Condition,
    cannot_apply,
    not_readable,
    nothing_left,
    parse_condition,
)
from concordant.tables.derived import DerivedTable
from concordant.tables.options import Options, listed, normalise
from concordant.tables.plans import HasColumns
from concordant.tables.rows import InputTable
from concordant.types import AnyArray, Bools, Floats, Int64s

Fetched = tuple[Mapping[str, Coded], Mapping[str, Floats]]


class Choice(NamedTuple):
    """How many rows of a table were read, and how many of them were left out and why."""

    where: str | None = None
    n_rows: int = 0
    n_unmet: int = 0
    """Rows that do not meet the condition."""
    by: str | None = None
    """How repeated rows are named in the note; None if they are kept."""
    n_repeated: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether no row meets the condition."""
        return self.where is not None and self.n_rows == self.n_unmet

    def notes(self) -> list[str]:
        """Return notes on how many rows were left out."""
        notes: list[str] = []
        if self.where is not None:
            rows = f"{self.n_unmet:,} of {self.n_rows:,} row{'s' * (self.n_rows != 1)}"
            verb = "does" if self.n_unmet == 1 else "do"
            notes.append(f"left out {rows} that {verb} not meet the condition " + arg("where", self.where))
        if self.by is not None:
            count = f"{self.n_repeated:,} row{'s' * (self.n_repeated != 1)}"
            what = f"left out {count} equal to an earlier row" if self.n_repeated else "no row repeats an earlier row"
            notes.append(what + self.by)
        return notes

    def plus(self, other: Choice | None) -> Choice:
        """Return the choice for the rows of both."""
        if other is None:
            return self
        counts = (self.n_rows + other.n_rows, self.n_unmet + other.n_unmet, self.by, self.n_repeated + other.n_repeated)
        return Choice(self.where, *counts)


class ChosenTable(DerivedTable):
    """The rows of a table that the options keep."""

    def __init__(self, base: InputTable, rows: Int64s, choice: Choice) -> None:
        super().__init__(base, rows, notes=choice.notes())
        self.choice = choice


def is_choosing(options: Options) -> bool:
    """Return whether the options leave out rows."""
    return options.where is not None or drops_duplicates(options)


def drops_duplicates(options: Options) -> bool:
    """Return whether the options leave out repeated rows."""
    return options.drop_duplicates is not False and options.drop_duplicates is not None


def choice_of(table: object) -> Choice | None:
    """Return how the rows of a table were chosen, None if all are kept."""
    return getattr(table, "choice", None)


def choose_rows(table: InputTable, options: Options) -> InputTable:
    """Return the rows of a table that the options keep; the notes of the table say how many were left out."""
    if options.where is not None:
        condition = parse_condition(options.where, table)
        keep = evaluate(condition, table, *fetch_for(condition, table))
        table = ChosenTable(table, np.flatnonzero(keep), Choice(condition.text, len(keep), int((~keep).sum())))
    if drops_duplicates(options):
        names = key_columns(table, options.drop_duplicates)
        columns = list(table.fetch(names, [])[0].values())
        rows, total = first_of_equal_rows(columns), len(columns[0][0])
        table = ChosenTable(table, rows, Choice(by=shown_key(names, table), n_repeated=total - len(rows)))
    return table


def refuse_empty(tables: Sequence[HasColumns]) -> None:
    """Reject tables of which no row meets the condition."""
    choices = [choice for table in tables if (choice := choice_of(table)) is not None and choice.where is not None]
    if choices and all(choice.is_empty for choice in choices):
        total = reduce(Choice.plus, choices)
        raise nothing_left(tables[0], str(total.where), total.n_rows)


def notes_together(tables: Sequence[InputTable]) -> list[str]:
    """Return one note on the rows left out of all tables, in place of the notes of each."""
    choices = [choice for table in tables if (choice := choice_of(table)) is not None]
    for table in tables:
        own = choice_of(table)
        table.notes[:] = [note for note in table.notes if own is None or note not in own.notes()]
    return reduce(Choice.plus, choices).notes() if choices else []


def shown_key(names: Sequence[str], table: HasColumns) -> str:
    """Return how a note names the columns by which rows are compared."""
    return "" if len(names) == len(table.columns) else f" in {listed(names)}"


def fetch_for(condition: Condition, table: InputTable) -> Fetched:
    """Return the columns of a condition as text and, where they are compared with numbers, as numbers."""
    names = list(dict.fromkeys(use.column for use in condition.uses)) or table.columns[:1]
    numbers = [use.column for use in condition.uses if use.kind == "number"]
    return table.fetch(names, numbers)


def evaluate(
    condition: Condition, table: HasColumns, texts: Mapping[str, Coded], numbers: Mapping[str, Floats]
) -> Bools:
    """Return, for each row, whether it meets a condition; a cell that cannot be read is an error."""
    is_met: Bools = evaluate_with_unknown(condition, table, texts, numbers) == 1
    return is_met


def evaluate_with_unknown(
    condition: Condition, table: HasColumns, texts: Mapping[str, Coded], numbers: Mapping[str, Floats]
) -> AnyArray:
    """Return, for each row, 1 if it meets a condition, 0 if not, and -1 if missing values leave it open.

    Codes are joined with their labels in DuckDB, so that no text is copied for each row.
    """
    import duckdb

    columns: dict[str, Any] = {}
    joins = []
    with connect() as connection:
        for k, (name, (codes, labels)) in enumerate(texts.items()):
            columns[f"code{k}"] = codes
            label = np.array([*labels.labels, ""], object)[
                :-1
            ]  # never without a text, which would be an array of float
            connection.register(f"labels{k}", {"code": np.arange(len(labels), dtype=np.int32), "label": label})
            joins.append(f"LEFT JOIN labels{k} ON labels{k}.code = code{k}")
            columns[f"number{k}"] = numbers.get(name, np.zeros(0))
        columns = {name: column for name, column in columns.items() if len(column)}
        n_rows = len(next(iter(columns.values()), ()))
        if not n_rows:
            return np.zeros(0, np.int64)
        place = {name: k for k, name in enumerate(texts)}
        connection.register("rows", columns | {"row": np.arange(n_rows)})
        text_of = [f"labels{place[use.column]}.label::VARCHAR" for use in condition.uses]
        number_of = [f"number{place[use.column]}" for use in condition.uses]
        source = f"FROM rows {' '.join(joins)}"
        try:
            for use, text, number in zip(condition.uses, text_of, number_of, strict=True):
                bad = f"SELECT {text} {source} WHERE {use.is_bad(text, number)} ORDER BY row LIMIT 1"
                if found := connection.execute(bad).fetchone():
                    raise not_readable(table, use, str(found[0]))
            terms = [use.sql(*both) for use, *both in zip(condition.uses, text_of, number_of, strict=True)]
            query = f"SELECT coalesce(CAST(({condition.sql(terms)}) AS INT), -1) AS met {source} ORDER BY row"
            return np.asarray(connection.execute(query).fetchnumpy()["met"])
        except duckdb.Error as problem:
            raise cannot_apply(table, condition, problem) from None


# ---- repeated rows ----
def key_columns(table: HasColumns, wanted: Sequence[str] | str | bool) -> list[str]:
    """Return the columns by which rows are compared: all of them, or those that the user named."""
    if wanted is True or wanted == "":
        return list(table.columns)
    if not isinstance(wanted, (str, list, tuple)):
        raise InputError(
            arg("drop_duplicates", wanted) + " is not valid: give True for all columns, or the names of some columns."
        )
    names = [wanted] if isinstance(wanted, str) and wanted in table.columns else wanted
    names = names.split(",") if isinstance(names, str) else names
    return [_find(table, str(name).strip()) for name in names]


def _find(table: HasColumns, name: str) -> str:
    """Return the column of this name, compared without case and punctuation."""
    same = [column for column in table.columns if normalise(column) == normalise(name)]
    if name in table.columns or len(same) == 1:
        return name if name in table.columns else same[0]
    what = f"{table.name} has no column {shorten(name)!r} to compare rows by.{suggest(name, table.columns)} "
    error = UnknownColumnError(what + f"Its columns are {listed(table.columns)}.", column=name)
    raise error.at(path=table.error(-1, "").path, parameter="drop_duplicates")


def first_of_equal_rows(columns: Sequence[Coded]) -> Int64s:
    """Return the first row of each group of rows that are equal in all these columns, in order."""
    key = np.zeros(len(columns[0][0]), np.int64)
    for codes, _ in columns:
        _, key = np.unique(key * (int(codes.max(initial=-1)) + 2) + codes + 1, return_inverse=True)
    _, first = np.unique(key, return_index=True)
    return np.sort(first).astype(np.int64)
