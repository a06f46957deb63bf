"""Least squares on games: the margins of all pairs of teams as matrices, and the home advantage.

The scores s and the home advantage h minimise

    sum over games of (s_i - s_j + h o - y)²

where y is the margin of i over j, and o is 1 if i was at home, -1 if j was, and 0 at a neutral venue. For given h, the
scores solve a Laplacian system, so two solutions (for the margins and for the home games) give both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import kernels, views
from concordant.aggregate.matrices import Stack
from concordant.aggregate.spectral._least_squares import Explained
from concordant.ballots.segments import pointer
from concordant.errors import NeedError, arg, phrase
from concordant.models.observations.duels import order_of_sides
from concordant.models.observations.margins import margins
from concordant.preferences import Preferences
from concordant.types import Floats, Int32s, Int64s

MARGINS = ("none", "points", "capped", "log")
UNIDENTIFIED = 1e-9  # share of the home games that the scores leave unexplained; below it, no advantage is estimated

Explain = Callable[[Floats, Floats, Int32s], Explained]


@dataclass(frozen=True)
class Games:
    """Games by slot: ``margin`` is that of ``first``; ``home`` is 1 if it was at home, -1 if the other one was."""

    prefs: Preferences
    first: Int64s
    second: Int64s
    instance: Int32s
    weight: Floats
    margin: Floats
    home: Floats
    group: Int32s
    """The group of comparable candidates each slot belongs to."""

    @cached_property
    def compared(self) -> Floats:
        """The weight of the games of every pair, as flat matrices of all instances."""
        return np.asarray(sum(self._summed(self.weight)))

    @cached_property
    def net(self) -> Floats:
        """The summed margins of row over column."""
        up, down = self._summed(self.weight * self.margin)
        return up - down

    @cached_property
    def at_home(self) -> Floats:
        """The home games of row against column, minus those of column against row."""
        up, down = self._summed(self.weight * self.home)
        return up - down

    def by_instance(self, values: Floats) -> Floats:
        """Add up values of games by instance."""
        return np.bincount(self.instance, self.weight * values, self.prefs.n_instances).astype(np.float64)

    def _summed(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the sums of values in the cells (first, second), and in the cells (second, first)."""
        slot_ptr, size = self.prefs.slot_ptr, np.diff(self.prefs.slot_ptr)
        cells = pointer(size**2)
        start, row, column = slot_ptr[self.instance], self.first, self.second
        cell_1 = cells[self.instance] + (row - start) * size[self.instance] + (column - start)
        cell_2 = cells[self.instance] + (column - start) * size[self.instance] + (row - start)
        n_cells = int(cells[-1])
        # Without games, bincount would count in integers.
        up, down = (np.bincount(cell, values, n_cells).astype(np.float64) for cell in (cell_1, cell_2))
        return up, down


def games_of(prefs: Preferences, margin: str, cap: float, order_effect: bool) -> Games:
    """Return the games with known margins; without margins, a win counts 1 and a tie 0."""
    if margin == "none":
        if (np.diff(prefs.indptr) != 2).any():
            raise NeedError(phrase("{} applies to pairs only: leave it out.", arg("order_effect")))
        known_margin = (prefs.tier[0::2] != prefs.tier[1::2]).astype(np.float64)
    else:
        known_margin = _transformed(margins(prefs), margin, cap)
    views.check_matrix_size(prefs)
    shown = order_of_sides(prefs, "Position bias") if order_effect else np.zeros(len(prefs.item), np.int32)
    is_known = ~np.isnan(known_margin)
    slots = prefs.entry_slot.reshape(-1, 2)[is_known]
    linked = kernels.link_slots(
        np.arange(0, 2 * len(slots) + 1, 2, dtype=np.int64), np.ascontiguousarray(slots.reshape(-1)), prefs.n_slots
    )
    return Games(
        *(prefs, slots[:, 0], slots[:, 1], prefs.instance_of_ballot[is_known], prefs.weight[is_known]),
        *(known_margin[is_known], np.sign(shown[1::2] - shown[0::2]).astype(np.float64)[is_known]),
        np.unique(linked, return_inverse=True)[1].reshape(-1).astype(np.int32),
    )


def _transformed(margin: Floats, how: str, cap: float) -> Floats:
    """Return the margins as they are, up to a cap, or their logarithm."""
    if how == "log":
        return np.sign(margin) * np.log1p(np.abs(margin))
    return np.clip(margin, -cap, cap) if how == "capped" else margin


def home_advantage(games: Games, stack: Stack, explain: Explain) -> tuple[Floats, Floats]:
    """Return the home advantage in each instance of a stack, and the information on it (0: not identifiable)."""
    compared, net, at_home = (stack.take(flat) for flat in (games.compared, games.net, games.at_home))
    times = np.maximum(compared, 1.0 * (compared == 0))
    group = games.group[stack.slots]
    of_margins, of_home = (explain(compared, part / times, group).score for part in (net, at_home))
    balance = at_home.sum(axis=2)
    home_games = games.by_instance(np.abs(games.home))[stack.instances]
    left = games.by_instance(games.home * games.margin)[stack.instances] - (balance * of_margins).sum(axis=1)
    information = home_games - (balance * of_home).sum(axis=1)
    information = np.where(information > UNIDENTIFIED * home_games, information, 0.0)
    return np.where(information > 0, left / np.where(information > 0, information, 1.0), 0.0), information


def advantage_error(games: Games, score: Floats, advantage: float, information: float) -> float:
    """Return the standard error of the home advantage in a single instance; 0 if it cannot be estimated."""
    residual = score[games.first] - score[games.second] + advantage * games.home - games.margin
    met = np.bincount(games.group)
    freedom = float(games.weight.sum()) - float((met - 1).sum()) - 1
    if freedom <= 0 or information <= 0:
        return 0.0
    return float(np.sqrt(games.weight @ residual**2 / freedom / information))
