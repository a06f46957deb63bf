"""Annotations of AlpacaEval: two generators, and a preference from 1 (the first is better) to 2 (the second is better).

A number in between is 1 plus the probability that the second generator wins. Such a row becomes two ballots, weighted
by the two probabilities, so that the weighted share of wins is the tool's win rate, the mean of preference - 1. The
numbers 0 and 1.5 are ties; a missing preference is left out.
"""

from __future__ import annotations

import numpy as np

from concordant.tables.layouts._votes import UNUSABLE, Votes, concatenated, refuse, table_of_votes
from concordant.tables.options import Options, normalise
from concordant.tables.outcomes import NONE, meanings_of
from concordant.tables.rows import InputTable

TIES = (0.0, 1.5)


def arrange(table: InputTable, options: Options) -> InputTable | None:
    """Return a table of weighted votes; None if the preferences are words."""
    by_plain = {normalise(name): name for name in table.columns}
    stem = "generator" if {"generator 1", "generator 2"} <= by_plain.keys() else "output"
    left, right, preference = by_plain[f"{stem} 1"], by_plain[f"{stem} 2"], by_plain["preference"]
    texts, numbers = table.fetch([left, right, preference], [preference])
    codes, words = texts[preference]
    value = numbers[preference]
    is_empty = np.array([*(meaning == NONE for meaning in meanings_of(words.labels)), True])[codes]
    if (np.isnan(value) & ~is_empty).any():
        return None
    is_bad = ~(np.isnan(value) | (value == 0) | ((value >= 1) & (value <= 2)))
    refuse(table, is_bad, options, lambda row: f"the preference is {value[row]:g}, neither 0 nor from 1 to 2")
    second_wins = np.where(np.isin(value, TIES), 0.5, value - 1)
    is_sure = np.isin(value, (*TIES, 1.0, 2.0)) | np.isnan(value) | is_bad
    sure_side = np.where(is_bad, UNUSABLE, np.sign(1 - 2 * second_wins))
    votes = []
    for rows, side, weight in (
        (np.flatnonzero(is_sure), sure_side, np.ones(len(value))),
        (np.flatnonzero(~is_sure), np.ones(len(value)), 1 - second_wins),
        (np.flatnonzero(~is_sure), -np.ones(len(value)), second_wins),
    ):
        first, second = ((texts[name][0][rows], texts[name][1]) for name in (left, right))
        votes.append(Votes(rows, first, second, side[rows], weight[rows] if not is_sure.all() else None))
    note = f"preferences of AlpacaEval: 1 is a win of {left}, 2 a win of {right}"
    if count := int((~is_sure).sum()):
        note += f"; {count:,} in between are probabilities, each read as two ballots with these weights"
    return table_of_votes(table, concatenated(votes), options, note)
