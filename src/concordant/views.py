"""Pure functions of ballots: positions, pairs, stages, net wins and win matrices, over all instances at once.

Conventions, the same everywhere:

- ``missing="ignore"``: an item a ballot does not mention is not compared by it
- ``missing="last"``: unmentioned candidates of the instance share the last place, tied with each other
- ``missing="last-free"``: the same, but the unmentioned ones are not compared with each other
- the last tier of an *open* ballot means "the rest, order unsaid": nothing is counted inside it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from concordant import kernels
from concordant.ballots.segments import max_by, number_inside, pointer, segment_index, sum_by
from concordant.errors import InputError, ParameterError, arg
from concordant.kernels.bundles import Ballots
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s

if TYPE_CHECKING:
    from concordant.ranking import Ranking

MISSING = ("ignore", "last", "last-free")
COUNTED = 2  # matrices that pair counts take: wins and ties


def ballots(prefs: Preferences) -> Ballots:
    """Return the arrays of all ballots as the kernels take them."""
    return Ballots(
        prefs.slot_ptr,
        prefs.instance_of_ballot,
        prefs.indptr,
        prefs.entry_slot,
        prefs.tier,
        prefs.weight,
        np.zeros(prefs.n_ballots, np.uint8) if prefs.open is None else prefs.open.view(np.uint8),
    )


def instance_of_slot(prefs: Preferences) -> Int64s:
    """Return the instance every slot belongs to."""
    return segment_index(prefs.slot_ptr)


def ballots_by_instance(prefs: Preferences, ballots: Int64s | None = None) -> Iterator[tuple[int, Int64s]]:
    """Yield the instances that have ballots: (instance, its ballots), restricted to ``ballots`` where
    these are given.
    """
    chosen = np.arange(prefs.n_ballots) if ballots is None else ballots
    instance = prefs.instance_of_ballot[chosen]
    order = np.argsort(instance, kind="stable")
    present, start = np.unique(instance[order], return_index=True)
    yield from zip(present.tolist(), np.split(chosen[order], start[1:]) if len(chosen) else [], strict=True)


def ballot_of_entry(prefs: Preferences) -> Int64s:
    """Return the ballot every entry belongs to."""
    return segment_index(prefs.indptr)


def has_opponents(prefs: Preferences) -> Bools:
    """Return, for every entry, whether its ballot names another item (with teams: another team)."""
    sizes = np.diff(prefs.indptr)
    n_sides = sizes if prefs.team is None else max_by(ballot_of_entry(prefs), prefs.team + 1, prefs.n_ballots)
    return np.repeat(n_sides > 1, sizes)


def slots_of(prefs: Preferences, ranking: Ranking) -> Int64s | None:
    """Return, for every slot of a ranking, the slot of these preferences; None where one of them is missing."""
    n_ranked = len(ranking.score)
    if np.array_equal(ranking.slot_ptr, prefs.slot_ptr) and np.array_equal(ranking.slot_item, prefs.slot_item):
        return np.arange(n_ranked)
    instance_code = np.zeros(ranking.n_instances, np.int64)
    if prefs.instances is not None and ranking.instances is not None:
        instance_code = prefs.instances.codes(ranking.instances).astype(np.int64)
    n_items, item = len(prefs.items), prefs.items.codes(ranking.vocabulary).astype(np.int64)[ranking.slot_item]
    instance = np.repeat(instance_code, np.diff(ranking.slot_ptr))
    key, key_ranked = instance_of_slot(prefs) * n_items + prefs.slot_item, instance * n_items + item
    if (item < 0).any() or (instance < 0).any() or (n_ranked and not len(key)):
        return None
    order = np.argsort(key)
    slot = order[np.searchsorted(key[order], key_ranked).clip(max=max(len(key) - 1, 0))]
    return slot if np.array_equal(key[slot], key_ranked) else None


def order_of(prefs: Preferences, ranking: Ranking) -> Int64s:
    """Return the slots of preferences, per instance, in the order of the ranking; slots it leaves out come last."""
    slots = slots_of(prefs, ranking)
    if slots is None:
        raise InputError("The preferences are not those the ranking was made of: give the same ones.")
    ranked_slots = slots[ranking.order]
    all_slots = np.concatenate([ranked_slots, np.setdiff1d(np.arange(prefs.n_slots), ranked_slots)])
    return np.asarray(all_slots[np.argsort(instance_of_slot(prefs)[all_slots], kind="stable")])


def captains(prefs: Preferences) -> Preferences:
    """Return ballots over teams, each represented by its first named member; without teams the same ballots."""
    if prefs.team is None:
        return prefs
    ballot = ballot_of_entry(prefs)
    _, first = np.unique(ballot * (int(prefs.team.max(initial=0)) + 1) + prefs.team, return_index=True)
    first = np.sort(first)  # the first entry of every team
    columns = {name: getattr(prefs, name) for name in ("agents", "agent", "instances", "instance", "open", "weight")}
    indptr = pointer(np.bincount(ballot[first], minlength=prefs.n_ballots))
    return Preferences(prefs.items, indptr, prefs.item[first], prefs.tier[first], **columns)


def records_of_members(prefs: Preferences) -> tuple[Floats, Floats, Floats]:
    """Return, by slot, the weight of teams that the item's team beat, lost to and drew with."""
    teams, ballot = captains(prefs), ballot_of_entry(prefs)
    span = int(prefs.tier.max(initial=0)) + 1
    team_keys, key = ballot_of_entry(teams) * span + teams.tier, ballot * span + prefs.tier
    start, end = teams.indptr[ballot], teams.indptr[ballot + 1]
    # Teams that are better, and at least as good, in this ballot; all teams of the ballots before are counted too.
    better, better_or_equal = np.searchsorted(team_keys, key), np.searchsorted(team_keys, key, side="right")
    weight = weight_of_entry(prefs)
    won, lost, drawn = (
        sum_by(prefs.entry_slot, weight * count, prefs.n_slots)
        for count in (end - better_or_equal, better - start, better_or_equal - better - 1)
    )
    return won, lost, drawn


def weight_of_entry(prefs: Preferences) -> Floats:
    """Return the weight of the ballot every entry stands in."""
    if prefs.has_unit_weights:
        return np.ones(len(prefs.item))
    return np.repeat(prefs.weight, np.diff(prefs.indptr))


def has_whole_weights(prefs: Preferences) -> bool:
    """Return whether all weights are whole numbers, so that sums of them are exact."""
    return bool((prefs.weight == np.floor(prefs.weight)).all())


def resolve_missing(prefs: Preferences, missing: str) -> str:
    """Resolve ``"auto"``: rankings and approvals put unnamed candidates last; in other forms they are ignored.

    Pairs, choices and ratings say nothing about items that were not on offer or not seen.
    """
    if missing == "auto":
        return "last" if prefs.form in ("rankings", "approvals") else "ignore"
    if missing not in MISSING:
        raise ParameterError(arg("missing", missing) + f" is not a choice: use auto, {', '.join(MISSING)}.")
    return missing


@dataclass(frozen=True)
class Tiers:
    """The tie groups of all ballots, one after the other: tier t owns entries ptr[t]:ptr[t + 1]."""

    ptr: Int64s
    ballot: Int64s
    of_entry: Int64s
    is_open: Bools

    @property
    def size(self) -> Int64s:
        """How many items stand in each tier."""
        return np.diff(self.ptr)


def tiers(prefs: Preferences) -> Tiers:
    """Return the tie groups of every ballot; ``is_open`` marks the last tier of an open ballot."""
    n = len(prefs.item)
    is_start = np.ones(n, bool)
    is_start[1:] = prefs.tier[1:] != prefs.tier[:-1]
    is_start[prefs.indptr[:-1][np.diff(prefs.indptr) > 0]] = True
    first = np.flatnonzero(is_start)
    ballot = ballot_of_entry(prefs)[first]
    is_open = np.zeros(len(first), bool)
    if prefs.open is not None and len(first):
        is_last = np.append(ballot[1:] != ballot[:-1], True)
        is_open = is_last & prefs.open[ballot]
    return Tiers(np.append(first, n), ballot, np.cumsum(is_start) - 1, is_open)


def is_named(prefs: Preferences) -> Bools:
    """Return, for every entry, whether its ballot names it explicitly, not in the open last tier ("the rest")."""
    if prefs.open is None:
        return np.ones(len(prefs.item), bool)
    groups = tiers(prefs)
    return np.asarray(~groups.is_open[groups.of_entry])


def positions(prefs: Preferences) -> Floats:
    """Return the position of every entry inside its ballot, 1 best; tied items share their mean position."""
    return kernels.tier_positions(prefs.indptr, prefs.tier, True)


def competition_ranks(prefs: Preferences) -> Floats:
    """Return 1 + the number of items in better tiers of the ballot, for every entry (1, 2, 2, 4)."""
    return kernels.tier_positions(prefs.indptr, prefs.tier, False)


@dataclass(frozen=True)
class Stages:
    """The choices of a stagewise model: at each stage a tier is chosen from all that remain.

    Stage t chooses entries start[t]:stop[t] from start[t]:end[t].
    """

    start: Int64s
    stop: Int64s
    end: Int64s
    ballot: Int64s


def stages(prefs: Preferences) -> Stages:
    """Return the stages of every ballot; its last tier is no stage, as nothing is left to choose against."""
    groups = tiers(prefs)
    end = prefs.indptr[groups.ballot + 1]
    is_choice = groups.ptr[1:] < end
    return Stages(groups.ptr[:-1][is_choice], groups.ptr[1:][is_choice], end[is_choice], groups.ballot[is_choice])


@dataclass(frozen=True)
class Pairs:
    """Every pair some ballot compares: ``better`` and ``worse`` are slots; where ``is_tie`` neither is better."""

    better: Int64s
    worse: Int64s
    is_tie: Bools
    ballot: Int64s


def pairs(prefs: Preferences, ballots: Int64s | None = None) -> Pairs:
    """List all compared pairs of all ballots, or of some; missing items ignored; O(length²) per ballot."""
    first, second, same = next(pairs_of_entries(prefs, ballots, at_once=np.inf))
    return Pairs(prefs.entry_slot[first], prefs.entry_slot[second], same, ballot_of_entry(prefs)[first])


def pairs_of_entries(
    prefs: Preferences, ballots: AnyArray | None = None, at_once: float = 5e6
) -> Iterator[tuple[Int64s, Int64s, Bools]]:
    """Yield the compared pairs of entries, some ballots at a time: (better entry, worse entry, are they tied).

    ``at_once`` is roughly the number of pairs in a part. Within a ballot, each entry is paired with all later ones.
    """
    groups, sizes, ballot = tiers(prefs), np.diff(prefs.indptr), ballot_of_entry(prefs)
    is_wanted = np.ones(prefs.n_ballots, bool)
    if ballots is not None:
        is_wanted[:] = False
        is_wanted[ballots] = True
    n_after = np.where(is_wanted[ballot], prefs.indptr[ballot + 1] - np.arange(len(ballot)) - 1, 0)
    chunk = np.cumsum(is_wanted * sizes.astype(np.float64) ** 2 / 2) // at_once
    bounds = np.append(np.flatnonzero(np.diff(chunk, prepend=-1.0)), len(sizes)) if len(sizes) else np.zeros(2, int)
    for low, high in pairwise(prefs.indptr[bounds].tolist()):
        n_later = n_after[low:high]
        first = np.repeat(np.arange(low, high), n_later)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(n_later) - n_later, n_later)
        is_tie = groups.of_entry[first] == groups.of_entry[second]
        if prefs.open is not None:
            is_compared = ~(is_tie & groups.is_open[groups.of_entry[first]])
            first, second, is_tie = first[is_compared], second[is_compared], is_tie[is_compared]
        yield first, second, is_tie


def wins_and_losses(prefs: Preferences, missing: str = "ignore") -> tuple[Floats, Floats, Floats]:
    """Return the weighted wins, losses and ties of every slot over all pairs its ballots compare; linear time.

    With ``missing="last"`` or ``"last-free"``, a candidate that a ballot leaves out loses to every item on it; this is
    added for all candidates of the instance, and subtracted for those the ballot names.
    """
    groups = tiers(prefs)
    start, end = prefs.indptr[groups.ballot], prefs.indptr[groups.ballot + 1]
    unranked = _unranked(prefs)[groups.ballot] if missing != "ignore" else np.zeros(len(groups.ballot), np.int64)
    won = (end - groups.ptr[1:] + unranked)[groups.of_entry]
    lost = (groups.ptr[:-1] - start)[groups.of_entry]
    tied = np.where(groups.is_open, 0, groups.size - 1)[groups.of_entry]
    weight, n_slots = weight_of_entry(prefs), prefs.n_slots
    wins, losses, draws = (sum_by(prefs.entry_slot, weight * count, n_slots) for count in (won, lost, tied))
    if missing != "ignore":
        sizes = np.diff(prefs.indptr)
        by_instance = [
            sum_by(prefs.instance_of_ballot, prefs.weight * count, prefs.n_instances)
            for count in (sizes, np.maximum(_unranked(prefs) - 1, 0))
        ]
        instance = instance_of_slot(prefs)
        losses += by_instance[0][instance] - sum_by(prefs.entry_slot, np.repeat(prefs.weight * sizes, sizes), n_slots)
        if missing == "last":
            ties_among_unranked = prefs.weight * np.maximum(_unranked(prefs) - 1, 0)
            draws += by_instance[1][instance] - sum_by(prefs.entry_slot, np.repeat(ties_among_unranked, sizes), n_slots)
    return wins, losses, draws


def net_wins(prefs: Preferences, missing: str = "ignore") -> Floats:
    """Return weighted wins minus losses of every slot."""
    wins, losses, _ = wins_and_losses(prefs, missing)
    return wins - losses


@dataclass(frozen=True)
class WinMatrices:
    """Pairwise counts of every instance, row-major one after the other.

    ``wins`` of instance q, as a square matrix over its slots, is ``matrix(q)``: entry (i, j) is the weight of
    ballots that put i before j. ``ties`` holds the weight of ballots that tie them.
    """

    ptr: Int64s
    size: Int64s
    wins: Floats
    ties: Floats

    def matrix(self, instance: int = 0) -> Floats:
        """Return the wins of one instance as a square matrix."""
        size = int(self.size[instance])
        return self.wins[self.ptr[instance] : self.ptr[instance + 1]].reshape(size, size)

    def tie_matrix(self, instance: int = 0) -> Floats:
        """Return the ties of one instance as a square matrix."""
        size = int(self.size[instance])
        return self.ties[self.ptr[instance] : self.ptr[instance + 1]].reshape(size, size)


def win_matrices(prefs: Preferences, missing: str = "ignore") -> WinMatrices:
    """Count, for every pair of candidates of every instance, the weight of ballots that prefer one to the other."""
    check_matrix_size(prefs)
    ptr, wins, ties = kernels.pair_counts(ballots(prefs), MISSING.index(resolve_missing(prefs, missing)))
    return WinMatrices(ptr, np.diff(prefs.slot_ptr), wins, ties)


def check_matrix_size(prefs: Preferences) -> None:
    """Refuse to count the pairs of more candidates than fit into memory."""
    size = np.diff(prefs.slot_ptr)
    memory.require(
        8 * COUNTED * float((size.astype(np.float64) ** 2).sum()),
        f"Counting the pairs of {int(size.max(initial=0)):,} candidates in {len(size):,} instances",
        "use a method without pairwise matrices (borda, rrf), or select fewer items",
    )


def _unranked(prefs: Preferences) -> Int64s:
    """Return how many candidates of its instance each ballot does not mention."""
    return np.diff(prefs.slot_ptr)[prefs.instance_of_ballot] - np.diff(prefs.indptr)


def total_weight(prefs: Preferences) -> Floats:
    """Return the weight of all ballots of each instance."""
    return sum_by(prefs.instance_of_ballot, prefs.weight, prefs.n_instances)


def ranked_weight(prefs: Preferences) -> Floats:
    """Return the weight of the ballots that mention each slot."""
    return sum_by(prefs.entry_slot, weight_of_entry(prefs), prefs.n_slots)


def missing_positions(prefs: Preferences) -> Floats:
    """Return, per ballot, the mean of the free positions: where each unmentioned candidate stands."""
    sizes = np.diff(prefs.indptr)
    candidates = np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
    return np.asarray((sizes + 1 + candidates) / 2)


class Placed(NamedTuple):
    """Positions that ballots give slots, with the weight each counts for; a negative one takes a position back."""

    slot: Int64s
    position: Floats
    weight: Floats


def placed(prefs: Preferences, missing: str = "ignore") -> Placed:
    """Return the position of every entry and, unless they are ignored, of the candidates that ballots leave out.

    Every candidate gets the mean free position of each incomplete ballot (equal positions are summed); for those the
    ballot does mention, the same position is subtracted again with a negative weight.
    """
    entries = Placed(prefs.entry_slot, positions(prefs), weight_of_entry(prefs))
    if missing == "ignore":
        return entries
    size, instance = np.diff(prefs.slot_ptr), prefs.instance_of_ballot
    position, is_incomplete = missing_positions(prefs), _unranked(prefs) > 0
    instance_and_position = np.column_stack([instance, position])[is_incomplete]
    distinct, group = np.unique(instance_and_position, axis=0, return_inverse=True)
    weight = sum_by(group.reshape(-1), prefs.weight[is_incomplete], len(distinct))
    instance_of_group = distinct[:, 0].astype(np.int64)
    repeats = size[instance_of_group]
    slot = np.repeat(prefs.slot_ptr[instance_of_group], repeats) + number_inside(pointer(repeats))
    ballot = ballot_of_entry(prefs)
    is_from_incomplete = is_incomplete[ballot]
    of_all = Placed(slot, np.repeat(distinct[:, 1], repeats), np.repeat(weight, repeats))
    of_named = Placed(
        prefs.entry_slot[is_from_incomplete],
        position[ballot[is_from_incomplete]],
        -prefs.weight[ballot[is_from_incomplete]],
    )
    return Placed(*(np.concatenate(column) for column in zip(entries, of_all, of_named, strict=True)))


def entry_instances(prefs: Preferences) -> Int32s:
    """Return the instance of every entry."""
    return np.repeat(prefs.instance_of_ballot, np.diff(prefs.indptr))
