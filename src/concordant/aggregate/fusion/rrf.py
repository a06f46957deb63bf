"""Reciprocal rank fusion: sum over the ballots of 1 / (k + rank).

The rank is the position an engine gave (its raw rank when the data has one, else 1 plus the number of items in
better tiers). Lists that do not contain an item, or only in an open last tier ("the rest"), contribute nothing, so it
needs no convention for missing items and no comparable scores: the standard way to merge search results. A larger k
flattens the weight of the top.

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

    apart = True
    silence = "the list adds nothing to their score"
    waives = {"condorcet_consistency": "the top of a list counts for more than a majority further down"}

    k: float = param(60.0, "rank constant; larger values give lower ranks more weight", low=0.0)

    def scores(self, prefs: Preferences) -> Floats:
        """Return the fused score of every slot."""
        return sum_by(prefs.entry_slot, self._gains(prefs), prefs.n_slots)

    def _gains(self, prefs: Preferences) -> Floats:
        """Return what every entry adds to the score of its slot."""
        gain = reciprocal_ranks(prefs, self.k, self.name)
        if not prefs.has_unit_weights:
            gain *= views.weight_of_entry(prefs)
        if prefs.open is not None:
            gain[~views.is_named(prefs)] = 0.0
        return gain

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """List how much each list gives to each of the first items."""
        from concordant.aggregate.fusion._shares import shares_reason
        from concordant.narrative.sentences import Scene

        ballot, slot = views.ballot_of_entry(prefs), prefs.entry_slot
        sentences = [f"A list gives an item 1 / ({self.k:g} + its rank there), and nothing where it does not name it."]
        return [shares_reason(Scene(prefs, ranking), ballot, slot, self._gains(prefs), sentences)]

    def fuse(self, lists: list[Any], weight: Floats) -> Ranking | None:
        """Fuse the result lists of one query in one call of a kernel; None unless all are plain lists of labels."""
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
            f"{name} divides by k + rank, and with "
            + arg("k", shown=f"{k:g}")
            + f" the rank {ranks.min():g} makes that {k + ranks.min():g}: give a larger k, or ranks that start at 1."
        )
    gain = k + ranks
    np.divide(1.0, gain, out=gain)
    return gain
