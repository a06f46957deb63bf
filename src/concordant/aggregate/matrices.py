"""Pairwise matrices of many instances, stacked by size so that linear algebra runs over all instances at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from concordant import kernels, views
from concordant.ballots.segments import pointer
from concordant.models.notices import OF_MATRICES, Standing, standing_notices
from concordant.models.observations.preference_counts import levels
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.support import progress
from concordant.types import Floats, Int32s, Int64s

TIE_OF_SOLVED = 1e-9  # scores this close, relative to the largest, are one score
CELLS_AT_ONCE = 20_000_000


@dataclass(frozen=True)
class Stack:
    """Instances with the same number m of candidates: a row of slots each, for matrices (instances, m, m)."""

    slots: Int64s
    cells: Int64s
    """Offset of the matrix of each instance in flat arrays over all instances."""
    instances: Int64s

    @property
    def size(self) -> int:
        """The number of candidates of each instance."""
        return int(self.slots.shape[1])

    def take(self, flat: Floats) -> Floats:
        """Return the matrices of these instances (instances x m x m) from a flat array; a view for a single one."""
        m = self.size
        if len(self.cells) == 1:
            return flat[self.cells[0] : self.cells[0] + m * m].reshape(1, m, m)
        return np.asarray(flat[self.cells[:, None] + np.arange(m * m)]).reshape(-1, m, m)


def sharing(group: Int32s) -> Floats:
    """Return the projector onto groups: 1 / group size if two candidates are in the same group, else 0.

    ``group`` is the group of each candidate of the stacked instances (instances x m).
    """
    shared = (group[:, :, None] == group[:, None, :]).astype(np.float64)
    shared /= shared.sum(axis=2)[:, :, None]
    return np.asarray(shared)


def stacks(slot_ptr: Int64s) -> Iterator[Stack]:
    """Iterate over the instances in stacks of the same size, with at most ``CELLS_AT_ONCE`` cells each."""
    size = np.diff(slot_ptr)
    cells = pointer(size**2)
    with progress.stage("", float(cells[-1])) as report:
        done = 0
        for m in np.unique(size[size > 0]).tolist():
            same = np.flatnonzero(size == m)
            step = max(1, CELLS_AT_ONCE // (m * m))
            for start in range(0, len(same), step):
                chunk = same[start : start + step]
                report("", done)
                done += len(chunk) * m * m
                yield Stack(slot_ptr[chunk][:, None] + np.arange(m), cells[chunk], chunk)


@dataclass(frozen=True)
class Comparisons:
    """Flat square matrices of all instances: the weight of comparisons, and the net preference for row over column."""

    compared: Floats
    net: Floats
    group: Int32s
    """The group of comparable candidates each slot belongs to."""


def comparisons(prefs: Preferences, counts: str) -> Comparisons:
    """Sum the ballots' preferences over all pairs, as flat matrices of all instances."""
    group = comparable_groups(prefs)
    if counts != "binary":
        views.check_matrix_size(prefs)
        return Comparisons(*kernels.pair_preferences(views.ballots(prefs), levels(prefs, counts)), group)
    matrices = views.win_matrices(prefs, "ignore")
    net = matrices.wins - kernels.transpose_matrices(prefs.slot_ptr, matrices.wins)
    return Comparisons(times_compared(prefs, matrices), net, group)


def times_compared(prefs: Preferences, matrices: views.WinMatrices) -> Floats:
    """Return, for every pair, the weight of the ballots that compare it."""
    return np.asarray(matrices.wins + kernels.transpose_matrices(prefs.slot_ptr, matrices.wins) + matrices.ties)


def comparable_groups(prefs: Preferences) -> Int32s:
    """Return the connected component of every slot in the graph of candidates that some ballot compares.

    An open ballot with a single tier compares nothing.
    """
    indptr, slot = prefs.indptr, prefs.entry_slot
    if prefs.open is not None:
        groups, sizes = views.tiers(prefs), np.diff(indptr)
        n_tiers = np.bincount(groups.ballot, minlength=prefs.n_ballots)
        is_silent = prefs.open & (n_tiers < 2)
        slot, indptr = slot[np.repeat(~is_silent, sizes)], pointer(np.where(is_silent, 0, sizes))
    linked = kernels.link_slots(indptr, np.ascontiguousarray(slot), prefs.n_slots)
    return np.unique(linked, return_inverse=True)[1].reshape(-1).astype(np.int32)


def group_notices(prefs: Preferences, group: Int32s) -> tuple[Notice, ...]:
    """Return notices about items without comparisons, and about groups that no ballot compares with each other."""
    is_compared = np.bincount(group)[group] > 1
    return tuple(standing_notices(prefs, Standing(group, group, is_compared, is_compared), OF_MATRICES))
