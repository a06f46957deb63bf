"""The plan for reading a table: its layout and column roles. ``roles`` makes the plan, and ``build`` follows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from concordant.errors import ROLE, InputError, Reference, Sentence
from concordant.tables.covariates import Covariate
from concordant.tables.options import FEATURES, MATRICES, Options, normalise

QUERIES = ("qid", "q id", "query id", "query", "topic id", "topic")
DOCUMENTS = ("docno", "doc id", "docid", "doc", "document id", "document", "corpus id", "passage id", "pid")


class HasColumns(Protocol):
    """Protocol of inputs with named columns."""

    name: str
    columns: list[str]
    has_header: bool

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names the table; row -1 means the whole table."""


@dataclass
class Names:
    """The column names of a table whose rows are not available."""

    name: str
    columns: list[str]
    has_header: bool = True

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names the table."""
        return InputError(message, path=self.name)


@dataclass(frozen=True)
class Plan:
    """Plan for reading a table: its layout, the column of each role, and the columns left unread."""

    layout: str
    column: Mapping[str, str]
    places: tuple[str, ...] = ()
    """The columns of places, of features, or of a matrix (one agent or item each)."""
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    guessed: frozenset[str] = frozenset()
    players: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns of all players of a side, if it has several; ``column`` names the first."""
    covariates: tuple[Covariate, ...] = ()
    is_grouped: bool = False
    """Whether the instances are groups to compare."""
    labels: tuple[str, ...] = ()
    """The item of each matrix column, if it differs from the column name."""
    questions: tuple[str, ...] = ()
    """The question of each column, if a form has several questions."""
    separator: str = ""
    """The separator between the items of a ranking in one cell, if known."""

    @property
    def one_of_many(self) -> str:
        """What one column of a group of similar columns represents: an agent, an item, a feature or a place."""
        if self.layout in MATRICES:
            return "agent" if "item" in self.column else "item"
        return "feature" if self.layout == FEATURES else "place"

    @property
    def is_run(self) -> bool:
        """Whether the rows are scored documents of search queries; only their order is comparable between systems."""
        names = [normalise(self.column.get(role, "")) for role in ("instance", "item", "rating")]
        return names[0] in QUERIES and names[1] in DOCUMENTS and names[2] == "score"

    def facts(self, *, is_form: bool = False) -> dict[str, object]:
        """Return what the columns say about the field of the data; ``is_form`` for answers to a form."""
        facts = {"columns": dict(self.column), "unread": self.unread, "is_run": self.is_run, "is_form": is_form}
        return {key: value for key, value in facts.items() if value}

    def describe(self) -> Sentence:
        """Return a note on the role of each column."""
        unit, places = self.one_of_many, tuple(dict.fromkeys(self.labels)) or self.places
        shown_role = {"instance": "by"} if self.is_grouped else {}
        shown = {role: " + ".join(self.players.get(role, [name])) for role, name in self.column.items()}
        roles = [(shown_role.get(role, role), names) for role, names in shown.items()]
        read = [Reference(role, f"{role} = {names}", names, ROLE) for role, names in roles]
        read += [Reference("covariate", one.describe(), " − ".join(one.columns), ROLE) for one in self.covariates]
        parts: list[str] = [Sentence(one) for one in read]
        if len(places) == 1:
            parts.append(f"{unit} = {places[0]}")
        elif places:
            parts.append(f"{len(places)} {unit}s = {places[0]} … {places[-1]}")
        return Sentence(", ").join(parts)

    def without(self, role: str, note: str | None = None) -> Plan:
        """Return the plan without one role, whose column becomes unread; ``note`` gives the reason."""
        column = {other_role: name for other_role, name in self.column.items() if other_role != role}
        added = () if note is None else (note,)
        return replace(self, column=column, unread=(*self.unread, self.column[role]), notes=(*self.notes, *added))


def has_points(plan: Plan) -> bool:
    """Return whether columns give the points of both sides, whose difference counts of results do not keep."""
    return "left_score" in plan.column and "right_score" in plan.column


def beyond_counts(plan: Plan, options: Options) -> str | None:
    """Return the role or option that would be lost if equal pairs were only counted; None if counts suffice."""
    if plan.covariates:
        return "covariate"
    if plan.players:
        return next(iter(plan.players))
    if options.team_separator is not None:
        return "team_separator"
    return next((role for role in ("team", "time") if role in plan.column), None)
