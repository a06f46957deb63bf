"""Votes between two models that a layout derives from its rows: a side that won, or a tie, with an optional weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from concordant.ballots.vocabulary import Coded, join_columns, shorten
from concordant.tables.bad_rows import SKIP_HINT, STRICT_HINT, left_out
from concordant.tables.derived import Column, DerivedTable, rows_of
from concordant.tables.options import Options
from concordant.tables.outcomes import BAD, LEFT_WON, NONE, RIGHT_WON, TIED, meanings_of
from concordant.tables.rows import InputTable
from concordant.types import Bools, Floats, Int64s

LEFT, RIGHT, WEIGHT = "first model", "second model", "weight of the vote"
FLAGS = {"left_won": "first won", "right_won": "second won", "tie": "neither won"}
UNUSABLE = np.inf
_MEANS = {LEFT_WON: 1.0, RIGHT_WON: -1.0, TIED: 0.0, BAD: 0.0, NONE: np.nan}


@dataclass(frozen=True)
class Votes:
    """Votes with the row of the table that each comes from.

    ``side`` is 1, -1, 0 for a tie, NaN for no judgement, UNUSABLE for an outcome that cannot be read.
    """

    rows: Int64s
    first: Coded
    second: Coded
    side: Floats
    weight: Floats | None = None


def concatenated(votes: Sequence[Votes]) -> Votes:
    """Return the votes of several games, in the order of the rows."""
    rows = np.concatenate([one.rows for one in votes])
    order = np.argsort(rows, kind="stable")

    def joined(columns: Sequence[Coded]) -> Coded:
        codes, labels = join_columns(columns)
        return rows_of((np.concatenate(codes), labels), order)

    weights = [one.weight for one in votes if one.weight is not None]
    return Votes(
        rows[order],
        joined([one.first for one in votes]),
        joined([one.second for one in votes]),
        np.concatenate([one.side for one in votes])[order],
        np.concatenate(weights)[order] if weights else None,
    )


def sides(table: InputTable, column: Coded, what: str, options: Options, names: tuple[str, str] = ("a", "b")) -> Floats:
    """Return the side that each word of a column means, NaN for no judgement; unknown words are rejected."""
    codes, words = column
    meanings = meanings_of(words.labels, names)
    side = np.array([*(_MEANS.get(meaning, UNUSABLE) for meaning in meanings), np.nan])[codes]
    is_unknown = np.isinf(side)
    if options.both_bad == "skip":
        side[np.array([*(meaning == BAD for meaning in meanings), False])[codes]] = np.nan
    refuse(table, is_unknown, options, lambda row: f"the {what} is {shorten(words[int(codes[row])])!r}, not an outcome")
    return side


def refuse(table: InputTable, is_bad: Bools, options: Options, explain: Callable[[int], str]) -> None:
    """Raise an error for the first bad row, unless bad rows are skipped."""
    if is_bad.any() and not options.skip_bad_rows:
        row = int(np.argmax(is_bad))
        raise table.error(row, explain(row) + SKIP_HINT)


def table_of_votes(table: InputTable, votes: Votes, options: Options, note: str) -> DerivedTable:
    """Return a table of votes with their roles; votes without a judgement are left out and counted in a note."""
    is_judged, is_bad = np.isfinite(votes.side), np.isinf(votes.side)
    notes = [
        *(note, *left_out_notes(table, votes.rows, np.isnan(votes.side), "there is no judgement", options.strict)),
        *left_out_notes(table, votes.rows, is_bad, "the outcome cannot be read", is_strict=False),
    ]
    if not is_judged.any():
        raise table.error(-1, "no row has a judgement: check that this is the right file.")
    kept = np.flatnonzero(is_judged)
    side = votes.side[kept]
    columns: dict[str, Column] = {LEFT: rows_of(votes.first, kept), RIGHT: rows_of(votes.second, kept)}
    is_value = {"left_won": side == 1, "right_won": side == -1, "tie": side == 0}
    columns |= {FLAGS[role]: flags.astype(np.float64) for role, flags in is_value.items()}
    roles: dict[str, str | None] = {"left": LEFT, "right": RIGHT, **FLAGS, "outcome": None}
    if votes.weight is not None:
        columns[WEIGHT] = votes.weight[kept]
        roles["weight"] = WEIGHT
    return DerivedTable(table, votes.rows[kept], columns, notes=notes, roles=roles)


def left_out_notes(table: InputTable, rows: Int64s, is_lacking: Bools, reason: str, is_strict: bool) -> list[str]:
    """Return a note on votes that are left out, if there are any; if ``is_strict``, raise an error."""
    lacking = np.flatnonzero(is_lacking)
    if not len(lacking):
        return []
    first = int(rows[lacking[0]])
    if is_strict:
        raise table.error(first, reason + STRICT_HINT)
    return [left_out(reason, len(lacking), table.place(first))]
