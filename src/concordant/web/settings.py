"""The settings of the page: declarations, parsing and validation.

All input is validated here before the server stores it: each value has the declared type and range, and each text is
valid UTF-8 of bounded length. The hyper-parameters of a method are texts here; the worker, which loads the method,
converts them with ``typed``.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from concordant.errors import InputError, ParameterError, arg, suggest
from concordant.params import Param, param, params_of
from concordant.tables.options import LAYOUTS, PREFERENCES, columns_of

PLACE = "place"  # one of several columns, best first
OTHER_SIDE = "other side of "  # then the covariate of the first side: one difference of two columns
VIEWS = ("ranking", "compare", "evaluate")
UNOFFERED = ("places", "by")  # one place per column instead; groups are compared on the command line and in Python
MAX_TEXT = 2_000  # characters of one text
MAX_WORD = 100  # characters of a number or of one of several choices
MAX_NAME = 10_000  # characters of the name of a column
MAX_PARAMS = 100
SHOWN = 60  # characters of a value that a message repeats


def offered_roles() -> tuple[str, ...]:
    """List the roles that the page offers for a column; the empty one means no role."""
    return ("", *(role for role in columns_of(PREFERENCES) if role not in UNOFFERED), PLACE)


@dataclass(frozen=True, kw_only=True)
class PageSettings:
    """The settings on the page of a data set."""

    method: str = param("", "ranking method; chosen from the data if empty")
    layout: str = param("", "layout of the table; recognised if empty", choices=LAYOUTS)
    view: str = param("ranking", "view to show", choices=VIEWS)
    min_ballots: float | None = param(None, "minimum number of ballots per item", low=0.0, high=1e15)
    scale: str = param("", "scale of the scores; that of the method if empty", choices=("elo",))
    anchor: str = param("", "item with a fixed Elo rating, alone or with =RATING")
    centre: float | None = param(None, "mean Elo rating, by default 1000", low=-1e9, high=1e9)
    add_columns: str = param("", "further columns, separated by commas")
    skip_bad_rows: bool = param(False, "whether to skip rows that cannot be read")
    methods: str = param("", "methods to compare, separated by commas")
    metrics: str = param("", "metrics, separated by commas")
    params: Mapping[str, str] = field(default_factory=dict)
    """Hyper-parameters of the method, as typed."""
    roles: Mapping[str, str] | None = None
    """The role of each column; None to recognise them."""


def settings_of(content: bytes) -> dict[str, Any]:
    """Return the validated settings in the body of a request; raise InputError or ParameterError for invalid ones."""
    try:
        sent = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise InputError("The settings are not JSON: send a JSON object.") from None
    if not isinstance(sent, dict):
        raise InputError("The settings must be a JSON object, got another JSON value.")
    fields = [declared.name for declared in dataclasses.fields(PageSettings)]
    for name in sent:
        if name not in fields:
            raise ParameterError(f"There is no setting {_shown(name)}.{suggest(name[:SHOWN], fields)}")
    settings: dict[str, Any] = {}
    for declared in params_of(PageSettings):
        if sent.get(declared.name) is not None:
            settings[declared.name] = _checked(declared, sent[declared.name])
    settings["params"] = _texts("params", {} if sent.get("params") is None else sent["params"])
    if sent.get("roles") is not None:
        settings["roles"] = _roles(sent["roles"])
    return settings


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


def _checked(declared: Param, value: object) -> Any:
    """Return the validated value of one setting, which may also be sent as text."""
    if isinstance(value, str):
        text = _text(declared.name, value, MAX_TEXT if declared.kind is str and not declared.choices else MAX_WORD)
        return value_of(declared, text.strip()) if text.strip() else declared.default
    if isinstance(value, int | float) and abs(value) > 1e300:  # also infinite, also too large for a float
        raise ParameterError(arg(declared.name, shown=_shown(str(value))) + " is too large: give a smaller number.")
    if isinstance(value, dict | list):
        raise ParameterError(f"{declared.name} must be a single value, got {_shown(json.dumps(value))}.")
    declared.check(value)
    return value


def _text(name: str, text: object, max_length: int = MAX_TEXT) -> str:
    """Return a text that is short enough and can be encoded as UTF-8."""
    if not isinstance(text, str):
        raise ParameterError(f"{name} must be text, got {_shown(json.dumps(text))}.")
    if len(text) > max_length:
        raise ParameterError(f"{name} has {len(text):,} characters: give at most {max_length:,}.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError(arg(name, shown=_shown(text)) + " contains an unpaired surrogate: remove it.") from None
    return text


def _texts(name: str, values: object) -> dict[str, str]:
    """Return the hyper-parameters as texts; numbers and booleans are also accepted."""
    if not isinstance(values, dict) or len(values) > MAX_PARAMS:
        raise ParameterError(f"{name} must be an object of at most {MAX_PARAMS} values.")
    texts = {}
    for key, value in values.items():
        if isinstance(value, bool | int | float):
            value = _number_text(key, value)
        texts[_text(f"a name in {name}", key)] = _text(_shown(key), value)
    return texts


def _number_text(name: str, value: float) -> str:
    if not abs(value) < 1e300:
        raise ParameterError(f"{_shown(name)} is too large: give a smaller number.")
    return str(value)


def _roles(role_of_column: object) -> dict[str, str]:
    """Return the validated role of each column."""
    if not isinstance(role_of_column, dict):
        raise ParameterError("roles must be an object that maps columns to roles.")
    declared = Param("role", str, "", "", choices=offered_roles()[1:])
    roles = {}
    for column, role in role_of_column.items():
        name = _text("the name of a column", column, MAX_NAME)
        is_other_side = (
            isinstance(role, str) and role.removeprefix(OTHER_SIDE) in role_of_column and role.startswith(OTHER_SIDE)
        )
        roles[name] = role if is_other_side else _checked(declared, "" if role is None else role)
    return roles


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
