"""Hyper-parameters shared by many methods, with the same description in each."""

from __future__ import annotations

from concordant.models.observations.contestants import TEAM_STRENGTHS
from concordant.models.observations.preference_counts import COUNTS
from concordant.params import param

MISSING = ("auto", "last", "last-free", "ignore")


def missing(default: str = "auto", *, choices: tuple[str, ...] = MISSING, more: str = "") -> str:
    """Declare the convention for candidates that a ballot does not mention (explained in ``views``)."""
    return param(default, "treatment of candidates that a ballot does not rank" + more, choices=choices)


def missing_choices() -> str:
    """Declare ``missing`` for choice models, in which candidates that were not chosen may be in the denominators."""
    return missing("ignore", choices=("ignore", "last-free"), more="; last-free keeps them in the denominators")


def result(default: str = "permutation") -> str:
    """Declare whether the consensus may contain ties."""
    return param(default, "whether the consensus may contain ties", choices=("permutation", "weak"))


def counts(default: str = "difference", doc: str = "weight of a ballot's preference between two items") -> str:
    """Declare how the strength of a ballot's preference is measured (``levels`` has the formulas)."""
    return param(default, doc, choices=COUNTS)


def style_control() -> bool:
    """Declare whether to adjust for covariates of the comparisons."""
    return param(True, "adjust for covariates of the compared items (such as answer length), if there are any")


def team_strength() -> str:
    """Declare how the strength of a team depends on the scores of its members."""
    return param("sum", "strength of a team: sum or mean of its members' scores", choices=TEAM_STRENGTHS)


def since(default: str = "the last 365 days") -> str | None:
    """Declare the start of the period in which an item must have a result to be ranked."""
    return param(None, f"rank only items with a result since this date (or number); default: {default}")


def all_items() -> bool:
    """Declare whether items without a recent result are ranked."""
    return param(False, "rank all items, including those without a recent result")


def level() -> float:
    """Declare the confidence level of intervals."""
    return param(0.95, "confidence level of the intervals", low=0.01, high=0.9999)
