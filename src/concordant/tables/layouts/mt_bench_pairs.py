"""Pairwise judgements of MT-bench: two models, and the winners of two games with the answers in both orders."""

from __future__ import annotations

import numpy as np

from concordant.tables.layouts._votes import Votes, concatenated, sides, table_of_votes
from concordant.tables.options import Options, normalise
from concordant.tables.rows import InputTable


def arrange(table: InputTable, options: Options) -> InputTable | None:
    """Return a table of votes, one per game; in the second game the second model is shown first."""
    by_plain = {normalise(name): name for name in table.columns}
    columns = [by_plain[name] for name in ("model 1", "model 2", "g1 winner", "g2 winner")]
    first, second, *games = table.fetch(columns, [])[0].values()
    rows, names = np.arange(len(first[0])), (columns[0], columns[1])
    votes = [
        Votes(rows, first, second, sides(table, games[0], columns[2], options, names)),
        Votes(rows, second, first, -sides(table, games[1], columns[3], options, names)),
    ]
    note = "judgements of MT-bench: each row is two votes, one per order of the answers"
    return table_of_votes(table, concatenated(votes), options, note)
