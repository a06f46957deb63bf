"""Build the arrays of preferences from a table with known column roles, and report every bad row.

A table is any object that returns columns of text or numbers and the location of a row (a line of a file, a row of a
DataFrame). The first row that cannot be used raises an error with its location. With ``skip_bad_rows``, such rows are
left out, counted by reason and reported in the notes. ``strict`` also rejects what is normally accepted with a note:
columns that are not read, a role with a second candidate column, empty ballots, skipped places.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from concordant import kernels
from concordant.ballots import build
from concordant.ballots.build import Parts
from concordant.ballots.form import READ_AS
from concordant.ballots.vocabulary import Coded, Vocabulary, join_rows, renumber, shorten
from concordant.errors import InputError, Sentence, arg, clause
from concordant.support.date_bytes import times_of_bytes
from concordant.support.dates import read_times
from concordant.support.frozen import freeze
from concordant.tables.answers import answers, keep_one_each, trimmed
from concordant.tables.cells import CellTable, number_in, transposed
from concordant.tables.crowds import is_gold
from concordant.tables.nested import heading
from concordant.tables.options import CLICKS, LABELS, MATRICES, Options
from concordant.tables.outcomes import decide_outcomes, direction_of, read_flags
from concordant.tables.places import note_on_words, only_candidates, repeats
from concordant.tables.plans import Names, Plan
from concordant.tables.races import read_places
from concordant.tables.ranking_text import parse_rankings
from concordant.tables.roles import plan_columns
from concordant.tables.rows import InputTable, Rows
from concordant.tables.scores import neutral_rows, note_contradictions, points_of_rows, ties_by_points, with_points
from concordant.tables.teams import Sides, shown_side, split_teams
from concordant.types import Bools, Floats, Int32s, Int64s

RATED = ("ratings", "rating-matrix", "answers")  # layouts with words for ratings, perhaps
_NO_WORDS = arg("categories") + " only applies to PrefLib cat files and to ratings in words, but the layout is"


def parts_of_table(table: InputTable, options: Options, plan: Plan | None = None) -> Parts:
    """Read a table as preferences: keyword arguments for ``Preferences``, with notes on the inferred roles."""
    rows = Rows(table, plan or plan_columns(table, options), options)
    rows.drop_identifier()
    plan = rows.plan
    if options.categories is not None and plan.layout not in RATED:
        raise table.error(-1, _NO_WORDS + f" {plan.layout}: leave it out.")
    if options.both_bad != "tie" and plan.layout != "pairs":
        what = " only applies to comparisons of two sides, but the layout is"
        raise table.error(-1, arg("both_bad", options.both_bad) + what + f" {plan.layout}: leave it out.")
    parts = _BUILDERS[plan.layout](rows)
    plan = rows.plan  # without columns whose content did not fit
    if rows.has_sides:
        parts = split_teams(parts, options.team_separator)
    by_item = plan.layout in MATRICES and "item" in plan.column
    unit = "items" if by_item else "ballots" if plan.layout in ("places", "rankings", *MATRICES) else plan.layout
    unit = "rows" if unit == "ballots" and "weight" in plan.column else unit  # of several ballots each
    count = f"{rows.count:,} {unit if rows.count != 1 else unit[:-1]}"
    read = f"{table.name}: {count}; " + plan.describe()
    unread = [f"not read: {', '.join(_heading(table, name) for name in plan.unread[:12])}"] if plan.unread else []
    known_facts: dict[str, str] = getattr(table, "meta", {})
    is_form = bool(plan.labels) or getattr(table, "is_form", False)
    grouped = {"by": plan.column["instance"]} if plan.is_grouped else {}
    parts["meta"] = {**known_facts, **grouped, READ_AS: plan.facts(is_form=is_form)}
    parts["notes"] = [Sentence("; ").join([read, *plan.notes, *unread]), *table.notes, *rows.notes()]
    return parts


def _heading(table: InputTable, column: str) -> str:
    """Return a column name for a note, with the number of its fields if it is nested."""
    return heading(shorten(column), getattr(table, "structure", lambda _: None)(column))


def labels_of_table(table: InputTable, options: Options) -> tuple[Coded | None, Coded, Floats, Vocabulary | None]:
    """Read a table of labels: (instance, item, label, classes) columns for ``Labels``."""
    rows = Rows(table, plan_columns(table, options, LABELS), options)
    rows.refuse_missing("item", "instance")
    classes = _label_classes(rows)
    values = rows.values("label") if classes is None else classes[0].astype(np.float64)
    if classes is None:
        rows.refuse_not_finite("label")
    else:
        rows.refuse(classes[0] < 0, "the label is missing", column=rows.plan.column["label"])
    if is_gold(rows.plan.column["label"]) and not rows.strict:
        _drop_equal_labels(rows, values)
    rows.refuse_repeated_items(["instance", "item"], "labelled twice{where}", "keep one label")
    instance = rows.coded("instance") if rows.has("instance") else None
    return instance, rows.coded("item"), values[rows.good], classes and classes[1]


def _drop_equal_labels(rows: Rows, values: Floats) -> None:
    """Keep one of several rows that give an item the same label, as in a table of answers with a gold column."""
    good = np.flatnonzero(rows.good)
    _, label = np.unique(values[good], return_inverse=True)
    key = np.stack([rows.key(["instance", "item"])[good], label.reshape(-1)])
    is_first = np.zeros(len(rows.good), bool)
    is_first[good[np.unique(key, axis=1, return_index=True)[1]]] = True
    rows.good = rows.good & is_first


def _label_classes(rows: Rows) -> Coded | None:
    """Return labels in words as codes with classes; None if labels are numbers, or ordered by the user.

    A column of numbers in which a few cells are not numbers is not a column of classes.
    """
    if rows.categories is not None or not np.isnan(rows.values("label")).any():
        return None
    name = rows.plan.column["label"]
    codes, words = trimmed(rows.table.fetch([name], [])[0][name])
    n_numbers = sum(number_in(word) is not None for word in words.labels)
    return None if 2 * n_numbers > len(words) or not len(words) else (codes, words)


def transposed_if_named(table: InputTable, options: Options, layout: str | None = None) -> CellTable | None:
    """Return the transposed table; None if its columns then have no roles, as in a matrix."""
    swapped = transposed(table, options.header is not False)
    if layout is None:
        if options.layout is not None and options.layout.strip().lower().replace("_", "-") in MATRICES:
            return None
        try:
            names = Names(swapped.name, swapped.columns, swapped.has_header)
            plan_columns(names, replace(options, transpose=False))
        except InputError:
            return None
    return swapped


# ---- one builder per layout ----
def _pairs(rows: Rows) -> Parts:
    """Build comparisons: winner and loser, or left, right and an outcome."""
    first, second = ("left", "right") if rows.has("left") else ("winner", "loser")
    points = points_of_rows(rows, (first, second))
    rows.refuse_missing(first, second)
    both, vocabulary = join_rows([rows.raw(first), rows.raw(second)])
    if first == "winner":
        tie = rows.flags("tie") if rows.has("tie") else ties_by_points(rows, points)
        return _compared(rows, both, vocabulary, tie, points=points)
    winning_side = _winning_side(rows, points)
    # Items are numbered as they appear, the winner of a row before its loser.
    both = both.reshape(-1, 2)
    both = np.where((winning_side < 0)[:, None], both[:, ::-1], both).reshape(-1)
    return _compared(rows, both, vocabulary, winning_side == 0, is_swapped=winning_side < 0, points=points)


def _winning_side(rows: Rows, points: Floats | None) -> Floats:
    """Return 1 (left won), -1 (right won) or 0 (tie) from flags, words or, where there are none, from the points."""
    if rows.has("left_won"):
        side = _side_by_flags(rows)
    elif rows.has("outcome"):
        side = _side_by_words(rows, points)
    else:
        assert points is not None
        return np.sign(np.nan_to_num(points[:, 0] - points[:, 1]))
    if points is not None:
        note_contradictions(rows, side, points)
    return side


def _side_by_flags(rows: Rows) -> Floats:
    """Return 1 (left won), -1 (right won) or 0 (tie) from one true/false column per outcome.

    If there is no tie column, a row in which neither side won is a tie.
    """
    left_won, right_won = rows.flags("left_won"), rows.flags("right_won")
    is_tie = rows.flags("tie") if rows.has("tie") else ~(left_won | right_won)
    n_true = left_won.astype(int) + right_won.astype(int) + is_tie.astype(int)
    rows.refuse(
        n_true != 1,
        "the row does not have exactly one outcome",
        lambda row: f"{int(n_true[row])} outcomes are true, not one",
    )
    return left_won.astype(np.float64) - right_won


def _side_by_words(rows: Rows, points: Floats | None) -> Floats:
    """Return 1 (left won), -1 (right won) or 0 (tie) from the words or numbers of the outcome column.

    A column of ties (``both_equal``) decides rows whose outcome names no winner.
    """
    names = rows.plan.column["left"], rows.plan.column["right"]
    side, is_both_bad, is_unjudged = decide_outcomes(rows.raw("outcome"), rows.raw("left"), rows.raw("right"), names)
    if direction := direction_of(rows.raw("outcome")[1].labels):
        rows.note(f"outcomes are numbers: {direction}")
    is_tie = rows.tie_flags()
    rows.refuse(
        is_tie & (np.abs(side) == 1),
        "the row names a winner and is marked as a tie",
        column=rows.plan.column.get("tie"),
    )
    side, is_unjudged = np.where(is_tie, 0.0, side), is_unjudged & ~is_tie
    if points is not None:
        side = with_points(rows, side, points)
        is_unjudged &= np.isnan(side)
    rows.leave_out(is_unjudged, "there is no judgement")
    if rows.both_bad == "skip":
        rows.leave_out(is_both_bad, "both sides are judged bad")
    else:
        skip = clause("; use ", arg("both_bad", "skip"), " to leave such rows out")
        how = "both sides are judged bad, counted as a tie" + skip
        rows.mention(is_both_bad, how)
    rows.refuse(
        np.isnan(side),
        "the outcome is neither one of the two items nor a tie",
        rows.explain("outcome", f"which is neither {names[0]} nor {names[1]} nor a tie"),
        column=rows.plan.column["outcome"],
    )
    if not rows.count:
        raise rows.table.error(-1, f"no row has a judgement in the column {rows.plan.column['outcome']!r}: check it.")
    return side


def _compared(
    rows: Rows,
    both: Int32s,
    vocabulary: Vocabulary,
    tie: Bools | None,
    is_swapped: Bools | None = None,
    points: Floats | None = None,
) -> Parts:
    """Build comparisons.

    ``both`` alternates the codes of winners and losers, ``is_swapped`` marks wins of the right side. Left is the side
    shown first (or the home side); winner and loser columns contain no such order. ``points`` has the points of both
    sides of every row, in the order of the columns.
    """
    _refuse_themselves(rows, both, vocabulary)
    neutral = neutral_rows(rows) if is_swapped is not None else None
    covariates = rows.covariates()
    time, is_dated = _times(rows)
    shared = rows.shared()
    parts: Parts = {}
    order = np.arange(len(rows.good))
    if is_swapped is not None or time is not None or not rows.good.all():
        order = np.flatnonzero(rows.good)
        if time is not None:
            by_time = np.argsort(time[order], kind="stable")
            order = order[by_time]
            shared = {role: _reordered(column, by_time) for role, column in shared.items()}
            parts = {"time": time[order], "is_dated": is_dated}
        both, vocabulary = renumber(both.reshape(-1, 2)[order].reshape(-1), vocabulary)
        tie = None if tie is None else tie[order]
    if is_swapped is not None:
        shared["winner_first"] = ~is_swapped[order]
    if covariates is not None:
        if is_swapped is not None:
            covariates = np.where(is_swapped[:, None, None], covariates[:, ::-1], covariates)
        parts |= _covariate_parts(rows, covariates[order].reshape(2 * len(order), -1))
    if points is not None:
        parts["points"] = (points if is_swapped is None else _swapped(points, is_swapped))[order].reshape(-1)
    pairs = build.pairs_of_codes(both, vocabulary, tie=tie, **shared) | parts
    if neutral is not None and neutral[order].all():
        del pairs["shown"]
    elif neutral is not None:
        pairs["shown"] = np.where(np.repeat(neutral[order], 2), 0, pairs["shown"]).astype(np.int32)
    return pairs


def _swapped(sides: Floats, is_swapped: Bools) -> Floats:
    """Return values of both sides with the winner's first."""
    return np.where(is_swapped[:, None], sides[:, ::-1], sides)


def _refuse_themselves(rows: Rows, both: Int32s, vocabulary: Vocabulary) -> None:
    """Reject rows that compare an item with itself, or name a player twice."""

    def label(row: int, side: int = 0) -> str:
        return shown_side(vocabulary[int(both[2 * row + side])])

    rows.refuse(
        both[0::2] == both[1::2], "an item is compared with itself", lambda row: f"{label(row)} is compared with itself"
    )
    if not rows.has_sides:
        return
    sides = Sides(vocabulary, rows.separator)
    nameless = sides.is_nameless[both]
    for bad, what in (
        (nameless[0::2] | nameless[1::2], "a player has no name"),
        (sides.is_self_match(both), "a player occurs twice in a match"),
    ):
        rows.refuse(bad, what, lambda row, what=what: f"{what}: {label(row)} against {label(row, 1)}")  # type: ignore[misc]


def _covariate_parts(rows: Rows, covariate: Floats) -> Parts:
    """Return the covariates (entries x covariates) and their names as parts of the preferences."""
    covariate = np.ascontiguousarray(covariate)
    freeze(covariate)
    return {"covariate": covariate, "covariates": tuple(covariate_plan.name for covariate_plan in rows.plan.covariates)}


def _times(rows: Rows) -> tuple[Floats | None, bool]:
    """Return the time of each row and whether the times are dates; None if no time column is read."""
    if not rows.has("time"):
        return None, False
    codes, words = rows.raw("time")
    try:
        quickly = None if words.spelling is None else times_of_bytes(*words.spelling)
        time_of_word, is_dated = quickly or read_times(words.labels, rows.date_order)
    except InputError as problem:
        raise rows.table.error(-1, f"{shorten(rows.plan.column['time'])}: " + problem.message) from None
    times = np.append(time_of_word, np.nan)[codes]
    rows.refuse(
        np.isnan(times),
        "the time is neither a number nor a date",
        rows.explain("time", "neither a number nor a date like 2024-05-31 or 31/05/2024"),
        column=rows.plan.column["time"],
    )
    return times, is_dated


def _reordered(column: Any, order: Int64s) -> object:
    return renumber(column[0][order], column[1]) if isinstance(column, tuple) else column[order]


def _long(rows: Rows) -> Parts:
    """Read one row per agent and item, with a rank or a rating; an item with neither is only a candidate."""
    candidates = rows.candidates()
    parts = _long_ballots(rows)
    return parts if candidates is None else build.with_candidates(parts, *candidates)


def _long_ballots(rows: Rows) -> Parts:
    """Build ballots from one row per item, with teams, covariates and times; reject contradictions within a ballot."""
    rows.refuse_missing("item", "ballot")
    read_places(rows)
    rows.refuse_not_finite("rank", "rating")
    rows.shared()
    ballot_roles = ["instance", "ballot" if rows.has("ballot") else "agent"]
    if rows.has("weight"):
        rows.refuse_differing("weight", rows.values("weight"), rows.key(ballot_roles), "ballot")
    if rows.has("team"):
        level_role = "rank" if rows.has("rank") else "rating"
        team = rows.key(ballot_roles) * (len(rows.good) + len(rows.raw("team")[1])) + _team_numbers(rows)
        rows.tolerate(rows.raw("team")[0] < 0, "the team is missing: the player is a team of one")
        unknown = "" if rows.has("ballot") else " (the match column is unknown: name it with " + arg("ballot") + ")"
        rows.refuse_differing(level_role, rows.values(level_role), team, "team" + unknown)
    covariates, (time, is_dated) = rows.covariates(), _times(rows)
    if time is not None:
        rows.refuse_differing("time", time, rows.key(ballot_roles), "ballot")
    parts, row = _gather_long(rows)
    if kernels.find_repeated(parts["indptr"], parts["item"], len(parts["items"]))[0] >= 0:
        advice = "keep one of these rows"
        if not rows.has("agent") and not rows.has("ballot"):
            advice += ", name the agent column with " + arg("agent", *rows.plan.unread[: len(rows.plan.unread) == 1])
            advice += ", or name the match or race column with " + arg("ballot")
        elif rows.has("rating") and not rows.has("ballot") and not rows.has("rank"):
            advice += ", or choose a rule with " + arg("repeated")
        if rows.repeated is not None and rows.has("rating") and rows.has("agent") and not rows.has("ballot"):
            keep_one_each(rows, rows.values("rating"))
        rows.refuse_repeated_items([*ballot_roles, "item"], "given twice{where}", advice)
        parts, row = _gather_long(rows)
    row = np.flatnonzero(rows.good)[row]
    if rows.has("team"):
        parts["team"] = _team_numbers(rows)[row]
        if parts["scale"] == "rank":  # the place of a team says no more than the order
            parts |= {"value": None, "scale": None}
    if getattr(rows.table, "is_order", False):
        parts |= {"value": None, "scale": None}
    if rows.has("open"):
        parts["open"] = rows.flags("open")[row[parts["indptr"][:-1]]]
    if covariates is not None:
        parts |= _covariate_parts(rows, covariates[row, 0])
    if time is None:
        return parts
    return build.in_order_of_time(parts | {"time": time[row[parts["indptr"][:-1]]], "is_dated": is_dated})


def _team_numbers(rows: Rows) -> Int32s:
    """Return the team of each row; a row without a team gets a unique number."""
    codes, labels = rows.raw("team")
    return np.where(codes < 0, len(labels) + np.arange(len(codes)), codes).astype(np.int32)


def _gather_long(rows: Rows) -> tuple[Parts, Int64s]:
    """Return the ballots, and the index of each entry among the good rows."""
    columns = rows.shared()
    agent = columns.pop("agent", None)
    has_values = rows.has("rating")
    parts, row = build.gather_numbered_rows(
        rows.coded("item"),
        rows.number("rating" if has_values else "rank"),
        scale="rating" if has_values else "rank",
        agent=rows.coded("ballot") if rows.has("ballot") else agent,
        level=_level(rows) if has_values else None,
        **columns,
    )
    return (_agents_of_ballots(rows, parts, agent) if rows.has("ballot") else parts), row


def _level(rows: Rows) -> Floats | None:
    """Return what orders the items of a ballot next to their ratings: ranks, or the scores of a search run."""
    if rows.plan.layout == "ranks":
        return rows.number("rank")
    return -rows.number("rating") if rows.plan.is_run else None


def _agents_of_ballots(rows: Rows, parts: Parts, agent: Any) -> Parts:
    """Replace the names of ballots by their agents; reject a ballot whose rows name several agents."""
    ballot = parts.pop("agent")
    parts.pop("agents")
    if agent is None:
        return parts
    codes, vocabulary = agent
    ballot_of_row = rows.coded("ballot")[0]
    agent_of_ballot = np.zeros(int(ballot_of_row.max()) + 1, np.int32)
    agent_of_ballot[ballot_of_row[::-1]] = codes[::-1]
    wrong = np.flatnonzero(agent_of_ballot[ballot_of_row] != codes)
    if len(wrong):
        row = int(np.flatnonzero(rows.good)[wrong[0]])
        raise rows.table.error(row, "the agent differs from the other rows of its ballot: a ballot has one agent.")
    parts["agent"], parts["agents"] = agent_of_ballot[ballot], vocabulary
    return parts


def _places(rows: Rows) -> Parts:
    """Build ballots from one column per place, best first; a candidate named twice has the better place."""
    columns, other_words = only_candidates(rows.place_codes())
    if other_words:
        rows.note(note_on_words(other_words))
    code, vocabulary = join_rows(columns)
    code = code.reshape(-1, len(columns))
    filled = code >= 0
    empty: Bools = np.logical_not(filled.any(axis=1))
    rows.tolerate(empty, "an empty ballot, left out")
    gap: Bools = np.any(~filled[:, :-1] & filled[:, 1:], axis=1)
    rows.tolerate(gap, "an empty place before a filled one")
    is_repeated = _repeated_ballots(code, filled, len(vocabulary))
    if is_repeated.any():
        rows.tolerate(is_repeated, "an item occurs twice in the ballot and is counted once, in its best place")
        filled &= ~repeats(code, is_repeated)
    rows.shared()
    rows.good = rows.good & ~empty
    keep = filled & rows.good[:, None]
    item, labels = renumber(code[keep], vocabulary)
    indptr = np.concatenate([[0], np.cumsum(keep.sum(1)[rows.good])]).astype(np.int64)
    parts: Parts = {"items": labels, "indptr": indptr, "item": item, "tier": np.nonzero(keep)[1].astype(np.int32)}
    return parts | build.ballot_columns(rows.count, **rows.shared())


def _repeated_ballots(code: Int32s, filled: Bools, n_items: int) -> Bools:
    """Return, for every ballot, whether it names an item twice."""
    indptr = np.concatenate([[0], np.cumsum(filled.sum(1))]).astype(np.int64)
    if kernels.find_repeated(indptr, code[filled], n_items)[0] < 0:
        return np.zeros(len(code), bool)
    ordered = np.sort(code, axis=1)
    is_repeated: Bools = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    return is_repeated


def _rankings(rows: Rows) -> Parts:
    """Build ballots from rankings written in one cell, such as ``a > b = c``; each distinct text was parsed once."""
    code, texts = rows.raw("ranking")
    parsed = parse_rankings(texts.labels, rows.plan.separator)
    problem = np.array([*(text is not None for text in parsed.problem), False])
    rows.refuse(problem[code], "the ranking cannot be parsed", lambda row: str(parsed.problem[int(code[row])]))
    size = np.append(np.diff(parsed.ptr), 0)  # the last one stands for a missing text, code -1
    empty = size[code] == 0
    rows.tolerate(empty, "an empty ballot, left out")
    flags = None
    if rows.has("open"):
        flags, unknown = read_flags(*rows.raw("open"))
        rows.refuse(unknown, "open is neither true nor false")
    rows.shared()
    rows.good = rows.good & ~empty
    text_of_ballot = code[rows.good]
    indptr = np.concatenate([[0], np.cumsum(size[text_of_ballot])]).astype(np.int64)
    entry = np.arange(indptr[-1]) + np.repeat(parsed.ptr[text_of_ballot] - indptr[:-1], size[text_of_ballot])
    item, vocabulary = renumber(parsed.item[entry], parsed.items)
    parts: Parts = {"items": vocabulary, "indptr": indptr, "item": item, "tier": parsed.tier[entry]}
    if flags is not None:
        parts["open"] = flags[rows.good]
    return parts | build.ballot_columns(rows.count, **rows.shared())


def _clicks(rows: Rows) -> Parts:
    """Build one ballot per agent (and instance) from clicks: a single tier of the items that the agent chose.

    The candidates that it did not choose form the other tier. It is not stored, because it holds nearly all items.
    """
    rows.refuse_missing("item")
    rows.shared()
    time, is_dated = _times(rows)
    key = rows.key(["instance", "agent", "item"])
    is_repeat = np.ones(len(rows.good), bool)
    good = np.flatnonzero(rows.good)
    is_repeat[good[np.unique(key[good], return_index=True)[1]]] = False
    is_repeat &= rows.good
    rows.tolerate(is_repeat, "a click on the same item again, counted once")
    rows.good = rows.good & ~is_repeat
    columns = {role: column for role, column in rows.shared().items() if role != "weight"}
    parts, row = build.gather_numbered_rows(rows.coded("item"), np.ones(rows.count), scale="rating", **columns)
    parts |= {"value": None, "scale": None, "form": "approvals"}
    if time is None:
        return parts
    first = np.flatnonzero(rows.good)[row[parts["indptr"][:-1]]]
    return build.in_order_of_time(parts | {"time": time[first], "is_dated": is_dated})


def _matrix(rows: Rows) -> Parts:
    """Build ballots from a matrix of ranks or ratings whose rows are items or agents."""
    matrix, plan = rows.matrix(), rows.plan
    scale = plan.layout.removesuffix("-matrix")
    if "item" in plan.column:
        if plan.is_grouped:
            advice = "use " + arg("transpose", True) + " if rows are agents, or leave out " + arg("by")
            raise rows.table.error(-1, "every row represents an item, but groups apply to agents: " + advice + ".")
        rows.refuse_missing("item")
        rows.refuse_repeated_items(["item"], "listed twice{where}", "name each item once")
        item = rows.coded("item")
        return build.gather_matrix(matrix[rows.good], items=item, agents=list(plan.places), scale=scale)
    empty: Bools = np.logical_not(np.isfinite(matrix).any(axis=1))
    rows.tolerate(empty, "an empty ballot, left out")
    columns = rows.shared()
    labels = _labels_of_columns(rows)
    if not plan.questions:
        by_item = matrix[rows.good].T
        return build.gather_matrix(by_item, items=labels, agents=columns.pop("agent", None), scale=scale, **columns)
    return build.gather_questions(matrix[rows.good], labels, plan.questions, scale=scale, **columns)


def _labels_of_columns(rows: Rows) -> list[str]:
    """Return the item of each column; reject two columns of one question with the same item."""
    plan = rows.plan
    labels = list(plan.labels or plan.places)
    named = list(zip(plan.questions or [""] * len(labels), labels, strict=True))
    if twice := next((label for k, (_, label) in enumerate(named) if named[k] in named[:k]), None):
        raise rows.table.error(-1, f"two columns represent the item {shorten(twice)!r}: rename or remove one.")
    return labels


_BUILDERS = {
    "pairs": _pairs,
    "ranks": _long,
    "ratings": _long,
    "places": _places,
    "rankings": _rankings,
    CLICKS: _clicks,
    "answers": answers,
    **dict.fromkeys(MATRICES, _matrix),
}
