"""Five features per expert from the rank it gives a document, for linear rankers and trees.

With r the rank that an expert gives a document, in a query with n candidates of which the expert ranks m:

- ``top``: 10 / (10 + r), 0 if unranked; sensitive to the first ranks
- ``log place``: 1 at the top, decreasing with log r to 0 at rank 1,000; 0 if unranked
- ``ahead``: the share of the other candidates ranked below it; unranked ones share the remaining ranks
- ``coverage``: m / n, the same for all documents of the query
- ``unranked``: 1 if the expert does not rank it

The first two depend on the rank in the expert's whole list, the third only on the candidates: trees need both to
distinguish a low-ranked document of a good list from one that all lists rank low. Ranks are the values of the
preferences if those are ranks, else 1 + the number of items in better tiers; of several ballots of an expert in a query
the best rank counts.

Cost: linear in the entries, and five numbers per expert and candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from concordant import views
from concordant.ballots.segments import is_new, pointer
from concordant.errors import InputError
from concordant.features.base import PreferenceFeatures, experts_of
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.types import Floats, Int64s

COLUMNS = ("top", "log place", "ahead", "coverage", "unranked")
NEAR = 10.0  # places after which ``top`` has fallen to a half
DEEPEST = 1000.0  # place at which ``log place`` ends


@dataclass(eq=False)
class PlaceFeatures(PreferenceFeatures):
    """Features of documents from their ranks in the experts' lists."""

    def fit(self, prefs: Preferences, y: object = None) -> Self:
        """Store the experts.

        Parameters
        ----------
        prefs : Preferences
            The training preferences, with agents as experts.
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        self
            The fitted transformer.
        """
        experts_of(prefs, ())
        assert prefs.agents is not None
        self.agents_ = tuple(prefs.agents.labels)
        return self

    def transform(self, prefs: Preferences) -> Floats:
        """Return the features of every slot.

        Parameters
        ----------
        prefs : Preferences
            The preferences.

        Returns
        -------
        array of shape (slots, columns)
            A row per slot (one candidate of one instance), in slot order.
        """
        agents = self._require_fitted()
        memory.require(
            8.0 * prefs.n_slots * len(agents) * len(COLUMNS),
            f"Features of {len(agents):,} experts for {prefs.n_slots:,} candidates",
            "select fewer instances at a time",
        )
        slot, expert, rank = _entries(prefs, experts_of(prefs, agents))
        table = np.zeros((prefs.n_slots, len(agents), len(COLUMNS)))
        instance = views.instance_of_slot(prefs)
        size = np.diff(prefs.slot_ptr)
        list_of = instance[slot] * len(agents) + expert
        named = np.bincount(list_of, minlength=prefs.n_instances * len(agents)).reshape(-1, len(agents))
        others = np.maximum(size - 1, 1)[:, None]
        behind = np.where(named > 0, (size[:, None] - named - 1) / 2 / others, 0.5)
        # columns in the order of COLUMNS; first the values of slots an expert does not name, then those it names
        table[:, :, 2] = behind[instance]
        table[:, :, 3] = (named / np.maximum(size, 1)[:, None])[instance]
        table[:, :, 4] = 1.0
        table[slot, expert, 0] = NEAR / (NEAR + rank)
        table[slot, expert, 1] = np.maximum(1.0 - np.log(rank) / np.log(DEEPEST), 0.0)
        table[slot, expert, 2] = 1.0 - _places_before(list_of, rank) / others[instance[slot], 0]
        table[slot, expert, 4] = 0.0
        return table.reshape(prefs.n_slots, -1)

    def _names(self) -> Sequence[str]:
        return [f"{expert} {column}" for expert in self._require_fitted() for column in COLUMNS]


def _entries(prefs: Preferences, expert_of_ballot: Int64s) -> tuple[Int64s, Int64s, Floats]:
    """Return slot, expert and rank of the entries of known experts: one for each slot and expert, at its best rank."""
    ballot = views.ballot_of_entry(prefs)
    rank = prefs.value if prefs.scale == "rank" and prefs.value is not None else views.competition_ranks(prefs)
    if len(rank) and rank.min() < 1:
        raise InputError(f"The rank {rank.min():g} is below 1: number the ranks from 1.")
    kept = np.flatnonzero((expert_of_ballot[ballot] >= 0) & views.is_named(prefs))
    slot, expert = prefs.entry_slot[kept].astype(np.int64), expert_of_ballot[ballot[kept]]
    order = np.lexsort((rank[kept], slot, expert))
    order = order[is_new(expert[order], slot[order])]
    return slot[order], expert[order], np.asarray(rank[kept[order]], np.float64)


def _places_before(list_of: Int64s, rank: Floats) -> Floats:
    """Return, for every entry, how many entries of its list precede it, counting half of those with the same rank."""
    order = np.lexsort((rank, list_of))
    starts = np.flatnonzero(is_new(list_of[order], rank[order]))
    tie_ptr = pointer(np.diff(starts, append=len(order)))
    tie = np.repeat(np.arange(len(starts)), np.diff(tie_ptr))
    first = np.searchsorted(list_of[order], list_of[order])  # where the list begins
    before = np.empty(len(order))
    before[order] = (tie_ptr[:-1] + tie_ptr[1:] - 1)[tie] / 2 - first
    return before
