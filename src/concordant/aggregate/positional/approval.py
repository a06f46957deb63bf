"""Approval: the weight of the ballots that approve of an item.

Without a ``cutoff`` a ballot approves of everything above its last tier: a and b on the two-tier ballot {a, b} > {c,
d}, all but the last item of a ranking. A ballot with a single tier approves of all items it names (unless that tier is
open, "the rest").

With a ``cutoff`` a ballot approves of ratings of at least the cutoff, or of ranks up to the cutoff. Ballots without
values use positions (1 plus the number of items in better tiers). Candidates that a ballot does not mention are not
approved. Use it for yes/no ballots and to elect several winners.

Cost: linear in the ballots. Reference: S. J. Brams and P. C. Fishburn, Approval voting, 1978.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate.explain.wording import vote_reasons
from concordant.aggregate.positional._votes import AddsVotes, is_within
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Bools


@dataclass(frozen=True, kw_only=True)
class Approval(AddsVotes):
    """Weight of the ballots that approve of the item."""

    usual_name = "Approval voting"
    silence = "they are not approved"
    unmentioned = "last"
    waives = {"condorcet_consistency": "it ignores the order among approved items"}

    cutoff: float | None = param(
        None, "lowest approved rating, or last approved rank; none: all items above the ballot's last tier are approved"
    )

    def votes(self, prefs: Preferences) -> Bools:
        """Return, for every entry, whether its ballot approves of it."""
        if self.cutoff is not None:
            return is_within(prefs, self.cutoff)
        groups = views.tiers(prefs)
        is_first = groups.ptr[:-1] == prefs.indptr[groups.ballot]
        is_last = groups.ptr[1:] == prefs.indptr[groups.ballot + 1]
        is_approved = ~is_last | (is_first & is_last & ~groups.is_open)
        return np.asarray(is_approved[groups.of_entry])

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the ranking by the number of ballots that approve of each candidate."""
        return vote_reasons(prefs, ranking, "approval", "approved on", "approvals")
