"""Notices of score models: items that are not connected by comparisons, or that never lost or never won.

Two items are comparable if a chain of comparisons connects them (``weak``, a weakly connected component). Maximum
likelihood gives finite scores if chains of wins lead from each to the other (``strong``, a strongly connected
component). Each family of models finds these components in its observations; this module turns them into notices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from concordant import kernels, views
from concordant.ballots.segments import segment_index
from concordant.ballots.vocabulary import shorten
from concordant.models.observations.duels import Duels, slot_instances
from concordant.models.observations.stages import CHOSEN, GOES_ON, Stages
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.support.brief import Brief
from concordant.types import AnyArray, Bools, Int32s

SHOWN = 5
LOOSE = 1e-6  # gradient at the reported optimum, relative to the comparisons, from which it is called unconverged
ENOUGH = 20  # entries per item in which to look for proof that all items are comparable

OF_PAIRS = {
    "never-compared": "these items were never compared with others, so {prior} places them in the middle",
    "disconnected": "the items form {groups} that were never compared with each other, so only {prior} determines "
    "how these rank against the rest",
    "never-lost": "these items never lost, so only {prior} keeps their scores finite",
    "never-won": "these items never won, so only {prior} keeps their scores finite",
    "separated": "one group of items won every comparison against another, so only {prior} keeps their scores finite",
}
OF_STAGES = {
    "never-compared": "these items were never ranked against others, so only {prior} places them",
    "disconnected": "the items form groups that no ballot compares, so only {prior} relates them",
    "never-lost": "no item was ever ranked above these items, so only {prior} keeps their scores finite",
    "never-won": "these items were never ranked above any other, so only {prior} keeps their scores finite",
    "separated": "every ballot ranks one group of items above another, so only {prior} keeps their scores finite",
}
OF_MATRICES = {
    "never-compared": "these items were never compared with others, so they are placed in the middle",
    "disconnected": "no ballot compares these items with the largest group, so their order relative to it is arbitrary",
}


def notice_on(prefs: Preferences, name: str, text: str, slots: Bools) -> Notice:
    """Return a notice that names the items of some slots."""
    items = tuple(dict.fromkeys(prefs.items.take(prefs.slot_item[slots])))
    where = ""
    if prefs.n_instances > 1:
        affected = len(np.unique(views.instance_of_slot(prefs)[slots]))
        where = f" (in {affected:,} of {prefs.n_instances:,} instances)"
    return Notice(name, text + f"{where}: {named(items)}", items)


def unknown_agents(prefs: Preferences, known: Mapping[str, float]) -> tuple[Notice, ...]:
    """Return a notice on agents that are not in the training data; each counts as an average known agent."""
    if prefs.agents is None:
        return (Notice("unknown-agents", "the ballots have no agents, so the agent weights of the model are not used"),)
    unknown = tuple(label for label in prefs.agents.labels if label not in known)
    if not unknown:
        return ()
    text = (
        f"{len(unknown):,} of {len(prefs.agents):,} agents were not in the training data, so they get the mean weight"
    )
    return (Notice("unknown-agents", f"{text}: {named(unknown)}", unknown),)


def named(labels: Sequence[str], max_names: int = SHOWN) -> str:
    """Return the first labels as text, with the number of further labels."""
    more = f" and {len(labels) - max_names:,} more" if len(labels) > max_names else ""
    return ", ".join(shorten(label, 30) for label in labels[:max_names]) + more


def in_instances(prefs: Preferences, affected: AnyArray) -> str:
    """Return " (in a, b, …)" with the names of affected instances; empty if there is only one."""
    return "" if prefs.instances is None else f" (in {named(prefs.instances.take(affected), 3)})"


# ---- which items can be compared ----
@dataclass(frozen=True, repr=False)
class Standing(Brief):
    """The connected components of slots: by comparisons (``weak``), and by wins in both directions (``strong``)."""

    weak: Int32s
    strong: Int32s
    has_won: Bools
    has_lost: Bools

    @property
    def is_compared(self) -> Bools:
        """Whether a slot was ever compared with another."""
        return np.asarray(self.has_won | self.has_lost)


def joined(ahead: AnyArray, behind: AnyArray, n: int) -> tuple[Int32s, Int32s]:
    """Return the weakly and the strongly connected components of n slots and these edges."""
    ones, zeros = np.ones(len(ahead)), np.zeros(len(ahead))
    return kernels.duel_groups(ahead.astype(np.int32), behind.astype(np.int32), ones, zeros, zeros, n)


def duel_standing(duels: Duels) -> Standing:
    """Find the components connected by comparisons; a tie is a win for each side. Large data are sampled first."""
    n, enough = duels.n_slots, ENOUGH * duels.n_slots
    while len(duels.first) > 2 * enough and len(duels.slot_ptr) == 2:
        sample = duels.every(len(duels.first) // enough)
        strong = kernels.duel_groups(sample.first, sample.second, sample.won, sample.lost, sample.tied, n)[1]
        if not strong.any():  # what some duels connect, all connect
            return Standing(strong, strong, np.ones(n, bool), np.ones(n, bool))
        enough *= 4
    is_tied = duels.tied > 0
    weak, strong = kernels.duel_groups(duels.first, duels.second, duels.won, duels.lost, duels.tied, n)
    has_won, has_lost = np.zeros(n, bool), np.zeros(n, bool)
    first_won, second_won = (duels.won > 0) | is_tied, (duels.lost > 0) | is_tied
    has_won[duels.first[first_won]] = has_won[duels.second[second_won]] = True
    has_lost[duels.first[second_won]] = has_lost[duels.second[first_won]] = True
    return Standing(weak, strong, has_won, has_lost)


def is_settled(duels: Duels, standing: Standing, has_tie_parameter: bool) -> Bools:
    """Return, for every instance, whether its comparisons alone give every item a finite score.

    A tie parameter can grow without bound together with the scores unless some wins form a cycle.
    """
    instance, n = slot_instances(duels), len(duels.slot_ptr) - 1
    settled = np.bincount(instance[np.unique(standing.strong, return_index=True)[1]], minlength=n) <= 1
    if has_tie_parameter:
        zeros = np.zeros(len(duels.tied))
        _, cycle = kernels.duel_groups(duels.first, duels.second, duels.won, duels.lost, zeros, duels.n_slots)
        has_cycle = np.zeros(n, bool)
        has_cycle[instance[np.bincount(cycle)[cycle] > 1]] = True
        settled &= has_cycle | (duels.by_instance(duels.tied) <= 0)
    return np.asarray(settled)


def stage_standing(stages: Stages) -> Standing | None:
    """Find the components connected by stages; None if a sample already connects all items in both directions."""
    n = int(stages.slot_ptr[-1])
    enough = ENOUGH * n
    while len(stages.slot) > 2 * enough and len(stages.slot_ptr) == 2:
        ballots = int(np.searchsorted(stages.indptr, enough))
        if (_stage_groups(stages, ballots, n)[1] == 0).all():  # what some ballots connect, all connect
            return None
        enough *= 4
    weak, strong = _stage_groups(stages, len(stages.weight), n)
    has_won, has_lost = np.zeros(n, bool), np.zeros(n, bool)
    starts = np.flatnonzero(stages.mark)
    size = np.diff(np.append(starts, len(stages.mark)))
    first_tier = np.zeros(len(starts), bool)
    first_tier[np.searchsorted(starts, stages.indptr[:-1][np.diff(stages.indptr) > 0])] = True
    has_won[stages.slot[np.repeat(stages.mark[starts] == CHOSEN, size)]] = True
    has_lost[stages.slot[~np.repeat(first_tier, size)]] = True
    return Standing(weak, strong, has_won, has_lost)


def _stage_groups(stages: Stages, ballots: int, n: int) -> tuple[Int32s, Int32s]:
    """Return the weakly and the strongly connected components of n slots, using the stages of the first ``ballots``.

    Every item of a tier beats every item of the next: a node between the two keeps the number of edges linear.
    """
    stop = int(stages.indptr[ballots])
    slot, mark = stages.slot[:stop], stages.mark[:stop]
    begins_ballot = np.zeros(stop + 1, bool)
    begins_ballot[stages.indptr[: ballots + 1]] = True
    if (mark != GOES_ON).all():
        winner = np.flatnonzero(mark == CHOSEN)
        winner = winner[~begins_ballot[winner + 1]]
        return joined(slot[winner], slot[winner + 1], n)
    tier = np.cumsum(mark != GOES_ON) - 1
    starts = np.flatnonzero(mark != GOES_ON)
    has_before = (~begins_ballot[:-1])[starts][tier]
    has_after = np.append(has_before[starts][1:], False)[tier]
    ahead = np.concatenate([slot[has_after], n + tier[has_before]])
    behind = np.concatenate([n + tier[has_after] + 1, slot[has_before]])
    weak, strong = joined(ahead, behind, n + int(tier[-1]) + 1)
    return weak[:n], strong[:n]


def outside_largest_group(group: AnyArray, instance: AnyArray, counted: Bools) -> Bools:
    """Return, for every slot, whether it is counted and outside the largest component of its instance."""
    size = np.bincount(group[counted], minlength=int(group.max(initial=0)) + 1)
    n = int(instance.max(initial=-1)) + 1
    largest = np.zeros(n, np.int64)
    np.maximum.at(largest, instance[counted], size[group[counted]])
    largest_group = np.full(n, -1)
    in_largest = np.flatnonzero(counted & (size[group] == largest[instance]))[::-1]
    largest_group[instance[in_largest]] = group[in_largest]
    return np.asarray(counted & (group != largest_group[instance]))


# ---- what is told ----
def standing_notices(
    prefs: Preferences, standing: Standing | None, texts: Mapping[str, str], prior: str = "the prior"
) -> list[Notice]:
    """Return notices on items that cannot be compared, and on those whose scores only the prior keeps finite."""
    if standing is None:
        return []
    notices, instance = [], segment_index(prefs.slot_ptr)

    def tell(name: str, slots: Bools, **more: str) -> bool:
        if name in texts and slots.any():
            notices.append(notice_on(prefs, name, texts[name].format(prior=prior, **more), slots))
            return True
        return False

    is_compared, size = standing.is_compared, np.diff(prefs.slot_ptr)
    tell("never-compared", ~is_compared & (size[instance] > 1))
    groups = "groups"
    if prefs.n_instances == 1:
        groups = f"{np.count_nonzero(np.bincount(standing.weak[is_compared]))} groups"
    tell("disconnected", outside_largest_group(standing.weak, instance, is_compared), groups=groups)
    never_lost = tell("never-lost", is_compared & ~standing.has_lost)
    never_won = tell("never-won", is_compared & ~standing.has_won)
    if not (never_lost or never_won):  # one-way groups that hold several items: no single item gives them away
        n_parts = np.zeros(int(standing.weak.max(initial=0)) + 1, np.int64)
        np.add.at(n_parts, standing.weak[np.unique(standing.strong, return_index=True)[1]], 1)
        is_inside = np.bincount(standing.strong)[standing.strong] > 1
        tell("separated", is_compared & (n_parts[standing.weak] > 1) & is_inside)
    return notices
