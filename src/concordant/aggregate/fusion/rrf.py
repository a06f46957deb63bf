"""Reciprocal rank fusion: the sum of 1 / (k + rank) over the lists.

The rank is that of the data if it has ranks, otherwise 1 plus the number of items in better tiers. Lists that do not
contain an item, or only in an open last tier ("the rest"), contribute nothing, so the method needs no convention for
missing items and no comparable scores. It is the standard way to merge search results. A larger k reduces the weight of
the top ranks.

Cost: linear in the entries. Reference: Cormack, Clarke and Büttcher, SIGIR 2009.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from concordant import kernels, views
from concordant.ballots.segments import sum_by
from concordant.errors import InputError, arg
from concordant.method import Method
from concordant.params import param, values_of
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class RRF(Method):
    """Sum of 1 / (k + rank) over the lists that contain the item."""

    usual_name = "Reciprocal rank fusion"
    apart = True
    silence = "the list does not contribute to their score"
    waives = {"condorcet_consistency": "a high rank on one list can outweigh a majority at lower ranks"}

    k: float = param(60.0, "rank constant; larger values give lower ranks more weight", low=0.0)

    def scores(self, prefs: Preferences) -> Floats:
        """Return the fused score of every slot."""
        return sum_by(prefs.entry_slot, self._gains(prefs), prefs.n_slots)

    def _gains(self, prefs: Preferences) -> Floats:
        """Return the contribution of every entry to the score of its slot."""
        gain = reciprocal_ranks(prefs, self.k, self.name)
        if not prefs.has_unit_weights:
            gain *= views.weight_of_entry(prefs)
        if prefs.open is not None:
            gain[~views.is_named(prefs)] = 0.0
        return gain

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """List the contribution of each list to each of the top items."""
        from concordant.aggregate.fusion._shares import shares_reason
        from concordant.narrative.sentences import Scene

        ballot, slot = views.ballot_of_entry(prefs), prefs.entry_slot
        sentences = [f"A list contributes 1 / ({self.k:g} + rank) to each of its items."]
        return [shares_reason(Scene(prefs, ranking), ballot, slot, self._gains(prefs), sentences)]

    def fuse(self, lists: list[Any], weight: Floats) -> Ranking | None:
        """Fuse the result lists of one query in a single kernel call; None unless all are plain lists of labels."""
        start = time.perf_counter()
        labels, score, fine = kernels.fuse_lists(lists, weight, self.k)
        if not fine or not labels:
            return None
        return Ranking.of_scores(labels, score, self.name, values_of(self), time.perf_counter() - start)


def reciprocal_ranks(prefs: Preferences, k: float, name: str) -> Floats:
    """Return 1 / (k + rank) of every entry, for the method of this name."""
    ranks = prefs.value if prefs.scale == "rank" else None
    if ranks is None:
        ranks = views.competition_ranks(prefs)
    elif len(ranks) and k + ranks.min() <= 0:
        raise InputError(
            f"{name} divides by k + rank, which must be positive, but with "
            + arg("k", shown=f"{k:g}")
            + f" and rank {ranks.min():g} it is {k + ranks.min():g}: give a larger k, or ranks that start at 1."
        )
    gain = k + ranks
    np.divide(1.0, gain, out=gain)
    return gain
