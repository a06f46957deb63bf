"""Rows of features with their labels and queries, from a table or a DataFrame.

Columns are told apart by their names: the label (label, relevance, y, target, …), the query (qid, query, group, …) and
the document (docid, item, …); every other column of numbers is a feature. The notes say what was taken for what. An
empty cell is a missing value (NaN); a column of words is not read, and said so; a word in a column of numbers is an
error with its line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from concordant.errors import InputError, UnknownNameError, suggest
from concordant.roles import normalise
from concordant.screening import Screen
from concordant.tables import Coded, Table, renumber
from concordant.types import AnyArray, Bools, Floats, Int64s
from concordant.vocabulary import Vocabulary, shorten

NAMES = {
    "label": ("label", "relevance", "rel", "y", "target", "grade", "judgment", "judgement"),
    "query": ("query", "qid", "query id", "group", "group id", "topic", "topic id", "instance", "search id"),
    "item": ("item", "docid", "doc", "doc id", "document", "document id", "item id", "product id"),
}
ROLES = (*NAMES, "weight")
IF_ANY = "?"  # "?": the column, if one is named like its role; "?name": that column, if it is there
CHUNK = 256  # columns fetched at a time: a csv file is parsed once for each, a wide matrix is not held twice


class _Rows(NamedTuple):
    X: AnyArray
    y: Floats
    query: Int64s


class Features(_Rows):
    """Feature rows: the tuple (X, y, query), and beside it what the columns are called and what was understood.

    ``query`` numbers the queries in order of appearance and ``queries`` holds their names; ``items`` the names of the
    rows, ``weight`` their weights, where the file has them; ``columns`` says which column of a table was what. Without
    labels ``has_labels`` is False and y is all zero.
    """

    names: list[str]
    queries: Vocabulary | None
    items: list[str] | None
    weight: Floats | None
    has_labels: bool
    columns: dict[str, str]
    notes: list[str]

    def __new__(
        cls,
        X: AnyArray,
        y: Floats,
        query: Int64s,
        *,
        names: Sequence[str] = (),
        queries: Vocabulary | None = None,
        items: Sequence[str] | None = None,
        weight: Floats | None = None,
        has_labels: bool = True,
        columns: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
    ) -> Features:
        """Join the three arrays with what is known of them."""
        rows = super().__new__(cls, X, y, query)
        rows.names = list(names) or [str(k + 1) for k in range(X.shape[1])]
        rows.queries, rows.items, rows.weight = queries, None if items is None else list(items), weight
        rows.has_labels, rows.columns, rows.notes = has_labels, dict(columns or {}), list(notes)
        return rows

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return int(self.query.max(initial=-1)) + 1


def features_of_table(
    table: Table,
    given: Mapping[str, object],
    *,
    strict: bool = False,
    skip_bad_rows: bool = False,
    n_features: int | None = None,
    dtype: str = "float64",
) -> Features:
    """Read a table with known or guessed columns as feature rows."""
    plan = _Plan(table, given)
    texts = [plan.column[role] for role in ("query", "item") if role in plan.column]
    numbers = [plan.column[role] for role in ("label", "weight") if role in plan.column]
    coded, valued = table.fetch(texts, numbers) if texts or numbers else ({}, {})
    X, kept, words = _matrix(table, plan.features, dtype, is_said=given.get("features") is not None)
    if not kept:
        raise table.error(-1, f"no column holds numbers to learn from (columns: {_listed(table.columns)}).")
    if n_features is not None and len(kept) != n_features:
        raise table.error(-1, f"it has {len(kept)} features, not {n_features}: name the columns with features=.")
    unread = [*plan.unread, *words]
    if strict and unread:
        raise table.error(-1, f"the columns {_listed(unread)} would not be read: remove them, or read without strict.")
    rows = Screen(table, len(X), strict=strict, skip_bad_rows=skip_bad_rows)
    _refuse_words(rows, table, X, kept)
    y, query, weight = _checked(rows, plan, coded, valued, len(X))
    found = _finished(rows, plan, X, y, query, weight, coded, kept)
    found.notes += [_note(table, plan, found, unread), *table.notes, *rows.notes()]
    return found


class _Plan:
    """Which column is what."""

    def __init__(self, table: Table, given: Mapping[str, object]) -> None:
        for role in given:
            if role not in (*ROLES, "features"):
                raise UnknownNameError(
                    f"There is no role {role!r} of feature tables: use {', '.join(ROLES)}, features."
                )
        self.column: dict[str, str] = {}
        rivals: list[str] = []
        for role in ROLES:
            said = given.get(role)
            if said is False:
                continue
            if is_optional(said) and str(said)[1:] in table.columns:
                self.column[role] = str(said)[1:]
            elif said is not None and not is_optional(said):
                self.column[role] = _find(table, said, role)
            elif table.has_header:
                self._guess(table, role, rivals)
        self.has_labels = "label" in self.column
        if not self.has_labels and given.get("label") is not False and not is_optional(given.get("label")):
            raise table.error(
                -1,
                f"no column was recognised as the label (columns: {_listed(table.columns)}): say label=COLUMN, or "
                "label=False for rows without labels.",
            )
        taken = set(self.column.values())
        wanted = given.get("features")
        if wanted is None:
            self.features = [name for name in table.columns if name not in taken and name not in rivals]
        else:
            listed = wanted.split(",") if isinstance(wanted, str) else list(wanted)  # type: ignore[call-overload]
            self.features = [_find(table, one, "feature") for one in listed]
        self.unread = [name for name in table.columns if name not in taken and name not in self.features]

    def _guess(self, table: Table, role: str, rivals: list[str]) -> None:
        """Take the column named like the role; others that could be it are neither that nor features."""
        words = NAMES.get(role, ())
        found = [name for name in table.columns if normalise(name) in words and name not in self.column.values()]
        found.sort(key=lambda name: words.index(normalise(name)) if normalise(name) in words[:2] else 2)
        if not found:
            return
        if len(found) > 1 and normalise(found[0]) not in words[:2]:
            raise table.error(-1, f"{_listed(found)} could each be the {role}: say which with {role}={found[0]!r}.")
        self.column[role] = found[0]
        rivals += found[1:]


def is_optional(said: object) -> bool:
    """Say whether a role may stay without a column."""
    return isinstance(said, str) and said.startswith(IF_ANY)


def _find(table: Table, value: object, role: str) -> str:
    """Return the column somebody named, by its name in any spelling or by its position from 1."""
    text, columns = str(value).strip(), table.columns
    if text in columns:
        return text
    alike = [name for name in columns if normalise(name) == normalise(text)]
    if len(alike) == 1:
        return alike[0]
    if text.isdecimal() and len(text) < 10 and 1 <= int(text) <= len(columns):
        return columns[int(text) - 1]
    hint = suggest(text, list(columns))
    raise table.error(-1, f"there is no column {text!r} to be the {role}.{hint} Its columns are {_listed(columns)}.")


def _matrix(
    table: Table, columns: Sequence[str], dtype: str, *, is_said: bool
) -> tuple[AnyArray, list[str], list[str]]:
    """Return the columns of numbers side by side, their names, and the columns that hold only words."""
    X: AnyArray = np.empty((0, 0), dtype)
    kept: list[str] = []
    words: list[str] = []
    for start in range(0, len(columns), CHUNK):
        chunk = columns[start : start + CHUNK]
        for name, values in table.fetch([], chunk)[1].items():
            if not kept and not words:
                X = np.empty((len(values), len(columns)), dtype)
            if not is_said and np.isnan(values).all() and _has_words(table, name, len(values)):
                words.append(name)
                continue
            X[:, len(kept)] = values
            kept.append(name)
    return (X if len(kept) == X.shape[1] else np.ascontiguousarray(X[:, : len(kept)])), kept, words


def _has_words(table: Table, column: str, count: int) -> bool:
    return not all(map(_means_missing, table.cells(column, range(count))))


def _refuse_words(rows: Screen, table: Table, X: AnyArray, kept: Sequence[str]) -> None:
    """Refuse words among numbers; an empty cell, NaN, NA or NULL is a missing value."""
    for k, name in enumerate(kept):
        odd = np.flatnonzero(~np.isfinite(X[:, k])).tolist()
        if not odd:
            continue
        words = {row: cell for row, cell in zip(odd, table.cells(name, odd), strict=True) if not _means_missing(cell)}
        bad = np.zeros(len(X), bool)
        bad[list(words)] = True

        def explain(row: int, name: str = name, words: Mapping[int, str | None] = words) -> str:
            return f"the feature {name!r} is {shorten(words[row] or '')!r}, not a finite number"

        rows.refuse(bad, f"the feature {name!r} is not a finite number", explain)


def _means_missing(text: str | None) -> bool:
    return text is None or text.strip().lower() in ("", "nan", "na", "null", "none", "n/a", "?")


def _checked(
    rows: Screen, plan: _Plan, coded: Mapping[str, Coded], valued: Mapping[str, Floats], count: int
) -> tuple[Floats, Coded | None, Floats | None]:
    """Return label, query and weight of every row, bad rows refused."""
    y = valued[plan.column["label"]] if "label" in plan.column else np.zeros(count)
    rows.refuse(~np.isfinite(y), "the label is not a finite number")
    query = coded[plan.column["query"]] if "query" in plan.column else None
    if query is not None:
        rows.refuse(query[0] < 0, "the query is missing")
    weight = valued[plan.column["weight"]] if "weight" in plan.column else None
    if weight is not None:
        bad: Bools = ~(np.isfinite(weight) & (weight >= 0))
        rows.refuse(bad, "the weight is not a finite number from 0 up")
    return y, query, weight


def _finished(
    rows: Screen,
    plan: _Plan,
    X: AnyArray,
    y: Floats,
    query: Coded | None,
    weight: Floats | None,
    coded: Mapping[str, Coded],
    kept: Sequence[str],
) -> Features:
    good = rows.good
    if not good.any():
        raise rows.rows.error(-1, "there are no rows of data: check that this is the right file.")
    every = bool(good.all())
    codes, queries = (np.zeros(rows.count, np.int64), None) if query is None else renumber(query[0][good], query[1])
    items = None
    if "item" in plan.column:
        named, vocabulary = coded[plan.column["item"]]
        rows.tolerate(good & (named < 0), "the item is missing")
        items = [vocabulary[code] if code >= 0 else "" for code in named[good].tolist()]
    return Features(
        X if every else X[good],
        np.ascontiguousarray(y[good], np.float64),
        codes.astype(np.int64),
        names=kept,
        queries=queries,
        items=items,
        weight=None if weight is None else weight[good],
        has_labels=plan.has_labels,
        columns=plan.column,
    )


def _note(table: Table, plan: _Plan, found: Features, unread: Sequence[str]) -> str:
    """Say what was read as what."""
    of_queries = f" of {_counted(found.n_queries, 'query', 'queries')}"
    of_queries = of_queries if found.queries is not None else ", all of one query (no query=)"
    said = ", ".join(f"{role} = {name}" for role, name in plan.column.items())
    first, last = shorten(found.names[0]), shorten(found.names[-1])
    features = f"{len(found.names)} features = {first} … {last}" if len(found.names) > 1 else f"feature = {first}"
    missing = int(np.isnan(found.X).sum())
    parts = [
        f"{table.name}: {_counted(len(found.y), 'row', 'rows')}{of_queries}",
        ", ".join(filter(None, [said, features])),
    ]
    parts += [f"{_counted(missing, 'value is', 'values are')} missing"] if missing else []
    parts += [f"not read: {_listed(unread)}"] if unread else []
    return "; ".join(parts)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(shorten(name) for name in names[:12])
    return shown + (f", … ({len(names)} in all)" if len(names) > 12 else "")


def refuse_bad_type(dtype: str) -> None:
    """Refuse a type of numbers features cannot have."""
    if dtype not in ("float64", "float32"):
        raise InputError(f"dtype={dtype!r} is no type of features: use 'float64' or 'float32'.")
