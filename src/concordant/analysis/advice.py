"""Which methods fit some preferences, and why: one table of reasons, looked at from the top.

A reason holds for some forms of data and, where it says so, only under a finding. Methods are named in the order of
the table, each once, the first reason that holds; only those that are installed and whose needs are met.
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
_ADHERENCE = "with " + arg("adherence", True, of="mpm") + " it weighs agents by how far they go with the rest"
USUAL = {
    "rankings": ("plurality", "instant-runoff", "borda", "schulze", "copeland"),
    "top-k": ("plurality", "instant-runoff", "borda", "schulze"),
    "approvals": ("approval", "borda", "copeland"),
    "ratings": ("mean-rating", "star", "borda", "schulze"),
}


@dataclass(frozen=True)
class Advice:
    """A method that fits, and why."""

    method: str
    reason: str


@dataclass(frozen=True)
class Facts:
    """What the reasons ask about."""

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
        "a model of matches between two teams: scores of the members with intervals",
        lambda f: f.form == "teams",
    ),
    (
        "plackett-luce",
        "a model of matches between teams: scores of the members with intervals",
        lambda f: f.form == "teams",
    ),
    ("trueskill", "follows members of teams that change; the order of matches is known", lambda f: f.form == "teams"),
    (
        "rrf",
        "fuses many short lists without tuning, and ignores what a list leaves out",
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
        "a model of duels with draws: many pairs are tied",
        lambda f: f.form == "pairs" and f.tied_share > MANY_TIES,
    ),
    (
        "whole-history",
        "follows scores that change over time, with a curve and intervals for every item; times are known",
        lambda f: f.form == "pairs" and f.has_times,
    ),
    ("bradley-terry", "a model of duels: scores with intervals, chances of winning", lambda f: f.form == "pairs"),
    ("elo", "follows strengths that change; the order of events is known", lambda f: f.form == "pairs" and f.has_order),
    ("plackett-luce", "a model of choices: keeps to what was on offer", lambda f: f.form in ("choices", "top-k")),
    ("approval", "counts who approves of an item", lambda f: f.form == "approvals"),
    (
        "pav",
        "elects a committee (" + arg("seats", of="pav") + ") in which groups have their share",
        lambda f: f.form == "approvals" and f.n_items <= FEW_ITEMS and f.n_instances == 1,
    ),
    (
        "kemeny",
        "the order with the fewest contradicted pairs: settles cycles",
        lambda f: "cyclic" in f.troubles and f.n_items <= FEW_ITEMS and f.n_instances == 1,
    ),
    (
        "ranked-pairs",
        "locks the clearest majorities in first: settles cycles",
        lambda f: "cyclic" in f.troubles and f.n_instances == 1,
    ),
    ("copeland", "counts won duels and asks for no model", lambda f: f.form == "pairs"),
    ("schulze", "elects whoever wins every duel", lambda f: f.form == "rankings" and f.n_instances == 1),
    (
        "stv",
        "elects several (" + arg("seats", of="stv") + ") in proportion; ballots may be short",
        lambda f: f.form == "rankings" and not f.is_complete and f.n_items <= FEW_ITEMS and f.n_instances == 1,
    ),
    ("mpm", "scores with uncertainty from ratings, at the cost of a sum", lambda f: f.form == "ratings"),
    ("mean-rating", "the mean rating, items with few of them drawn to the middle", lambda f: f.form == "ratings"),
    (
        "mpm",
        _ADHERENCE,
        lambda f: f.agents_repeat and f.n_agents > 2,
    ),
    ("borda", "one pass over the data, the usual first answer for ranked lists", lambda f: f.form in RANKED),
    (
        "plackett-luce",
        "a model of rankings: scores with intervals",
        lambda f: f.form == "rankings" and f.is_complete and f.tied_share < MANY_TIES,
    ),
    (
        "plackett-luce-topk",
        "a model of the first places: scores with intervals, the unnamed come after the named",
        lambda f: f.form == "rankings" and not f.is_complete and f.tied_share < MANY_TIES,
    ),
    ("ordered-partitions", "a model of rankings with ties", lambda f: f.form in RANKED and f.tied_share >= MANY_TIES),
    ("median-rank", "a few odd agents do not move a median", lambda f: f.form in RANKED),
    ("combmnz", "adds scores and rewards items many lists name", lambda f: f.n_instances > 1 and f.form == "ratings"),
    ("borda", "one pass over the data", lambda f: f.form != "empty"),
)


def fitting_methods(
    prefs: Preferences, tied_share: float, is_complete: bool, troubles: Collection[str]
) -> tuple[Advice, ...]:
    """Return the methods that fit, with reasons; the default method of ``rank`` is always among them."""
    if prefs.form == "empty":
        return ()
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
        chosen = [(default, reason_of.get(default, "the default for this form of data")), *chosen[: MAX_METHODS - 1]]
    return tuple(Advice(name, reason) for name, reason in chosen)


def usual_rules(prefs: Preferences) -> list[str]:
    """Name the rules in common use that elect a winner from ballots of this form, in one contest; else none.

    They can elect different winners, so a comparison that leaves one of them out may hide a disagreement.
    """
    if prefs.n_instances != 1 or prefs.n_items < 2:
        return []
    return [name for name in USUAL.get(prefs.form, ()) if _can_rank(name, prefs)]


def compared_by_default(prefs: Preferences) -> list[str]:
    """Name the methods that are compared unless others are named: the default and the usual rules, or common ones."""
    default, usual = default_method(prefs), usual_rules(prefs)
    common = ["borda", "copeland", "schulze", "rrf"][: 4 if default == "borda" else 3]
    return list(dict.fromkeys([default, *(usual or common)]))


def _can_rank(name: str, prefs: Preferences) -> bool:
    """Return whether the method is installed and its needs are met."""
    try:
        registry.make(name).check_needs(prefs)
    except ConcordantError:
        return False
    return True
