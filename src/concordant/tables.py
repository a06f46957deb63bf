"""From a table with known column roles to the arrays of the container, with every bad row accounted for.

A table is anything that can hand out columns of text or numbers and can say where a row stands (a line of a file,
a row of a DataFrame). The first row that cannot be used is an error with its place; with ``skip_bad_rows`` such
rows are left out, counted by reason and reported in the notes. ``strict`` refuses also what is normally tolerated
with a note: columns that are not read, a role with a second candidate column, empty ballots, skipped places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from concordant import gather, kernels
from concordant.errors import InputError
from concordant.gather import Parts
from concordant.outcomes import decide_outcomes, read_flags, read_times
from concordant.ranking_text import parse_rankings
from concordant.roles import Plan, plan_columns
from concordant.screening import Screen
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s
from concordant.vocabulary import Vocabulary, shorten, vocabulary_of_bytes

Coded = tuple[Int32s, Vocabulary]

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


def parts_of_table(
    table: Table,
    given: Mapping[str, object],
    *,
    form: str | None = None,
    strict: bool = False,
    skip_bad_rows: bool = False,
) -> Parts:
    """Read a table as preferences: keyword arguments for ``Preferences``, with notes on what was understood."""
    plan = plan_columns(table.columns, given, form=form, strict=strict, has_header=table.has_header, where=table.name)
    rows = _Rows(table, plan, strict, skip_bad_rows)
    rows.drop_identifier()
    plan = rows.plan
    parts = _BUILDERS[plan.form](rows)
    unit = {"places": "ballots", "rankings": "ballots", "rank-matrix": "items"}.get(plan.form, plan.form)
    count = f"{rows.count:,} {unit if rows.count != 1 else unit[:-1]}"
    read = f"{table.name}: {count}; {plan.describe()}"
    unread = [f"not read: {', '.join(shorten(name) for name in plan.unread[:12])}"] if plan.unread else []
    parts["notes"] = ["; ".join([read, *plan.notes, *unread]), *table.notes, *rows.notes()]
    return parts


def labels_of_table(
    table: Table, given: Mapping[str, object], *, strict: bool = False, skip_bad_rows: bool = False
) -> tuple[Coded | None, Coded, Floats]:
    """Read a table of known relevance: (instance, item, label) columns for ``Labels``."""
    plan = plan_columns(
        table.columns, given, form="labels", strict=strict, has_header=table.has_header, where=table.name
    )
    rows = _Rows(table, plan, strict, skip_bad_rows)
    rows.refuse_missing("item", "instance")
    rows.refuse_not_finite("label")
    rows.refuse_repeats(["instance", "item"], "labelled twice{where}", "keep one label")
    return rows.coded("instance") if "instance" in plan.column else None, rows.coded("item"), rows.number("label")


class _Rows(Screen):
    """The fetched columns of a plan by role, and which rows are still good."""

    def __init__(self, table: Table, plan: Plan, strict: bool, skip: bool) -> None:
        self.table, self.plan = table, plan
        texts = [name for role, name in plan.column.items() if role not in NUMBER_ROLES]
        numbers = [name for role, name in plan.column.items() if role in NUMBER_ROLES]
        if plan.form == "rank-matrix":
            numbers += plan.places
        else:
            texts += plan.places
        self._texts, self._numbers = table.fetch(texts, numbers)
        first = next(iter(self._texts.values()))[0] if self._texts else next(iter(self._numbers.values()))
        super().__init__(table, len(first), strict=strict, skip_bad_rows=skip)
        if not len(first):
            raise table.error(-1, "there are no rows of data: check that this is the right file.")

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
        return role in self.plan.column

    def coded(self, role: str) -> Coded:
        """Return a text column; when rows were left out, only labels still in use, in order of appearance."""
        codes, vocabulary = self.raw(role)
        return (codes, vocabulary) if self.good.all() else renumber(codes[self.good], vocabulary)

    def raw(self, role: str) -> Coded:
        return self._texts[self.plan.column[role]]

    def flags(self, role: str) -> Bools:
        """Return a column of yes and no, refusing rows that say neither."""
        yes, unknown = read_flags(*self.raw(role))
        self.refuse(unknown, f"the {role} is neither true nor false", self._explain(role, "neither true nor false"))
        return yes

    def place_codes(self) -> list[Coded]:
        return [self._texts[name] for name in self.plan.places]

    def key(self, roles: Sequence[str]) -> Int64s:
        """Return one integer per good row that is equal where all these roles are."""
        key = np.zeros(self.count, np.int64)
        for role in roles:
            if self.has(role):
                codes, vocabulary = self.raw(role)
                key = key * (len(vocabulary) + 1) + codes[self.good]
        return key

    def number(self, role: str) -> Floats:
        return self._numbers[self.plan.column[role]][self.good]

    def matrix(self) -> Floats:
        return np.stack([self._numbers[name] for name in self.plan.places], 1)

    def shared(self) -> dict[str, object]:
        """Return the columns every form may have, checked."""
        self.refuse_missing("agent", "instance")
        self.refuse_bad_weights()
        columns: dict[str, object] = {role: self.coded(role) for role in ("agent", "instance") if self.has(role)}
        if self.has("weight"):
            columns["weight"] = self.number("weight")
        return columns

    # ---- bad rows ----
    def refuse_missing(self, *roles: str) -> None:
        for role in roles:
            if self.has(role):
                self.refuse(self.raw(role)[0] < 0, f"the {role} is missing")

    def refuse_not_finite(self, *roles: str) -> None:
        for role in roles:
            if self.has(role):
                column = self.plan.column[role]
                bad = ~np.isfinite(self._numbers[column])
                self.refuse(bad, f"the {role} is not a number", self._explain(role, "not a finite number"))

    def refuse_bad_weights(self) -> None:
        if self.has("weight"):
            values = self._numbers[self.plan.column["weight"]]
            bad = ~(np.isfinite(values) & (values >= 0))
            self.refuse(
                bad, "the weight does not count repetitions", self._explain("weight", "not a finite number from 0 up")
            )

    def _explain(self, role: str, trouble: str) -> Any:
        def explain(row: int) -> str:
            cell = self.table.cells(self.plan.column[role], [row])[0]
            return f"the {role} is missing" if cell is None else f"the {role} is {shorten(cell)!r}, {trouble}"

        return explain

    def refuse_repeats(self, roles: Sequence[str], what: str, advice: str) -> None:
        """Refuse rows that say again what an earlier row said: the same codes in all these roles."""
        rows, key = np.flatnonzero(self.good), self.key(roles)
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        again = first[inverse.reshape(-1)] != np.arange(len(rows))
        bad = np.zeros(len(self.good), bool)
        bad[rows[again]] = True

        def explain(row: int) -> str:
            codes, vocabulary = self.raw("item")
            earlier = int(rows[first[inverse.reshape(-1)[np.searchsorted(rows, row)]]])
            said = [
                f"{role} {shorten(self.raw(role)[1][int(self.raw(role)[0][row])])!r}"
                for role in roles
                if role != "item" and self.has(role)
            ]
            where = f" for {', '.join(said)}" if said else ""
            item = shorten(vocabulary[int(codes[row])])
            return f"the item {item!r} is {what.format(where=where)} (first in {self.table.place(earlier)}), {advice}"

        self.refuse(bad, "the item stands twice in one ballot", explain)


# ---- one builder per form ----
def _pairs(rows: _Rows) -> Parts:
    if rows.has("left"):
        return _outcomes(rows)
    rows.refuse_missing("winner", "loser")
    tie = rows.flags("tie") if rows.has("tie") else None
    return _compared(rows, *one_vocabulary([rows.raw("winner"), rows.raw("loser")]), tie)


def _outcomes(rows: _Rows) -> Parts:
    rows.refuse_missing("left", "right", "outcome")
    (left, right), vocabulary = one_vocabulary([rows.raw("left"), rows.raw("right")])
    side = _side_by_flags(rows) if rows.has("left_won") else _side_by_words(rows, left, right, vocabulary)
    winner, loser = np.where(side < 0, right, left), np.where(side < 0, left, right)
    return _compared(rows, [winner.astype(np.int32), loser.astype(np.int32)], vocabulary, side == 0)


def _side_by_flags(rows: _Rows) -> Floats:
    """Return 1, -1 or 0 from a column per outcome; without a column of ties, neither side winning is one."""
    left, right = rows.flags("left_won"), rows.flags("right_won")
    tie = rows.flags("tie") if rows.has("tie") else ~(left | right)
    said = left.astype(int) + right.astype(int) + tie.astype(int)
    rows.refuse(
        said != 1, "the row does not say one outcome", lambda row: f"{int(said[row])} outcomes are true, not one"
    )
    return left.astype(np.float64) - right


def _side_by_words(rows: _Rows, left: Int32s, right: Int32s, vocabulary: Vocabulary) -> Floats:
    outcome, words = rows.raw("outcome")
    names = rows.plan.column["left"], rows.plan.column["right"]
    side = decide_outcomes(outcome, words, left, right, vocabulary, names)
    rows.refuse(
        np.isnan(side),
        "the outcome names neither side nor a tie",
        rows._explain("outcome", f"which is neither {names[0]} nor {names[1]} nor a tie"),
    )
    return side


def _compared(rows: _Rows, codes: list[Int32s], vocabulary: Vocabulary, tie: Bools | None) -> Parts:
    winner, loser = codes

    def explain(row: int) -> str:
        return f"{shorten(vocabulary[int(winner[row])])!r} is compared with itself"

    rows.refuse(winner == loser, "an item is compared with itself", explain)
    time = _times(rows)
    shared = rows.shared()
    order = np.flatnonzero(rows.good)
    if time is not None:
        by_time = np.argsort(time[order], kind="stable")
        order = order[by_time]
        shared = {role: _reordered(column, by_time) for role, column in shared.items()}
    both, vocabulary = renumber(np.stack([winner[order], loser[order]], 1).reshape(-1), vocabulary)
    pair = both.reshape(-1, 2)
    return gather.gather_pairs(
        (pair[:, 0], vocabulary), (pair[:, 1], vocabulary), tie=None if tie is None else tie[order], **shared
    )


def _times(rows: _Rows) -> Floats | None:
    """Return when every row happened, None where nobody asked for an order."""
    if not rows.has("time"):
        return None
    codes, words = rows.raw("time")
    moment = np.append(read_times(words.labels), np.nan)[codes]
    rows.refuse(
        np.isnan(moment),
        "the time is neither a number nor a date",
        rows._explain("time", "neither a number nor a date like 2024-05-31"),
    )
    return moment


def _reordered(column: Any, order: Int64s) -> object:
    return renumber(column[0][order], column[1]) if isinstance(column, tuple) else column[order]


def _ranks(rows: _Rows) -> Parts:
    return _long(rows, "rank")


def _ratings(rows: _Rows) -> Parts:
    return _long(rows, "rating")


def _long(rows: _Rows, role: str) -> Parts:
    rows.refuse_missing("item", "ballot")
    rows.refuse_not_finite("rank", "rating")
    rows.shared()
    grouping = ["instance", "ballot" if rows.has("ballot") else "agent", "item"]
    _refuse_weights_within_ballots(rows, grouping[:-1])
    parts = _gather_long(rows, role)
    if kernels.find_repeated(parts["indptr"], parts["item"], len(parts["items"]))[0] >= 0:
        advice = "keep one of them"
        if not rows.has("agent") and not rows.has("ballot"):
            advice += " or name the column of agents with agent="
        rows.refuse_repeats(grouping, "given twice{where}", advice)
        parts = _gather_long(rows, role)
    return parts


def _gather_long(rows: _Rows, role: str) -> Parts:
    columns = rows.shared()
    agent = columns.pop("agent", None)
    has_values = role == "rating" or rows.has("rating")
    parts = gather.gather_rows(
        rows.coded("item"),
        rows.number("rating" if has_values else "rank"),
        scale="rating" if has_values else "rank",
        agent=rows.coded("ballot") if rows.has("ballot") else agent,
        level=rows.number("rank") if role == "rank" and has_values else None,
        **columns,
    )
    return _agents_of_ballots(rows, parts, agent) if rows.has("ballot") else parts


def _refuse_weights_within_ballots(rows: _Rows, roles: Sequence[str]) -> None:
    """A weight belongs to a whole ballot: refuse rows whose weight differs from the ballot's first row."""
    if not rows.has("weight") or not rows.count:
        return
    _, first, inverse = np.unique(rows.key(roles), return_index=True, return_inverse=True)
    weight = rows.number("weight")
    bad = np.zeros(len(rows.good), bool)
    bad[rows.good] = weight != weight[first][inverse.reshape(-1)]
    rows.refuse(bad, "the weight differs from the other rows of its ballot")


def _agents_of_ballots(rows: _Rows, parts: Parts, agent: Any) -> Parts:
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


def _places(rows: _Rows) -> Parts:
    columns, vocabulary = one_vocabulary(rows.place_codes())
    code = np.stack(columns, 1)
    filled = code >= 0
    empty: Bools = np.logical_not(filled.any(axis=1))
    rows.tolerate(empty, "an empty ballot, left out")
    gap: Bools = np.any(~filled[:, :-1] & filled[:, 1:], axis=1)
    rows.tolerate(gap, "a place left empty before a filled one")
    return _ballots(rows, code, filled, np.broadcast_to(np.arange(code.shape[1]), code.shape), vocabulary, empty)


def _ballots(rows: _Rows, code: AnyArray, filled: Bools, tier: AnyArray, vocabulary: Vocabulary, empty: Bools) -> Parts:
    indptr = np.concatenate([[0], np.cumsum(filled.sum(1))]).astype(np.int64)
    flat = np.ascontiguousarray(code[filled], np.int32)
    repeated = _repeated_ballots(indptr, flat, len(vocabulary))

    def explain(row: int) -> str:
        named = flat[indptr[row] : indptr[row + 1]].tolist()
        twice = next(item for k, item in enumerate(named) if item in named[:k])
        return f"the item {shorten(vocabulary[twice])!r} stands twice in the ballot"

    rows.refuse(repeated, "an item stands twice in the ballot", explain)
    rows.shared()
    rows.good = rows.good & ~empty
    keep = filled & rows.good[:, None]
    item, vocabulary = renumber(np.ascontiguousarray(code[keep], np.int32), vocabulary)
    parts: Parts = {
        "items": vocabulary,
        "indptr": np.concatenate([[0], np.cumsum(keep.sum(1)[rows.good])]).astype(np.int64),
        "item": item,
        "tier": np.ascontiguousarray(tier[keep], np.int32),
    }
    return parts | gather.ballot_columns(rows.count, **_by_role(rows.shared()))


def _rankings(rows: _Rows) -> Parts:
    code, texts = rows.raw("ranking")
    parsed = parse_rankings(texts.labels)
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
    return parts | gather.ballot_columns(rows.count, **_by_role(rows.shared()))


def _rank_matrix(rows: _Rows) -> Parts:
    rows.refuse_missing("item")
    matrix = rows.matrix()
    for column, name in enumerate(rows.plan.places):
        odd = np.flatnonzero(np.isnan(matrix[:, column]))
        words = rows.table.cells(name, odd.tolist()) if len(odd) else []
        bad = np.isinf(matrix[:, column])
        bad[odd] = [word is not None and word.strip().lower() not in ("nan", "na", "null", "-", "") for word in words]
        rows.refuse(bad, f"the rank in column {name!r} is not a number")
    rows.refuse_repeats(["item"], "listed twice{where}", "name each item once")
    item = rows.coded("item")
    return gather.gather_rank_matrix(matrix[rows.good], items=item, agents=list(rows.plan.places))


_BUILDERS = {
    "pairs": _pairs,
    "ranks": _ranks,
    "ratings": _ratings,
    "places": _places,
    "rankings": _rankings,
    "rank-matrix": _rank_matrix,
}


# ---- codes ----
def coded_of_stream(parts: Any) -> Coded:
    """Take a text column of ``kernels.read_stream``; an empty text is a missing one."""
    codes, offsets, data, _ = parts
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if len(empty):
        codes = np.where(codes == empty[0], np.int32(-1), codes)
    return codes, vocabulary_of_bytes(offsets, data)


def renumber(codes: AnyArray, vocabulary: Vocabulary) -> Coded:
    """Number only the labels in use, in order of appearance."""
    fresh, first = kernels.encode_ints(np.ascontiguousarray(codes, np.int64))
    used = np.asarray(codes)[first]
    if len(used) == len(vocabulary) and np.array_equal(used, np.arange(len(used))):
        return np.ascontiguousarray(codes, np.int32), vocabulary
    return fresh, Vocabulary.lazy(len(used), lambda: vocabulary.take(used))


def one_vocabulary(columns: Sequence[Coded]) -> tuple[list[Int32s], Vocabulary]:
    """Bring several text columns (-1 = missing) under one vocabulary."""
    joined = [label for _, vocabulary in columns for label in vocabulary.labels]
    shared, first, _ = kernels.encode_objects(joined)
    out, start = [], 0
    for codes, vocabulary in columns:
        table = np.append(shared[start : start + len(vocabulary)], np.int32(-1))
        out.append(table[codes].astype(np.int32))
        start += len(vocabulary)
    return out, Vocabulary([joined[k] for k in first.tolist()])


def _repeated_ballots(indptr: Int64s, item: Int32s, n_items: int) -> Bools:
    """Return which ballots name an item twice."""
    bad = np.zeros(len(indptr) - 1, bool)
    if kernels.find_repeated(indptr, item, n_items)[0] < 0:
        return bad
    owner = gather.segment_index(indptr)
    order = np.lexsort((item, owner))
    again = (owner[order][1:] == owner[order][:-1]) & (item[order][1:] == item[order][:-1])
    bad[owner[order][1:][again]] = True
    return bad


def _by_role(columns: Mapping[str, object]) -> dict[str, object]:
    return {role: columns.get(role) for role in ("weight", "agent", "instance")}
