"""Pairwise judgements of WildBench: which model is assistant A and which is B, and the winner or the judge's choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.tables.derived import DerivedTable
from concordant.tables.options import Options, normalise
from concordant.tables.rows import InputTable


def arrange(table: Any, _: Options) -> InputTable | None:
    """Return the table with the two assigned models and the outcome; None if the fields are missing."""
    resolve = getattr(table, "resolve", lambda _: None)
    left, right = resolve("assignment.A"), resolve("assignment.B")
    winner = next((name for name in table.columns if normalise(name) == "winner"), None)
    outcome = winner or resolve("parsed_result.choice")
    if left is None or right is None or outcome is None:
        return None
    n_rows = len(table.fetch([outcome], [])[0][outcome][0])
    notes = ["judgements of WildBench: the assigned models are compared"]
    roles = {"left": left, "right": right, "outcome": outcome, "winner": None}
    return DerivedTable(table, np.arange(n_rows), notes=notes, roles=roles)
