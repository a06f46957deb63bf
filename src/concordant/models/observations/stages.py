"""Reduce ballots to stages: each stage chooses a tier from the items that remain.

A model of choices uses the ballots sorted by instance. ``Staging`` sets whether unmentioned candidates also remain, and
how ties are treated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import views
from concordant.ballots.segments import pointer, segment_index, spans, sum_by
from concordant.kernels.bundles import StageRows
from concordant.models.observations.completed import with_missing
from concordant.preferences import Preferences
from concordant.support.brief import Brief
from concordant.types import AnyArray, Bytes, Floats, Int32s, Int64s

MIN_LOG_WORTH = -320.0
GOES_ON, CHOSEN, REST = 0, 1, 2
PRIOR_DOC = "strength of the prior (regularisation); auto: by marginal likelihood, 0: maximum likelihood"


@dataclass(frozen=True, repr=False)
class Stages(Brief):
    """Ballots sorted by instance; ``mark`` states what starts at an entry: a chosen tier, the rest, or nothing."""

    slot_ptr: Int64s
    ballot_ptr: Int64s
    indptr: Int64s
    slot: Int32s
    mark: Bytes
    weight: Floats

    @property
    def n_slots(self) -> int:
        """The number of candidates of all instances."""
        return int(self.slot_ptr[-1])

    @property
    def rows(self) -> StageRows:
        """The stages as the bundle that kernels expect."""
        return StageRows(self.indptr, self.slot, self.mark, self.weight)

    @cached_property
    def total(self) -> Floats:
        """The weight of the choices of every instance."""
        chosen = np.concatenate([[0], np.cumsum(self.mark == CHOSEN)])[self.indptr]
        by_ballot = np.concatenate([[0.0], np.cumsum(self.weight * np.diff(chosen))])
        return np.asarray(np.diff(by_ballot[self.ballot_ptr]))

    @cached_property
    def ballot(self) -> Int64s:
        """The ballot of every entry."""
        return segment_index(self.indptr)

    @cached_property
    def has_ties(self) -> bool:
        """Whether some chosen tier has several items."""
        return bool((self.mark[np.flatnonzero(self.mark == GOES_ON) - 1] == CHOSEN).any())

    @cached_property
    def wins(self) -> Floats:
        """The weight of the stages in which each slot is chosen alone."""
        is_alone = self.mark == CHOSEN
        if self.has_ties:
            is_alone[:-1] &= self.mark[1:] != GOES_ON
        chosen = np.flatnonzero(is_alone)
        if (self.weight == 1).all():
            return np.bincount(self.slot[chosen], minlength=int(self.slot_ptr[-1])).astype(np.float64)
        return sum_by(self.slot[chosen], self.weight[self.ballot[chosen]], int(self.slot_ptr[-1]))

    def take(self, ballots: Int64s) -> Stages:
        """Return some of the ballots of a single instance."""
        entries = spans(self.indptr[ballots], self.indptr[ballots + 1])
        indptr, counts = pointer(np.diff(self.indptr)[ballots]), np.array([0, len(ballots)])
        return Stages(self.slot_ptr, counts, indptr, self.slot[entries], self.mark[entries], self.weight[ballots])

    def restrict(self, instances: Int64s) -> tuple[Stages, Int64s]:
        """Return the stages of some instances with slots renumbered, and the slots they had."""
        ballots = spans(self.ballot_ptr[instances], self.ballot_ptr[instances + 1])
        entries = spans(self.indptr[ballots], self.indptr[ballots + 1])
        slots = spans(self.slot_ptr[instances], self.slot_ptr[instances + 1])
        slot_ptr, ballot_ptr = (pointer(np.diff(ptr)[instances]) for ptr in (self.slot_ptr, self.ballot_ptr))
        lengths = np.diff(self.indptr)[ballots]
        shift = np.repeat(np.repeat(self.slot_ptr[instances] - slot_ptr[:-1], np.diff(ballot_ptr)), lengths)
        local = (self.slot[entries] - shift).astype(np.int32)
        return Stages(slot_ptr, ballot_ptr, pointer(lengths), local, self.mark[entries], self.weight[ballots]), slots


@dataclass(frozen=True)
class Staging:
    """Settings for stages: whether unmentioned candidates stay in the denominators, and the treatment of ties."""

    missing: str = "ignore"
    ties: str = "partition"
    seed: int = 0

    def stages(self, prefs: Preferences) -> Stages:
        """Return the stages of all ballots."""
        return stages_of(with_missing(prefs, self.missing), self.ties, self.seed)


def stages_of(prefs: Preferences, ties: str, seed: int = 0) -> Stages:
    """Return the stages of all ballots.

    ``ties``: "partition" keeps tied items together, "shuffle" orders them at random, any other value keeps the given
    order.
    """
    slot = prefs.entry_slot.astype(np.int32)
    starts_tier = np.ones(len(slot), bool)
    starts_tier[1:] = prefs.tier[1:] != prefs.tier[:-1]
    is_filled = np.diff(prefs.indptr) > 0
    starts_tier[prefs.indptr[:-1][is_filled]] = True
    if prefs.open is None and starts_tier.all():  # strict orders: all but the last entry are chosen
        mark = np.full(len(slot), CHOSEN, np.uint8)
        mark[prefs.indptr[1:][is_filled] - 1] = REST
    else:
        groups = views.tiers(prefs)
        if ties == "shuffle":
            slot = slot[_shuffled(prefs, groups, seed)]
        mark = _marks(prefs, groups, keep_ties=ties == "partition")
    return _sorted_by_instance(prefs, slot, mark)


def _marks(prefs: Preferences, groups: views.Tiers, keep_ties: bool) -> Bytes:
    """Return the mark of every entry: CHOSEN or REST where a stage starts, else GOES_ON.

    With ``keep_ties`` a tier is one stage, otherwise every entry is; the last tier, or an open tier, is the rest.
    """
    is_last_tier = groups.ptr[1:] == prefs.indptr[groups.ballot + 1]
    mark = np.zeros(len(prefs.item), np.uint8)
    if keep_ties:
        mark[groups.ptr[:-1]] = np.where(is_last_tier, REST, CHOSEN)
        return mark
    mark[~groups.is_open[groups.of_entry]] = CHOSEN
    mark[groups.ptr[:-1][groups.is_open]] = REST
    mark[(groups.ptr[1:] - 1)[is_last_tier & ~groups.is_open]] = REST
    return mark


def _shuffled(prefs: Preferences, groups: views.Tiers, seed: int) -> Int64s:
    """Return an order of the entries that is random inside tiers.

    The random numbers are hashes of the seed, the number of the ballot in its instance and the number of the candidate
    there, so that the result for an instance does not depend on the other instances.
    """
    first_of_instance = np.concatenate(
        [[0], np.cumsum(np.bincount(prefs.instance_of_ballot, minlength=prefs.n_instances))]
    )
    by_instance = np.argsort(prefs.instance_of_ballot, kind="stable")
    number = np.empty(prefs.n_ballots, np.int64)
    number[by_instance] = np.arange(prefs.n_ballots) - first_of_instance[prefs.instance_of_ballot[by_instance]]
    ballot = views.ballot_of_entry(prefs)
    candidate = prefs.entry_slot - prefs.slot_ptr[prefs.instance_of_ballot[ballot]]
    hashed = np.full(len(ballot), seed, np.uint64)
    for number_of_entry in (number[ballot], candidate):
        hashed = _mix(hashed ^ number_of_entry.astype(np.uint64))
    return np.lexsort((hashed, groups.of_entry))


def _mix(x: AnyArray) -> AnyArray:
    """Scramble 64-bit numbers (the finaliser of splitmix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _sorted_by_instance(prefs: Preferences, slot: Int32s, mark: Bytes) -> Stages:
    """Return the stages with ballots sorted by instance."""
    instance = prefs.instance_of_ballot
    ballot_ptr = np.concatenate([[0], np.cumsum(np.bincount(instance, minlength=prefs.n_instances))])
    indptr, weight = prefs.indptr, prefs.weight
    if prefs.n_instances > 1 and (np.diff(instance) < 0).any():
        order = np.argsort(instance, kind="stable")
        entries = spans(indptr[order], indptr[order + 1])
        slot, mark, weight = slot[entries], mark[entries], weight[order]
        indptr = np.concatenate([[0], np.cumsum(np.diff(indptr)[order])])
    return Stages(prefs.slot_ptr, ballot_ptr, indptr, slot, mark, weight)


def worths(score: Floats) -> Floats:
    """Return exp(score - largest score), at least exp(-320)."""
    return np.asarray(np.exp(np.maximum(score - score.max(initial=-np.inf), MIN_LOG_WORTH)))
