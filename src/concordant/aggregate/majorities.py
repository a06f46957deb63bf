"""Pairwise majorities of all instances at once, with exact ties; shared by the Condorcet methods.

Row s of the flat matrices compares slot s with every candidate of its instance, so a sum or maximum over opponents is
one ``reduceat``. Integer weights are counted exactly. Sums of fractional weights have rounding errors, so values that
differ by less than 1e-12 of the instance's total weight are made equal before they are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import kernels, views
from concordant.ballots.segments import first_of, max_by, number_inside, segment_index, sum_by
from concordant.errors import ParameterError, arg, phrase
from concordant.models.notices import in_instances, named
from concordant.models.observations.preference_counts import levels
from concordant.preferences import Preferences
from concordant.ranking import Notice, snap
from concordant.types import AnyArray, Bools, Floats, Int64s


@dataclass(frozen=True)
class Majorities:
    """Pairwise support in every instance: the weight of the ballots that prefer row to column."""

    slot_ptr: Int64s
    support: Floats
    total: Floats | None
    """The total weight of each instance if weights are fractional; None if counts are exact."""

    @cached_property
    def opposition(self) -> Floats:
        """The support of column over row."""
        return kernels.transpose_matrices(self.slot_ptr, self.support)

    @cached_property
    def row_start(self) -> Int64s:
        """The index at which the row of every slot starts."""
        size = np.diff(self.slot_ptr)
        lengths = np.repeat(size, size)
        return np.asarray(np.cumsum(lengths) - lengths)

    @cached_property
    def margin(self) -> Floats:
        """Support minus opposition; exactly 0 where the two are equal."""
        margin = self.support - self.opposition
        return margin if self.total is None else np.copysign(self.snap(np.abs(margin)), margin)

    def snap(self, values: Floats) -> Floats:
        """Make values (one per pair) equal if they differ only by rounding; exact counts are unchanged."""
        if self.total is None:
            return values
        instance = np.repeat(np.arange(len(self.total)), np.diff(self.slot_ptr) ** 2)
        return snap(values, instance, self.total)

    def count_rows(self, flags: Bools) -> Floats:
        """Count, for each slot, the opponents for which a flag is set."""
        return np.asarray(np.add.reduceat(flags, self.row_start, dtype=np.int64).astype(np.float64))

    @cached_property
    def duels(self) -> tuple[Floats, Floats]:
        """The number of opponents that each slot beats, and the number that it ties with."""
        if self.total is None:
            return kernels.count_majorities(self.slot_ptr, self.support)
        return self.count_rows(self.margin > 0), self.count_rows(self.margin == 0) - 1


def majorities(prefs: Preferences, missing: str) -> Majorities:
    """Count the pairwise support of all candidates of all instances."""
    wins = views.win_matrices(prefs, missing).wins
    total = None if views.has_whole_weights(prefs) else views.total_weight(prefs)
    return Majorities(prefs.slot_ptr, Majorities(prefs.slot_ptr, wins, total).snap(wins), total)


def weighed_majorities(prefs: Preferences, missing: str, counts: str) -> Majorities:
    """Return majorities that sum the strength of each ballot's preferences (see ``levels``).

    Candidates that a ballot does not rank are ignored.
    """
    if counts == "binary":
        return majorities(prefs, missing)
    if missing not in ("auto", "ignore"):
        both = arg("counts", counts), arg("missing", missing)
        raise ParameterError(phrase("{} does not support {}: use {}.", *both, arg("missing", "ignore")))
    level = levels(prefs, counts)
    support = level_support(prefs, level)
    is_exact = views.has_whole_weights(prefs) and bool((level == np.floor(level)).all())
    total = None
    if not is_exact:
        total = sum_by(views.entry_instances(prefs), np.abs(level) * views.weight_of_entry(prefs), prefs.n_instances)
    return Majorities(prefs.slot_ptr, support, total)


def level_support(prefs: Preferences, level: Floats) -> Floats:
    """Sum the number of levels by which ballots rank row above column: flat m x m matrices of all instances."""
    views.check_matrix_size(prefs)
    return np.asarray(kernels.level_counts(views.ballots(prefs), level))


def strength(majorities: Majorities, kind: str) -> Floats:
    """Return the strength of every majority: its margin or its winning votes, by ``kind``; 0 for pairs without one."""
    return np.where(majorities.margin > 0, majorities.margin if kind == "margins" else majorities.support, 0.0)


def smith_tiers(majorities: Majorities) -> Int64s:
    """Return the tier of every slot: 0 for the Smith set, 1 for the Smith set of the remaining candidates, and so on.

    The top k of the Copeland order beat all others if and only if their points have the largest possible sum: k(k-1)/2
    among themselves and k(m-k) against the others.
    """
    defeats, draws = majorities.duels
    points = defeats + draws / 2
    ptr, size = majorities.slot_ptr, np.diff(majorities.slot_ptr)
    order, _ = kernels.order_segments(points, ptr, 0.0)
    first = first_of(ptr)
    cumulative = np.cumsum(points[order])
    cumulative_before = np.concatenate([[0.0], cumulative])[first]
    k = number_inside(ptr) + 1
    is_end = cumulative - cumulative_before == k * (k - 1) / 2 + k * (np.repeat(size, size) - k)
    n_ended = np.cumsum(is_end) - is_end
    tier = np.empty(len(points), np.int64)
    tier[order] = n_ended - n_ended[first]
    return tier


def tiers_below(majorities: Majorities, is_above: AnyArray) -> Floats:
    """Return the number of tiers of a partial order below every slot; the first tier holds its maximal elements.

    ``is_above`` says for every pair whether row is above column; it is transitive.
    """
    tier, instance = (
        kernels.order_tiers(majorities.slot_ptr, is_above.astype(np.uint8)),
        segment_index(majorities.slot_ptr),
    )
    return np.asarray(max_by(instance, tier, len(majorities.slot_ptr) - 1)[instance] - tier)


def tie_notice(prefs: Preferences, name: str, text: str, is_tied: AnyArray) -> tuple[Notice, ...]:
    """Return a notice that names the tied slots, if there are any."""
    slot = np.flatnonzero(is_tied)
    if not len(slot):
        return ()
    items = tuple(prefs.items.take(np.unique(prefs.slot_item[slot])))
    where = in_instances(prefs, np.unique(views.instance_of_slot(prefs)[slot]))
    return (Notice(name, f"{text}: {named(items)}{where}", items),)
