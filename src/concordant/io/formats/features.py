"""Read feature rows with labels and queries from a table or a DataFrame.

Column roles are inferred from names: the label (label, relevance, y, target, …), the query (qid, query, group, …) and
the document (docid, item, …); every other numeric column is a feature. The notes report the roles. An empty cell is a
missing value (NaN). Text columns are skipped with a note. Text in a numeric column is an error with its line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from concordant.ballots.vocabulary import Vocabulary, renumber, shorten
from concordant.errors import Sentence, arg
from concordant.support.limits import NUMBERS, WEIGHTS, bad_numbers, bad_weights
from concordant.tables.options import FEATURES, Options, listed
from concordant.tables.roles import plan_columns, refuse_unread
from concordant.tables.rows import InputTable, Rows
from concordant.types import AnyArray, Floats, Int64s

CHUNK = 256  # columns fetched at a time: a csv file is parsed once for each, a wide matrix is not held twice


class _Rows(NamedTuple):
    X: AnyArray
    y: Floats
    query: Int64s


class Features(_Rows):
    """Feature rows: the tuple (X, y, query), with column names and notes as attributes.

    ``query`` numbers the queries in order of appearance and ``queries`` holds their names. ``items`` holds the names of
    the rows and ``weight`` their weights, if the file has them. ``columns`` gives the role of each table column. If
    there are no labels, ``has_labels`` is False and y is all zero.
    """

    names: list[str]
    queries: Vocabulary | None = None
    items: list[str] | None = None
    weight: Floats | None = None
    has_labels: bool = True
    columns: dict[str, str]
    notes: list[str]

    def __new__(cls, X: AnyArray, y: Floats, query: Int64s, **known: Any) -> Features:
        """Combine the three arrays with further attributes: ``names``, ``queries``, ``items``, and so on."""
        rows = super().__new__(cls, X, y, query)
        vars(rows).update({"names": [str(k + 1) for k in range(X.shape[1])], "columns": {}, "notes": [], **known})
        return rows

    def __repr__(self) -> str:
        return f"Features({len(self.y):,} rows, {self.X.shape[1]:,} columns, {self.n_queries:,} queries)"

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.query.max(initial=-1)) + 1


def features_of_table(table: InputTable, options: Options) -> Features:
    """Read a table with given or inferred columns as feature rows."""
    plan = plan_columns(table, options, FEATURES)
    X, kept, words = _matrix(table, plan.places, options)
    if not kept:
        raise table.error(
            -1, f"no column contains numeric features (columns: {listed(table.columns)}): add at least one."
        )
    if options.n_features is not None and len(kept) != options.n_features:
        raise table.error(
            -1, f"it has {len(kept)} features, not {options.n_features}: name the columns with " + arg("features") + "."
        )
    plan = replace(plan, places=tuple(kept), unread=(*plan.unread, *words))
    if options.strict:
        refuse_unread(table, plan.unread)
    rows = Rows(table, plan, options, len(X))
    _refuse_words(rows, X)
    features = _features(rows, X)
    features.notes += [_note(rows, features), *table.notes, *rows.notes()]
    return features


def _matrix(table: InputTable, columns: Sequence[str], options: Options) -> tuple[AnyArray, list[str], list[str]]:
    """Return the numeric columns as a matrix (rows x features), their names, and the columns that contain only text."""
    is_named = options.roles.get("features") is not None
    X: AnyArray = np.empty((0, 0), options.dtype)
    kept: list[str] = []
    text_columns: list[str] = []
    for start in range(0, len(columns), CHUNK):
        chunk = columns[start : start + CHUNK]
        for name, values in table.fetch([], chunk)[1].items():
            if not kept and not text_columns:
                X = np.empty((len(values), len(columns)), options.dtype)
            if not is_named and np.isnan(values).all() and _has_words(table, name, len(values)):
                text_columns.append(name)
                continue
            X[:, len(kept)] = values
            kept.append(name)
    return (X if len(kept) == X.shape[1] else np.ascontiguousarray(X[:, : len(kept)])), kept, text_columns


def _has_words(table: InputTable, column: str, count: int) -> bool:
    return not all(map(_means_missing, table.cells(column, range(count))))


def _refuse_words(rows: Rows, X: AnyArray) -> None:
    """Reject text in numeric columns; an empty cell, NaN, NA or NULL is a missing value."""
    for k, name in enumerate(rows.plan.places):
        bad_rows = np.flatnonzero(bad_numbers(X[:, k])).tolist()
        if not bad_rows:
            continue
        cells = zip(bad_rows, rows.table.cells(name, bad_rows), strict=True)
        words = {row: cell for row, cell in cells if not _means_missing(cell)}
        bad = np.zeros(len(X), bool)
        bad[list(words)] = True

        def explain(row: int, name: str = name, words: Mapping[int, str | None] = words) -> str:
            return f"the feature {name!r} is {shorten(words[row] or '')!r}, not {NUMBERS}"

        rows.refuse(bad, f"the feature {name!r} is not {NUMBERS}", explain, column=name)


def _means_missing(text: str | None) -> bool:
    return text is None or text.strip().lower() in ("", "nan", "na", "null", "none", "n/a", "?")


def _features(rows: Rows, X: AnyArray) -> Features:
    """Combine the matrix with the labels, queries, documents and weights of its rows; reject bad rows."""
    y = rows.values("label") if rows.has("label") else np.zeros(len(X))
    rows.refuse(bad_numbers(y), f"the label is not {NUMBERS}")
    rows.refuse_missing("query")
    weight = rows.values("weight") if rows.has("weight") else None
    if weight is not None:
        rows.refuse(bad_weights(weight), f"the weight is not {WEIGHTS}")
    good, codes, queries, items = rows.good, np.zeros(rows.count, np.int32), None, None
    if not good.any():
        raise rows.table.error(-1, "there are no rows of data: check that this is the right file.")
    if rows.has("query"):
        row_codes, vocabulary = rows.raw("query")
        codes, queries = renumber(row_codes[good], vocabulary)
    if rows.has("item"):
        row_codes, vocabulary = rows.raw("item")
        rows.tolerate(good & (row_codes < 0), "the item is missing")
        items = [vocabulary[code] if code >= 0 else "" for code in row_codes[good].tolist()]
    return Features(
        X if good.all() else X[good],
        np.ascontiguousarray(y[good], np.float64),
        codes.astype(np.int64),
        names=list(rows.plan.places),
        queries=queries,
        items=items,
        weight=None if weight is None else weight[good],
        has_labels=rows.has("label"),
        columns=dict(rows.plan.column),
    )


def _note(rows: Rows, features: Features) -> str:
    """Return a note on the role of each column."""
    plan, missing = rows.plan, int(np.isnan(features.X).sum())
    of_queries = f" of {_counted(features.n_queries, 'query', 'queries')}"
    parts = [
        f"{rows.table.name}: {_counted(len(features.y), 'row', 'rows')}"
        + (of_queries if features.queries is not None else ", all of one query (no " + arg("query") + ")"),
        plan.describe(),
    ]
    parts += [f"{_counted(missing, 'value is', 'values are')} missing"] if missing else []
    parts += [f"not read: {listed(plan.unread)}"] if plan.unread else []
    return Sentence("; ").join(parts)


def _counted(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"
