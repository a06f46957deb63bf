"""Find equal ballots to merge, compare preferences by content, and find items that are on few ballots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from concordant import kernels
from concordant.ballots.build import number_teams
from concordant.ballots.segments import segment_index, sum_by
from concordant.ballots.subsets import OF_ENTRIES
from concordant.ballots.vocabulary import Vocabulary
from concordant.errors import InputError
from concordant.types import AnyArray, Bools, Int64s

if TYPE_CHECKING:
    from concordant.preferences import Preferences

MAX_COLUMNS = 12  # up to which numbering columns one after the other is faster than sorting rows


def equal_ballots(prefs: Preferences, keep_agents: bool) -> tuple[Int64s, Int64s]:
    """Group equal ballots: (first ballot of each group in input order, group of every ballot).

    Equal means the same instance, agent (if kept), openness, items, tiers, values, shown order, teams, points
    and covariates.
    Ballots of one length are compared as rows of integers: short ones column by column, long ones by one sort.
    """
    sizes = np.diff(prefs.indptr)
    order = _canonical_order(prefs)
    entry_columns = [prefs.item[order].astype(np.int64), dense_tiers(prefs)[order].astype(np.int64)]
    if prefs.value is not None:
        entry_columns.append((prefs.value[order] + 0.0).view(np.int64))
    optional = [_in_order(prefs, name, order) for name in ("shown", "team")]
    entry_columns += [part.astype(np.int64) for part in optional if part is not None]
    if prefs.points is not None:
        entry_columns.append((prefs.points[order] + 0.0).view(np.int64))
    if prefs.covariate is not None:
        entry_columns += list((prefs.covariate[order] + 0.0).T.copy().view(np.int64))
    ballot_columns = [prefs.instance_of_ballot.astype(np.int64)]
    if keep_agents and prefs.agent is not None:
        ballot_columns.append(prefs.agent.astype(np.int64))
    if prefs.open is not None:
        ballot_columns.append(prefs.open.astype(np.int64))
    representative = np.empty(prefs.n_ballots, np.int64)
    for size in np.flatnonzero(np.bincount(sizes)).tolist():
        ballots = np.flatnonzero(sizes == size)
        entries = prefs.indptr[ballots][:, None] + np.arange(size)
        key = np.concatenate(
            [np.stack([head[ballots] for head in ballot_columns], 1), *(column[entries] for column in entry_columns)], 1
        )
        group, first = _grouped(key)
        representative[ballots] = ballots[first][group]
    is_kept = np.zeros(prefs.n_ballots, bool)
    is_kept[representative] = True
    return np.flatnonzero(is_kept), (np.cumsum(is_kept) - 1)[representative]


def _grouped(rows: Int64s) -> tuple[Int64s, Int64s]:
    """Number the groups of equal rows from 0: (group of every row, first row of every group)."""
    if rows.shape[1] > MAX_COLUMNS:
        _, first, group = np.unique(rows_as_scalars(rows), return_index=True, return_inverse=True)
        return group.reshape(-1), first
    codes, first = kernels.encode_ints(np.ascontiguousarray(rows[:, 0]))
    for column in rows.T[1:]:
        code, distinct = kernels.encode_ints(np.ascontiguousarray(column))
        codes, first = kernels.encode_ints(codes.astype(np.int64) * len(distinct) + code)
    return codes.astype(np.int64), first


def same_content(a: Preferences, b: Preferences) -> bool:
    """Return whether two preferences are equal ballot by ballot, independent of the codes of their labels."""
    if (a.n_ballots, len(a.item), a.scale, a.form) != (b.n_ballots, len(b.item), b.scale, b.form):
        return False
    if (a.covariates, a.is_dated, a.time is None) != (b.covariates, b.is_dated, b.time is None):
        return False
    if a.time is not None and not np.array_equal(a.time, b.time):  # type: ignore[arg-type]
        return False
    if not np.array_equal(np.diff(a.indptr), np.diff(b.indptr)) or not np.array_equal(a.weight, b.weight):
        return False
    items = _translate(b.items, a.items)
    instances, agents = _translate(b.instances, a.instances), _translate(b.agents, a.agents)
    if items is None or (instances is None) != (a.instances is None) or (agents is None) != (a.agents is None):
        return False
    for column_a, column_b, code_in_a in ((a.instance, b.instance, instances), (a.agent, b.agent, agents)):
        if column_a is not None and (
            column_b is None or code_in_a is None or not np.array_equal(column_a, code_in_a[column_b])
        ):
            return False
    if not np.array_equal(_is_open(a), _is_open(b)):
        return False
    order_a, order_b = _canonical_order(a), _canonical_order(b, items)
    if not np.array_equal(a.item[order_a], items[b.item[order_b]]):
        return False
    if not np.array_equal(dense_tiers(a)[order_a], dense_tiers(b)[order_b]):
        return False
    for name in OF_ENTRIES:
        column_a, column_b = _in_order(a, name, order_a), _in_order(b, name, order_b)
        if name == "value" and column_a is not None and column_b is not None:
            column_b = _same_classes(a, b, column_b)
        if (column_a is None) != (column_b is None):
            return False
        # Points may be unknown (NaN).
        if column_a is not None and not np.array_equal(column_a, column_b, equal_nan=name == "points"):  # type: ignore[arg-type]
            return False
    # The candidates, including those on no ballot.
    slots_a = set(zip(segment_index(a.slot_ptr).tolist(), a.slot_item.tolist(), strict=True))
    instance_b = segment_index(b.slot_ptr)
    instance_b = instance_b if instances is None else instances[instance_b]
    return slots_a == set(zip(instance_b.tolist(), items[b.slot_item].tolist(), strict=True))


def _same_classes(a: Preferences, b: Preferences, value: AnyArray) -> AnyArray:
    """Return nominal values of b as codes of a's classes (-1 if a does not have the class), other values unchanged."""
    if a.classes is None or b.classes is None:
        return value
    return a.classes.codes(b.classes)[value.astype(np.int64)].astype(np.float64)


def dense_tiers(prefs: Preferences) -> Int64s:
    """Return tiers renumbered 0, 1, 2, … within each ballot, without gaps."""
    tier, indptr = prefs.tier, prefs.indptr
    is_next_tier = np.zeros(len(tier), np.int64)
    is_next_tier[1:] = tier[1:] != tier[:-1]
    starts = indptr[:-1][np.diff(indptr) > 0]
    is_next_tier[starts] = 0
    level = np.cumsum(is_next_tier)
    first_level = np.zeros(prefs.n_ballots, np.int64)
    first_level[np.diff(indptr) > 0] = level[starts]
    return level - np.repeat(first_level, np.diff(indptr))


def _canonical_order(prefs: Preferences, translate: AnyArray | None = None) -> Int64s:
    """Return the order of entries that sorts them by ballot, tier and item (by the translated code, if given)."""
    item = prefs.item if translate is None else translate[prefs.item]
    descents = np.flatnonzero((item[1:] < item[:-1]) & (prefs.tier[1:] == prefs.tier[:-1])) + 1
    is_start = np.zeros(len(item) + 1, bool)
    is_start[prefs.indptr] = True
    if is_start[descents].all():  # tiers rise inside a ballot, and so do the items of every tier
        return np.arange(len(item))
    return np.lexsort((item, prefs.tier, segment_index(prefs.indptr)))


def _in_order(prefs: Preferences, name: str, order: Int64s) -> AnyArray | None:
    """Return a column of entries in another order, or None; teams are renumbered by appearance in that order."""
    column: AnyArray | None = getattr(prefs, name)
    if column is None:
        return None
    return number_teams(prefs.indptr, column[order]) if name == "team" else column[order]


def _is_open(prefs: Preferences) -> AnyArray:
    return np.zeros(prefs.n_ballots, bool) if prefs.open is None else prefs.open


def rows_as_scalars(key: AnyArray) -> AnyArray:
    """Return rows of integers as comparable scalars: one integer (mixed radix) if the ranges fit, else bytes."""
    low = key.min(axis=0)
    spans = [int(s) + 1 for s in (key.max(axis=0) - low).tolist()]
    total = 1
    for span in spans:
        total *= span
    if 0 < total < 2**62:
        folded = np.zeros(len(key), np.int64)
        for column, span in enumerate(spans):
            folded = folded * span + (key[:, column] - low[column])
        return folded
    return np.ascontiguousarray(key).view(np.dtype((np.void, key.shape[1] * 8))).reshape(-1)


def _translate(source: Vocabulary | None, target: Vocabulary | None) -> AnyArray | None:
    """Return the target's code for each source code; None unless both have the same labels."""
    if source is None or target is None or len(source) != len(target):
        return None
    if source is target:
        return np.arange(len(source), dtype=np.int32)
    codes = target.codes(source)
    return None if len(codes) and codes.min() < 0 else codes


def often_named(prefs: Preferences, n: float) -> Bools:
    """Return, for each slot, whether at least ``n`` ballots (by weight) name it; raise an error if no slot is left."""
    weight_of_slot = sum_by(prefs.entry_slot, np.repeat(prefs.weight, np.diff(prefs.indptr)), prefs.n_slots)
    if not (weight_of_slot >= n).any():
        largest = f"{weight_of_slot.max(initial=0.0):g}"
        raise InputError(
            f"No item is on at least {n:g} ballots (the maximum is {largest}): lower the minimum number of ballots."
        )
    return np.asarray(weight_of_slot >= n)
