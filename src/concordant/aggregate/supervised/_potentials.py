"""Potentials of every candidate by agent: preferences for it, preferences against it, and whether it is unranked.

Agent k prefers i to j by Y_k(i, j), as defined in ``models.observations.preference_counts`` (for example, the
difference of log ranks divided by the log of the largest rank); Y_k(i, j) is 0 if i is not ranked above j. Candidate i
has three potentials for agent k:

    unranked   1 if no list of k contains i
    won        sum over j of Y_k(i, j) / length of the list: the mean strength of preference for i over the others
    lost       minus the same with Y_k(j, i)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from concordant import views
from concordant.ballots.segments import first_of, sum_by
from concordant.models.observations.preference_counts import levels
from concordant.preferences import Preferences
from concordant.types import Floats, Int64s

KINDS = ("unranked", "won", "lost")


class Potentials(NamedTuple):
    """Row r: agent ``agent[r]`` (an index into the known agents) ranks ``slot[r]``.

    The lists of an agent are summed.
    """

    slot: Int64s
    agent: Int64s
    won: Floats
    lost: Floats

    def to_matrix(self, n_slots: int, n_agents: int) -> Floats:
        """Return all potentials as an array (slots x (kind, agent)); kinds in the order of ``KINDS``."""
        table = np.zeros((n_slots, len(KINDS), n_agents))
        table[:, 0] = 1.0
        table[self.slot, 0, self.agent] = 0.0
        table[self.slot, 1, self.agent] = self.won
        table[self.slot, 2, self.agent] = self.lost
        return table.reshape(n_slots, -1)

    def score(self, n_slots: int, weights: Floats) -> Floats:
        """Return the weighted sum of the potentials of every slot; weights are (kinds x agents), in the order of
        ``KINDS``.
        """
        unranked, won, lost = weights
        if_ranked = won[self.agent] * self.won + lost[self.agent] * self.lost - unranked[self.agent]
        return np.asarray(sum_by(self.slot, if_ranked, n_slots) + unranked.sum())


def potentials(prefs: Preferences, counts: str, agents: Sequence[str]) -> Potentials:
    """Return the potentials of these agents; ballots of other agents are ignored."""
    assert prefs.agents is not None
    assert prefs.agent is not None
    number = {label: k for k, label in enumerate(agents)}
    code = np.array([number.get(label, -1) for label in prefs.agents.labels], np.int64)[prefs.agent]
    ballot = views.ballot_of_entry(prefs)
    won, lost = _won_and_lost(prefs, counts)
    factor = (prefs.weight / np.maximum(np.diff(prefs.indptr), 1))[ballot]
    entry_of_known = np.flatnonzero(code[ballot] >= 0)
    key = prefs.entry_slot[entry_of_known] * len(agents) + code[ballot[entry_of_known]]
    pair, row = np.unique(key, return_inverse=True)
    won, lost = (sum_by(row.reshape(-1), (part * factor)[entry_of_known], len(pair)) for part in (won, lost))
    return Potentials(pair // max(len(agents), 1), pair % max(len(agents), 1), won, -lost)


def _won_and_lost(prefs: Preferences, counts: str) -> tuple[Floats, Floats]:
    """Return the total preference for and against every entry within its ballot, from prefix sums."""
    groups = views.tiers(prefs)
    begin, end = (bound[groups.of_entry] for bound in (groups.ptr[:-1], groups.ptr[1:]))
    first, last = first_of(prefs.indptr), np.repeat(prefs.indptr[1:], np.diff(prefs.indptr))
    n_behind, n_before = (last - end).astype(np.float64), (begin - first).astype(np.float64)
    if counts == "binary" or prefs.form == "pairs":
        return n_behind, n_before
    level = levels(prefs, counts)
    if len(level):
        level = level - level[np.minimum(first, len(level) - 1)]  # from 0 down, so that sums lose no digits
    running = np.concatenate([[0.0], np.cumsum(level)])
    won = n_behind * level - (running[last] - running[end])
    lost = (running[begin] - running[first]) - n_before * level
    return np.maximum(won, 0.0), np.maximum(lost, 0.0)
