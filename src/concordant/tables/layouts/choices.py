"""Choice data in the long form: a row per alternative of a choice set, with a mark at the chosen one.

Discrete choice software keeps its data so (mlogit ``id, chid, alt, choice``; biogeme, xlogit, logitr and statsmodels
with similar names). A choice set becomes a ballot: the chosen alternative above the rest, whose order is unknown. Sets
in which nothing is chosen (opt-out) are left out and counted; several chosen alternatives are an error. Other columns
stay available as covariates and groups.

Conjoint data compare profiles of attributes that change from set to set. Alternatives without names cannot be ranked,
so such tables are rejected unless the user names the column to rank, such as the brand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import Coded
from concordant.errors import InputError, arg, phrase
from concordant.tables.cells import number_in
from concordant.tables.layouts import _set_names as names
from concordant.tables.layouts._sets import Sets, as_ballots, column_of_user, leave_out
from concordant.tables.options import Options, listed, normalise
from concordant.tables.outcomes import NO, YES, read_flags
from concordant.tables.rows import InputTable
from concordant.types import Bools

SAMPLE = 100  # first rows that must hold yes or no before all are read
MAX_POSITIONS = 30  # alternatives with numbers up to this may be positions on the screen
MIN_SHARE = 0.5  # of the sets must have one chosen alternative or none, if no column is named like a set
CHOSEN_FIRST = "chosen first"
NUMBERED = (
    "the alternatives are numbers; if these are positions of profiles that change from set to set (conjoint data), "
    "the ranking compares positions"
)


def arrange(table: InputTable, options: Options) -> InputTable | None:
    """Return the table with a ballot per choice set; None if no column marks chosen alternatives."""
    by_plain = {normalise(name): name for name in table.columns}
    chosen = names.chosen_column(by_plain)
    set_column = column_of_user(table, options, "ballot") or names.first_named(by_plain, names.SETS, [chosen])
    agent = column_of_user(table, options, "agent")
    agent = agent or names.first_named(by_plain, names.CHOOSERS, [chosen, set_column])
    keys = [name for name in (agent, set_column) if name is not None]
    if chosen is None or not keys:
        return None
    flags = _flags(table, chosen)
    if flags is None:
        return None
    sets = Sets(table, keys)
    n_chosen = sets.totals(flags)
    if not sets.count or len(flags) < 2 * sets.count:
        return None
    is_named = set_column is not None and names.first_named(by_plain, names.ALTERNATIVES, [chosen, *keys]) is not None
    if not is_named and ((n_chosen <= 1).mean() < MIN_SHARE or not flags.any()):
        return None
    item, notes = _alternatives(table, options, sets, by_plain, [chosen, *keys])
    several = "several alternatives of the set are chosen, but a choice has one"
    notes += leave_out(sets, n_chosen > 1, flags, several, options, is_error=True)
    nothing = "no alternative is chosen (opt-out)"
    notes += leave_out(sets, n_chosen == 0, flags, nothing, options, is_error=False)
    rows = np.flatnonzero(sets.of_rows(n_chosen == 1) | (sets.of_row < 0))
    if not len(rows):
        raise table.error(-1, "no set has a chosen alternative: there is nothing to rank.")
    ballot, added = sets.column(rows)
    return as_ballots(
        table,
        rows,
        np.where(flags[rows], 1.0, 2.0),
        np.ones(len(rows), bool),
        roles={"item": item, "ballot": ballot, "agent": agent},
        added=added,
        used=[chosen, *keys],
        notes=["choices: a set is a ballot, the chosen alternative above the rest", *notes],
        ordered=f"{chosen} ({CHOSEN_FIRST})",
    )


def _flags(table: Any, column: str) -> Bools | None:
    """Return which rows are chosen; None if the column holds words other than yes and no."""
    sample = table.first(SAMPLE)[table.columns.index(column)]
    if any((cell or "").strip().lower() not in YES | NO for cell in sample):  # without reading the rest of a large file
        return None
    flags, is_unknown = read_flags(*table.fetch([column], [])[0][column])
    return None if is_unknown.any() else flags


def _alternatives(
    table: InputTable, options: Options, sets: Sets, by_plain: Mapping[str, str], taken: Sequence[str]
) -> tuple[str, list[str]]:
    """Return the column that names the alternatives, and notes; reject conjoint data, whose alternatives have none."""
    if (item := column_of_user(table, options, "item")) is not None:
        return item, []
    position = names.first_named(by_plain, names.POSITIONS, taken)
    item = names.first_named(by_plain, names.ALTERNATIVES if position is None else names.NUMBERED, taken)
    other_columns = [name for name in table.columns if name not in (*taken, item, position)]
    coded = table.fetch([*other_columns, *([] if item is None else [item])], [])[0]
    texts = [name for name in other_columns if not _are_numbers(coded[name]) and sets.differ_within(coded[name]).any()]
    if item is None:
        named = [name for name in texts if sets.are_distinct(coded[name])]
        if position is None and len(named) == 1:
            return named[0], []
        raise _nameless(table, texts)
    if not _are_positions(coded[item]):
        return item, []
    same = [name for name in texts if _are_one_to_one(coded[item], coded[name])]
    if len(same) == 1:  # numbers and names of the same alternatives
        return same[0], []
    if len(texts) > len(same):
        raise _nameless(table, [name for name in texts if name not in same])
    return item, [NUMBERED]


def _are_numbers(column: Coded) -> bool:
    return all(number_in(label) is not None for label in column[1].labels[:MAX_POSITIONS])


def _are_positions(column: Coded) -> bool:
    """Return whether all labels are small whole numbers."""
    return all(label.isdecimal() and int(label) <= MAX_POSITIONS for label in column[1].labels)


def _are_one_to_one(first: Coded, second: Coded) -> bool:
    """Return whether each label of a column always occurs with the same label of another one."""
    pairs = len(np.unique(first[0].astype(np.int64) * (len(second[1]) + 1) + second[0]))
    return pairs == len(first[1]) == len(second[1])


def _nameless(table: InputTable, attributes: Sequence[str]) -> InputError:
    """Create the error for conjoint data: the alternatives have attributes but no names."""
    example = attributes[0] if attributes else "COLUMN"
    what = f" ({listed(attributes)})" if attributes else ""
    text = phrase(
        "the rows are alternatives of choice sets, but no column names the alternatives: conjoint data describe "
        "them by attributes{}, which are not items to rank. To rank the values of one column, name it with {}.",
        *(what, arg("item", shown=example)),
    )
    return table.error(-1, text)
