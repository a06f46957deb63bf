"""The rows of a table by role: each column is fetched once and checked, and every bad row is reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from concordant.ballots.vocabulary import Coded, Vocabulary, renumber, shorten
from concordant.errors import InputError, arg
from concordant.support.limits import NUMBERS, WEIGHTS, bad_numbers, bad_weights
from concordant.tables.bad_rows import RowScreen
from concordant.tables.grades import means_missing, place_in, rate
from concordant.tables.options import FEATURES, MATRICES, UNGROUPED, Options, is_optional
from concordant.tables.outcomes import read_flags
from concordant.tables.plans import Plan
from concordant.tables.teams import join_players
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s

NUMBER_ROLES = ("rank", "rating", "weight", "label")
Candidates = tuple[Coded, Coded | None]  # items, and the instances they are candidates of
FEWEST_ROWS = 2.0  # rows of the average instance: a column with fewer per value is an identifier, not an instance


class InputTable(Protocol):
    """Named columns that are fetched once, and rows with locations."""

    name: str
    columns: list[str]
    has_header: bool
    notes: list[str]
    is_countable: bool
    """Whether DuckDB can count its rows without returning them."""

    def fetch(self, texts: Sequence[str], numbers: Sequence[str]) -> tuple[dict[str, Coded], dict[str, Floats]]:
        """Return text columns as codes (-1 = missing) with labels, and number columns (NaN = not a number)."""

    def cells(self, column: str, rows: Sequence[int]) -> list[str | None]:
        """Return the cells of a column at a few rows, None for empty cells; for messages."""

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names this row's location."""

    def place(self, row: int) -> str:
        """Return the location of a row for messages: ``line 17``."""


class Rows(RowScreen):
    """The fetched columns of a plan by role, and which rows are still good."""

    def __init__(self, table: InputTable, plan: Plan, options: Options, count: int = 0) -> None:
        """Fetch the columns of the plan once: text and number columns by role, and the players of each side joined."""
        self.table, self.plan = table, plan
        self.separator, self.has_sides = options.team_separator, bool(plan.players or options.team_separator)
        self.categories: Sequence[str] | None = options.categories
        self.layout, self.repeated = options.layout, options.repeated
        self.both_bad = options.both_bad
        tie = options.roles.get("tie")
        self._has_tie_option = tie is not None and not is_optional(tie)
        self.date_order = options.date_order
        self._named = {role for role, column in options.roles.items() if column is not None}
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
        """Put all rows with an empty group into one group."""
        codes, vocabulary = self._texts[column]
        if (codes < 0).any():
            labels = [*vocabulary.labels, *([] if UNGROUPED in vocabulary.labels else [UNGROUPED])]
            self._texts[column] = (
                np.where(codes < 0, labels.index(UNGROUPED), codes).astype(np.int32),
                Vocabulary(labels),
            )

    def drop_identifier(self) -> None:
        """Unassign an inferred instance column with fewer than 2 rows per value: it identifies rows, not instances."""
        if "instance" not in self.plan.guessed or not self.has("instance"):
            return
        codes, vocabulary = self.raw("instance")
        if len(codes) >= FEWEST_ROWS * len(vocabulary):
            return
        name = self.plan.column["instance"]
        note = (
            f"{shorten(name)} identifies rows and is not used as the instance (" + arg("instance", name) + " uses it)"
        )
        if self.strict:
            either = arg("instance", name) + " or " + arg("instance", "none")
            raise self.table.error(-1, note + ": use " + either + ".").at(column=name)
        self.plan = self.plan.without("instance", note)

    # ---- columns, good rows only ----
    def has(self, role: str) -> bool:
        """Return whether a column has this role."""
        return role in self.plan.column

    def is_named(self, role: str) -> bool:
        """Return whether the user named the column of this role."""
        return role in self._named

    def is_empty(self) -> Bools:
        """Return which rows have no content in any column that is read."""
        empty: Bools | None = None
        for role in self.plan.column:
            if empty is not None and not empty.any():
                break
            is_role_empty = np.isnan(self.values(role)) if role in NUMBER_ROLES else self.raw(role)[0] < 0
            empty = is_role_empty if empty is None else empty & is_role_empty
        return np.zeros(len(self.good), bool) if empty is None else empty

    def coded(self, role: str) -> Coded:
        """Return a text column; if rows were left out, only labels still in use, in order of appearance."""
        return self.kept(self.raw(role))

    def raw(self, role: str) -> Coded:
        """Return a text column of all rows."""
        return self._texts[self.plan.column[role]]

    def flags(self, role: str) -> Bools:
        """Return a yes/no column as booleans; reject rows with other words."""
        flags, unknown = read_flags(*self.raw(role))
        reason = f"the {role} is neither true nor false"
        explain_row = self.explain(role, "neither true nor false")
        self.refuse(unknown, reason, explain_row, column=self.plan.column[role])
        return flags

    def tie_flags(self) -> Bools:
        """Return which rows a tie column next to an outcome marks as ties; a column of other values marks none."""
        if not self.has("tie"):
            return np.zeros(len(self.good), bool)
        is_unknown = read_flags(*self.raw("tie"))[1]
        if is_unknown.any() and not self._has_tie_option:  # the odds of a draw, perhaps
            self.plan = self.plan.without("tie")
            return np.zeros(len(self.good), bool)
        return self.flags("tie")

    def place_codes(self) -> list[Coded]:
        """Return the columns of places."""
        return [self._texts[name] for name in self.plan.places]

    def key(self, roles: Sequence[str]) -> Int64s:
        """Return one integer per row; it is equal for rows that agree in all these roles."""
        key = np.zeros(len(self.good), np.int64)
        for role in filter(self.has, roles):
            codes, vocabulary = self.raw(role)
            key = key * (len(vocabulary) + 1) + codes
        return key

    def values(self, role: str) -> Floats:
        """Return a numeric column of all rows; ratings in words are converted using the user's categories."""
        name = self.plan.column[role]
        is_rated = role in ("rating", "label")
        if is_rated and self.categories is not None and name not in self._rated:
            (codes, words), value = self.table.fetch([name], [])[0][name], {}
            value = rate(words.labels, self.categories)
            self._rated[name] = np.array([*(value.get(word, np.nan) for word in words.labels), np.nan])[codes]
        return self._rated.get(name, self._numbers[name]) if is_rated else self._numbers[name]

    def replace_numbers(self, role: str, values: Floats) -> None:
        """Replace a numeric column of all rows."""
        self._numbers[self.plan.column[role]] = values

    def number(self, role: str) -> Floats:
        """Return a numeric column."""
        return self.values(role)[self.good]

    def matrix(self) -> Floats:
        """Return the columns of ranks or ratings as an array (rows x columns, NaN for empty cells).

        Places and grades in words are converted to numbers; rows with other words are rejected.
        """
        places, value_name = self.plan.places, self.plan.layout.removesuffix("-matrix")
        matrix = np.stack([self._numbers[name] for name in places], 1)
        is_number: Bools = np.isfinite(matrix) & (self.categories is None)
        with_words = [k for k in range(len(places)) if not is_number[:, k].all()]
        coded = self.table.fetch([places[k] for k in with_words], [])[0] if with_words else {}
        questions = self.plan.questions or ("",) * len(places)
        for question in dict.fromkeys(questions[k] for k in with_words):  # whose answers are on one scale
            columns = {k: coded[places[k]] for k in with_words if questions[k] == question}
            words = {word for _, labels in columns.values() for word in labels.labels if not means_missing(word)}
            is_mixed = any(is_number[:, k].any() for k in range(len(places)) if questions[k] == question)
            value = self._meaning(words, is_mixed)
            for k, (codes, labels) in columns.items():
                value_of_row = np.array([*(value.get(word, np.nan) for word in labels.labels), np.nan])[codes]
                has_word = np.array([*(word in words for word in labels.labels), False])[codes]
                matrix[:, k] = np.where(is_number[:, k], matrix[:, k], value_of_row)
                reason = f"the {value_name} in column {places[k]!r} is not a number"
                bad = has_word & ~np.isfinite(matrix[:, k])
                self.refuse(bad, reason, self._strange(reason, codes, labels), column=places[k])
        return matrix

    def _meaning(self, words: set[str], is_mixed: bool) -> dict[str, float]:
        """Return the number of each word: a rank, or a rating on one scale; no ratings if numbers occur as well."""
        if self.plan.layout == "rank-matrix":
            return {word: place for word in words if (place := place_in(word)) is not None}
        return {} if is_mixed and self.categories is None else rate(words, self.categories)

    def _strange(self, reason: str, codes: Int32s, labels: Vocabulary) -> Callable[[int], str]:
        """Return a function that describes the word in a row where a number is expected, and how to order words."""
        advice = (
            "" if self.plan.layout == "rank-matrix" else " (list the words, best first, with " + arg("categories") + ")"
        )
        return lambda row: f"{reason}, but {shorten(labels[int(codes[row])])!r}" + advice

    def shared(self) -> dict[str, Any]:
        """Return the columns that every layout may have, validated."""
        self.refuse_missing("agent", "instance")
        if self.has("weight"):
            values = self.values("weight")
            explain_row = self.explain("weight", f"not {WEIGHTS}")
            self.refuse(
                bad_weights(values), "the weight is out of range", explain_row, column=self.plan.column["weight"]
            )
        columns: dict[str, Any] = {role: self.coded(role) for role in ("agent", "instance") if self.has(role)}
        return columns | ({"weight": self.number("weight")} if self.has("weight") else {})

    def candidates(self) -> Candidates | None:
        """Remove and return rows that only name a candidate: no rank or rating, no agent; None if there are none."""
        levels = [role for role in ("rank", "rating") if self.has(role)]
        is_candidate_only: Bools = np.logical_and.reduce([np.isnan(self.values(role)) for role in levels])
        if not is_candidate_only.any():
            return None
        names = [self.plan.column[role] for role in levels]
        is_empty = [codes < 0 for codes, _ in self.table.fetch(names, [])[0].values()]
        is_empty += [self.raw(role)[0] < 0 for role in ("agent", "ballot") if self.has(role)]
        is_named = [self.raw(role)[0] >= 0 for role in ("item", "instance") if self.has(role)]
        is_candidate_only = np.logical_and.reduce([is_candidate_only & self.good, *is_empty, *is_named])
        if not is_candidate_only.any():
            return None
        count = int(is_candidate_only.sum())
        self._notes.append(f"{count:,} row{'s' * (count > 1)} without a {levels[0]}: unranked candidates")
        self.good = self.good & ~is_candidate_only
        item, *instance = (
            renumber(self.raw(role)[0][is_candidate_only], self.raw(role)[1])
            for role in ("item", "instance")
            if self.has(role)
        )
        return item, instance[0] if instance else None

    # ---- bad rows ----
    def refuse_missing(self, *roles: str) -> None:
        """Reject rows in which a column of one of these roles is empty."""
        for role in filter(self.has, roles):
            self.refuse(self.raw(role)[0] < 0, f"the {role} is missing", column=self.plan.column[role])

    def refuse_not_finite(self, *roles: str) -> None:
        """Reject rows in which a column of one of these roles is not a finite number."""
        for role in filter(self.has, roles):
            bad = bad_numbers(self.values(role))
            explain_row = self.explain(role, f"not {NUMBERS}")
            self.refuse(bad, f"the {role} is not a number", explain_row, column=self.plan.column[role])

    def explain(self, role: str, trouble: str, column: str | None = None) -> Callable[[int], str]:
        """Return a function that describes the unexpected cell of a row."""

        def explain(row: int) -> str:
            cell = self.table.cells(column or self.plan.column[role], [row])[0]
            return f"the {role} is missing" if cell is None else f"the {role} is {shorten(cell)!r}, {trouble}"

        return explain

    def covariates(self) -> Floats | None:
        """Return the covariates as an array (rows x sides x covariates); reject rows whose value is not a number.

        Pairs have two sides, other layouts one. In pairs, a covariate with a single column is a difference between the
        sides: it is stored on the first side, and the second side is 0.
        """
        if not self.plan.covariates:
            return None
        table = np.zeros((len(self.good), 2 if self.plan.layout == "pairs" else 1, len(self.plan.covariates)))
        for k, covariate in enumerate(self.plan.covariates):
            for side, name in enumerate(covariate.columns):
                table[:, side, k] = values = self._numbers[name]
                role = f"covariate {shorten(name)}"
                explain_row = self.explain(role, f"not {NUMBERS}", name)
                self.refuse(bad_numbers(values), f"the {role} is not a number", explain_row, column=name)
        return table

    def refuse_differing(self, role: str, values: AnyArray, key: Int64s, of: str) -> None:
        """Reject rows whose value differs from that of the first row with the same key."""
        if not self.count:
            return
        _, first, inverse = np.unique(key[self.good], return_index=True, return_inverse=True)
        good_values = values[self.good]
        bad = np.zeros(len(self.good), bool)
        bad[self.good] = good_values != good_values[first][inverse.reshape(-1)]
        self.refuse(
            bad, f"the {role} differs from that of the other rows of its " + of, column=self.plan.column.get(role)
        )

    def refuse_repeated_items(self, roles: Sequence[str], what: str, advice: str) -> None:
        """Reject rows that repeat an earlier row: the same codes in all these roles."""

        def name(role: str, row: int) -> str:
            codes, vocabulary = self.raw(role)
            return vocabulary[int(codes[row])]

        def label(role: str, row: int) -> str:
            return f"{role} {shorten(name(role, row))!r}"

        def explain(row: int, earlier: int) -> str:
            labels = [label(role, row) for role in roles if role != "item" and self.has(role)]
            where = f" for {', '.join(labels)}" if labels else ""
            first = f"(first in {self.table.place(earlier)})"
            return f"the {label('item', row)} is {what.format(where=where)} {first}; " + advice

        reason = "the item occurs twice in one ballot"
        self.refuse_repeats(self.key(roles), reason, explain, lambda row: name("item", row))
