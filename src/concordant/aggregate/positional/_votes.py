"""Base class of rules that sum the votes of ballots for single items."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from concordant import views
from concordant.ballots.segments import sum_by
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.ranking import snap
from concordant.types import AnyArray, Bools, Floats


class AddsVotes(Method):
    """The weighted sum of the votes that ballots give an item."""

    @abstractmethod
    def votes(self, prefs: Preferences) -> AnyArray:
        """Return, for every entry, the vote of its ballot for its item."""

    def scores(self, prefs: Preferences) -> Floats:
        """Return the sum of the votes for every slot."""
        score = sum_by(prefs.entry_slot, self.votes(prefs) * views.weight_of_entry(prefs), prefs.n_slots)
        if views.has_whole_weights(prefs):
            return score
        return snap(score, views.instance_of_slot(prefs), views.total_weight(prefs))


def is_within(prefs: Preferences, cutoff: float) -> Bools:
    """Return, for every entry, whether its rating is at least, or its rank at most, ``cutoff``."""
    if prefs.value is not None and prefs.scale == "rating":
        return np.asarray(prefs.value >= cutoff)
    ranks = prefs.value if prefs.value is not None else views.competition_ranks(prefs)
    return np.asarray(ranks <= cutoff) & views.is_named(prefs)
