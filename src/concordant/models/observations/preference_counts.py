"""Sufficient statistics of the multinomial preference models.

With equal variances the likelihood needs only each ballot's net wins per item and its total count, both linear in the
ballot's length; pairs are counted only if variances differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import kernels, views
from concordant.ballots.segments import sum_by
from concordant.errors import InputError, arg
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.support.brief import Brief
from concordant.types import Bools, Bytes, Floats, Int32s, Int64s

COUNTS = ("difference", "scaled-difference", "binary", "log")


def levels(prefs: Preferences, counts: str) -> Floats:
    """Return the level of every entry (higher is better); the difference of two levels is the strength of the
    preference.

    ``difference`` uses ratings or ranks unchanged, ``log`` uses the logarithm of ranks; ``log`` and
    ``scaled-difference`` divide by the largest level of the ballot. For ``binary`` only the order of levels matters.
    """
    if counts == "log":
        rank = prefs.value if prefs.value is not None and prefs.scale == "rank" else views.positions(prefs)
        if len(rank) and rank.min() <= 0:
            raise InputError(
                f"The rank {rank.min():g} has no logarithm: number the ranks from 1, or use "
                + arg("counts", "difference")
                + "."
            )
        level = -np.log(rank)
        return level / np.repeat(_largest(prefs, level), np.diff(prefs.indptr))
    if prefs.value is None:
        level = -views.positions(prefs)
    else:
        level = prefs.value if prefs.scale == "rating" else -prefs.value
    if counts == "scaled-difference":
        return level / np.repeat(_largest(prefs, level), np.diff(prefs.indptr))
    return level


def _divisible(level: Floats) -> Floats:
    """Return the levels, divided by the largest if they are so small that quotients overflow: only ratios matter."""
    largest = float(np.abs(level).max(initial=0.0))
    return level if not 0 < largest < 1e-100 else level / largest


def _largest(prefs: Preferences, level: Floats) -> Floats:
    """Return the largest absolute level of each ballot, 1 if all are 0."""
    sizes = np.diff(prefs.indptr)
    largest = np.ones(len(sizes))
    if len(level):
        largest[sizes > 0] = np.maximum.reduceat(np.abs(level), prefs.indptr[:-1][sizes > 0])
    return np.where(largest > 0, largest, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Brief):
    """The distinct adherences of every instance: instance q owns groups ptr[q]:ptr[q + 1]."""

    ptr: Int64s
    theta: Floats
    share: Floats
    """The group's share of the instance's total count."""
    of_ballot: Int64s
    """The group of each ballot, -1 for a ballot without preferences."""


@dataclass(frozen=True, eq=False, repr=False)
class Corpus(Brief):
    """Preferences with their counts: net wins per entry, total per ballot, and whether entries win or lose a pair."""

    prefs: Preferences
    level: Floats
    is_binary: bool
    net: Floats
    total: Floats
    role: Bytes

    @cached_property
    def weighted_total(self) -> Floats:
        """The total count of every ballot, times its weight."""
        return self.prefs.weight * self.total

    @cached_property
    def total_by_instance(self) -> Floats:
        """The total count of every instance, 0 without preferences."""
        return sum_by(self.prefs.instance_of_ballot, self.weighted_total, self.prefs.n_instances)

    @cached_property
    def divisor(self) -> Floats:
        """The total count of every instance, 1 if it is 0."""
        return np.where(self.total_by_instance > 0, self.total_by_instance, 1.0)

    @cached_property
    def instance_of_slot(self) -> Int64s:
        """The instance of every slot."""
        return views.instance_of_slot(self.prefs)

    def net_wins(self, theta: Floats) -> Floats:
        """Return the net wins of every slot per unit of its instance's count; ``theta`` is the adherence of every
        ballot.
        """
        prefs = self.prefs
        factor = prefs.weight * theta / self.divisor[prefs.instance_of_ballot]
        by_entry = self.net * np.repeat(factor, np.diff(prefs.indptr))
        return sum_by(prefs.entry_slot, by_entry, prefs.n_slots)

    def net_pairs(self, theta: Floats) -> tuple[Int64s, Floats]:
        """Return the net preference of every pair of slots per unit count: (ptr by instance, net by pair i < j)."""
        prefs = self.prefs
        size = np.diff(prefs.slot_ptr).astype(np.float64)
        needed = float((size * (size - 1) / 2).sum())
        memory.require(
            32 * needed,
            f"Learning the variances of {int(size.max()):,} items from {needed:,.0f} pairs",
            "use " + arg("variances", "equal") + ", or select fewer items",
        )
        factor = prefs.weight * theta / self.divisor[prefs.instance_of_ballot]
        return kernels.net_pairs(views.ballots(prefs)._replace(weight=factor), self.level, self.is_binary)

    def gains(self, score: Floats, variance: Floats | None) -> Floats:
        """Return, per ballot, the sum of count * x over its preferences (without ballot weight and adherence)."""
        prefs = self.prefs
        if variance is None:
            return sum_by(views.ballot_of_entry(prefs), self.net * score[prefs.entry_slot], prefs.n_ballots)
        return kernels.ballot_gains(prefs.indptr, prefs.entry_slot, self.level, score, variance, self.is_binary)

    def groups(self, theta: Floats) -> Groups:
        """Group the ballots of an instance that have the same adherence ``theta``."""
        instance = self.prefs.instance_of_ballot
        counted = np.flatnonzero(self.weighted_total > 0)
        values, code = np.unique(theta[counted], return_inverse=True)
        key, group_of_counted = np.unique(instance[counted] * np.int64(len(values)) + code, return_inverse=True)
        of_ballot = np.full(len(instance), -1, np.int64)
        of_ballot[counted] = group_of_counted
        instance_of_group = key // max(len(values), 1)
        share = sum_by(group_of_counted, self.weighted_total[counted], len(key)) / self.divisor[instance_of_group]
        ptr = np.searchsorted(instance_of_group, np.arange(self.prefs.n_instances + 1)).astype(np.int64)
        return Groups(ptr, values[key % max(len(values), 1)], share, of_ballot)

    @cached_property
    def is_compared(self) -> Bools:
        """Whether some ballot prefers the slot to another slot, or another slot to it."""
        return self._plays(3)

    @cached_property
    def is_separated(self) -> Bools:
        """Whether no item of an instance both wins and loses: then the likelihood has no finite maximum.

        Along a direction u the log-likelihood increases without bound unless some preference has a difference below the
        full range of u. So there is no maximum if and only if all preferences are for items of one set over items of
        another.
        """
        mixed = np.bincount(self.instance_of_slot[self._plays(1) & self._plays(2)], minlength=self.prefs.n_instances)
        return np.asarray((mixed == 0) & (self.total_by_instance > 0))

    def _plays(self, roles: int) -> Bools:
        """Return whether each slot has one of these roles in some ballot (bits: 1 wins, 2 loses)."""
        has_role = np.zeros(self.prefs.n_slots, bool)
        has_role[self.prefs.entry_slot[(self.role & roles) > 0]] = True
        return has_role

    @cached_property
    def component(self) -> Int64s:
        """The smallest slot that each slot is connected to by common ballots."""
        return kernels.link_slots(self.prefs.indptr, self.prefs.entry_slot, self.prefs.n_slots)

    @cached_property
    def is_divided(self) -> Bools:
        """Whether the compared slots of an instance fall into groups that no ballot links."""
        roots = np.unique(self.component[self.is_compared])
        return np.asarray(np.bincount(self.instance_of_slot[roots], minlength=self.prefs.n_instances) > 1)


def count(prefs: Preferences, counts: str) -> Corpus:
    """Count the preferences of every ballot.

    Equal ratings or ranks give no preference; only in a comparison of two items is a tie half a win for each.
    """
    level = _divisible(levels(prefs, counts))
    draws = prefs.form == "pairs" and prefs.value is None and (prefs.open is None or not prefs.open.any())
    net, total, role = kernels.preference_counts(prefs.indptr, level, draws, counts == "binary")
    return Corpus(prefs, level, counts == "binary", net, total, role)


def agent_of_ballot(prefs: Preferences) -> Int32s:
    """Return the agent of every ballot; if agents are unknown, each ballot is its own agent."""
    return np.arange(prefs.n_ballots, dtype=np.int32) if prefs.agent is None else prefs.agent
