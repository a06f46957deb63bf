"""Generate forms from declarations: options of methods from ``param`` fields, roles of columns from ``tables.options``.

Input comes back as text, which ``settings.typed`` converts to the declared types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from concordant.ballots.vocabulary import shorten
from concordant.io import Preview
from concordant.params import Param
from concordant.support.markup import Markup, element, joined
from concordant.tables.layout_roles import SIDES
from concordant.tables.options import LAYOUTS, normalise
from concordant.web.settings import OTHER_SIDE, PLACE, offered_roles
from concordant.web.words import NOT_READ, label_of

COVARIATE = "covariate"
MANY = {PLACE: "places", COVARIATE: "covariate"}  # what several columns may be, and the role for the reader
SIDE_WORDS = (("a", "b"), ("1", "2"), ("left", "right"), ("winner", "loser"), ("home", "away"), ("first", "second"))
CELL = 40  # characters of a cell of the preview


# ---- the options of a method ----
def option_form(params: Sequence[Param]) -> Markup:
    """Return a form with one field per hyper-parameter, with its default and range."""
    if not params:
        return element("p", "This method has no options.")
    return joined(_field(declared) for declared in params)


def _field(declared: Param) -> Markup:
    """Return the control of one hyper-parameter, with its label and hint."""
    name = f"param-{declared.name}"
    hint = f"{declared.doc[:1].upper()}{declared.doc[1:]}.{_range(declared)}"
    label = element("label", label_of(declared.name), for_=name)
    common = {"id": name, "data_param": declared.name, "aria_describedby": f"{name}-hint"}
    default = "" if declared.default is None else str(declared.default)
    if declared.kind is bool or declared.choices:
        choices = declared.choices or ("True", "False")
        control = element("select", *(_choice(choice, choice == default) for choice in choices), **common)
    elif declared.words or declared.kind is str:
        control = element("input", type="text", placeholder=default, autocomplete="off", **common)
    else:
        step = "1" if declared.kind is int else "any"
        limits = {"min": declared.low, "max": declared.high, "step": step}
        control = element("input", type="number", placeholder=default, **limits, **common)
    return element("div", label, control, element("small", hint, id=f"{name}-hint"), class_="field")


def _choice(choice: str, is_default: bool) -> Markup:
    return element("option", f"{choice} (default)" if is_default else choice, value=choice, selected=is_default)


def _range(declared: Param) -> str:
    """Return the allowed range of a number as a sentence."""
    if declared.choices or declared.kind not in (int, float):
        return ""
    words = "".join(f" or {word}" for word in declared.words)
    has_range = declared.low is not None or declared.high is not None
    return f" A number {declared.range_text()}{words}." if has_range else f" A number{words}."


# ---- the roles of columns ----
def roles_of(chosen: Mapping[str, str], guessed: Sequence[str]) -> dict[str, Any]:
    """Return the roles for the reader from the role of each column; guessed roles that no column has are disabled."""
    roles: dict[str, Any] = dict.fromkeys(guessed)
    second_side = {
        role.removeprefix(OTHER_SIDE): column for column, role in chosen.items() if role.startswith(OTHER_SIDE)
    }
    for column, role in chosen.items():
        if role.startswith(OTHER_SIDE):
            continue  # said with the first side
        if role == COVARIATE and column in second_side:
            roles[COVARIATE] = [*roles.get(COVARIATE, ()), f"{column},{second_side[column]}"]
        elif role in MANY:
            roles[MANY[role]] = [*roles.get(MANY[role], ()), column]
        elif role in SIDES and roles.get(role):
            roles[role] = f"{roles[role]},{column}"  # the players of a team
        elif role:
            roles[role] = column
    return roles


def paired(chosen: Mapping[str, str]) -> dict[str, str]:
    """Pair the covariates of both sides: length_b becomes the other side of length_a.

    Two covariates of comparisons are a pair if their names differ in the same way as those of the sides. The other side
    of a column that is not a covariate is not read.
    """
    roles = {
        column: "" if role.startswith(OTHER_SIDE) and chosen.get(role.removeprefix(OTHER_SIDE)) != COVARIATE else role
        for column, role in chosen.items()
    }
    by_role = {role: column for column, role in roles.items()}
    sides = [by_role[role] for role in SIDES if role in by_role]
    if len(sides) < 2:
        return roles
    words = (*SIDE_WORDS, *_differing(*sides[:2]))
    taken = {role.removeprefix(OTHER_SIDE) for role in roles.values() if role.startswith(OTHER_SIDE)}
    single = [column for column, role in roles.items() if role == COVARIATE and column not in taken]
    for first in single:
        second = next((candidate for candidate in single if set(_differing(first, candidate)) & set(words)), None)
        if second is not None:
            roles[second] = f"{OTHER_SIDE}{first}"
    return roles


def _differing(name_1: str, name_2: str) -> list[tuple[str, str]]:
    """Return the pair of words in which two names differ; empty if they differ in none or in several."""
    pairs = list(zip(normalise(name_1).split(), normalise(name_2).split(), strict=False))
    differing = [(a, b) for a, b in pairs if a != b]
    is_alike = len(normalise(name_1).split()) == len(normalise(name_2).split()) and len(differing) == 1
    return differing if is_alike else []


def role_by_column(preview: Preview) -> dict[str, str]:
    """Return the recognised role of each column."""
    if preview.plan is None:
        return {}
    roles = {column: role for role, column in preview.plan.column.items()}
    roles |= {column: role for role, columns in preview.plan.players.items() for column in columns}
    for covariate in preview.plan.covariates:
        roles |= {covariate.columns[0]: COVARIATE} | dict.fromkeys(
            covariate.columns[1:], f"{OTHER_SIDE}{covariate.columns[0]}"
        )
    return roles | dict.fromkeys(preview.plan.places, PLACE)


def preview_table(preview: Preview, chosen: Mapping[str, str]) -> Markup:
    """Return the first rows, with a menu for the role of each column."""
    if not preview.columns:
        lines = "\n".join(shorten(row[0] or "", 200) for row in preview.rows)
        return element("pre", element("code", lines))
    heads = [element("th", element("bdi", shorten(name, CELL)), scope="col") for name in preview.columns]
    covariates = [column for column in preview.columns if chosen.get(column) == COVARIATE]
    roles = [element("td", _role(name, k, chosen.get(name, ""), covariates)) for k, name in enumerate(preview.columns)]
    rows = [
        element("tr", *(element("td", element("bdi", shorten(cell or "", CELL))) for cell in row))
        for row in preview.rows
    ]
    table = element(
        "table",
        element("caption", "First rows, and the role of each column"),
        element("thead", element("tr", *heads), element("tr", *roles, class_="roles")),
        element("tbody", *rows),
    )
    return element("div", table, class_="scroll", tabindex="0", role="group", aria_label="First rows")


def _role(column: str, number: int, chosen: str, covariates: Sequence[str]) -> Markup:
    """Return the menu of roles of a column."""
    known = {role: label_of(role) or NOT_READ for role in offered_roles()}
    known |= {
        f"{OTHER_SIDE}{covariate}": f"{OTHER_SIDE}{shorten(covariate, CELL)}"
        for covariate in covariates
        if covariate != column
    }
    options = [element("option", shown, value=role, selected=role == chosen) for role, shown in known.items()]
    label = f"Role of the column {shorten(column, CELL)}"
    return element("select", *options, id=f"role-{number}", data_column=column, aria_label=label)


def layout_options(chosen: str) -> Markup:
    """Return the options of the menu of layouts."""
    known = {"": "guessed", **{layout: layout for layout in LAYOUTS}}
    return joined(element("option", shown, value=value, selected=value == chosen) for value, shown in known.items())
