"""Contestants of comparisons that are not plain items: a team of items, or an item with covariates.

The strength of a contestant is linear in the parameters,

    strength = sum (or mean) of the scores of its items + covariates · coefficients,

so every model of comparisons or choices handles teams and covariates in the same way: it is fitted to contestants, and
``Design`` maps parameters to strengths and derivatives back. The contestants are the items of separate preferences,
whose comparisons and stages are counted as usual.

Only differences within a ballot matter. Covariates are centred within their ballot and divided by their standard
deviation within ballots (with n - 1 in the denominator; for two answers this is their difference over the square root
of two). A constant added to all scores must not change the likelihood: if teams of different sizes meet and scores are
summed, the strength of an average item is the additional coefficient ``team size``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from concordant.ballots.merging import equal_ballots
from concordant.ballots.segments import is_new, pointer, segment_index, spans, sum_by
from concordant.ballots.vocabulary import Vocabulary
from concordant.errors import InputError
from concordant.preferences import Preferences
from concordant.support.brief import Brief
from concordant.types import AnyArray, Bools, Floats, Int64s

TEAM_STRENGTHS = ("sum", "mean")
TEAM_SIZE = "team size"
HASHES = 2  # random numbers per contestant whose sums tell players apart


@dataclass(frozen=True, eq=False, repr=False)
class Design(Brief):
    """The linear map from scores (by slot) and coefficients to the strengths of contestants.

    Contestants of instance q are ptr[q]:ptr[q + 1]; contestant c has the members member_ptr[c]:member_ptr[c + 1], each
    counted ``share`` times, and the row ``x[c]`` of covariates in standard units.
    """

    slot_ptr: Int64s
    ptr: Int64s
    member_ptr: Int64s
    member: Int64s
    share: Floats
    x: Floats
    names: tuple[str, ...] = ()
    spread: Floats = field(default_factory=lambda: np.empty(0))
    """The standard deviation of every covariate in its original unit; 0 if it never differs."""

    @property
    def n_slots(self) -> int:
        """The number of candidates of all instances."""
        return int(self.slot_ptr[-1])

    @property
    def n_coefficients(self) -> int:
        """The number of covariates."""
        return len(self.names)

    @cached_property
    def is_single(self) -> bool:
        """Whether every contestant is one item."""
        return len(self.member) == len(self.member_ptr) - 1

    @property
    def is_level(self) -> bool:
        """Whether a constant added to all scores changes no difference; otherwise ``team size`` is a covariate."""
        return TEAM_SIZE not in self.names

    @cached_property
    def _contestant(self) -> Int64s:
        """The contestant of every member."""
        return segment_index(self.member_ptr)

    def up(self, scores: Floats) -> Floats:
        """Return the sum of the members' scores times their shares, by contestant; scores are a vector or columns."""
        if self.is_single:
            return np.asarray(scores[self.member])
        by_member = scores[self.member] * (self.share if scores.ndim == 1 else self.share[:, None])
        return np.asarray(np.add.reduceat(by_member, self.member_ptr[:-1], axis=0)) if len(by_member) else by_member

    def down(self, values: Floats) -> Floats:
        """Return, by slot, the sum over the contestants it is a member of (the transposed map), a vector or columns."""
        if values.ndim == 2:
            columns = [self.down(column) for column in values.T]
            return np.stack(columns, 1) if columns else np.zeros((self.n_slots, 0))
        if self.is_single:
            return sum_by(self.member, values, self.n_slots)
        return sum_by(self.member, values[self._contestant] * self.share, self.n_slots)

    def down_squared(self, values: Floats) -> Floats:
        """Return, by slot, the sum over its contestants of value * share²."""
        if self.is_single:
            return self.down(values)
        return sum_by(self.member, values[self._contestant] * self.share**2, self.n_slots)

    def columns(self, first: int, last: int) -> Floats:
        """Return columns first:last of the map from scores to contestants as a dense array."""
        out = np.zeros((len(self.member_ptr) - 1, last - first))
        is_inside = (self.member >= first) & (self.member < last)
        out[self._contestant[is_inside], self.member[is_inside] - first] = self.share[is_inside]
        return out

    def strengths(self, scores: Floats, coefficients: Floats) -> Floats:
        """Return the strength of every contestant; coefficients are in standard units, a row per instance or one."""
        if coefficients.ndim == 1:
            return np.asarray(self.up(scores) + self.x @ coefficients)
        return np.asarray(self.up(scores) + (self.x * coefficients[segment_index(self.ptr)]).sum(axis=1))

    def members(self, contestants: AnyArray) -> tuple[Int64s, Int64s, Floats]:
        """Return the slot, the index in ``contestants`` and the share of every member of these contestants."""
        first, last = self.member_ptr[contestants], self.member_ptr[np.asarray(contestants) + 1]
        members = spans(first, last)
        return self.member[members], np.repeat(np.arange(len(first)), last - first), self.share[members]

    def restrict(self, instances: Int64s) -> Self:
        """Return the map for some instances, with slots and contestants renumbered."""
        slot_ptr, ptr = (pointer(np.diff(whole)[instances]) for whole in (self.slot_ptr, self.ptr))
        contestants = spans(self.ptr[instances], self.ptr[instances + 1])
        member_ptr = pointer(np.diff(self.member_ptr)[contestants])
        members = spans(self.member_ptr[contestants], self.member_ptr[contestants + 1])
        instance = np.repeat(np.arange(len(instances)), np.diff(ptr))[segment_index(member_ptr)]
        shift = (self.slot_ptr[instances] - slot_ptr[:-1])[instance]
        return replace(
            self,
            slot_ptr=slot_ptr,
            ptr=ptr,
            member_ptr=member_ptr,
            member=self.member[members] - shift,
            share=self.share[members],
            x=self.x[contestants],
        )

    @cached_property
    def inseparable(self) -> Bools:
        """By slot: whether another item was in exactly the same teams, so that the data cannot distinguish the two.

        Items are matched by a hash: the sum of random numbers over their teams.
        """
        if self.is_single:
            return np.zeros(self.n_slots, bool)
        number = np.random.default_rng(0).integers(1, 2**52, (len(self.member_ptr) - 1, HASHES))
        sums = np.zeros((self.n_slots, HASHES), np.int64)
        np.add.at(sums, self.member, number[self._contestant])
        _, group = np.unique(sums, axis=0, return_inverse=True)
        return np.asarray((np.bincount(group.reshape(-1))[group.reshape(-1)] > 1) & sums.any(axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class Contest(Brief):
    """Preferences whose items are contestants, and the design that gives their strengths."""

    prefs: Preferences
    design: Design


def contest_of(prefs: Preferences, team_strength: str = "sum", style_control: bool = True) -> Contest | None:
    """Return the contestants of preferences with teams or covariates; None if every contestant is a plain item.

    The covariates of a team are the sums of its members' covariates weighted by share, standardised within ballots;
    teams of different sizes get the covariate ``team size``.
    """
    has_covariates = style_control and prefs.covariate is not None and len(prefs.covariates) > 0
    has_teams = prefs.team is not None and _has_teams(prefs)
    if not (has_covariates or has_teams):
        return None
    units = _units(prefs) if has_teams else _single_units(prefs)
    share = np.ones(len(units.member))
    size = np.diff(units.member_ptr)
    if has_teams and team_strength == "mean":
        share = np.repeat(1 / size, size)
    columns, names = [], prefs.covariates if has_covariates else ()
    if has_covariates:
        assert prefs.covariate is not None
        by_member = prefs.covariate[units.entry]
        columns.append(
            by_member if not has_teams else np.add.reduceat(by_member * share[:, None], units.member_ptr[:-1])
        )
    if has_teams and team_strength == "sum" and _differs_inside(size, units.indptr):
        if TEAM_SIZE in names:
            raise InputError(f"A covariate is called {TEAM_SIZE!r}, a name reserved for the size of teams: rename it.")
        columns.append(size[:, None].astype(np.float64))
        names = (*names, TEAM_SIZE)
    x = np.concatenate(columns, axis=1) if columns else np.zeros((len(size), 0))
    x, spread = _standardised(x, units.indptr, prefs.weight)
    kept = code = np.arange(len(size))
    if not names:  # equal teams are one contestant, so that their games are counted together
        kept, code = equal_ballots(_as_ballots(prefs, units), False)
    contest_prefs = _over(prefs, units, code, len(kept), has_teams)
    chosen = kept[contest_prefs.slot_item]
    members = spans(units.member_ptr[chosen], units.member_ptr[chosen + 1])
    design = Design(
        prefs.slot_ptr,
        contest_prefs.slot_ptr,
        pointer(size[chosen]),
        units.member[members],
        share[members],
        np.ascontiguousarray(x[chosen]),
        names,
        spread,
    )
    return Contest(contest_prefs, design)


# ---- the units of ballots ----
@dataclass(frozen=True)
class _Units:
    """Items or teams: ballot b has the units indptr[b]:indptr[b + 1], each with its first entry and members."""

    indptr: Int64s
    first: Int64s
    member_ptr: Int64s
    entry: Int64s
    member: Int64s


def _has_teams(prefs: Preferences) -> bool:
    """Return whether some team has more than one member."""
    assert prefs.team is not None
    ballot = segment_index(prefs.indptr)
    order = np.lexsort((prefs.team, ballot))
    return not is_new(ballot[order], prefs.team[order]).all()


def _single_units(prefs: Preferences) -> _Units:
    """Return a unit per entry, with the entry's item as its only member."""
    entry = np.arange(len(prefs.item))
    return _Units(prefs.indptr, entry, np.arange(len(entry) + 1), entry, prefs.entry_slot)


def _units(prefs: Preferences) -> _Units:
    """Return the teams of every ballot as units, in the order of tiers."""
    assert prefs.team is not None
    ballot = segment_index(prefs.indptr)
    entry = np.lexsort((prefs.entry_slot, prefs.team, prefs.tier, ballot))
    starts = np.flatnonzero(is_new(ballot[entry], prefs.team[entry]))
    indptr = pointer(np.bincount(ballot[entry][starts], minlength=prefs.n_ballots))
    return _Units(indptr, entry[starts], np.append(starts, len(entry)), entry, prefs.entry_slot[entry])


def _differs_inside(size: Int64s, indptr: Int64s) -> bool:
    """Return whether some ballot has units of different sizes."""
    starts = is_new(segment_index(indptr))
    return bool((is_new(size) & ~starts).any())


def _standardised(x: Floats, indptr: Int64s, weight: Floats) -> tuple[Floats, Floats]:
    """Return columns centred within ballots and divided by their standard deviation there, and these deviations."""
    size = np.diff(indptr)
    ballot = segment_index(indptr)
    centred = x.copy()
    for column in centred.T:
        column -= (sum_by(ballot, column, len(size)) / np.maximum(size, 1))[ballot]
    squares = weight[ballot] @ centred**2
    spread = np.sqrt(squares / max(float(weight @ np.maximum(size - 1, 0)), 1e-300))
    spread[spread <= 1e-12 * np.abs(x).max(axis=0, initial=0.0)] = 0.0  # rounding of means
    return np.where(spread > 0, centred / np.where(spread > 0, spread, 1.0), 0.0), spread


def _as_ballots(prefs: Preferences, units: _Units) -> Preferences:
    """Return one ballot per unit, listing its members, so that equal units are found as equal ballots."""
    instance = None if prefs.instance is None else prefs.instance[segment_index(units.indptr)]
    item = prefs.item[units.entry]
    return Preferences.unchecked(
        prefs.items, units.member_ptr, item, np.zeros(len(item), np.int32), instance=instance, instances=prefs.instances
    )


def _over(prefs: Preferences, units: _Units, code: Int64s, n: int, has_teams: bool) -> Preferences:
    """Return the ballots over n contestants; ``code`` is the contestant of every unit."""
    # Members of a team may have values of their own, which say nothing of the team.
    value, scale = (None, None) if has_teams else (prefs.value, prefs.scale)
    return Preferences(
        Vocabulary.lazy(n, lambda: [str(k) for k in range(n)]),
        units.indptr,
        code,
        prefs.tier[units.first],
        weight=None if prefs.has_unit_weights else prefs.weight,
        agents=prefs.agents,
        agent=prefs.agent,
        instances=prefs.instances,
        instance=prefs.instance,
        open=prefs.open,
        shown=None if prefs.shown is None else prefs.shown[units.first],
        form="pairs" if (np.diff(units.indptr) == 2).all() else None,
        value=value,
        scale=scale,
    )
