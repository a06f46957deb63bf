"""Answers without column names: worker, object and label, separated by tabs (Get-Another-Label), and gold pairs.

The column with more distinct values holds the tasks, because a worker answers several; with equal numbers, the second
one does. A third column with many different values, or with numbers that count up, is something else.
"""

from __future__ import annotations

import numpy as np

from concordant.ballots.vocabulary import Coded
from concordant.tables.answers import trimmed
from concordant.tables.cells import number_in
from concordant.tables.derived import DerivedTable
from concordant.tables.options import Options
from concordant.tables.rows import InputTable

MAX_CLASSES = 50
MAX_NUMBERS = 3  # numbers of more different values are more often the ratings of users


def arrange(table: InputTable, _: Options) -> InputTable | None:
    """Return the table with roles; None if it has a header, or its last column does not look like labels."""
    if table.has_header:
        return None
    names = table.columns
    columns = table.fetch(names, [])[0]
    label = trimmed(columns[names[2]])
    n_rows = len(label[0])
    n_first, n_second = (len(columns[name][1]) for name in names[:2])
    if not _are_labels(label, n_rows) or max(n_first, n_second) >= n_rows:
        return None
    agent, item = (names[1], names[0]) if n_first > n_second else (names[0], names[1])
    notes = ["without a header: workers, tasks and labels are recognised by their number of distinct values"]
    roles: dict[str, str | None] = {"agent": agent, "item": item, "answer": names[2]}
    return DerivedTable(table, np.arange(n_rows), notes=notes, roles=roles)


def arrange_labels(table: InputTable, _: Options) -> InputTable | None:
    """Return gold pairs (object, label) with roles; None if the table has a header."""
    if table.has_header:
        return None
    item, label = table.columns
    n_rows = len(table.fetch([item], [])[0][item][0])
    return DerivedTable(table, np.arange(n_rows), roles={"item": item, "label": label})


def _are_labels(label: Coded, n_rows: int) -> bool:
    """Return whether a column holds few different words, or at most three different numbers, that repeat."""
    words = label[1].labels
    are_numbers = all(number_in(word) is not None for word in words)
    return 1 < len(words) <= (MAX_NUMBERS if are_numbers else MAX_CLASSES) and 2 * len(words) <= n_rows
