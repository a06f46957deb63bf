"""Borda points among the continuing candidates, shared by Baldwin's and Nanson's rules.

The *net points* of a candidate are the weight of the ballots that rank it above another continuing candidate minus the
weight of those that rank it below, summed over all others. On complete ballots the Borda count among k candidates is
(net points + ballots x (k - 1)) / 2, so both give the same order. The mean of the net points is always 0, and a
Condorcet winner always has more than 0, whichever candidates continue; therefore these rules elect it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.aggregate.majorities import majorities
from concordant.ballots.segments import number_inside, pointer, segment_index, spans
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.ranking import snap
from concordant.types import Bools, Floats, Int64s


@dataclass(frozen=True, kw_only=True)
class BordaRounds(Method):
    """Base of the rules that recalculate Borda points in every round."""

    matrices = 8
    by_parts = True

    missing: str = options.missing()


class NetPoints:
    """Net points of every continuing slot, over all instances at once.

    From round to round only the margins against the candidates that have left are taken off.
    """

    def __init__(self, prefs: Preferences, missing: str) -> None:
        majority = majorities(prefs, missing)
        size = np.diff(prefs.slot_ptr)
        length = np.repeat(size, size)
        self.margin = majority.margin
        self.opponent: Int64s = np.repeat(np.repeat(prefs.slot_ptr[:-1], size), length) + number_inside(pointer(length))
        self.row = segment_index(pointer(length))
        self.n_slots = prefs.n_slots
        self.instance = views.instance_of_slot(prefs)
        self.scale: Floats = views.total_weight(prefs) * size
        self.is_exact = majority.total is None
        self._left: Bools = np.zeros(prefs.n_slots, bool)
        self._net: Floats = np.zeros(prefs.n_slots)

    def among(self, is_left: Bools) -> Floats:
        """Return the net points of the continuing slots, 0 for the others."""
        if self._left.any() and not (is_left & ~self._left).any():
            row = np.searchsorted(self.row, np.flatnonzero(self._left & ~is_left)[:, None] + [0, 1])
            cells = spans(row[:, 0], row[:, 1])
            # The margin of row over column is minus that of column over row.
            self._net = self._net + np.bincount(self.opponent[cells], self.margin[cells], self.n_slots)
        else:
            kept = is_left[self.opponent] & is_left[self.row]
            self._net = np.bincount(self.row[kept], self.margin[kept], self.n_slots).astype(np.float64)
        self._left = is_left
        net = np.where(is_left, self._net, 0.0)
        return net if self.is_exact else snap(net, self.instance, self.scale)
