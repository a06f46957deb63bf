"""Assign roles (winner, item, rank, agent, …) to the columns of a table, inferred from names or given by the user.

A table becomes preferences in one of eight layouts, or labels, or rows of features:

========== ============================================== ===========================================
layout     columns it needs                               may also have
========== ============================================== ===========================================
pairs      winner, loser; or left, right and outcome      tie, left_score, right_score, neutral,
           or, for an outcome, left_won and right_won,    agent, instance, by, weight, time
           or left_score and right_score
ranks      item, rank                                     rating, agent, ballot, team, instance, by, weight, time, open
ratings    item, rating                                   agent, ballot, team, instance, by, weight, time
places     first, second, third, … (rank1, rank2, …)      agent, instance, by, weight
rankings   ranking (text like ``a > b = c > d``)          agent, instance, by, weight, open
answers    agent, item, answer                            instance, by, weight
matrices   the first column names items, others agents;   weight
           or agent, and a column per item
clicks     agent, item, and no column that orders items   instance, by, time
labels     item, label                                    instance
features   label, columns of numbers                      query, item, weight
========== ============================================== ===========================================

``options`` declares the roles and the column names that are recognised for them. A column named exactly like its role
takes precedence over one named by a synonym, and names take precedence over identifiers (``winner_name`` over
``winner_id``). Otherwise, two synonyms for one role are an error that names the option to set. Names are compared
without case and punctuation (``userId`` is ``user id``). A role set to ``None`` (or the word ``none``) is switched off.
Pairs are split into instances only on request. Groups to compare (``by``) are read as instances; a table has either
groups or instances. Pairs, ranks and ratings may have covariates, and a side of a pair may consist of several columns,
one per player of a team. The two matrices hold ranks (``rank-matrix``) or ratings (``rating-matrix``). If the column
names do not identify the layout, ``wide`` checks whether the table is a matrix.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NoReturn

from concordant.errors import InputError, Sentence, UnknownColumnError, arg, clause, phrase, suggest
from concordant.tables.covariates import Covariate, given_covariates
from concordant.tables.crowds import CROWD_WORDS, add_crowd_columns, is_topic
from concordant.tables.grades import ORDINALS
from concordant.tables.headings import CLICK_WORDS, are_about_clicks, side_columns, stems
from concordant.tables.layout_roles import (
    COVARIATES,
    NEEDED,
    OPTIONAL,
    PLAIN,
    SIDES,
    WIDE,
    core_roles,
    known_layout,
    outcome_flags,
    prefer_names,
    roles_of,
    wanted_columns,
)
from concordant.tables.nested import Structure, column_of, heading
from concordant.tables.options import (
    CLICKS,
    FEATURES,
    LABELS,
    LAYOUTS,
    MATRICES,
    PREFERENCES,
    Options,
    columns_of,
    is_optional,
    listed,
    normalise,
)
from concordant.tables.places import contest_columns, place_columns, place_of
from concordant.tables.plans import HasColumns, Plan
from concordant.tables.race_names import guess_races
from concordant.tables.score_names import guess_scores

_UNCLEAR = phrase(
    "have no recognised roles: name them, for example {} and {}, or {} with {} or {}, or {}; with a column per agent "
    "use {} or {}, and with a row per agent add {}.",
    *(arg(role, shown="…") for role in ("winner", "loser", "item", "rank", "rating", "ranking")),
    *(arg("layout", layout) for layout in MATRICES),
    arg("transpose", True),
)
IMPLICIT = "implicit feedback: each agent prefers the items that it chose to all others"
# Names in tables whose other headings may occur again below them.
_SURVEY_WORDS = {"response id", "recorded date", "collector id", "submitdate", "best", "worst"}
_KNOWN_WORDS = _SURVEY_WORDS | {
    word for what in (PREFERENCES, LABELS) for role in columns_of(what).values() for word in role.synonyms
}
_KNOWN_WORDS |= CROWD_WORDS


def plan_columns(table: HasColumns, options: Options, layout: str | None = None) -> Plan:
    """Decide the layout of a table, unless it is labels or features, and the role of each column."""
    return _Planner(table, options, layout).plan()


def planned(table: HasColumns, options: Options) -> Plan:
    """Return the plan of a table of preferences in a file; plans are cached in the options.

    Joined tables with the same columns share the plan of the first, unless it was recognised by content.
    """
    path = os.path.abspath(table.name)
    if path not in options.plans:
        first = options.plans.get(os.path.abspath(getattr(table, "like", "")))
        is_known = first is not None and first.layout in ("pairs", "ranks", "ratings", "answers")
        options.plans[path] = first if is_known else plan_columns(table, options)
    plan: Plan = options.plans[path]
    return plan


def is_known_name(name: str) -> bool:
    """Return whether a cell looks like a known column name and not like data."""
    plain = normalise(name)
    if plain.isdigit() or len(plain) < 2:
        return False
    first = plain.split(" ")[0]
    return first in ORDINALS or place_of(plain) is not None or not stems(plain).isdisjoint(_KNOWN_WORDS)


class _Planner:
    """State of a table while roles are assigned to its columns."""

    def __init__(self, table: HasColumns, options: Options, layout: str | None) -> None:
        """Assign the columns that the user named."""
        self.table, self.columns, self.strict, self.options = table, table.columns, options.strict, options
        self.roles = columns_of(layout or PREFERENCES)
        self.layout = layout or known_layout(options.layout)
        self.named_columns: dict[str, str] = {}  # by role
        self.places: tuple[str, ...] = ()
        self.switched_off: set[str] = set()
        self.players: dict[str, tuple[str, ...]] = {}
        self.covariates: tuple[Covariate, ...] = ()
        self.dispensable = {role for role, value in options.roles.items() if is_optional(value)}
        known_roles: Mapping[str, object] = getattr(table, "roles", {}) if options.layout is None else {}
        if options.merge or options.reduce:  # which lose the order of events
            known_roles = {role: name for role, name in known_roles.items() if role != "time"}
        for role, value in {**known_roles, **options.roles}.items():
            self._take(role, value)
        self.says_places, self.is_contest = bool(self.places), False

    def plan(self) -> Plan:
        """Return the roles of all columns."""
        has_names = self.table.has_header
        if not has_names and self.layout != FEATURES:
            self._assume_by_position()
        taken_together = {name for names in self.players.values() for name in names}
        taken_together |= {name for covariate in self.covariates for name in covariate.columns}
        settled = {*self.named_columns.values(), *self.places, *taken_together}
        free = [name for name in self.columns if name not in settled]
        guesses = self._guess(free) if has_names else {}
        is_form: bool = getattr(self.table, "is_form", False)
        if self._is_matrix_by_agents() or (is_form and not self.places):
            return self._recognised(guesses)
        if has_names and not self.places and self.layout in (None, "places") and "places" not in self.switched_off:
            self.places = place_columns(free)
        layout = self.layout or self._choose_layout(guesses)
        if layout in (None, "places") and not self.places and has_names:
            self.places = self._places_of_contest(free)
            layout = "places" if self.places else layout
        layout = layout or self._clicks(guesses)
        if layout is None:
            return self._recognised(guesses)
        if self.options.question is not None and not self.is_contest and not is_form:
            self._refuse(
                arg("question")
                + f" only applies to forms with a column per answer, but these are {layout}: leave it out."
            )
        column = self._fill(layout, {} if layout in MATRICES else guesses)
        if layout in MATRICES:
            if strange := [role for role in self.named_columns if role != "item"]:
                self._refuse(arg(strange[0]) + f" does not apply to a {layout} whose rows are items: leave it out.")
            column = {"item": self.named_columns.get("item", self.columns[0])}
        # A second column that could be the label or the query is not a feature, either.
        rivals = {name for names in guesses.values() for name in names} if layout == FEATURES else set()
        places = self._wide_columns(layout, {*column.values(), *rivals})
        self._check_covariates(layout)
        read = {*column.values(), *places, *taken_together, *getattr(self.table, "used", ())}
        read_in_part = {name for name in self.columns if any(field.startswith(name + ".") for field in read)}
        unread = tuple(name for name in self.columns if name not in read | read_in_part)
        if self.strict and has_names and layout != FEATURES:  # which features can be read is known later
            refuse_unread(self.table, unread)
        inferred = {role: self.roles[role] for role in column if role not in self.named_columns}
        guessed = frozenset(
            role for role, known in inferred.items() if normalise(column[role]) not in known.synonyms[: known.sure]
        )
        is_grouped = "by" in column
        column = {"instance" if role == "by" else role: name for role, name in column.items()}
        notes: tuple[str, ...] = () if has_names or layout in (*MATRICES, FEATURES) else ("there is no header line",)
        notes += (IMPLICIT,) if layout == CLICKS else ()
        return Plan(layout, column, places, unread, notes, guessed, self.players, self.covariates, is_grouped)

    # ---- what the user said ----
    def _take(self, role: str, value: object) -> None:
        """Record the column of a role: a name, a position from 1, "?name" (if it exists), or None (switched off)."""
        text = str(value).strip()
        if value is None or value is False or (text.lower() == "none" and text not in self.columns):
            self.switched_off.add(role)
        elif is_optional(value) and text not in self.columns:
            if text[1:] in self.columns:
                self.named_columns[role] = text[1:]
        elif role == "covariate":
            self.covariates = given_covariates(value, self.columns, self._find, normalise)
        elif role in SIDES and text not in self.columns and len(several := wanted_columns(role, value)) > 1:
            self.players[role] = tuple(self._find(column, role) for column in several)
            self.named_columns[role] = self.players[role][0]
        elif role in WIDE.values():
            self.places = tuple(self._find(column, role.removesuffix("s")) for column in wanted_columns(role, value))
        else:
            self.named_columns[role] = self._find(value, role)

    def _find(self, value: object, role: str) -> str:
        """Return the column with this name (compared without case and punctuation) or at this position from 1."""
        text = str(value).strip()
        if text in self.columns:
            self._refuse_nested(text, role)
            return text
        if "." in text and (field := self._nested(text)) is not None:
            return field
        same_name = [name for name in self.columns if normalise(name) == normalise(text)]
        if len(same_name) == 1:
            return same_name[0]
        if text.isdecimal() and len(text) < 10 and 1 <= int(text) <= len(self.columns):
            return self.columns[int(text) - 1]
        called = "group" if role == "by" else role
        parent, fields = self._fields_beside(text)
        error = UnknownColumnError(
            f"{self.table.name} has no column {text!r} for the role {called}.{suggest(text, fields or self.columns)} "
            + (
                f"The fields of {parent} are {listed(fields)}."
                if fields
                else f"Its columns are {listed(self._headings())}."
            ),
            column=text,
        )
        raise error.at(path=self.table.error(-1, "").path, parameter=role)

    def _nested(self, text: str) -> str | None:
        """Return the full name of a nested field (``category.math``), if the table has it."""
        found: str | None = getattr(self.table, "resolve", lambda _: None)(text)
        return found

    def _refuse_nested(self, column: str, role: str) -> None:
        """Reject a column of nested fields as the group, the time or another plain value; say which fields it has."""
        if role in PLAIN and self._structure(column):
            _, fields = self._fields_beside(f"{column}.")
            what = f"the column {column!r} has nested fields ({listed(fields)}): name one of them"
            raise self.table.error(-1, what + ", for example " + arg(role, fields[0]) + ".").at(column=column)

    def _structure(self, column: str) -> Structure:
        """Return the nested fields of a column as far as they are known without reading the rows."""
        found: Structure = getattr(self.table, "structure", lambda _: None)(column)
        return found if isinstance(found, Mapping) else None

    def _headings(self) -> list[str]:
        """Return the column names for a message, with the number of fields of nested columns."""
        return [heading(column, self._structure(column)) for column in self.columns]

    def _fields_beside(self, text: str) -> tuple[str, list[str]]:
        """Return the column that a dotted name belongs to, and the names of its fields."""
        column = (column_of(text, self.columns) or ("", ""))[0]
        fields: list[str] = getattr(self.table, "fields", lambda _: [])(column)
        return column, fields

    def _assume_by_position(self) -> None:
        """In a table without a header, use two columns as winner and loser, or one column as rankings."""
        if self.layout == "places" and not self.places:
            self.places = tuple(name for name in self.columns if name not in self.named_columns.values())
        if self.named_columns or self.places or self.layout in MATRICES:
            return
        if self.layout in (None, "pairs") and len(self.columns) == 2:
            self.named_columns = {"winner": self.columns[0], "loser": self.columns[1]}
        elif self.layout in (None, "rankings") and len(self.columns) == 1:
            self.named_columns = {"ranking": self.columns[0]}
        else:
            raise InputError(
                f"{self.table.name} has no header line and {len(self.columns)} columns: give their roles by "
                "position, for example "
                + (arg("winner", 1) + " and " + arg("loser", 2) + ", or " + arg("layout", "places"))
                + " for one ballot per row, best first."
            )

    # ---- what the names say ----
    def _guess(self, free: Sequence[str]) -> dict[str, list[str]]:
        """Return, for each role without a column yet, the columns whose names match it, most likely first."""
        plain = {name: normalise(name) for name in free}
        words_of = {name: {text} if self.layout == FEATURES else stems(text) for name, text in plain.items()}
        settled = {*self.named_columns, *self.switched_off}
        guesses: dict[str, list[str]] = {}
        for role, declared in self.roles.items():
            matching = [name for name in free if not words_of[name].isdisjoint(declared.synonyms)]
            if not matching and self.layout != FEATURES:
                weaker = [name for word in declared.weak for name in free if word in words_of[name]]
                matching = weaker[:1]
            if matching and role not in settled:
                surest = declared.synonyms[: declared.sure]
                place = {name: surest.index(plain[name]) if plain[name] in surest else len(surest) for name in matching}
                guesses[role] = sorted(matching, key=place.__getitem__)
        if "left" in self.roles:
            self._guess_sides(guesses, plain, settled)
            guess_races(guesses, plain, settled)
        # Only beside a ballot and an item, as teams are written; else a team is an item, or where a player is from.
        teams = [name for name, text in plain.items() if text == "team"]
        if teams and "team" not in settled and {"ballot", "item"} <= set(plain.values()):
            guesses["team"] = teams
        add_crowd_columns(guesses, plain, settled, self.roles, self.layout)
        return guesses

    def _guess_sides(self, guesses: dict[str, list[str]], plain: Mapping[str, str], settled: set[str]) -> None:
        """Infer the columns of two items, as in model comparisons: model_a, model_b, and ``winner`` as the outcome."""
        sides = side_columns(plain)
        if sides and not {"left", "right"} & {*settled, *guesses}:
            guesses["left"], guesses["right"] = [sides[0]], [sides[1]]
        if {"left", "right"} <= {*guesses, *settled} and not {"loser"} & {*guesses, *settled}:
            outcome = guesses.pop("winner", [])
            if "outcome" not in settled and outcome:
                guesses["outcome"] = outcome
            if sides and not {"outcome"} & {*guesses, *settled}:
                guesses |= outcome_flags(plain, sides, settled)
        guess_scores(guesses, plain, sides, settled)

    def _places_of_contest(self, free: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of places whose names include a contest; of several contests, the user chooses one."""
        contests = contest_columns(free)
        wanted = normalise(self.options.question or "")
        matching = {contest: names for contest, names in contests.items() if wanted in contest}
        matching = {contest: names for contest, names in matching.items() if contest == wanted} or matching
        self.is_contest = len(matching) == 1
        if contests and not self.is_contest:
            say = arg("question", shown="CONTEST") + ", or name its columns with " + arg("places", "COLUMN,COLUMN")
            self._refuse(
                f"there are ballots of several contests ({listed(list(contests))}): choose one with " + say + "."
            )
        return next(iter(matching.values()), ())

    def _is_matrix_by_agents(self) -> bool:
        """Return whether the user requests a matrix with a row per agent."""
        if self.layout in MATRICES and "item" not in self.named_columns:
            from concordant.tables.headings import bracketed

            return self.options.transpose or "agent" in self.named_columns or bool(bracketed(self.columns))
        # Rows and columns are to be swapped, and were not, because only a matrix can be meant.
        return self.layout is None and self.options.transpose and not getattr(self.table, "is_turned", False)

    def _recognised(self, guesses: Mapping[str, Sequence[str]]) -> Plan:
        """Return the plan of a matrix or form that is recognised by its content."""
        from concordant.tables.wide import GivenRoles, recognise

        unclear = self.table.error(-1, f"the columns {listed(self.columns)} " + _UNCLEAR)
        is_log = bool(guesses.get("agent")) and any(normalise(name).endswith("id") for name in guesses.get("item", ()))
        if is_log or any(role not in OPTIONAL[MATRICES[0]] for role in self.named_columns):
            raise unclear
        column = dict(self.named_columns)
        if guesses.get("weight") and normalise(guesses["weight"][0]) in ("weight", "count"):
            column.setdefault("weight", guesses["weight"][0])
        given_roles = GivenRoles(column, self.places if self.says_places else (), self.layout)
        grid = recognise(self.table, self.options, given_roles, unclear)
        column = dict(grid.column) | ({"instance": self.named_columns["by"]} if "by" in self.named_columns else {})
        if "by" in self.named_columns and grid.questions:
            say = arg("question", shown="TEXT")
            self._refuse("groups are compared within one question: choose it with " + say + ".")
        read = {*column.values(), *grid.columns, *getattr(self.table, "used", ())}
        unread = tuple(name for name in self.columns if name not in read)
        if self.strict:
            refuse_unread(self.table, unread)
        labels = () if grid.labels == grid.columns else grid.labels
        return Plan(
            *(grid.layout, column, grid.columns, unread, grid.notes),
            labels=labels, questions=grid.questions, separator=grid.separator, is_grouped="by" in self.named_columns,
        )  # fmt: skip

    def _choose_layout(self, guesses: Mapping[str, Sequence[str]]) -> str | None:
        """Return the layout that the column names suggest; None if they suggest none."""
        available = {*self.named_columns, *guesses, *(("places",) if self.places else ())}
        stated = {*self.named_columns, *(("places",) if self.says_places else ())}
        fits = [
            layout
            for layout in LAYOUTS
            if layout not in (*MATRICES, CLICKS)
            and any(set(needed) <= available for needed in NEEDED[layout])
            and all(role in roles_of(layout) for role in stated)
        ]
        if len(fits) > 1 and "answer" not in stated:  # a label next to a rating or a winner is not read
            fits = [layout for layout in fits if layout != "answers"]
        if "ranks" in fits and "ratings" in fits:
            fits.remove("ratings")  # ranks order the items, ratings stay as their values
        if "places" in fits and not self.says_places:
            fits = [
                layout for layout in fits if layout == "places" or any(role in stated for role in core_roles(layout))
            ]
        if "pairs" in fits and len(fits) > 1:  # winner and loser say more than a `name` and a `score` beside them
            exact = {role for role, names in guesses.items() if normalise(names[0]) == role} | stated
            fits = [
                layout for layout in fits if layout == "pairs" or any(set(needed) <= exact for needed in NEEDED[layout])
            ]
        fits = [layout for layout in fits if any(set(needed) <= stated for needed in NEEDED[layout])] or fits
        if len(fits) == 1:
            return fits[0]
        if not fits:
            return None
        advice = f"can be read as {' or as '.join(fits)}: use " + arg("layout", fits[0]) + " or another of them."
        raise self.table.error(-1, f"the columns {listed(self.columns)} " + advice)

    def _clicks(self, guesses: dict[str, list[str]]) -> str | None:
        """Return the layout of clicks if the columns name an agent and an item, and no other column can order items.

        Logs of clicks have more names for both than other tables; ``guesses`` receives the columns so named.
        """
        if any(role not in roles_of(CLICKS) for role in self.named_columns):
            return None
        chosen = {role: [self.named_columns[role]] for role in CLICK_WORDS if role in self.named_columns}
        for role, words in CLICK_WORDS.items():
            fitting = guesses.get(role) or [name for name in self.columns if stems(normalise(name)) & words]
            chosen.setdefault(role, [name for name in fitting if name not in self.named_columns.values()])
        if not all(chosen.values()):
            return None
        known = {*self.named_columns.values(), *(names[0] for names in chosen.values())}
        if not are_about_clicks([name for name in self.columns if name not in known]):
            return None
        guesses |= chosen
        return CLICKS

    # ---- the plan ----
    def _fill(self, layout: str, guesses: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Return the column of each role of the layout; raise an error if one is missing or ambiguous."""
        strange = [role for role in self.named_columns if role not in roles_of(layout)]
        if strange:
            advice = "leave it out, or choose another " + arg("layout")
            self._refuse(arg(strange[0]) + f" does not apply to {layout}: " + advice + ".")
        dispensable = {"places", *self.dispensable, *(self.switched_off if layout == FEATURES else ())}
        available = {*self.named_columns, *guesses, *dispensable}
        needed = next((roles for roles in NEEDED[layout] if available.issuperset(roles)), None)
        if needed is None:
            self._refuse_lacking(
                layout, min(([r for r in roles if r not in available] for roles in NEEDED[layout]), key=len)
            )
        column: dict[str, str] = {}
        for role in (*needed, *OPTIONAL[layout]):
            if role in self.named_columns:
                column[role] = self.named_columns[role]
                continue
            fitting = [name for name in guesses.get(role, ()) if name not in column.values()]
            # Pairs give one ranking of all, and an agent one ballot, unless a column asks for several by name.
            has_agent = "agent" in self.named_columns or bool(guesses.get("agent"))
            if (layout, role) == ("pairs", "instance") or (role == "ballot" and (layout != "ranks" or has_agent)):
                fitting = [name for name in fitting if normalise(name) == role]
            if (layout, role) == ("ranks", "open"):  # a column of this name may hold prices; layouts give the role
                fitting = []
            if (layout, role) == ("answers", "instance"):
                fitting = [name for name in fitting if is_topic(normalise(name))]
            fitting = fitting if self.strict else prefer_names(fitting)
            surest = self.roles[role].synonyms[: self.roles[role].sure] if fitting else ()
            is_sure = bool(fitting) and normalise(fitting[0]) in surest and (not self.strict or layout == FEATURES)
            if len(fitting) > 1 and not is_sure:
                self._refuse(
                    f"{listed(fitting)} could each be the {role}: choose one with " + self._either(role, fitting) + "."
                )
            if fitting:
                column[role] = fitting[0]
        if "by" in column and "instance" in column:
            self._refuse(
                f"{column['instance']} is the instance, but groups are compared within one instance: use "
                + (arg("instance", "none") + " to combine all instances, or leave out " + arg("by") + ".")
            )
        missing = [role for role in needed if role not in column and role not in dispensable]
        if missing:
            self._refuse(f"no column is left for the role {missing[0]}: use " + arg(missing[0], shown="COLUMN") + ".")
        return column

    def _either(self, role: str, found: Sequence[str]) -> Sentence:
        """Return the options that assign the role to one of several columns; a team column gets its own option."""
        teams = [name for name in found if normalise(name) == "team"] if role == "item" else []
        if not teams or len(found) == 1:
            return arg(role, found[0])
        return arg(role, next(name for name in found if name not in teams)) + " and " + arg("team", teams[0])

    def _check_covariates(self, layout: str) -> None:
        """Reject covariates with more columns than the layout allows (pairs: 2, ranks and ratings: 1, others: none)."""
        max_columns = COVARIATES.get(layout, 0)
        for covariate in self.covariates:
            if len(covariate.columns) > max_columns:
                advice = "name one column" if max_columns else "leave it out, or choose another " + arg("layout")
                option = arg("covariate", ",".join(covariate.columns))
                self._refuse(option + f" does not apply to {layout}: " + advice + ".")

    def _refuse_lacking(self, layout: str, lacking: Sequence[str]) -> NoReturn:
        """Raise the error for a layout whose required roles were not recognised in any column."""
        what, say = f"no column was recognised as the {' or the '.join(lacking)}", arg(lacking[0], shown="COLUMN")
        if layout == FEATURES:
            self._refuse(
                phrase(
                    "{} (columns: {}): use {}, or {} for rows without labels.",
                    *(what, listed(self.columns), say, arg(lacking[0], False)),
                )
            )
        self._refuse(f"{what}, which {layout} need: use " + say + ".")

    def _wide_columns(self, layout: str, taken: set[str]) -> tuple[str, ...]:
        """Return the columns that together hold places, ranks or features: those named, or all that are left."""
        if layout in MATRICES or (layout == FEATURES and not self.says_places):
            self.places = tuple(name for name in self.columns if name not in taken)
        if layout == "places" and not self.places:
            advice = clause(": name them, best first, with ", arg("places", "COLUMN,COLUMN"))
            self._refuse("no columns are named first, second, …" + advice + ".")
        if layout in MATRICES and not self.places:
            what = layout.removesuffix("-matrix")
            self._refuse(f"there is no column of {what}s next to the items: a {what} matrix has one per agent.")
        return self.places if layout in WIDE else ()

    def _refuse(self, message: str) -> NoReturn:
        raise self.table.error(-1, message)


def refuse_unread(table: HasColumns, unread: Sequence[str]) -> None:
    """Reject columns that would not be read, if the user requires all columns to be read."""
    if unread:
        raise table.error(
            -1,
            f"the column{'s' * (len(unread) > 1)} {listed(unread)} would not be read: remove the columns that "
            "you do not need" + clause(", or leave out ", arg("strict")) + ".",
        )
