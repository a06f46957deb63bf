"""Best-worst scaling (MaxDiff): respondents name the best and the worst item of each set they are shown.

Three layouts are recognised:

======== =================================================================== =======================================
layout   columns                                                             a row is
======== =================================================================== =======================================
wide     ``item1`` … ``itemk`` (or option, alternative, A, B, …), ``best``,  a set; best and worst are items, or
         ``worst``                                                           positions 1 to k
long     a respondent, a set, an item, and a value: 1 best, -1 worst, 0      an item of a set
         neither (or two columns ``best`` and ``worst`` of 0 and 1)
counts   an item, ``totals`` (times shown), ``bests``, ``worsts``            an item
======== =================================================================== =======================================

Sets become ballots best > rest > worst; without a worst item the order of the rest is open. Counts contain no ballots.
They are read as ratings 1, 0 and -1 of single items, weighted by the counts, so that the scores of ``best-worst`` are
exact; methods that compare items find nothing to compare.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import Vocabulary, join_rows, renumber, shorten
from concordant.errors import InputError, arg
from concordant.support.limits import WEIGHTS, bad_weights
from concordant.tables.bad_rows import RowScreen
from concordant.tables.cells import number_in
from concordant.tables.derived import DerivedTable
from concordant.tables.layouts import _set_names as names
from concordant.tables.layouts._sets import Sets, as_ballots, column_of_user, leave_out
from concordant.tables.options import Options, normalise
from concordant.tables.outcomes import read_flags
from concordant.tables.rows import InputTable
from concordant.types import Bools, Floats, Int32s, Int64s

META = {"layout": "best-worst"}
SAMPLE = 100
FEWEST_ITEMS = 3
MIN_SHARE = 0.9  # of the sets have at most one best and one worst item
NOTE = "best-worst scaling: a set is a ballot, best > rest > worst"
NO_MARK = {"", "none", "neither", "na", "n/a", "nan", "-"}
_NUMBERED = r"(?:(.*?) ?)?(\d{1,2}|[a-j])"
_VALUES = {
    **dict.fromkeys(("1", "1.0", "+1", "best", "most", "b"), 1.0),
    **dict.fromkeys(("-1", "-1.0", "worst", "least", "w"), -1.0),
    **dict.fromkeys(("0", "0.0", *NO_MARK), 0.0),
}


def arrange(table: InputTable, options: Options) -> InputTable | None:
    """Return the table with a ballot per set, or with ratings per item from counts; None if it is something else."""
    by_plain = {normalise(name): name for name in table.columns}
    best, worst = (names.first_named(by_plain, words) for words in (names.BEST, names.WORST))
    if best is not None and worst is not None and len(items := _item_columns(by_plain, [best, worst])) >= FEWEST_ITEMS:
        return _wide(table, options, by_plain, items, (best, worst))
    arranged = _counts(table, options, by_plain)
    return arranged or _long(table, options, by_plain, best, worst)


# ---- wide: a row per set ----
def _item_columns(by_plain: Mapping[str, str], taken: Sequence[str]) -> list[str]:
    """Return the columns item1, item2, …, or option a, option b, … (with any word), in order."""
    groups: dict[str, dict[int, str]] = {}
    for plain, name in by_plain.items():
        match = re.fullmatch(_NUMBERED, plain)
        if match is not None and name not in taken:
            number = int(match[2]) if match[2].isdecimal() else ord(match[2]) - ord("a") + 1
            groups.setdefault(match[1] or "", {})[number] = name
    complete = [group for group in groups.values() if sorted(group) == list(range(1, len(group) + 1))]
    largest = max(complete, key=len, default={})
    return [largest[number] for number in sorted(largest)]


def _wide(
    table: InputTable, options: Options, by_plain: Mapping[str, str], items: Sequence[str], marks: tuple[str, str]
) -> InputTable:
    """Return a row per item of each set from a table with a row per set."""
    coded = table.fetch([*items, *marks], [])[0]
    codes, labels = join_rows([coded[name] for name in (*items, *marks)])
    code = codes.reshape(-1, len(items) + 2)
    shown, best_code, worst_code = code[:, :-2], code[:, -2], code[:, -1]
    screen = RowScreen(table, len(code), options)
    best = _positions(screen, shown, best_code, labels, items, marks[0])
    worst = _positions(screen, shown, worst_code, labels, items, marks[1])
    screen.refuse((best == worst) & (best >= 0), "the best and the worst item are the same")
    is_empty = (best < 0) & (worst < 0)
    screen.tolerate(is_empty & screen.good, "neither a best nor a worst item, left out")
    is_used = (shown >= 0) & (screen.good & ~is_empty)[:, None]
    row, place = np.nonzero(is_used)
    if not len(row):
        raise table.error(-1, "no row names a best or a worst item: there is nothing to rank.")
    item_name, set_name = f"{items[0]} … {items[-1]}", "row"
    agent = column_of_user(table, options, "agent")
    agent = agent or names.first_named(by_plain, names.CHOOSERS, [*items, *marks])
    ballot = renumber(row.astype(np.int32), Vocabulary.lazy(len(code), lambda: [str(k + 1) for k in range(len(code))]))
    arranged = as_ballots(
        *(table, row, _ranks(place == best[row], place == worst[row]), worst[row] < 0),
        roles={"item": item_name, "ballot": set_name, "agent": agent},
        added={item_name: renumber(shown[is_used], labels), set_name: ballot},
        used=[*items, *marks],
        notes=[NOTE, *screen.notes()],
        ordered=f"{marks[0]}, {marks[1]}",
    )
    arranged.meta = META
    return arranged


def _positions(
    screen: RowScreen, shown: Int32s, mark: Int32s, labels: Vocabulary, items: Sequence[str], column: str
) -> Int64s:
    """Return the position of the marked item in every row, -1 if there is none.

    Marks are labels of items if they always are; otherwise positions from 1, letters, or names of columns.
    """
    says_none = np.array([*(label.strip().lower() in NO_MARK for label in labels.labels), True])
    is_marked = ~says_none[mark]
    is_item = (shown == mark[:, None]) & is_marked[:, None]
    position = np.where(is_item.any(axis=1), is_item.argmax(axis=1), np.where(is_marked, -2, -1))
    if (position == -2).any():
        place_of = _places(items)
        place = np.array([*(place_of.get(normalise(label), -2) for label in labels.labels), -1])[mark]
        by_place = np.where(is_marked, place, -1)
        position = by_place if (by_place == -2).sum() < (position == -2).sum() else position
    reason = f"{shorten(column)} is neither an item of the set nor a position from 1 to {len(items)}"
    screen.refuse(
        position == -2, reason, lambda row: f"{reason}, but {shorten(labels[int(mark[row])])!r}", column=column
    )
    return position


def _places(items: Sequence[str]) -> dict[str, int]:
    """Return the position that a word stands for: a number from 1 (0 is none), a letter, or the name of a column."""
    by_name = {normalise(name): k for k, name in enumerate(items)}
    numbers = {text: k for k in range(len(items)) for text in (str(k + 1), f"{k + 1} 0", chr(ord("a") + k))}
    return {"0": -1, "0 0": -1, **numbers, **by_name}


def _ranks(is_best: Bools, is_worst: Bools) -> Floats:
    """Return rank 1 for the best item, 3 for the worst and 2 for the rest."""
    return np.where(is_best, 1.0, np.where(is_worst, 3.0, 2.0))


# ---- long: a row per item of a set ----
def _long(
    table: InputTable, options: Options, by_plain: Mapping[str, str], best: str | None, worst: str | None
) -> InputTable | None:
    """Return ballots from a row per item of a set, marked by a value or by two columns of flags."""
    marked = _marks(table, by_plain, best, worst)
    if marked is None:
        return None
    columns, is_best, is_worst = marked
    set_column = column_of_user(table, options, "ballot") or names.first_named(by_plain, names.SETS, columns)
    agent = column_of_user(table, options, "agent")
    agent = agent or names.first_named(by_plain, names.CHOOSERS, [*columns, set_column])
    keys = [name for name in (agent, set_column) if name is not None]
    if set_column is None:
        return None
    sets = Sets(table, keys)
    n_best, n_worst = sets.totals(is_best), sets.totals(is_worst)
    is_usual = (n_best <= 1) & (n_worst <= 1) & (n_best + n_worst > 0)
    if not sets.count or len(is_best) < FEWEST_ITEMS * sets.count or is_usual.mean() < MIN_SHARE:
        return None
    item = _items(table, options, sets, by_plain, [*columns, *keys])
    notes = leave_out(sets, n_best > 1, is_best, "several items of the set are the best", options, is_error=True)
    notes += leave_out(sets, n_worst > 1, is_worst, "several items of the set are the worst", options, is_error=True)
    unmarked = "neither a best nor a worst item"
    notes += leave_out(sets, n_best + n_worst == 0, is_best, unmarked, options, is_error=False)
    rows = np.flatnonzero(sets.of_rows(is_usual) | (sets.of_row < 0))
    ballot, added = sets.column(rows)
    has_worst = sets.of_rows(n_worst == 1)
    arranged = as_ballots(
        *(table, rows, _ranks(is_best, is_worst)[rows], ~has_worst[rows]),
        roles={"item": item, "ballot": ballot, "agent": agent},
        added=added,
        used=[*keys, *columns],
        notes=[NOTE, *notes],
        ordered=", ".join(columns) + " (best first)",
    )
    arranged.meta = META
    return arranged


def _marks(
    table: Any, by_plain: Mapping[str, str], best: str | None, worst: str | None
) -> tuple[list[str], Bools, Bools] | None:
    """Return the columns that mark items, and which rows are best and worst; None if no column does."""
    sample = dict(zip(table.columns, table.first(SAMPLE), strict=True))
    if best is not None and worst is not None:
        coded = table.fetch([best, worst], [])[0]
        (is_best, odd_best), (is_worst, odd_worst) = (read_flags(*coded[name]) for name in (best, worst))
        is_plain = not (odd_best.any() or odd_worst.any() or (is_best & is_worst).any())
        return ([best, worst], is_best, is_worst) if is_plain else None
    for name in (by_plain[plain] for plain in names.BEST_OR_WORST if plain in by_plain):
        if all((cell or "").strip().lower() in _VALUES for cell in sample[name]):
            codes, words = table.fetch([name], [])[0][name]
            value = np.array([*(_VALUES.get(word.strip().lower(), np.nan) for word in words.labels), 0.0])[codes]
            if np.isfinite(value).all() and (value > 0).any() and (value < 0).any():
                return [name], value > 0, value < 0
    return None


def _items(table: InputTable, options: Options, sets: Sets, by_plain: Mapping[str, str], taken: Sequence[str]) -> str:
    """Return the column that names the items: by its name, or the only one that differs within every set."""
    item = column_of_user(table, options, "item") or names.first_named(by_plain, names.ALTERNATIVES, taken)
    if item is not None:
        return item
    other_columns = [name for name in table.columns if name not in taken]
    coded = table.fetch(other_columns, [])[0] if other_columns else {}
    distinct = [name for name in other_columns if sets.are_distinct(coded[name])]
    if len(distinct) != 1:
        raise _no_items(table)
    return distinct[0]


def _no_items(table: InputTable) -> InputError:
    what = "best and worst items are marked, but no column was recognised as the item: use "
    return table.error(-1, what + arg("item", shown="COLUMN") + ".")


# ---- counts: a row per item ----
def _counts(table: InputTable, options: Options, by_plain: Mapping[str, str]) -> InputTable | None:
    """Return ratings 1, 0 and -1, weighted by how often each item was best, neither and worst."""
    groups = (names.TIMES_SHOWN, names.TIMES_BEST, names.TIMES_WORST)
    shown, best, worst = (names.first_named(by_plain, words) for words in groups)
    if shown is None or best is None or worst is None:
        return None
    number = table.fetch([], [shown, best, worst])[1]
    counts = np.stack([number[best], number[shown] - number[best] - number[worst], number[worst]], axis=1)
    if np.isnan(counts).all():
        return None
    item = column_of_user(table, options, "item") or names.first_named(by_plain, names.ALTERNATIVES)
    if item is None:
        texts = [name for name in table.columns if name not in (shown, best, worst)]
        coded = table.fetch(texts, [])[0] if texts else {}
        texts = [name for name in texts if any(number_in(label) is None for label in coded[name][1].labels)]
        if len(texts) != 1:
            raise _no_items(table)
        item = texts[0]
    screen = RowScreen(table, len(counts), options)
    is_unknown: Bools = np.any(np.isnan(counts), axis=1)
    screen.refuse(is_unknown, "a count is not a number")
    screen.refuse((counts[:, 1] < 0) & screen.good, f"{shown} is less than {best} and {worst} together")
    is_bad: Bools = np.any(bad_weights(counts), axis=1)
    screen.refuse(is_bad, f"a count is not {WEIGHTS}")
    screen.tolerate(screen.good & (number[shown] == 0), "never shown, left out")
    row, kind = np.nonzero((counts > 0) & screen.good[:, None])
    if not len(row):
        raise table.error(-1, "no item was shown: there is nothing to rank.")
    note = f"{len(np.unique(row)):,} items with counts and without ballots: use best-worst, score or mean-rating"
    counted = {"rating": "1 best, -1 worst", "weight": "number of times", "ballot": "count"}
    ballots = np.arange(len(row), dtype=np.int32), Vocabulary.lazy(len(row), lambda: [str(k) for k in range(len(row))])
    arranged = DerivedTable(
        table,
        row,
        {
            counted["rating"]: np.array([1.0, 0.0, -1.0])[kind],
            counted["weight"]: counts[row, kind],
            counted["ballot"]: ballots,
        },
        notes=[note, *screen.notes()],
        roles={**dict.fromkeys(("instance", "agent", "team")), "item": item, **counted},
        used=[shown, best, worst],
    )
    arranged.meta = META
    return arranged
