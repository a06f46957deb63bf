"""From a table with known column roles to the arrays of the container, with every bad row accounted for.

A table is anything that can hand out columns of text or numbers and can say where a row stands (a line of a file,
a row of a DataFrame). The first row that cannot be used is an error with its place; with ``skip_bad_rows`` such
rows are left out, counted by reason and reported in the notes. ``strict`` refuses also what is normally tolerated
with a note: columns that are not read, a role with a second candidate column, empty ballots, skipped places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from concordant import gather, kernels
from concordant.cells import CellTable, turned
from concordant.errors import InputError
from concordant.frozen import freeze
from concordant.gather import Parts
from concordant.grades import means_missing, place_in, rate
from concordant.moments import read_times
from concordant.outcomes import decide_outcomes, read_flags
from concordant.ranking_text import parse_rankings
from concordant.reading import FEATURES, LABELS, MATRICES, UNGROUPED, Options
from concordant.roles import Names, Plan, plan_columns
from concordant.screening import Screen
from concordant.sides import Sides, join_players, shown_side, split_teams
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s
from concordant.vocabulary import Coded, Vocabulary, join_rows, renumber, shorten

RATED = ("ratings", "rating-matrix")  # layouts with words for ratings, perhaps
_NO_WORDS = "categories= is for PrefLib's cat files and for ratings in words, and these are"
NUMBER_ROLES = ("rank", "rating", "weight", "label")
FEWEST_ROWS = 2.0  # rows of the average instance: a column with fewer per value is an identifier, not an instance


class Table(Protocol):
    """Columns with names, fetched once, and rows that know their place."""

    name: str
    columns: list[str]
    has_header: bool
    notes: list[str]

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return what stands in a column at a few rows, None where nothing does; for messages."""

    def error(self, row: int, message: str) -> InputError:
        """Make the error that names this row's place."""

    def place(self, row: int) -> str:
        """Say where a row stands: ``line 17``."""


def parts_of_table(table: Table, options: Options, plan: Plan | None = None) -> Parts:
    """Read a table as preferences: keyword arguments for ``Preferences``, with notes on what was understood."""
    rows = Rows(table, plan or plan_columns(table, options), options)
    rows.drop_identifier()
    plan = rows.plan
    if options.categories is not None and plan.layout not in RATED:
        raise table.error(-1, f"{_NO_WORDS} {plan.layout}: leave it out.")
    parts = _BUILDERS[plan.layout](rows)
    if rows.has_sides:
        parts = split_teams(parts, options.team_separator)
    by_item = plan.layout in MATRICES and "item" in plan.column
    unit = "items" if by_item else "ballots" if plan.layout in ("places", "rankings", *MATRICES) else plan.layout
    count = f"{rows.count:,} {unit if rows.count != 1 else unit[:-1]}"
    read = f"{table.name}: {count}; {plan.describe()}"
    unread = [f"not read: {', '.join(shorten(name) for name in plan.unread[:12])}"] if plan.unread else []
    if plan.is_grouped:
        parts["meta"] = {"by": plan.column["instance"]}
    parts["notes"] = ["; ".join([read, *plan.notes, *unread]), *table.notes, *rows.notes()]
    return parts


def labels_of_table(table: Table, options: Options) -> tuple[Coded | None, Coded, Floats]:
    """Read a table of known relevance: (instance, item, label) columns for ``Labels``."""
    rows = Rows(table, plan_columns(table, options, LABELS), options)
    rows.refuse_missing("item", "instance")
    rows.refuse_not_finite("label")
    rows.refuse_repeated_items(["instance", "item"], "labelled twice{where}", "keep one label")
    return rows.coded("instance") if rows.has("instance") else None, rows.coded("item"), rows.number("label")


def turned_if_named(table: Table, options: Options, layout: str | None = None) -> CellTable | None:
    """Return a table with rows and columns swapped; None where it has no roles then, so that a matrix is meant."""
    swapped = turned(table, options.header is not False)
    if layout is None:
        if options.layout is not None and options.layout.strip().lower().replace("_", "-") in MATRICES:
            return None
        try:
            names = Names(swapped.name, swapped.columns, swapped.has_header)
            plan_columns(names, replace(options, transpose=False))
        except InputError:
            return None
    return swapped


class Rows(Screen):
    """The fetched columns of a plan by role, and which rows are still good."""

    def __init__(self, table: Table, plan: Plan, options: Options, count: int = 0) -> None:
        self.table, self.plan = table, plan
        self.separator, self.has_sides = options.team_separator, bool(plan.players or options.team_separator)
        self.categories: Sequence[str] | None = options.categories
        self._rated: dict[str, Floats] = {}
        texts = [name for role, name in plan.column.items() if role not in NUMBER_ROLES]
        texts += [name for names in plan.players.values() for name in names[1:]]
        numbers = [name for role, name in plan.column.items() if role in NUMBER_ROLES]
        numbers += [name for covariate in plan.covariates for name in covariate.columns]
        if plan.layout in MATRICES:
            numbers += plan.places
        elif plan.layout != FEATURES:  # which are fetched some at a time
            texts += plan.places
        self._texts, self._numbers = table.fetch(texts, numbers) if texts or numbers else ({}, {})
        for names in plan.players.values():
            self._texts[names[0]] = join_players([self._texts[name] for name in names])
        if plan.is_grouped:
            self._name_ungrouped(plan.column["instance"])
        columns: list[AnyArray] = [*(codes for codes, _ in self._texts.values()), *self._numbers.values()]
        super().__init__(table, len(columns[0]) if columns else count, options)
        if not len(self.good):
            raise table.error(-1, "there are no rows of data: check that this is the right file.")

    def _name_ungrouped(self, column: str) -> None:
        """Put rows that name no group into one of their own."""
        codes, vocabulary = self._texts[column]
        if (codes < 0).any():
            labels = [*vocabulary.labels, *([] if UNGROUPED in vocabulary.labels else [UNGROUPED])]
            self._texts[column] = (
                np.where(codes < 0, labels.index(UNGROUPED), codes).astype(np.int32),
                Vocabulary(labels),
            )

    def drop_identifier(self) -> None:
        """Leave out a guessed instance whose values hardly repeat: it numbers the rows."""
        if "instance" not in self.plan.guessed or not self.has("instance"):
            return
        codes, vocabulary = self.raw("instance")
        if len(codes) >= FEWEST_ROWS * len(vocabulary):
            return
        name = self.plan.column["instance"]
        note = f"{shorten(name)} numbers the rows, so it is not the instance (instance={name!r} says it is)"
        if self.strict:
            raise self.table.error(-1, f"{note}: say instance={name!r} or instance='none'.")
        self.plan = self.plan.without("instance", note)

    # ---- columns, good rows only ----
    def has(self, role: str) -> bool:
        """Say whether a column plays this role."""
        return role in self.plan.column

    def coded(self, role: str) -> Coded:
        """Return a text column; when rows were left out, only labels still in use, in order of appearance."""
        return self.kept(self.raw(role))

    def raw(self, role: str) -> Coded:
        """Return a text column of all rows."""
        return self._texts[self.plan.column[role]]

    def flags(self, role: str) -> Bools:
        """Return a column of yes and no, refusing rows that say neither."""
        yes, unknown = read_flags(*self.raw(role))
        self.refuse(unknown, f"the {role} is neither true nor false", self.explain(role, "neither true nor false"))
        return yes

    def place_codes(self) -> list[Coded]:
        """Return the columns of places."""
        return [self._texts[name] for name in self.plan.places]

    def key(self, roles: Sequence[str]) -> Int64s:
        """Return one integer per row that is equal where all these roles are."""
        key = np.zeros(len(self.good), np.int64)
        for role in filter(self.has, roles):
            codes, vocabulary = self.raw(role)
            key = key * (len(vocabulary) + 1) + codes
        return key

    def values(self, role: str) -> Floats:
        """Return a column of numbers of all rows; ratings in words as the user's categories say."""
        name = self.plan.column[role]
        if role == "rating" and self.categories is not None and name not in self._rated:
            (codes, words), value = self.table.fetch([name], [])[0][name], {}
            value = rate(words.labels, self.categories)
            self._rated[name] = np.array([*(value.get(word, np.nan) for word in words.labels), np.nan])[codes]
        return self._rated.get(name, self._numbers[name]) if role == "rating" else self._numbers[name]

    def number(self, role: str) -> Floats:
        """Return a column of numbers."""
        return self.values(role)[self.good]

    def matrix(self) -> Floats:
        """Return the columns of ranks or ratings side by side, words as the numbers they mean; refuse other words."""
        places, what = self.plan.places, self.plan.layout.removesuffix("-matrix")
        matrix = np.stack([self._numbers[name] for name in places], 1)
        is_number: Bools = np.isfinite(matrix) & (self.categories is None)
        odd = [k for k in range(len(places)) if not is_number[:, k].all()]
        coded = self.table.fetch([places[k] for k in odd], [])[0] if odd else {}
        questions = self.plan.questions or ("",) * len(places)
        for question in dict.fromkeys(questions[k] for k in odd):  # whose answers are on one scale
            columns = {k: coded[places[k]] for k in odd if questions[k] == question}
            words = {word for _, labels in columns.values() for word in labels.labels if not means_missing(word)}
            is_mixed = any(is_number[:, k].any() for k in range(len(places)) if questions[k] == question)
            value = self._meaning(words, is_mixed)
            for k, (codes, labels) in columns.items():
                meant = np.array([*(value.get(word, np.nan) for word in labels.labels), np.nan])[codes]
                told = np.array([*(word in words for word in labels.labels), False])[codes]
                matrix[:, k] = np.where(is_number[:, k], matrix[:, k], meant)
                reason = f"the {what} in column {places[k]!r} is not a number"
                self.refuse(told & ~np.isfinite(matrix[:, k]), reason, self._strange(reason, codes, labels))
        return matrix

    def _meaning(self, words: set[str], is_mixed: bool) -> dict[str, float]:
        """Return the numbers that words stand for: places, or grades of one scale, which numbers do not stand among."""
        if self.plan.layout == "rank-matrix":
            return {word: place for word in words if (place := place_in(word)) is not None}
        return {} if is_mixed and self.categories is None else rate(words, self.categories)

    def _strange(self, reason: str, codes: Int32s, labels: Vocabulary) -> Callable[[int], str]:
        """Return the function that says which word stands where a number should, and how words can be ordered."""
        advice = "" if self.plan.layout == "rank-matrix" else " (categories= orders words, best first)"
        return lambda row: f"{reason}, but {shorten(labels[int(codes[row])])!r}{advice}"

    def shared(self) -> dict[str, Any]:
        """Return the columns every layout may have, checked."""
        self.refuse_missing("agent", "instance")
        if self.has("weight"):
            values = self.values("weight")
            bad = ~(np.isfinite(values) & (values >= 0))
            said = self.explain("weight", "not a finite number from 0 up")
            self.refuse(bad, "the weight does not count repetitions", said)
        columns: dict[str, Any] = {role: self.coded(role) for role in ("agent", "instance") if self.has(role)}
        return columns | ({"weight": self.number("weight")} if self.has("weight") else {})

    # ---- bad rows ----
    def refuse_missing(self, *roles: str) -> None:
        """Refuse rows that say nothing where they should."""
        for role in filter(self.has, roles):
            self.refuse(self.raw(role)[0] < 0, f"the {role} is missing")

    def refuse_not_finite(self, *roles: str) -> None:
        """Refuse rows without a number where one should stand."""
        for role in filter(self.has, roles):
            bad = ~np.isfinite(self.values(role))
            self.refuse(bad, f"the {role} is not a number", self.explain(role, "not a finite number"))

    def explain(self, role: str, trouble: str, column: str | None = None) -> Callable[[int], str]:
        """Return the function that says what stands in a row where something else should."""

        def explain(row: int) -> str:
            cell = self.table.cells(column or self.plan.column[role], [row])[0]
            return f"the {role} is missing" if cell is None else f"the {role} is {shorten(cell)!r}, {trouble}"

        return explain

    def covariates(self) -> Floats | None:
        """Return the covariates of all rows (rows x columns of each x covariates), refusing what is no number.

        Of differences between the sides of pairs all is said of the first.
        """
        if not self.plan.covariates:
            return None
        table = np.zeros((len(self.good), 2 if self.plan.layout == "pairs" else 1, len(self.plan.covariates)))
        for k, covariate in enumerate(self.plan.covariates):
            for side, name in enumerate(covariate.columns):
                table[:, side, k] = values = self._numbers[name]
                what = f"covariate {shorten(name)}"
                said = self.explain(what, "not a finite number", name)
                self.refuse(~np.isfinite(values), f"the {what} is not a number", said)
        return table

    def refuse_differing(self, role: str, values: AnyArray, key: Int64s, of: str) -> None:
        """Refuse rows that say something else than the first row with the same key."""
        if not self.count:
            return
        _, first, inverse = np.unique(key[self.good], return_index=True, return_inverse=True)
        own = values[self.good]
        bad = np.zeros(len(self.good), bool)
        bad[self.good] = own != own[first][inverse.reshape(-1)]
        self.refuse(bad, f"the {role} differs from the other rows of its {of}")

    def refuse_repeated_items(self, roles: Sequence[str], what: str, advice: str) -> None:
        """Refuse rows that say again what an earlier row said: the same codes in all these roles."""

        def label(role: str, row: int) -> str:
            codes, vocabulary = self.raw(role)
            return f"{role} {shorten(vocabulary[int(codes[row])])!r}"

        def explain(row: int, earlier: int) -> str:
            said = [label(role, row) for role in roles if role != "item" and self.has(role)]
            where = f" for {', '.join(said)}" if said else ""
            first = f"(first in {self.table.place(earlier)})"
            return f"the {label('item', row)} is {what.format(where=where)} {first}, {advice}"

        self.refuse_repeats(self.key(roles), "the item stands twice in one ballot", explain)


# ---- one builder per layout ----
def _pairs(rows: Rows) -> Parts:
    first, second = ("left", "right") if rows.has("left") else ("winner", "loser")
    rows.refuse_missing(first, second, "outcome")
    both, vocabulary = join_rows([rows.raw(first), rows.raw(second)])
    if first == "winner":
        return _compared(rows, both, vocabulary, rows.flags("tie") if rows.has("tie") else None)
    side = _side_by_flags(rows) if rows.has("left_won") else _side_by_words(rows)
    # Items are numbered as they appear, the winner of a row before its loser.
    both = both.reshape(-1, 2)
    both = np.where((side < 0)[:, None], both[:, ::-1], both).reshape(-1)
    return _compared(rows, both, vocabulary, side == 0, is_swapped=side < 0)


def _side_by_flags(rows: Rows) -> Floats:
    """Return 1, -1 or 0 from a column per outcome; without a column of ties, neither side winning is one."""
    left, right = rows.flags("left_won"), rows.flags("right_won")
    tie = rows.flags("tie") if rows.has("tie") else ~(left | right)
    said = left.astype(int) + right.astype(int) + tie.astype(int)
    rows.refuse(
        said != 1, "the row does not say one outcome", lambda row: f"{int(said[row])} outcomes are true, not one"
    )
    return left.astype(np.float64) - right


def _side_by_words(rows: Rows) -> Floats:
    names = rows.plan.column["left"], rows.plan.column["right"]
    side = decide_outcomes(rows.raw("outcome"), rows.raw("left"), rows.raw("right"), names)
    rows.refuse(
        np.isnan(side),
        "the outcome names neither side nor a tie",
        rows.explain("outcome", f"which is neither {names[0]} nor {names[1]} nor a tie"),
    )
    return side


def _compared(
    rows: Rows, both: Int32s, vocabulary: Vocabulary, tie: Bools | None, is_swapped: Bools | None = None
) -> Parts:
    """Make pairs of the codes of winner and loser, row by row; where they are swapped, the right side won."""
    _refuse_themselves(rows, both, vocabulary)
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
    if covariates is not None:
        if is_swapped is not None:
            covariates = np.where(is_swapped[:, None, None], covariates[:, ::-1], covariates)
        parts |= _covariate_parts(rows, covariates[order].reshape(2 * len(order), -1))
    return gather.pairs_of_codes(both, vocabulary, tie=tie, **shared) | parts


def _refuse_themselves(rows: Rows, both: Int32s, vocabulary: Vocabulary) -> None:
    """Refuse rows that compare an item with itself, or name a player twice."""

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
        (sides.meet_themselves(both), "a player stands twice in a match"),
    ):
        rows.refuse(bad, what, lambda row, what=what: f"{what}: {label(row)} against {label(row, 1)}")  # type: ignore[misc]


def _covariate_parts(rows: Rows, covariate: Floats) -> Parts:
    covariate = np.ascontiguousarray(covariate)
    freeze(covariate)
    return {"covariate": covariate, "covariates": tuple(one.name for one in rows.plan.covariates)}


def _times(rows: Rows) -> tuple[Floats | None, bool]:
    """Return when every row happened, None where nobody asked for an order, and whether these are dates."""
    if not rows.has("time"):
        return None, False
    codes, words = rows.raw("time")
    known, is_dated = read_times(words.labels)
    moment = np.append(known, np.nan)[codes]
    rows.refuse(
        np.isnan(moment),
        "the time is neither a number nor a date",
        rows.explain("time", "neither a number nor a date like 2024-05-31"),
    )
    return moment, is_dated


def _reordered(column: Any, order: Int64s) -> object:
    return renumber(column[0][order], column[1]) if isinstance(column, tuple) else column[order]


def _long(rows: Rows) -> Parts:
    """Read one row per agent and item, with a rank or a rating."""
    rows.refuse_missing("item", "ballot")
    rows.refuse_not_finite("rank", "rating")
    rows.shared()
    whole = ["instance", "ballot" if rows.has("ballot") else "agent"]
    if rows.has("weight"):
        rows.refuse_differing("weight", rows.values("weight"), rows.key(whole), "ballot")
    if rows.has("team"):
        level = "rank" if rows.has("rank") else "rating"
        team = rows.key(whole) * (len(rows.good) + len(rows.raw("team")[1])) + _team_numbers(rows)
        rows.tolerate(rows.raw("team")[0] < 0, "no team is named: the player is alone")
        unknown = "" if rows.has("ballot") else " (no column of matches is known: ballot= names it)"
        rows.refuse_differing(level, rows.values(level), team, f"team{unknown}")
    covariates, (time, is_dated) = rows.covariates(), _times(rows)
    if time is not None:
        rows.refuse_differing("time", time, rows.key(whole), "ballot")
    parts, row = _gather_long(rows)
    if kernels.find_repeated(parts["indptr"], parts["item"], len(parts["items"]))[0] >= 0:
        advice = "keep one of them"
        if not rows.has("agent") and not rows.has("ballot"):
            advice += " or name the column of agents with agent=, or that of matches or races with ballot="
        rows.refuse_repeated_items([*whole, "item"], "given twice{where}", advice)
        parts, row = _gather_long(rows)
    row = np.flatnonzero(rows.good)[row]
    if rows.has("team"):
        parts["team"] = _team_numbers(rows)[row]
        if parts["scale"] == "rank":  # the place of a team says no more than the order
            parts |= {"value": None, "scale": None}
    if covariates is not None:
        parts |= _covariate_parts(rows, covariates[row, 0])
    if time is None:
        return parts
    return gather.in_order_of_time(parts | {"time": time[row[parts["indptr"][:-1]]], "is_dated": is_dated})


def _team_numbers(rows: Rows) -> Int32s:
    """Return the team of every row; one that names none has a number of its own."""
    codes, labels = rows.raw("team")
    return np.where(codes < 0, len(labels) + np.arange(len(codes)), codes).astype(np.int32)


def _gather_long(rows: Rows) -> tuple[Parts, Int64s]:
    """Return the ballots, and which of the good rows every entry is."""
    columns = rows.shared()
    agent = columns.pop("agent", None)
    has_values = rows.has("rating")
    parts, row = gather.gather_numbered_rows(
        rows.coded("item"),
        rows.number("rating" if has_values else "rank"),
        scale="rating" if has_values else "rank",
        agent=rows.coded("ballot") if rows.has("ballot") else agent,
        level=rows.number("rank") if has_values and rows.plan.layout == "ranks" else None,
        **columns,
    )
    return (_agents_of_ballots(rows, parts, agent) if rows.has("ballot") else parts), row


def _agents_of_ballots(rows: Rows, parts: Parts, agent: Any) -> Parts:
    """Replace ballot names by the agent of each ballot; a ballot has one agent."""
    ballot = parts.pop("agent")
    parts.pop("agents")
    if agent is None:
        return parts
    codes, vocabulary = agent
    of_row = rows.coded("ballot")[0]
    owner = np.zeros(int(of_row.max()) + 1, np.int32)
    owner[of_row[::-1]] = codes[::-1]
    wrong = np.flatnonzero(owner[of_row] != codes)
    if len(wrong):
        row = int(np.flatnonzero(rows.good)[wrong[0]])
        raise rows.table.error(row, "the agent differs from the other rows of its ballot: a ballot has one agent.")
    parts["agent"], parts["agents"] = owner[ballot], vocabulary
    return parts


def _places(rows: Rows) -> Parts:
    columns = rows.place_codes()
    code, vocabulary = join_rows(columns)
    code = code.reshape(-1, len(columns))
    filled = code >= 0
    empty: Bools = np.logical_not(filled.any(axis=1))
    rows.tolerate(empty, "an empty ballot, left out")
    gap: Bools = np.any(~filled[:, :-1] & filled[:, 1:], axis=1)
    rows.tolerate(gap, "a place left empty before a filled one")

    def explain(row: int) -> str:
        named = code[row][filled[row]].tolist()
        twice = next(item for k, item in enumerate(named) if item in named[:k])
        return f"the item {shorten(vocabulary[twice])!r} stands twice in the ballot"

    rows.refuse(_repeated_ballots(code, filled, len(vocabulary)), "an item stands twice in the ballot", explain)
    rows.shared()
    rows.good = rows.good & ~empty
    keep = filled & rows.good[:, None]
    item, labels = renumber(code[keep], vocabulary)
    indptr = np.concatenate([[0], np.cumsum(keep.sum(1)[rows.good])]).astype(np.int64)
    parts: Parts = {"items": labels, "indptr": indptr, "item": item, "tier": np.nonzero(keep)[1].astype(np.int32)}
    return parts | gather.ballot_columns(rows.count, **rows.shared())


def _repeated_ballots(code: Int32s, filled: Bools, n_items: int) -> Bools:
    """Return which ballots name an item twice."""
    indptr = np.concatenate([[0], np.cumsum(filled.sum(1))]).astype(np.int64)
    if kernels.find_repeated(indptr, code[filled], n_items)[0] < 0:
        return np.zeros(len(code), bool)
    ordered = np.sort(code, axis=1)
    found: Bools = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    return found


def _rankings(rows: Rows) -> Parts:
    code, texts = rows.raw("ranking")
    parsed = parse_rankings(texts.labels, rows.plan.separator)
    problem = np.array([*(text is not None for text in parsed.problem), False])
    rows.refuse(problem[code], "the ranking cannot be understood", lambda row: str(parsed.problem[int(code[row])]))
    size = np.append(np.diff(parsed.ptr), 0)  # the last one stands for a missing text, code -1
    empty = size[code] == 0
    rows.tolerate(empty, "an empty ballot, left out")
    flags = None
    if rows.has("open"):
        flags, unknown = read_flags(*rows.raw("open"))
        rows.refuse(unknown, "open is neither true nor false")
    rows.shared()
    rows.good = rows.good & ~empty
    of_row = code[rows.good]
    indptr = np.concatenate([[0], np.cumsum(size[of_row])]).astype(np.int64)
    entry = np.arange(indptr[-1]) + np.repeat(parsed.ptr[of_row] - indptr[:-1], size[of_row])
    item, vocabulary = renumber(parsed.item[entry], parsed.items)
    parts: Parts = {"items": vocabulary, "indptr": indptr, "item": item, "tier": parsed.tier[entry]}
    if flags is not None:
        parts["open"] = flags[rows.good]
    return parts | gather.ballot_columns(rows.count, **rows.shared())


def _matrix(rows: Rows) -> Parts:
    matrix, plan = rows.matrix(), rows.plan
    scale = plan.layout.removesuffix("-matrix")
    if "item" in plan.column:
        rows.refuse_missing("item")
        rows.refuse_repeated_items(["item"], "listed twice{where}", "name each item once")
        item = rows.coded("item")
        return gather.gather_matrix(matrix[rows.good], items=item, agents=list(plan.places), scale=scale)
    empty: Bools = np.logical_not(np.isfinite(matrix).any(axis=1))
    rows.tolerate(empty, "an empty ballot, left out")
    columns = rows.shared()
    labels = _labels_of_columns(rows)
    if not plan.questions:
        by_item = matrix[rows.good].T
        return gather.gather_matrix(by_item, items=labels, agents=columns.pop("agent", None), scale=scale, **columns)
    return gather.gather_questions(matrix[rows.good], labels, plan.questions, scale=scale, **columns)


def _labels_of_columns(rows: Rows) -> list[str]:
    """Return the item of every column; two columns of a question may not stand for the same."""
    plan = rows.plan
    labels = list(plan.labels or plan.places)
    named = list(zip(plan.questions or [""] * len(labels), labels, strict=True))
    if twice := next((label for k, (_, label) in enumerate(named) if named[k] in named[:k]), None):
        raise rows.table.error(-1, f"two columns stand for the item {shorten(twice)!r}: rename or remove one.")
    return labels


_BUILDERS = {
    "pairs": _pairs,
    "ranks": _long,
    "ratings": _long,
    "places": _places,
    "rankings": _rankings,
    **dict.fromkeys(MATRICES, _matrix),
}
