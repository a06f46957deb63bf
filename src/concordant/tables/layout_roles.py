"""The roles that each layout needs and may have, and how the user names columns and layouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from concordant.errors import InputError, UnknownNameError, arg, suggest
from concordant.tables.options import CLICKS, FEATURES, LABELS, LAYOUTS, MATRICES, listed, normalise

COMMON = ("agent", "instance", "by", "weight")
NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {
    "pairs": (
        *(("winner", "loser"), ("left", "right", "outcome"), ("left", "right", "left_won", "right_won")),
        ("left", "right", "left_score", "right_score"),
    ),
    "rankings": (("ranking",),),
    "places": (("places",),),
    "ranks": (("item", "rank"),),
    "ratings": (("item", "rating"),),
    "answers": (("agent", "item", "answer"),),
    **dict.fromkeys(MATRICES, ((),)),
    CLICKS: (("agent", "item"),),
    LABELS: (("item", "label"),),
    FEATURES: (("label",),),
}
OPTIONAL: dict[str, tuple[str, ...]] = {
    "pairs": ("tie", "left_score", "right_score", "neutral", "time", *COMMON),
    "rankings": ("open", *COMMON),
    "places": COMMON,
    "ranks": ("rating", "ballot", "team", "time", "open", *COMMON),
    "ratings": ("ballot", "team", "time", *COMMON),
    "answers": ("instance", "by", "weight"),
    **dict.fromkeys(MATRICES, ("item", "agent", "by", "weight")),
    CLICKS: ("time", "instance", "by"),
    LABELS: ("instance",),
    FEATURES: ("query", "item", "weight"),
}
WIDE = {"places": "places", **dict.fromkeys(MATRICES, "places"), FEATURES: "features"}  # roles that many columns play

SIDES = ("winner", "loser", "left", "right")  # roles that several columns may play, the players of a team
PLAIN = ("by", "agent", "instance", "time", "weight", "rank", "rating", "ballot")  # roles of plain values
COVARIATES = {"pairs": 2, "ranks": 1, "ratings": 1}  # how many columns one may have


def known_layout(layout: str | None) -> str | None:
    """Return the layout in its usual spelling (case, underscores and a missing plural s do not matter)."""
    if layout is None:
        return None
    plain = layout.strip().lower().replace("_", "-")
    plain = plain if plain in LAYOUTS else plain + "s" if plain + "s" in LAYOUTS else plain
    if plain not in LAYOUTS:
        raise UnknownNameError(
            f"Unknown layout {layout!r}.{suggest(plain, list(LAYOUTS))} Layouts are {listed(LAYOUTS)}."
        )
    return plain


def wanted_columns(role: str, columns: object) -> Sequence[object]:
    """Return the columns given for a role with several columns: a text with commas, a position, or a sequence."""
    if isinstance(columns, str):
        return columns.split(",")
    if isinstance(columns, int) and not isinstance(columns, bool):
        return [columns]
    if isinstance(columns, Iterable) and (wanted := list(columns)):
        return wanted
    raise InputError(arg(role, columns) + " names no columns: give their names or positions, best first.")


def outcome_flags(plain: Mapping[str, str], sides: tuple[str, str], settled: set[str]) -> dict[str, list[str]]:
    """Find one column of 0 and 1 per outcome: ``winner_model_a``, ``winner_model_b`` and perhaps ``winner_tie``."""
    by_plain = {text: name for name, text in plain.items()}
    wanted = {"left_won": plain[sides[0]], "right_won": plain[sides[1]], "tie": "tie"}
    column_of_role = {role: by_plain.get(f"winner {text}") for role, text in wanted.items() if role not in settled}
    return {role: [name] for role, name in column_of_role.items() if name is not None}


def core_roles(layout: str) -> set[str]:
    """Return the roles that a layout may need."""
    return {role for needed in NEEDED[layout] for role in needed}


def roles_of(layout: str) -> set[str]:
    """Return all roles that columns of a layout may have."""
    return core_roles(layout) | set(OPTIONAL[layout])


def prefer_names(columns: list[str]) -> list[str]:
    """Return only the name column if two columns hold the identifier and the name of the same entity."""
    by_plain = {normalise(name): name for name in columns}
    kinds = {plain.rpartition(" ")[2]: plain.rpartition(" ")[0] for plain in by_plain}
    is_one_thing = len(columns) == 2 and kinds.keys() == {"id", "name"} and kinds["id"] == kinds["name"]
    return [by_plain[f"{kinds['name']} name"]] if is_one_thing else columns
