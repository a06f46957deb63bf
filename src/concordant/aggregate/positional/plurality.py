"""Plurality: the weight of the ballots that rank an item first.

A ballot with several items in its first tier gives each an equal share. A ballot that consists only of an open tier
("the rest") has no first item. Plurality is the simplest rule and the crudest: it ignores everything below the first
place, so similar candidates split the vote.

Cost: linear in the ballots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate.explain.wording import vote_reasons
from concordant.aggregate.positional._votes import AddsVotes
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class Plurality(AddsVotes):
    """Weight of the ballots that rank the item first, shared equally in ties."""

    silence = "they get no share of the first place"
    waives = {"condorcet_consistency": "it ignores everything below the first place"}
    aliases = {"first-past-the-post": {}, "fptp": {}}

    def votes(self, prefs: Preferences) -> Floats:
        """Return, for every entry, its share of the first place of its ballot."""
        groups = views.tiers(prefs)
        is_first = (groups.ptr[:-1] == prefs.indptr[groups.ballot]) & ~groups.is_open
        return np.where(is_first, 1.0 / groups.size, 0.0)[groups.of_entry]

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the ranking by the number of ballots that rank each candidate first."""
        return vote_reasons(prefs, ranking, "plurality", "first on", "first places")
