"""Pairwise matrices of many instances, stacked by size so that linear algebra runs over all instances at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from concordant import kernels, views
from concordant.aggregate.majorities import level_support
from concordant.models.counts import levels
from concordant.models.notices import OF_MATRICES, Standing, joined, standing_notices
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.segments import pointer
from concordant.types import Floats, Int32s, Int64s

TIE_OF_SOLVED = 1e-9  # scores this close, relative to the largest, are one score
CELLS_AT_ONCE = 20_000_000


@dataclass(frozen=True)
class Stack:
    """Instances of one size m: a row of slots each, for matrices (instances, m, m)."""

    slots: Int64s
    cells: Int64s
    """Where the matrix of each instance starts in flat arrays of all."""

    @property
    def size(self) -> int:
        """How many candidates these instances have."""
        return int(self.slots.shape[1])

    def take(self, flat: Floats) -> Floats:
        """Return the matrices of these instances from those of all, one after the other."""
        m = self.size
        return np.asarray(flat[self.cells[:, None] + np.arange(m * m)]).reshape(-1, m, m)

    def sharing(self, group: Int32s) -> Floats:
        """Return 1 / the size of the group where two candidates share one, else 0: the projector on the groups."""
        own = group[self.slots]
        shared = (own[:, :, None] == own[:, None, :]).astype(np.float64)
        return np.asarray(shared / shared.sum(axis=2)[:, :, None])


def stacks(slot_ptr: Int64s) -> Iterator[Stack]:
    """Go through the instances by size, not too many at once."""
    size = np.diff(slot_ptr)
    cells = pointer(size**2)
    for m in np.unique(size[size > 0]).tolist():
        same = np.flatnonzero(size == m)
        step = max(1, CELLS_AT_ONCE // (m * m))
        for start in range(0, len(same), step):
            some = same[start : start + step]
            yield Stack(slot_ptr[some][:, None] + np.arange(m), cells[some])


@dataclass(frozen=True)
class Comparisons:
    """Flat square matrices of all instances: how much was compared, and by how much row was preferred to column."""

    compared: Floats
    net: Floats
    group: Int32s
    """The group of comparable candidates each slot belongs to."""


def comparisons(prefs: Preferences, counts: str) -> Comparisons:
    """Add up the ballots' preferences over all pairs."""
    found = views.win_matrices(prefs, "ignore")
    compared = times_compared(prefs, found)
    support = found.wins if counts == "binary" else level_support(prefs, levels(prefs, counts))
    net = support - kernels.transpose_matrices(prefs.slot_ptr, support)
    return Comparisons(compared, net, comparable_groups(prefs.slot_ptr, compared))


def times_compared(prefs: Preferences, found: views.WinMatrices) -> Floats:
    """Return how often ballots compare every pair, with whatever result."""
    return np.asarray(found.wins + kernels.transpose_matrices(prefs.slot_ptr, found.wins) + found.ties)


def comparable_groups(slot_ptr: Int64s, compared: Floats) -> Int32s:
    """Return, for every slot, the number of its group: candidates that comparisons join."""
    size = np.diff(slot_ptr)
    cell = np.flatnonzero(compared > 0)
    start = pointer(size**2)
    q = np.searchsorted(start, cell, side="right") - 1
    local = cell - start[q]
    first, second = (slot_ptr[q] + part for part in np.divmod(local, np.maximum(size, 1)[q]))
    return joined(first, second, int(slot_ptr[-1]))[0]


def group_notices(prefs: Preferences, group: Int32s) -> tuple[Notice, ...]:
    """Tell of items nobody compared, and of groups of items that nobody compared with each other."""
    is_compared = np.bincount(group)[group] > 1
    return tuple(standing_notices(prefs, Standing(group, group, is_compared, is_compared), OF_MATRICES))
