"""Rows of a table that belong to sets of alternatives, for choice data and best-worst scaling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from concordant.ballots.vocabulary import Coded, Vocabulary
from concordant.tables.bad_rows import SKIP_HINT, STRICT_HINT
from concordant.tables.derived import Column, DerivedTable, rows_of
from concordant.tables.layouts import _set_names as names
from concordant.tables.options import Options, is_optional, normalise
from concordant.tables.rows import InputTable
from concordant.types import Bools, Floats, Int64s

OPEN = "order of the rest is open"


class Sets:
    """The sets of a table: rows that agree in all key columns; ``of_row`` is -1 if a key is missing."""

    def __init__(self, table: InputTable, keys: Sequence[str]) -> None:
        self.table, self.keys = table, list(dict.fromkeys(keys))
        columns = list(table.fetch(self.keys, [])[0].values())
        key = np.zeros(len(columns[0][0]), np.int64)
        is_known = np.ones(len(key), bool)
        for codes, labels in columns:
            key = key * (len(labels) + 1) + codes + 1
            is_known &= codes >= 0
        self.of_row: Int64s = np.full(len(key), -1, np.int64)
        _, self.of_row[is_known] = np.unique(key[is_known], return_inverse=True)
        self.count = int(self.of_row.max(initial=-1)) + 1

    def totals(self, flags: Bools) -> Int64s:
        """Return the number of marked rows of every set."""
        return np.bincount(self.of_row[flags & (self.of_row >= 0)], minlength=self.count)

    def of_rows(self, by_set: Bools) -> Bools:
        """Return the value of its set for every row, False for rows without a set."""
        return np.append(by_set, False)[self.of_row]

    def differ_within(self, column: Coded) -> Bools:
        """Return whether a column holds more than one value within every set."""
        first = np.zeros(self.count, np.int32)
        is_known = self.of_row >= 0
        first[self.of_row[is_known][::-1]] = column[0][is_known][::-1]
        return self.totals(is_known & (column[0] != first[self.of_row])) > 0

    def are_distinct(self, column: Coded) -> bool:
        """Return whether a column never repeats a value within a set, and repeats values across sets."""
        pairs = self.of_row * (len(column[1]) + 1) + column[0]
        return len(np.unique(pairs)) == len(pairs) and len(column[1]) < len(pairs)

    def column(self, rows: Int64s) -> tuple[str, dict[str, Column]]:
        """Return the column that identifies the sets of some rows: the only key, or an additional column."""
        if len(self.keys) == 1:
            return self.keys[0], {}
        labels = Vocabulary.lazy(self.count, lambda: [str(k) for k in range(1, self.count + 1)])
        name = " + ".join(self.keys)
        return name, {name: rows_of((self.of_row.astype(np.int32), labels), rows)}


def leave_out(sets: Sets, is_bad: Bools, marked: Bools, reason: str, options: Options, *, is_error: bool) -> list[str]:
    """Return the note on sets that are left out; raise an error if they are bad and bad rows are not skipped.

    The error names the last marked row of the first bad set, or its first row if none is marked.
    """
    if not is_bad.any():
        return []
    of_first = np.flatnonzero(sets.of_row == int(np.argmax(is_bad)))
    row = int([*of_first[:1], *of_first[marked[of_first]]][-1])
    if is_error and not options.skip_bad_rows:
        raise sets.table.error(row, reason + SKIP_HINT)
    if options.strict:
        raise sets.table.error(row, reason + STRICT_HINT)
    count = int(is_bad.sum())
    return [f"left out {count:,} set{'s' * (count > 1)}: {reason} (first: {sets.table.place(row)})"]


def as_ballots(
    table: InputTable,
    rows: Int64s,
    rank: Floats,
    is_open: Bools,
    *,
    roles: dict[str, str | None],
    added: dict[str, Column],
    used: Sequence[str],
    notes: Sequence[str],
    ordered: str,
) -> DerivedTable:
    """Return a table of ballots: a row per item with its rank, named ``ordered``, and whether the last tier is open.

    Only the given roles are read; of the others, weights are recognised by name.
    """
    by_plain = {normalise(name): name for name in table.columns}
    unread = dict.fromkeys(("rating", "instance", "team", "agent"))
    weight = names.first_named(by_plain, names.WEIGHTS, list(roles.values()))
    columns: dict[str, Column] = {**added, ordered: rank}
    if is_open.any():
        columns[OPEN] = np.where(is_open, 0, 1).astype(np.int32), Vocabulary(["yes", "no"])
    arranged = DerivedTable(
        table,
        rows,
        columns,
        notes=notes,
        roles={**unread, "weight": weight, **roles, "rank": ordered, "open": OPEN if is_open.any() else None},
        used=used,
    )
    arranged.is_order = True
    return arranged


def column_of_user(table: InputTable, options: Options, role: str) -> str | None:
    """Return the column that the user named for a role; None if there is none."""
    value = options.roles.get(role)
    if value is None or value is False or is_optional(value):
        return None
    text = str(value).strip()
    same = [name for name in table.columns if name == text] or [
        name for name in table.columns if normalise(name) == normalise(text)
    ]
    if not same and text.isdecimal() and 1 <= int(text) <= len(table.columns):
        same = [table.columns[int(text) - 1]]
    return same[0] if same else None
