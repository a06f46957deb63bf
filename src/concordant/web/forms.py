"""Generate controls from declarations: options of methods from ``param`` fields, roles of columns from
``tables.options``.

Input comes back as text, which ``settings.typed`` converts to the declared types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from concordant.ballots.vocabulary import shorten
from concordant.io import Preview
from concordant.params import Param
from concordant.support.markup import Markup, element
from concordant.support.text import capital
from concordant.tables.layout_roles import SIDES
from concordant.tables.options import normalise
from concordant.web.settings import NOT_READ, OPTION, OTHER_SIDE, PLACE, ROLE, offered_roles
from concordant.web.words import label_of, role_label

if TYPE_CHECKING:
    from concordant.web.reading import Source

COVARIATE = "covariate"
MANY = {PLACE: "places", COVARIATE: "covariate"}  # what several columns may be, and the role for the reader
SIDE_WORDS = (("a", "b"), ("1", "2"), ("left", "right"), ("winner", "loser"), ("home", "away"), ("first", "second"))
CELL = 40  # characters of a cell of the preview
MAX_GROUPS = 0.5  # distinct values per row of the preview up to which a column may hold groups


# ---- the options of a method ----
def option_field(declared: Param, value: str = "") -> Markup:
    """Return the control of one hyper-parameter, with its label and hint."""
    name = f"param-{declared.name}"
    hint = f"{capital(declared.doc)}.{_range(declared)}"
    label = element("label", label_of(declared.name).capitalize(), for_=name)
    common = {"id": name, "data_setting": f"{OPTION}{declared.name}", "aria_describedby": f"{name}-hint"}
    default = "" if declared.default is None else str(declared.default)
    if declared.kind is bool or declared.choices:
        choices = declared.choices or ("True", "False")
        chosen = value or default
        options = [_choice(choice, default, choice == chosen) for choice in choices]
        control = element("select", *options, data_default=default, **common)
    elif declared.words or declared.kind is str:
        control = element("input", type="text", value=value, placeholder=default, autocomplete="off", **common)
    else:
        step = "1" if declared.kind is int else "any"
        limits = {"min": declared.low, "max": declared.high, "step": step}
        control = element("input", type="number", value=value, placeholder=default, **limits, **common)
    return element("div", label, control, element("small", hint, id=f"{name}-hint"), class_="field")


def _choice(choice: str, default: str, is_chosen: bool) -> Markup:
    shown = {"True": "yes", "False": "no"}.get(choice, choice)
    return element("option", f"{shown} (default)" if choice == default else shown, value=choice, selected=is_chosen)


def _range(declared: Param) -> str:
    """Return the allowed range of a number as a sentence."""
    if declared.choices or declared.kind not in (int, float):
        return ""
    has_range = declared.low is not None or declared.high is not None
    number = f"a number {declared.range_text()}" if has_range else "a number"
    *first, last = number, *declared.words
    return f" {capital(', '.join(first) + ' or ' + last if first else last)}."


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


def preview_table(source: Source) -> Markup:
    """Return the first rows, with a menu for the role of each column."""
    preview = source.preview
    if not preview.columns:
        lines = "\n".join(shorten(row[0] or "", 200) for row in preview.rows)
        return element("pre", element("code", lines), class_="code", tabindex="0")
    heads = [
        element("th", element("code", element("bdi", shorten(name, CELL))), scope="col") for name in preview.columns
    ]
    roles = [element("td", menu) for menu in role_menus(source, "first-")]
    rows = [
        element("tr", *(element("td", element("bdi", shorten(cell or "", CELL))) for cell in row))
        for row in preview.rows
    ]
    table = element(
        "table",
        element("caption", "First rows, and the role of each column"),
        element("thead", element("tr", *heads)),
        element("tbody", element("tr", *roles), *rows),
        class_="preview",
    )
    return element("div", table, class_="scroll", tabindex="0", role="group", aria_label="First rows")


def role_menus(source: Source, prefix: str = "") -> list[Markup]:
    """Return the menu of roles of each column."""
    covariates = [column for column in source.preview.columns if source.roles.get(column) == COVARIATE]
    return [
        _role_menu(name, f"{prefix}role-{k}", "by" if name == source.by else source.roles.get(name, ""), covariates)
        for k, name in enumerate(source.preview.columns)
    ]


def _role_menu(column: str, id: str, chosen: str, covariates: Sequence[str]) -> Markup:
    """Return the menu of roles of a column."""
    known = {role or NOT_READ: role_label(role) for role in offered_roles()}
    known |= {
        f"{OTHER_SIDE}{covariate}": f"{OTHER_SIDE}{shorten(covariate, CELL)}"
        for covariate in covariates
        if covariate != column
    }
    current = chosen or NOT_READ
    options = [element("option", shown, value=role, selected=role == current) for role, shown in known.items()]
    label = f"Role of the column {shorten(column, CELL)}"
    return element("select", *options, id=id, data_setting=f"{ROLE}{column}", aria_label=label)


# ---- columns for groups and style control ----
def group_columns(preview: Preview, roles: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns that may hold groups: not read yet, with values that repeat and are not numbers."""
    if preview.plan is None:
        return ()
    free = [k for k, name in enumerate(preview.columns) if not roles.get(name)]
    found = []
    for k in free:
        cells = [row[k] for row in preview.rows if row[k]]
        if cells and not all(map(_is_number, cells)) and len(set(cells)) <= max(1, MAX_GROUPS * len(cells) + 1):
            found.append(preview.columns[k])
    return tuple(found)


def numeric_columns(preview: Preview, roles: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns of numbers that are not read yet."""
    free = [k for k, name in enumerate(preview.columns) if not roles.get(name)]
    return tuple(
        preview.columns[k]
        for k in free
        if (cells := [row[k] for row in preview.rows if row[k]]) and all(map(_is_number, cells))
    )


def likely_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of columns whose names differ in the words for two sides: length_a and length_b."""
    return [(first, second) for first in names for second in names if set(_differing(first, second)) & set(SIDE_WORDS)]


def _is_number(text: str | None) -> bool:
    return re.fullmatch(r"\s*[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?\s*", text or "") is not None


def has_sheets(path: str) -> bool:
    """Return whether a file may have several sheets."""
    return path.lower().endswith((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"))
