"""What a reader must know of a model of comparisons: items that cannot be compared, estimates without bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.models.duels import Duels, slot_instances
from concordant.models.solve import Part
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.types import Bools, Int32s
from concordant.vocabulary import shorten

SHOWN = 5
LOOSE = 1e-6  # gradient at the reported optimum, relative to the comparisons, from which it is called unconverged


@dataclass(frozen=True)
class Standing:
    """Which slots can be compared: by anybody (``weak``), and by wins in both directions (``strong``)."""

    weak: Int32s
    strong: Int32s
    is_compared: Bools
    is_settled: Bools
    """By instance: whether the comparisons alone give every item a finite score."""


def standing(duels: Duels, has_tie_parameter: bool = False) -> Standing:
    """Find the groups of comparable slots of every instance.

    A tie parameter can grow without bound together with the scores unless some wins go round in a circle.
    """
    n = duels.n_slots
    weak, strong = kernels.duel_groups(duels.first, duels.second, duels.won, duels.lost, duels.tied, n)
    is_compared = np.zeros(n, bool)
    is_compared[duels.first] = is_compared[duels.second] = True
    instance, size = slot_instances(duels), np.diff(duels.slot_ptr)
    groups = np.bincount(instance[np.unique(strong, return_index=True)[1]], minlength=len(size))
    is_settled = groups <= 1
    if has_tie_parameter:
        none = np.zeros(len(duels.tied))
        _, circle = kernels.duel_groups(duels.first, duels.second, duels.won, duels.lost, none, n)
        has_circle = np.zeros(len(size), bool)
        has_circle[instance[np.bincount(circle)[circle] > 1]] = True
        is_settled &= has_circle | (duels.by_instance(duels.tied) <= 0)
    return Standing(weak, strong, is_compared, is_settled)


def notices(prefs: Preferences, duels: Duels, found: Standing, parts: list[Part], prior: str) -> tuple[Notice, ...]:
    """Return the warnings that apply, each naming the items concerned."""
    told = [
        *_unconnected(prefs, duels, found, prior),
        *_one_sided(prefs, duels, found, prior),
    ]
    loose = np.zeros(len(duels.ptr) - 1, bool)
    for part in parts:
        loose[part.instances] = part.slack > LOOSE * (1 + part.duels.by_instance(part.duels.total))
    if loose.any():
        text = "the fit did not converge, so the scores are approximate; raise the prior"
        told.append(_on(prefs, "no-convergence", text, loose[slot_instances(duels)]))
    return tuple(told)


def _unconnected(prefs: Preferences, duels: Duels, found: Standing, prior: str) -> list[Notice]:
    instance = slot_instances(duels)
    told = []
    if not found.is_compared.all():
        text = f"nobody compared these items with others, so {prior} places them in the middle"
        told.append(_on(prefs, "never-compared", text, ~found.is_compared))
    size = np.bincount(found.weak)
    by_group = np.flatnonzero(size > 1)
    group_instance = np.zeros(len(size), np.int64)
    group_instance[found.weak] = instance
    several = np.bincount(group_instance[by_group], minlength=len(duels.ptr) - 1)
    if (several > 1).any():
        # The largest group of an instance is the body of its ranking; the others hang beside it.
        order = by_group[np.lexsort((by_group, -size[by_group], group_instance[by_group]))]
        is_body = np.ones(len(order), bool)
        is_body[1:] = group_instance[order[1:]] != group_instance[order[:-1]]
        beside = np.zeros(len(size), bool)
        beside[order[~is_body]] = True
        groups = f"{several.max()} groups" if len(several) == 1 else "groups"
        text = (
            f"the items fall into {groups} that were never compared with each other, "
            f"so how these stand against the rest rests on {prior} alone"
        )
        told.append(_on(prefs, "disconnected", text, beside[found.weak]))
    return told


def _one_sided(prefs: Preferences, duels: Duels, found: Standing, prior: str) -> list[Notice]:
    n = duels.n_slots
    even = duels.tied > 0
    wins, losses = np.zeros(n, bool), np.zeros(n, bool)
    wins[duels.first[(duels.won > 0) | even]] = wins[duels.second[(duels.lost > 0) | even]] = True
    losses[duels.first[(duels.lost > 0) | even]] = losses[duels.second[(duels.won > 0) | even]] = True
    told = []
    for name, chosen, text in (
        ("never-lost", found.is_compared & ~losses, "these items never lost"),
        ("never-won", found.is_compared & ~wins, "these items never won"),
    ):
        if chosen.any():
            told.append(_on(prefs, name, f"{text}, so only {prior} keeps their scores finite", chosen))
    # One-way groups that hold several items: no single item gives them away.
    size = np.bincount(found.strong)
    split = np.zeros(len(np.bincount(found.weak)), np.int64)
    np.add.at(split, found.weak[np.unique(found.strong, return_index=True)[1]], 1)
    inner = found.is_compared & (split[found.weak] > 1) & (size[found.strong] > 1)
    if inner.any() and not told:
        text = f"every comparison between two groups of items went the same way, so only {prior} keeps them together"
        told.append(_on(prefs, "separated", text, inner))
    return told


def _on(prefs: Preferences, name: str, text: str, slots: Bools) -> Notice:
    items = tuple(dict.fromkeys(prefs.items.take(prefs.slot_item[slots])))
    where = ""
    if prefs.n_instances > 1:
        instance = np.repeat(np.arange(prefs.n_instances), np.diff(prefs.slot_ptr))[slots]
        where = f" (in {len(np.unique(instance)):,} of {prefs.n_instances:,} instances)"
    shown = ", ".join(shorten(item, 30) for item in items[:SHOWN])
    more = f" and {len(items) - SHOWN:,} more" if len(items) > SHOWN else ""
    return Notice(name, f"{text}{where}: {shown}{more}", items)
