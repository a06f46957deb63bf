"""Points of both sides of a game: they decide the result where no column does, and their difference is the margin.

If a column gives the result as well, that column decides, because a shoot-out or a jury may have; results that
contradict the points are counted in a note. Games without points and without a result have not been played: they are
left out and counted. Unknown points of a game with a result are NaN.
"""

from __future__ import annotations

import re

import numpy as np

from concordant.ballots.vocabulary import Coded, shorten
from concordant.support.limits import NUMBERS, bad_numbers
from concordant.tables.grades import means_missing
from concordant.tables.outcomes import decide_outcomes, points_in, read_neutral
from concordant.tables.rows import Rows
from concordant.types import Bools, Floats

SCORES = ("left_score", "right_score")
CODES = {-1.0, 0.0, 0.5, 1.0, 2.0}  # numbers that stand for a result; others are a margin
_NOT_PLAYED = {"\\n", "*", "tbd", "tba", "postponed", "ppd", "pp", "canceled", "cancelled", "abandoned", "susp", "."}
_WITH_SHOOT_OUT = r"(?:\(\d{1,3}\) *)?(\d{1,4})(?: *\(\d{1,3}\))?"  # 2 (4): the goals, and those of the shoot-out


def points_of_rows(rows: Rows, sides: tuple[str, str]) -> Floats | None:
    """Return the points of both sides (rows x 2, NaN if unknown); None if there are no columns of points.

    Rows without any content, and games that have not been played, are left out.
    """
    _leave_out_empty(rows)
    if not all(map(rows.has, SCORES)):
        return _points_of_outcomes(rows) if rows.has("outcome") else None
    points = np.stack([_points(rows, role) for role in SCORES], 1)
    _drop_margin(rows)
    if sides[0] == "left" and not rows.has("left_won"):
        is_unknown: Bools = np.asarray(np.isnan(points).any(axis=1))
        if rows.has("outcome"):
            columns = rows.plan.column["left"], rows.plan.column["right"]
            side = decide_outcomes(rows.raw("outcome"), rows.raw("left"), rows.raw("right"), columns).side
            is_unknown = is_unknown & np.isnan(side) & _is_missing(rows.raw("outcome"))
        rows.leave_out(is_unknown, "the game has no score (not yet played)")
    if not rows.good.any():
        raise rows.table.error(-1, "no game has a score yet: there is nothing to rank.")
    return None if np.isnan(points).all() else points


def _leave_out_empty(rows: Rows) -> None:
    """Leave out rows in which all columns that are read are empty, as at the end of files made with spreadsheets."""
    is_empty = rows.is_empty()
    if is_empty.all():
        raise rows.table.error(-1, "there are no rows of data: check that this is the right file.")
    rows.leave_out(is_empty, "the row is empty")


def _points(rows: Rows, role: str) -> Floats:
    """Return a column of points, NaN where they are missing; reject rows with other texts."""
    codes, words = rows.raw(role)
    values = [_points_in(word) for word in words.labels]
    odd = [np.isnan(value) and not _says_nothing(word) for value, word in zip(values, words.labels, strict=True)]
    is_odd, value_of_word = np.array([*odd, False]), np.array([*values, np.nan])
    rows.refuse(
        is_odd[codes], f"the {role} is not a number", rows.explain(role, f"not {NUMBERS}"),
        column=rows.plan.column[role],
    )  # fmt: skip
    return value_of_word[codes]


def _points_in(word: str) -> float:
    """Return the points that a cell gives, NaN if it gives none."""
    try:
        number = float(word)
    except ValueError:
        found = re.fullmatch(_WITH_SHOOT_OUT, word.strip())
        return float(found[1]) if found else np.nan
    return np.nan if bad_numbers(number) else number


def _says_nothing(word: str) -> bool:
    return means_missing(word) or word.strip().lower() in _NOT_PLAYED


def _is_missing(column: Coded) -> Bools:
    codes, words = column
    return np.array([*(_says_nothing(word) for word in words.labels), True])[codes]


def _points_of_outcomes(rows: Rows) -> Floats | None:
    """Return the points in results such as 3-1; None if the results are words."""
    codes, words = rows.raw("outcome")
    pairs = [points_in(word) for word in words.labels]
    if not pairs or any(
        pair is None and not _says_nothing(word) for pair, word in zip(pairs, words.labels, strict=True)
    ):
        return None
    if all(pair is None or max(pair) <= 1 for pair in pairs):  # 1-0 is the result of a game of chess
        return None
    rows.leave_out(_is_missing(rows.raw("outcome")), "the game has no score (not yet played)")
    return np.array([*((np.nan, np.nan) if pair is None else pair for pair in pairs), (np.nan, np.nan)])[codes]


def _drop_margin(rows: Rows) -> None:
    """Do not use an inferred column of results that holds other numbers, such as the difference of the points."""
    if "outcome" not in rows.plan.column or rows.is_named("outcome"):
        return
    numbers = [_points_in(word) for word in rows.raw("outcome")[1].labels if not _says_nothing(word)]
    if numbers and not np.isnan(numbers).any() and not CODES.issuperset(numbers):
        name = shorten(rows.plan.column["outcome"])
        rows.plan = rows.plan.without("outcome", f"{name} holds numbers that are no results, so the points decide")


def with_points(rows: Rows, side: Floats, points: Floats) -> Floats:
    """Fill results that are missing, or unknown in an inferred column, from the points; say how many."""
    by_points = np.sign(points[:, 0] - points[:, 1])
    is_filled = np.isnan(side) & ~np.isnan(by_points) & rows.good
    is_missing = _is_missing(rows.raw("outcome"))
    if rows.is_named("outcome"):
        is_filled &= is_missing
    elif (unknown := is_filled & ~is_missing).any():
        name = shorten(rows.plan.column["outcome"])
        rows.tolerate(unknown, f"the result in {name} is neither side nor a tie, so the points decide")
    return np.where(is_filled, by_points, side)


def note_contradictions(rows: Rows, side: Floats, points: Floats) -> None:
    """Count results that contradict the points, and games with equal points that have a winner."""
    by_points = np.sign(points[:, 0] - points[:, 1])
    is_decided = ~np.isnan(by_points) & ~np.isnan(side) & rows.good & (by_points != side)
    rows.tolerate(is_decided & (by_points != 0), "the result contradicts the points; the result counts")
    rows.tolerate(is_decided & (by_points == 0), "the points are equal, but the result names a winner")


def ties_by_points(rows: Rows, points: Floats | None) -> Bools | None:
    """Return which games were tied where the winner's column also names ties ("Winner/tie"); else None."""
    if points is None or "tie" not in re.split(r"\W+", rows.plan.column["winner"].lower()):
        return None
    return np.asarray(points[:, 0] == points[:, 1])


def neutral_rows(rows: Rows) -> Bools | None:
    """Return the rows in which neither side was at home; None if no column says so."""
    if not rows.has("neutral"):
        return None
    is_neutral, unknown = read_neutral(*rows.raw("neutral"))
    if unknown.any() and not rows.is_named("neutral"):
        rows.plan = rows.plan.without("neutral")
        return None
    trouble = "neither true nor false"
    rows.refuse(
        unknown, f"the column of neutral games is {trouble}", rows.explain("neutral", trouble),
        column=rows.plan.column["neutral"],
    )  # fmt: skip
    return is_neutral
