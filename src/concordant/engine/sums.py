"""Tables of sums: what remains of ratings or ranks after a GROUP BY, in this process or in another database.

Two tables exist. One row per item holds the sums that ``borda`` and ``mpm`` need, and a row without an item counts the
ballots of its instance. One row per item and level counts how often the item got the level, for ``mean-rating``:

===========  =====================================================================================================
item sums    item, weight, better, worse, tied, net, total, won, lost, unusable, form; optionally instance
level        item, level, weight, unusable, form; optionally instance
===========  =====================================================================================================

``form`` is "ratings" or "rankings". ``unusable`` counts rows that must not be counted: a missing cell, an item twice on
a ballot, different weights on one ballot. A sum that is not a whole number may be stored exactly as well: ``net_whole``
plus ``net_part`` in units of 2^-52.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from concordant.ballots.segments import sum_by
from concordant.ballots.vocabulary import Coded, Vocabulary
from concordant.engine.statistics import ITEM_SUMS, LEVELS, Statistic
from concordant.engine.tallies import UNIT, Sums, Tally
from concordant.errors import InputError
from concordant.support.limits import MAX_WEIGHT
from concordant.tables.rows import InputTable
from concordant.types import AnyArray, Bools, Floats

FORM, UNUSABLE = "form", "unusable"
FORMS = ("ratings", "rankings")
WHOLE, PART = "_whole", "_part"
SIGNED = ("net", "total")
METHODS = {ITEM_SUMS.name: ("mpm", "borda"), LEVELS.name: ("mean-rating",)}
_COLUMNS = {
    statistic.name: {*statistic.keys, *statistic.sums, UNUSABLE, FORM} - {"instance"}
    for statistic in (ITEM_SUMS, LEVELS)
}
ROUNDING = 1e-9
HOW_TO_CLEAN = (
    "have a missing cell, a number out of range, an item twice on a ballot, or different weights on one ballot: "
    "correct them and reduce the table again."
)


def statistic_of(columns: Sequence[str]) -> Statistic | None:
    """Return which sums a table with these columns holds; None for other tables."""
    names = {name.lower() for name in columns}
    found = (known for known in (ITEM_SUMS, LEVELS) if _COLUMNS[known.name] <= names)
    return next(found, None) if FORM in names else None


def read_sums(table: InputTable, statistic: Statistic) -> tuple[str, Tally]:
    """Return the form and the tally of a table of sums; raise an error for sums that no ballots have."""
    column = {name.lower(): name for name in table.columns}
    keys = [name for name in statistic.keys if name in column and name != "level"]
    exact = [name for name in statistic.sums if {name + WHOLE, name + PART} <= column.keys()]
    numbers = [*statistic.sums, UNUSABLE, *(["level"] if "level" in statistic.keys else [])]
    numbers += [name + end for name in exact for end in (WHOLE, PART)]
    texts, values = table.fetch([column[name] for name in (*keys, FORM)], [column[name] for name in numbers])
    coded = {name: texts[column[name]] for name in (*keys, FORM)}
    value = {name: values[column[name]] for name in numbers}
    n = len(value[UNUSABLE])
    if not n:
        raise table.error(-1, "the table of sums has no rows: check that this is the right file.")
    _refuse(table, np.isnan(value[UNUSABLE]) | (value[UNUSABLE] < 0), f"{UNUSABLE} is not a count")
    if rows := int(value[UNUSABLE].sum()):
        raise table.error(-1, f"{rows:,} rows of the reduced table " + HOW_TO_CLEAN)
    form = _form(table, coded.pop(FORM))
    for name in statistic.sums:
        is_bad = ~(np.abs(value[name]) <= MAX_WEIGHT)
        _refuse(table, is_bad if name in SIGNED else is_bad | (value[name] < 0), f"{name} is not a sum of ballots")
    if "level" in value:
        _refuse(table, ~np.isfinite(value["level"]), "the level is not a number")
        distinct, code = np.unique(value["level"] + 0.0, return_inverse=True)
        coded["level"] = code.reshape(-1).astype(np.int32), Vocabulary([repr(x) for x in distinct.tolist()])
        _refuse(table, coded["item"][0] < 0, "the item is missing")
    if "instance" not in coded:
        coded["instance"] = np.zeros(n, np.int32), Vocabulary([""])
    _refuse(table, coded["instance"][0] < 0, "the instance is missing")
    sums = {name: _exact(table, name, value, name in exact) for name in statistic.sums}
    tally = Tally(
        {name: coded[name][0] for name in statistic.keys},
        statistic.domain,
        {statistic.domain[name]: coded[name][1] for name in statistic.keys},
        sums,
    ).grouped()
    if "better" in sums:
        _check_ballots(table, tally)
    return form, tally


def _form(table: InputTable, coded: Coded) -> str:
    """Return the form of the ballots, which is the same in all rows."""
    codes, labels = coded
    found = sorted({labels[int(code)] if code >= 0 else "" for code in np.unique(codes)})
    if len(found) != 1 or found[0] not in FORMS:
        raise table.error(-1, f"the column {FORM!r} must be {FORMS[0]!r} or {FORMS[1]!r} in all rows.")
    return found[0]


def _refuse(table: InputTable, is_bad: Bools, what: str) -> None:
    """Raise an error for the first row that is marked."""
    if is_bad.any():
        where = "reduce the table again, or restore the file."
        raise table.error(int(np.argmax(is_bad)), f"{what}, so these sums are not usable: {where}")


def _exact(table: InputTable, name: str, value: Mapping[str, Floats], is_exact: bool) -> Sums:
    """Return the sums of a column: exact ones where they are stored, which must agree with the rounded ones."""
    if not is_exact:
        return Sums.of(value[name])
    whole, part = value[name + WHOLE], value[name + PART]
    is_whole = (whole == np.floor(whole)) & (part == np.floor(part)) & (part >= 0) & (part < UNIT)
    agree = is_whole & (whole + part / UNIT == value[name])
    _refuse(table, ~agree, f"{name} differs from {name}{WHOLE} and {name}{PART}")
    units: AnyArray = part.astype(np.int64)
    return Sums(whole.astype(np.int64), units if units.any() else None)


def _check_ballots(table: InputTable, tally: Tally) -> None:
    """Check that every instance counts its ballots and no item is on more ballots than there are."""
    instance, weight = tally.keys["instance"], tally.sums["weight"].value
    is_ballots = tally.keys["item"] < 0
    n = len(tally.labels["instance"])
    counted = np.bincount(instance[is_ballots], minlength=n)
    if (counted == 0).any():
        what = "the row without an item, which counts the ballots, is missing"
        raise table.error(-1, f"{what}: keep all rows of the result.")
    ballots = sum_by(instance[is_ballots], weight[is_ballots], n)
    if (weight > ballots[instance] * (1 + ROUNDING)).any():
        raise table.error(-1, "an item is on more ballots than there are: reduce the table again, or restore the file.")


def wanted(name: str | None) -> Statistic:
    """Return the statistic that an option names: "items" or "levels"."""
    return LEVELS if name == "levels" else ITEM_SUMS


def refuse_other_method(statistic: Statistic, method: str, name: str) -> InputError:
    """Return the error for a method that needs other sums than those of a table."""
    kept = " and ".join(METHODS[statistic.name])
    return InputError(
        f"{name} holds {statistic.name}, which suffice for {kept} with default options, but not for {method}: choose "
        "one of these methods, or rank the ballots themselves."
    )
