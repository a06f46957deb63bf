"""The words of the page: its labels, and a parameter that a message names as the control to use."""

from __future__ import annotations

from collections.abc import Collection

from concordant.errors import Reference, Words
from concordant.web.settings import PLACE, offered_roles

LABELS = {
    "layout": "The rows are",
    "skip_bad_rows": "Leave out rows that cannot be read",
    "method": "Method",
    "min_ballots": "Leave out items on fewer ballots than",
    "methods": "Methods to compare, separated by commas",
    "metrics": "Metrics, separated by commas",
}
NOT_READ = "not read"  # the role of a column that plays none


def label_of(name: str) -> str:
    """Return what the page calls a role or a hyper-parameter."""
    return name.replace("_", " ")


def control_words(params: Collection[str] = ()) -> Words:
    """Return the function that names parameters as controls of the page, for a method with these hyper-parameters."""
    roles = {role: label_of(role) for role in offered_roles() if role} | {"places": PLACE}

    def words(reference: Reference) -> str | None:
        name, value = reference.name, reference.value
        if reference.of:
            return None
        if name in LABELS or (name in params and name not in roles):
            shown = "" if name == "skip_bad_rows" and value == "True" else f" {value}" * bool(value)
            return f"“{LABELS.get(name, label_of(name))}”{shown}"
        return _role(roles[name], value) if name in roles else None

    return words


def _role(label: str, value: str) -> str:
    """Return the words for a role, and its column where a message names it."""
    if value in ("none", "None", "False"):
        return f"“{NOT_READ}” for the {label}"
    return f"the role “{label}”" + f" for {value}" * (value not in ("", "…", "COLUMN"))
