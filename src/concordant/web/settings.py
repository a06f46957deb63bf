"""The settings of a page, which are the parameters of its address: declarations, parsing and validation.

All input is validated here before it reaches a worker: each value has the declared type and range, and each text is
valid UTF-8 of bounded length. ``o.NAME`` is a hyper-parameter of the method and ``role.COLUMN`` the role of a column;
the worker, which loads the method, converts the former with ``typed``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from concordant.errors import ParameterError, arg, suggest
from concordant.params import Param, param, params_of
from concordant.tables.options import LAYOUTS, PREFERENCES, columns_of

PLACE = "place"  # one of several columns, best first
OTHER_SIDE = "other side of "  # then the covariate of the first side: one difference of two columns
NOT_READ = "-"  # the role of a column that is not read, although one was recognised
TASKS = ("rank", "recommend", "crowd", "train")
UNOFFERED = ("places",)  # one place per column instead
OPTION, ROLE = "o.", "role."  # what the names of hyper-parameters and of columns begin with
MAX_TEXT = 2_000  # characters of one text
MAX_WORD = 100  # characters of a number or of one of several choices
MAX_NAME = 10_000  # characters of the name of a column
MAX_SETTINGS = 500
SHOWN = 60  # characters of a value that a message repeats


def offered_roles() -> tuple[str, ...]:
    """List the roles that the page offers for a column; the empty one means no role."""
    return ("", *(role for role in columns_of(PREFERENCES) if role not in UNOFFERED), PLACE)


@dataclass(frozen=True, kw_only=True)
class PageSettings:
    """The settings of a page of a data set."""

    task: str = param("", "what to do with the data; chosen from the data if empty", choices=TASKS)
    method: str = param("", "ranking method; chosen from the data if empty")
    layout: str = param("", "layout of the table; recognised if empty", choices=LAYOUTS)
    encoding: str = param("", "text encoding; recognised if empty")
    delimiter: str = param("", "column separator; recognised if empty")
    sheet: str = param("", "sheet of a workbook; the first with data if empty")
    question: str = param("", "question of a form; all if empty")
    table: str = param("", "table of a database; the only one if empty")
    where: str = param("", "SQL condition for the rows to keep")
    transpose: bool = param(False, "whether rows and columns of the table are swapped")
    date_order: str = param("", "what comes first in dates like 05/06/2024", choices=("day", "month"))
    categories: str = param("", "labels of a rating scale, best first, separated by commas")
    repeated: str = param("", "answer that counts if there are several", choices=("last", "first", "majority"))
    skip_bad_rows: bool = param(False, "whether to skip rows that cannot be read")
    min_ballots: float | None = param(None, "minimum number of ballots per item", low=0.0, high=1e15)
    scale: str = param("", "scale of the scores; that of the method if empty", choices=("elo",))
    anchor: str = param("", "item with a fixed Elo rating, alone or with =RATING")
    centre: float | None = param(None, "mean Elo rating, by default 1000", low=-1e9, high=1e9)
    add_columns: str = param("", "further columns, separated by commas")
    methods: str = param("", "methods to compare, separated by commas")
    metrics: str = param("", "metrics, separated by commas")
    baseline: str = param("", "run that others are compared with; the best one if empty")
    by: str = param("", "column of groups to compare; - for none")
    item: str = param("", "item whose card is open")
    query: str = param("", "query that is shown")
    first: str = param("", "first item of the next match")
    second: str = param("", "second item of the next match")
    curve: str = param("", "items drawn over time, one per line")
    span: str = param("", "period drawn over time: FROM..UNTIL")
    user: str = param("", "user to recommend items for")
    rated: str = param("", "ratings of a new user: ITEM=RATING; …")
    like: str = param("", "item whose similar items are shown")
    recommender: str = param("", "recommender; chosen from the data if empty")
    label_column: str = param("", "column of relevance labels of feature rows; recognised if empty")
    query_column: str = param("", "column of queries of feature rows; recognised if empty, - for none")
    missing: str = param("", "imputation of missing features", choices=("mean", "median", "zero"))
    learner: str = param("", "ranker that learns from features; chosen from the data if empty")
    metric: str = param("", "metric of the evaluation of rankers")
    params: Mapping[str, str] = field(default_factory=dict)
    """Hyper-parameters of the method, as typed."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """The roles of columns that differ from the recognised ones."""


def settings_of(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the validated settings in the parameters of an address; raise ParameterError for invalid ones."""
    if len(pairs) > MAX_SETTINGS:
        raise ParameterError(f"The address has {len(pairs):,} settings: at most {MAX_SETTINGS} are allowed.")
    declared = {setting.name: setting for setting in params_of(PageSettings)}
    settings: dict[str, Any] = {"params": {}, "roles": {}}
    for name, value in pairs:
        if name.startswith(OPTION):
            settings["params"][_text("the name of an option", name.removeprefix(OPTION))] = _text(_shown(name), value)
        elif name.startswith(ROLE):
            column = name.removeprefix(ROLE)
            settings["roles"][_text("the name of a column", column, MAX_NAME)] = _role(value)
        elif name not in declared:
            raise ParameterError(f"There is no setting {_shown(name)}.{suggest(name[:SHOWN], [*declared])}")
        elif value.strip():
            settings[name] = _checked(declared[name], value)
    return settings


def _checked(declared: Param, text: str) -> Any:
    """Return the validated value of one setting."""
    limit = MAX_TEXT if declared.kind is str and not declared.choices else MAX_WORD
    return value_of(declared, _text(declared.name, text, limit).strip())


def _role(role: str) -> str:
    """Return the validated role of a column."""
    if role.startswith(OTHER_SIDE) and len(role) <= MAX_NAME:
        return _text("a role", role, MAX_NAME)
    declared = Param("role", str, "", "", choices=(*offered_roles()[1:], NOT_READ))
    return str(_checked(declared, role)) if role.strip() else NOT_READ


def _text(name: str, text: str, max_length: int = MAX_TEXT) -> str:
    """Return a text that is short enough and can be encoded as UTF-8."""
    if len(text) > max_length:
        raise ParameterError(f"{name} has {len(text):,} characters: give at most {max_length:,}.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError(arg(name, shown=_shown(text)) + " contains an unpaired surrogate: remove it.") from None
    return text


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


# ---- what is typed ----
def typed(params: Sequence[Param], texts: Mapping[str, str], method: str = "") -> dict[str, Any]:
    """Return the entered values, except those equal to the default; raise ParameterError for an invalid one.

    ``method`` is the method chosen by name, which must have all of these options. If the method is chosen from the
    data, unknown options may belong to the previous default method, and are ignored.
    """
    by_name = {declared.name: declared for declared in params}
    values = {}
    for name, text in texts.items():
        declared = by_name.get(name)
        if declared is None and method:
            options = ", ".join(by_name) or "none"
            raise ParameterError(
                f"{method} has no option {_shown(name)} (it has: {options}).{suggest(name, [*by_name])}"
            )
        if declared is None or not text.strip():
            continue
        value = value_of(declared, text.strip())
        if value != declared.default:
            values[name] = value
    return values


def value_of(declared: Param, text: str) -> Any:
    """Return the validated value of a text."""
    value = _parsed(declared, text)
    declared.check(value)
    return value


def _parsed(declared: Param, text: str) -> Any:
    """Convert a text to the type of its parameter, without validation."""
    if declared.kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if declared.choices or text in declared.words or declared.kind is str:
        return text
    try:
        value = declared.kind(text)
    except ValueError:
        expected = "an integer" if declared.kind is int else "a number"
        problem = arg(declared.name, shown=_shown(text)) + f" is not {expected}"
        raise ParameterError(problem + f": give one {declared.range_text()}.") from None
    if abs(value) > 1e300 and not math.isnan(value):
        raise ParameterError(arg(declared.name, shown=_shown(text)) + " is out of range: give a smaller number.")
    return value
