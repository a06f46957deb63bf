"""Pure functions of ballots: positions, pairs, stages, net wins and win matrices, for all instances at once.

Conventions shared by all functions:

- ``missing="ignore"``: a ballot does not compare items that it does not mention
- ``missing="last"``: unmentioned candidates of the instance share the last place, tied with each other
- ``missing="last-free"``: the same, but unmentioned candidates are not compared with each other
- the last tier of an *open* ballot holds the remaining items in unknown order: it contributes no pairs or ties
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
from concordant.support import memory, progress
from concordant.support.brief import Brief
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s

if TYPE_CHECKING:
    from concordant.ranking import Ranking

MISSING = ("ignore", "last", "last-free")
COUNTED = 2  # matrices that pair counts take: wins and ties


def ballots(prefs: Preferences) -> Ballots:
    """Return the arrays of all ballots in the form that the kernels take.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    concordant.kernels.bundles.Ballots
        The arrays, without copies where possible.
    """
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
    """Return the instance of every slot.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    ndarray of int64
        Index of the instance, one per slot.
    """
    return segment_index(prefs.slot_ptr)


def ballots_by_instance(prefs: Preferences, ballots: Int64s | None = None) -> Iterator[tuple[int, Int64s]]:
    """Yield every instance that has ballots, with their indices.

    Parameters
    ----------
    prefs : Preferences
        The ballots.
    ballots : ndarray of int64, optional
        Indices of the ballots to consider; all ballots if not given.

    Yields
    ------
    instance : int
        Index of the instance.
    ballots : ndarray of int64
        Indices of its ballots.
    """
    chosen = np.arange(prefs.n_ballots) if ballots is None else ballots
    instance = prefs.instance_of_ballot[chosen]
    order = np.argsort(instance, kind="stable")
    present, start = np.unique(instance[order], return_index=True)
    parts = np.split(chosen[order], start[1:]) if len(chosen) else []
    yield from progress.steps(list(zip(present.tolist(), parts, strict=True)))


def ballot_of_entry(prefs: Preferences) -> Int64s:
    """Return the ballot of every entry.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    ndarray of int64
        Index of the ballot, one per entry.
    """
    return segment_index(prefs.indptr)


def has_opponents(prefs: Preferences) -> Bools:
    """Return, for every entry, whether its ballot ranks another item or, with teams, another team.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    ndarray of bool
        One value per entry.
    """
    sizes = np.diff(prefs.indptr)
    n_sides = sizes if prefs.team is None else max_by(ballot_of_entry(prefs), prefs.team + 1, prefs.n_ballots)
    return np.repeat(n_sides > 1, sizes)


def slots_of(prefs: Preferences, ranking: Ranking) -> Int64s | None:
    """Map the slots of a ranking to the slots of these preferences.

    Parameters
    ----------
    prefs : Preferences
        The ballots.
    ranking : Ranking
        A ranking of the same items and instances.

    Returns
    -------
    ndarray of int64 or None
        The slot of these preferences for every slot of the ranking, or None if one of them is missing in these
        preferences.
    """
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
    """Return the slots of these preferences in the order of a ranking, instance by instance.

    Parameters
    ----------
    prefs : Preferences
        The ballots.
    ranking : Ranking
        A ranking of these preferences.

    Returns
    -------
    ndarray of int64
        All slots, best first within each instance; slots that the ranking leaves out come last.

    Raises
    ------
    InputError
        If the ranking was not computed from these preferences.
    """
    slots = slots_of(prefs, ranking)
    if slots is None:
        raise InputError("These are not the preferences that were ranked: give the preferences of this ranking.")
    ranked_slots = slots[ranking.order]
    all_slots = np.concatenate([ranked_slots, np.setdiff1d(np.arange(prefs.n_slots), ranked_slots)])
    return np.asarray(all_slots[np.argsort(instance_of_slot(prefs)[all_slots], kind="stable")])


def captains(prefs: Preferences) -> Preferences:
    """Replace each team by its first member.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    Preferences
        Ballots over teams, each represented by the member listed first; the same object if there are no teams.
    """
    if prefs.team is None:
        return prefs
    ballot = ballot_of_entry(prefs)
    _, first = np.unique(ballot * (int(prefs.team.max(initial=0)) + 1) + prefs.team, return_index=True)
    first = np.sort(first)  # the first entry of every team
    columns = {name: getattr(prefs, name) for name in ("agents", "agent", "instances", "instance", "open", "weight")}
    indptr = pointer(np.bincount(ballot[first], minlength=prefs.n_ballots))
    return Preferences(prefs.items, indptr, prefs.item[first], prefs.tier[first], **columns)


def records_of_members(prefs: Preferences) -> tuple[Floats, Floats, Floats]:
    """Return the wins, losses and draws that every item achieved with its teams.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    won, lost, drawn : ndarray of float64
        Weight of the teams that the item's team beat, lost to and drew with, one value per slot.
    """
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
    """Return the weight of the ballot of every entry.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    ndarray of float64
        One value per entry.
    """
    if prefs.has_unit_weights:
        return np.ones(len(prefs.item))
    return np.repeat(prefs.weight, np.diff(prefs.indptr))


def has_whole_weights(prefs: Preferences) -> bool:
    """Return whether all weights are integers, so that sums of weights are exact.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    bool
        True if every weight is an integer.
    """
    return bool((prefs.weight == np.floor(prefs.weight)).all())


def resolve_missing(prefs: Preferences, missing: str) -> str:
    """Resolve ``missing="auto"`` by the form of the preferences.

    Rankings and approvals place unmentioned candidates last. In other forms they are ignored: pairs, choices and
    ratings contain no information about items that were not shown.

    Parameters
    ----------
    prefs : Preferences
        The ballots.
    missing : {'auto', 'ignore', 'last', 'last-free'}
        Treatment of candidates that a ballot does not mention.

    Returns
    -------
    str
        ``"ignore"``, ``"last"`` or ``"last-free"``.

    Raises
    ------
    ParameterError
        If ``missing`` is none of these choices.
    """
    if missing == "auto":
        return "last" if prefs.form in ("rankings", "approvals") else "ignore"
    if missing not in MISSING:
        raise ParameterError(arg("missing", missing) + f" is not valid: use auto, {', '.join(MISSING)}.")
    return missing


@dataclass(frozen=True, repr=False)
class Tiers(Brief):
    """The tiers (tie groups) of all ballots, one after the other: tier t holds entries ``ptr[t]:ptr[t + 1]``."""

    ptr: Int64s
    ballot: Int64s
    of_entry: Int64s
    is_open: Bools

    @property
    def size(self) -> Int64s:
        """Number of items in each tier."""
        return np.diff(self.ptr)


def tiers(prefs: Preferences) -> Tiers:
    """Return the tiers (tie groups) of every ballot.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    Tiers
        Bounds and ballot of every tier; ``is_open`` marks the last tier of an open ballot.
    """
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
    """Return, for every entry, whether its ballot ranks it explicitly, not in the open last tier.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    ndarray of bool
        One value per entry.
    """
    if prefs.open is None:
        return np.ones(len(prefs.item), bool)
    groups = tiers(prefs)
    return np.asarray(~groups.is_open[groups.of_entry])


def positions(prefs: Preferences) -> Floats:
    """Return the position of every entry on its ballot; tied items share their mean position.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    ndarray of float64
        One position per entry; 1 is best.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.Preferences.from_rankings([["a", ["b", "c"], "d"]])
    >>> cc.views.positions(prefs).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    return kernels.tier_positions(prefs.indptr, prefs.tier, True)


def competition_ranks(prefs: Preferences) -> Floats:
    """Return the competition rank of every entry on its ballot: 1 plus the number of items in better tiers.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    ndarray of float64
        One rank per entry; ties share the better rank (1, 2, 2, 4).

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.Preferences.from_rankings([["a", ["b", "c"], "d"]])
    >>> cc.views.competition_ranks(prefs).tolist()
    [1.0, 2.0, 2.0, 4.0]
    """
    return kernels.tier_positions(prefs.indptr, prefs.tier, False)


@dataclass(frozen=True, repr=False)
class Stages(Brief):
    """The choices of a stagewise model: each stage chooses a tier from the items that remain.

    Stage t chooses entries ``start[t]:stop[t]`` from entries ``start[t]:end[t]``.
    """

    start: Int64s
    stop: Int64s
    end: Int64s
    ballot: Int64s


def stages(prefs: Preferences) -> Stages:
    """Return the stages of every ballot; its last tier is not a stage, because no alternative remains.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    Stages
        Bounds and ballot of every stage.
    """
    groups = tiers(prefs)
    end = prefs.indptr[groups.ballot + 1]
    is_choice = groups.ptr[1:] < end
    return Stages(groups.ptr[:-1][is_choice], groups.ptr[1:][is_choice], end[is_choice], groups.ballot[is_choice])


@dataclass(frozen=True, repr=False)
class Pairs(Brief):
    """The pairs that ballots compare: ``better`` and ``worse`` are slots; a pair with ``is_tie`` has no better slot."""

    better: Int64s
    worse: Int64s
    is_tie: Bools
    ballot: Int64s


def pairs(prefs: Preferences, ballots: Int64s | None = None) -> Pairs:
    """Return all pairs that the ballots compare; unmentioned items are ignored.

    The result grows with the square of the length of a ballot.

    Parameters
    ----------
    prefs : Preferences
        The ballots.
    ballots : ndarray of int64, optional
        Indices of the ballots to consider; all ballots if not given.

    Returns
    -------
    Pairs
        Better slot, worse slot, tie and ballot of every pair.

    Examples
    --------
    >>> import concordant as cc
    >>> pairs = cc.views.pairs(cc.Preferences.from_rankings([["a", "b", "c"]]))
    >>> pairs.better.tolist(), pairs.worse.tolist()
    ([0, 0, 1], [1, 2, 2])
    """
    first, second, same = next(pairs_of_entries(prefs, ballots, at_once=np.inf))
    return Pairs(prefs.entry_slot[first], prefs.entry_slot[second], same, ballot_of_entry(prefs)[first])


def pairs_of_entries(
    prefs: Preferences, ballots: AnyArray | None = None, at_once: float = 5e6
) -> Iterator[tuple[Int64s, Int64s, Bools]]:
    """Yield the pairs of entries that the ballots compare, in chunks of ballots.

    Each entry is paired with all later entries of its ballot.

    Parameters
    ----------
    prefs : Preferences
        The ballots.
    ballots : ndarray, optional
        Indices of the ballots to consider; all ballots if not given.
    at_once : float, default 5e6
        Approximate number of pairs per chunk.

    Yields
    ------
    better : ndarray of int64
        Index of the better entry.
    worse : ndarray of int64
        Index of the worse entry.
    is_tie : ndarray of bool
        Whether the two entries are tied.
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
    """Return the weighted wins, losses and ties of every slot over all pairs that the ballots compare, in linear time.

    With ``missing="last"`` or ``"last-free"``, a candidate that a ballot does not mention loses to every item on it.
    This loss is added for all candidates of the instance and subtracted for those on the ballot.

    Parameters
    ----------
    prefs : Preferences
        The ballots.
    missing : {'ignore', 'last', 'last-free'}, default 'ignore'
        Treatment of candidates that a ballot does not mention.

    Returns
    -------
    wins, losses, ties : ndarray of float64
        One value per slot.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.Preferences.from_rankings([["a", "b"], ["a", "b"], ["b", "a"]])
    >>> wins, losses, ties = cc.views.wins_and_losses(prefs)
    >>> wins.tolist(), losses.tolist()
    ([2.0, 1.0], [1.0, 2.0])
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
    """Return the weighted wins minus losses of every slot.

    Parameters
    ----------
    prefs : Preferences
        The ballots.
    missing : {'ignore', 'last', 'last-free'}, default 'ignore'
        Treatment of candidates that a ballot does not mention.

    Returns
    -------
    ndarray of float64
        One value per slot.
    """
    wins, losses, _ = wins_and_losses(prefs, missing)
    return wins - losses


@dataclass(frozen=True, repr=False)
class WinMatrices(Brief):
    """Pairwise counts of every instance, stored row by row, one instance after the other.

    ``matrix(q)`` gives the wins of instance q as a square matrix over its slots: entry (i, j) is the weight of the
    ballots that rank i above j. ``tie_matrix(q)`` gives the weight of the ballots that tie them.
    """

    ptr: Int64s
    size: Int64s
    wins: Floats
    ties: Floats

    def matrix(self, instance: int = 0) -> Floats:
        """Return the wins of one instance.

        Parameters
        ----------
        instance : int, default 0
            Index of the instance.

        Returns
        -------
        ndarray of float64
            Square matrix; row i, column j holds the weight of the ballots that rank i above j.
        """
        size = int(self.size[instance])
        return self.wins[self.ptr[instance] : self.ptr[instance + 1]].reshape(size, size)

    def tie_matrix(self, instance: int = 0) -> Floats:
        """Return the ties of one instance.

        Parameters
        ----------
        instance : int, default 0
            Index of the instance.

        Returns
        -------
        ndarray of float64
            Symmetric matrix of the weights of the ballots that tie two items.
        """
        size = int(self.size[instance])
        return self.ties[self.ptr[instance] : self.ptr[instance + 1]].reshape(size, size)


def win_matrices(prefs: Preferences, missing: str = "ignore") -> WinMatrices:
    """Count, for every pair of candidates of an instance, the weight of the ballots that prefer one to the other.

    Parameters
    ----------
    prefs : Preferences
        The ballots.
    missing : {'auto', 'ignore', 'last', 'last-free'}, default 'ignore'
        Treatment of candidates that a ballot does not mention; ``"auto"`` depends on the form of the data.

    Returns
    -------
    WinMatrices
        Wins and ties of every instance.

    Raises
    ------
    MemoryLimitError
        If the matrices do not fit into memory.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.Preferences.from_rankings([["a", "b"], ["a", "b"], ["b", "a"]])
    >>> cc.views.win_matrices(prefs).matrix()
    array([[0., 2.],
           [1., 0.]])
    """
    check_matrix_size(prefs)
    with progress.stage("counting pairs"):
        ptr, wins, ties = kernels.pair_counts(ballots(prefs), MISSING.index(resolve_missing(prefs, missing)))
    return WinMatrices(ptr, np.diff(prefs.slot_ptr), wins, ties)


def check_matrix_size(prefs: Preferences) -> None:
    """Raise MemoryLimitError if the pairwise matrices of these preferences do not fit into memory.

    Parameters
    ----------
    prefs : Preferences
        The ballots.
    """
    size = np.diff(prefs.slot_ptr)
    memory.require(
        8 * COUNTED * float((size.astype(np.float64) ** 2).sum()),
        f"Counting the pairs of {int(size.max(initial=0)):,} candidates in {len(size):,} instances",
        "use a method without pairwise matrices (borda, rrf), or select fewer items",
    )


def _unranked(prefs: Preferences) -> Int64s:
    """Return the number of candidates of its instance that each ballot does not mention."""
    return np.diff(prefs.slot_ptr)[prefs.instance_of_ballot] - np.diff(prefs.indptr)


def total_weight(prefs: Preferences) -> Floats:
    """Return the total weight of the ballots of each instance.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    ndarray of float64
        One value per instance.
    """
    return sum_by(prefs.instance_of_ballot, prefs.weight, prefs.n_instances)


def ranked_weight(prefs: Preferences) -> Floats:
    """Return the total weight of the ballots that mention each slot.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    ndarray of float64
        One value per slot.
    """
    return sum_by(prefs.entry_slot, weight_of_entry(prefs), prefs.n_slots)


def missing_positions(prefs: Preferences) -> Floats:
    """Return, for each ballot, the mean of the positions after its last item, which unmentioned candidates share.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    ndarray of float64
        One position per ballot.
    """
    sizes = np.diff(prefs.indptr)
    candidates = np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
    return np.asarray((sizes + 1 + candidates) / 2)


class Placed(NamedTuple):
    """Positions of slots on ballots, each with a weight; a negative weight cancels a position that was added before."""

    slot: Int64s
    position: Floats
    weight: Floats


def placed(prefs: Preferences, missing: str = "ignore") -> Placed:
    """Return the position of every entry and, unless ignored, of the candidates that ballots do not mention.

    Every candidate of an instance gets the mean free position of each incomplete ballot (equal positions are
    combined). The same position is then subtracted, with a negative weight, for the candidates on the ballot.

    Parameters
    ----------
    prefs : Preferences
        The ballots.
    missing : {'ignore', 'last', 'last-free'}, default 'ignore'
        Treatment of candidates that a ballot does not mention.

    Returns
    -------
    Placed
        Slot, position and weight of every placement.
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
    """Return the instance of every entry.

    Parameters
    ----------
    prefs : Preferences
        The ballots.

    Returns
    -------
    ndarray of int32
        Index of the instance, one per entry.
    """
    return np.repeat(prefs.instance_of_ballot, np.diff(prefs.indptr))
