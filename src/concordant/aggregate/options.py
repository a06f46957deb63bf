"""Hyper-parameters that many methods declare, in one set of words."""

from __future__ import annotations

from concordant.models.observations.contestants import TEAM_STRENGTHS
from concordant.models.observations.preference_counts import COUNTS
from concordant.params import param

MISSING = ("auto", "last", "last-free", "ignore")


def missing(default: str = "auto", *, choices: tuple[str, ...] = MISSING, more: str = "") -> str:
    """Declare the convention for candidates a ballot does not mention (``views`` says what each word means)."""
    return param(default, "treatment of candidates that a ballot does not rank" + more, choices=choices)


def missing_choices() -> str:
    """Declare the same for models of choices, where who was not chosen may stand in the denominators."""
    return missing("ignore", choices=("ignore", "last-free"), more="; last-free keeps them in the denominators")


def result(default: str = "permutation") -> str:
    """Declare whether ties may stand in a consensus."""
    return param(default, "whether the consensus may contain ties", choices=("permutation", "weak"))


def counts(default: str = "difference", doc: str = "strength of a ballot's preference between two items") -> str:
    """Declare how far a ballot puts one item before another (``levels`` has the formulas)."""
    return param(default, doc, choices=COUNTS)


def style_control() -> bool:
    """Declare whether covariates of what was compared are taken into account."""
    return param(True, "adjust for covariates of the compared items (such as answer length), if there are any")


def team_strength() -> str:
    """Declare what a team is worth."""
    return param("sum", "strength of a team: sum or mean of its members' scores", choices=TEAM_STRENGTHS)


def since(default: str = "the last 365 days") -> str | None:
    """Declare from when on an item must have been seen to be ranked."""
    return param(None, f"rank only items with a result since this date (or number); default: {default}")


def all_items() -> bool:
    """Declare whether items that were not seen for long are ranked."""
    return param(False, "rank all items, including those without a recent result")


def level() -> float:
    """Declare how sure intervals are."""
    return param(0.95, "confidence level of the intervals", low=0.01, high=0.9999)
