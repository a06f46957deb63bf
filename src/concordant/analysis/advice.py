"""Recommend methods for some preferences, with reasons: one table of rules, checked from the top.

A rule applies to some forms of data and may also require a finding. Methods are listed in the order of the table, each
once with its first applicable reason. Methods that are not installed, or whose requirements the data do not meet, are
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from concordant import registry
from concordant.api import MANY_TIES, default_method
from concordant.errors import ConcordantError, arg
from concordant.preferences import Preferences

MAX_METHODS = 5  # how many methods are named
FEW_ITEMS = 60  # for methods whose cost can grow fast with the items
RANKED = ("rankings", "top-k", "ratings")
_ADHERENCE = "weights agents by their agreement with the others (" + arg("adherence", True, of="mpm") + ")"
USUAL = {
    "rankings": ("plurality", "instant-runoff", "borda", "schulze", "copeland"),
    "top-k": ("plurality", "instant-runoff", "borda", "schulze"),
    "approvals": ("approval", "borda", "copeland"),
    "ratings": ("mean-rating", "star", "borda", "schulze"),
}


@dataclass(frozen=True)
class Advice:
    """A recommended method, with the reason."""

    method: str
    reason: str


@dataclass(frozen=True)
class Facts:
    """The properties of the data that the rules check."""

    form: str
    n_items: int
    n_agents: int
    n_instances: int
    agents_repeat: bool
    is_complete: bool
    tied_share: float
    has_order: bool
    has_times: bool
    troubles: Collection[str]


_Rule = tuple[str, str, Callable[[Facts], bool]]
_RULES: tuple[_Rule, ...] = (
    (
        "bradley-terry",
        "model of matches between two teams: scores of the members with confidence intervals",
        lambda f: f.form == "teams",
    ),
    (
        "plackett-luce",
        "model of matches between teams: scores of the members with confidence intervals",
        lambda f: f.form == "teams",
    ),
    (
        "trueskill",
        "tracks skills of team members that change over time; the order of matches is known",
        lambda f: f.form == "teams",
    ),
    (
        "rrf",
        "fuses many short lists without tuning; a list does not count against documents it lacks",
        lambda f: f.form == "rankings" and f.n_instances > 1 and f.agents_repeat,
    ),
    (
        "mpm",
        _ADHERENCE,
        lambda f: "outlier agents" in f.troubles,
    ),
    (
        "median-rank",
        "a few odd agents do not move a median",
        lambda f: "outlier agents" in f.troubles and f.form in RANKED,
    ),
    (
        "davidson",
        "model of pairwise comparisons with ties: many pairs are tied",
        lambda f: f.form == "pairs" and f.tied_share > MANY_TIES,
    ),
    (
        "whole-history",
        "scores that change over time, with a curve and confidence bands for each item; times are known",
        lambda f: f.form == "pairs" and f.has_times,
    ),
    (
        "bradley-terry",
        "model of pairwise comparisons: scores with confidence intervals, win probabilities",
        lambda f: f.form == "pairs",
    ),
    ("elo", "ratings that change over time; the order of events is known", lambda f: f.form == "pairs" and f.has_order),
    (
        "plackett-luce",
        "choice model: accounts for the items that were on offer",
        lambda f: f.form in ("choices", "top-k"),
    ),
    ("approval", "counts approvals", lambda f: f.form == "approvals"),
    (
        "pav",
        "elects a committee (" + arg("seats", of="pav") + ") with proportional representation",
        lambda f: f.form == "approvals" and f.n_items <= FEW_ITEMS and f.n_instances == 1,
    ),
    (
        "kemeny",
        "ranking with the fewest discordant pairs: resolves cycles",
        lambda f: "cyclic" in f.troubles and f.n_items <= FEW_ITEMS and f.n_instances == 1,
    ),
    (
        "ranked-pairs",
        "locks in the largest majorities first: resolves cycles",
        lambda f: "cyclic" in f.troubles and f.n_instances == 1,
    ),
    ("copeland", "counts pairwise wins, without a statistical model", lambda f: f.form == "pairs"),
    ("schulze", "elects the Condorcet winner if there is one", lambda f: f.form == "rankings" and f.n_instances == 1),
    (
        "stv",
        "elects several (" + arg("seats", of="stv") + ") by proportional representation; ballots may be incomplete",
        lambda f: f.form == "rankings" and not f.is_complete and f.n_items <= FEW_ITEMS and f.n_instances == 1,
    ),
    ("mpm", "scores with standard errors from ratings, in a single pass", lambda f: f.form == "ratings"),
    ("mean-rating", "mean rating, with shrinkage for items with few ratings", lambda f: f.form == "ratings"),
    (
        "mpm",
        _ADHERENCE,
        lambda f: f.agents_repeat and f.n_agents > 2,
    ),
    ("borda", "single pass over the data; the usual baseline for rankings", lambda f: f.form in RANKED),
    (
        "plackett-luce",
        "model of rankings: scores with confidence intervals",
        lambda f: f.form == "rankings" and f.is_complete and f.tied_share < MANY_TIES,
    ),
    (
        "plackett-luce-topk",
        "model of top-k rankings: scores with confidence intervals; unranked items come below ranked ones",
        lambda f: f.form == "rankings" and not f.is_complete and f.tied_share < MANY_TIES,
    ),
    ("ordered-partitions", "model of rankings with ties", lambda f: f.form in RANKED and f.tied_share >= MANY_TIES),
    ("median-rank", "a few odd agents do not move a median", lambda f: f.form in RANKED),
    (
        "combmnz",
        "sums scores and rewards documents that many lists contain",
        lambda f: f.n_instances > 1 and f.form == "ratings",
    ),
    ("borda", "single pass over the data", lambda f: f.form != "empty"),
)


def fitting_methods(
    prefs: Preferences, tied_share: float, is_complete: bool, troubles: Collection[str]
) -> tuple[Advice, ...]:
    """Return the recommended methods, with reasons; they always include the default method of ``rank``."""
    if prefs.form == "empty":
        return ()
    if prefs.form == "answers":
        return (Advice("dawid-skene", "most likely class of each item, and the accuracy of each annotator"),)
    facts = Facts(
        form=prefs.form,
        n_items=prefs.n_items,
        n_agents=prefs.n_agents or 0,
        n_instances=prefs.n_instances,
        agents_repeat=prefs.n_agents is not None and prefs.n_agents < prefs.n_ballots,
        is_complete=is_complete,
        tied_share=tied_share,
        has_order=not prefs.is_merged and prefs.has_unit_weights,
        has_times=prefs.time is not None and bool(prefs.time.max() > prefs.time.min()),
        troubles=troubles,
    )
    reason_of: dict[str, str] = {}
    for name, reason, applies in _RULES:
        if name not in reason_of and applies(facts) and _can_rank(name, prefs):
            reason_of[name] = reason
    default = default_method(prefs)
    chosen = list(reason_of.items())[:MAX_METHODS]
    if default not in dict(chosen):
        chosen = [(default, reason_of.get(default, "default for this form of data")), *chosen[: MAX_METHODS - 1]]
    return tuple(Advice(name, reason) for name, reason in chosen)


def usual_rules(prefs: Preferences) -> list[str]:
    """List the common voting rules for ballots of this form in one contest; empty for other data.

    They can elect different winners, so a comparison without one of them may hide a disagreement.
    """
    if prefs.n_instances != 1 or prefs.n_items < 2:
        return []
    return [name for name in USUAL.get(prefs.form, ()) if _can_rank(name, prefs)]


def compared_by_default(prefs: Preferences) -> list[str]:
    """List the methods that are compared by default: the default method and usual voting rules, or common methods."""
    default, usual = default_method(prefs), usual_rules(prefs)
    common = ["borda", "copeland", "schulze", "rrf"][: 4 if default == "borda" else 3]
    return list(dict.fromkeys([default, *(usual or common)]))


def _can_rank(name: str, prefs: Preferences) -> bool:
    """Return whether the method is installed and its requirements are met."""
    try:
        registry.make(name).check_needs(prefs)
    except ConcordantError:
        return False
    return True
