"""Wording of the web app: labels of controls, and the controls that messages name for parameters."""

from __future__ import annotations

from collections.abc import Collection

from concordant.errors import ACTION, ROLE, Reference, Words
from concordant.web.settings import PLACE, offered_roles

LABELS = {
    "layout": "Kind of data",
    "encoding": "Encoding",
    "delimiter": "Delimiter",
    "sheet": "Sheet",
    "question": "Question",
    "where": "Rows to keep (SQL condition)",
    "skip_bad_rows": "Skip unreadable rows",
    "table": "Table of the database",
    "transpose": "Every row is a person",
    "date_order": "Dates begin with",
    "categories": "Answers, best first, separated by commas",
    "repeated": "Answer that counts",
    "method": "Method",
    "min_ballots": "Minimum number of ballots per item",
    "scale": "Scale of the scores",
    "anchor": "Item with a fixed rating",
    "centre": "Mean rating",
    "add_columns": "Further columns, separated by commas",
    "methods": "Compare with",
    "metrics": "Metrics",
    "by": "Split by",
}
LAYOUT_WORDS = {
    "pairs": "Pairwise votes or matches",
    "ranks": "Ranks, one per row",
    "ratings": "Ratings, one per row",
    "places": "Ballots, one column per place",
    "rankings": "Ballots, one ranking per cell",
    "answers": "Answers of annotators",
    "rank-matrix": "Matrix of ranks (1 is best)",
    "rating-matrix": "Matrix of ratings (higher is better)",
    "clicks": "Clicks or purchases",
}
VALUES = {"layout": LAYOUT_WORDS, "date_order": {"day": "the day", "month": "the month"}}
# Limits that the page cannot change.
LIMITS = {"max_ratio": "the limit on the command line", "max_bytes": "the limit on the command line"}
ROLES = {
    "": "not read",
    "left": "first side",
    "right": "second side",
    "left_won": "first side won",
    "right_won": "second side won",
    "left_score": "points of the first side",
    "right_score": "points of the second side",
    "outcome": "result",
    "neutral": "neutral venue",
    "agent": "voter, judge or user",
    "item": "item",
    "instance": "query or contest",
    "by": "group",
    "covariate": "style (covariate)",
    "answer": "label by an annotator",
    "ballot": "match or ballot",
    "ranking": "whole ranking",
    "open": "open end",
}
OPTIONS = {"missing": "unranked items", "k": "rank constant k", "since": "only items active since"}
# What to do on the page instead of calling a function; "" where the page cannot do it.
ACTIONS = {
    "classes": "choose the method dawid-skene, which finds the class of each item",
    "features": "; rows of features cannot be ranked",
    "fit": "choose another method",
    "gold_file": "",
    "gold": "use `concordant crowd`",
    "judgements": "",
    "list": "",
    "no_teams": "",
    "open_file": "",
    "one_instance": ", but this view shows only one: use data with one instance.",
    "one_agent": "give one file per system",
    "read": "add it as data to rank",
    "read_features": "add rankings, ratings or votes instead",
    "read_labels": "add it as relevance judgements",
    "refit": "choose another method",
    "select": "",
    "select_one": ": choose “not read” for the instance",
    "sides": "",
    "teamless": ", or choose “not read” for the team, which makes its members tied items",
    "unmerged": "use data that keep the order of events",
    "values": "choose the role “rating” or the role “rank” for a column",
    "whole": "read the files as they are",
}
NOT_READ = "not read"  # the role of a column that plays none


def label_of(name: str) -> str:
    """Return the page's label for a hyper-parameter."""
    return OPTIONS.get(name) or name.replace("_", " ")


def role_label(role: str) -> str:
    """Return the page's label for a role."""
    return ROLES.get(role, label_of(role))


def control_words(params: Collection[str] = (), method: str | None = None) -> Words:
    """Return how the page names parameters, for a method with these hyper-parameters."""
    roles = {role: role_label(role) for role in offered_roles() if role} | {"places": PLACE}

    def words(reference: Reference) -> str | None:
        name, value, of = reference.name, reference.value, reference.of
        if of == ACTION:
            return ACTIONS[name]
        if of == ROLE:
            label = role_label(name).partition(" (")[0]
            return value if value.lower() == label else f"{value} ({label})"
        if of in ("write", "sort", "evaluate"):
            return None if reference.before else reference.plain
        if name in LIMITS:
            return LIMITS[name]
        if name in LABELS or (name in params and name not in roles) or of:
            label = LABELS.get(name, label_of(name))
            shown = "" if value == "True" else f" {value}" * bool(value)
            chosen = value or None if name in ("question", "sheet", "table") else _shown_value(name, value)
            said = f"“{label}”{shown}" if chosen is None else f"“{label}: {chosen}”"
            return f"{said} of the method {of}" if of and of != method else said
        if name in roles:
            return _role(roles[name], value)
        return None if reference.before else reference.plain

    return words


def _shown_value(name: str, value: str) -> str | None:
    """Return how the menu of a setting shows a value; None if it is no menu."""
    if name in ("encoding", "delimiter") and value:
        return value.upper()
    return VALUES.get(name, {}).get(value)


def _role(label: str, value: str) -> str:
    """Return the name of a role, with its column if a message names it."""
    if value in ("none", "None", "False"):
        return f"“{NOT_READ}” for the {label}"
    return f"the role “{label}”" + f" for {value}" * (value not in ("", "…", "COLUMN"))
