"""Majority vote: the weight of the ballots for an item minus the weight of those against it.

A ballot votes only on the items it names. Without a ``cutoff`` naming an item is a vote for it: the score counts the
lists an item appears in, the plainest way to merge search results or nominations. With a ``cutoff`` a ballot votes
for ratings of at least the cutoff (or ranks, or places in the ballot, up to it) and against the other items it
names: with yes/no judgements as ratings 1 and 0 and ``cutoff=1`` this is the majority vote of crowdsourcing. Items in
an open last tier ("the rest") are not named. Complete rankings without a cutoff tie everything.

Cost: linear in the ballots. Reference: R. Snow, B. O'Connor, D. Jurafsky and A. Ng, Cheap and fast, but is it good?,
EMNLP 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate._shared import has_whole_weights, is_named, snap
from concordant.aggregate.positional._helpers import is_within
from concordant.gather import sum_by
from concordant.method import Method
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class MajorityVote(Method):
    """Weight of the ballots for the item minus the weight of those against it."""

    silence = "the ballot is neither for nor against them"
    waives = {"condorcet_consistency": "it does not look at the order among the items a ballot votes for"}

    cutoff: float | None = param(
        None, "least rating, or last rank, that is a vote for; none: every item named is voted for"
    )

    def scores(self, prefs: Preferences) -> Floats:
        """Return the votes for minus the votes against every slot."""
        vote = is_named(prefs).astype(np.float64)
        if self.cutoff is not None:
            vote = np.where(is_within(prefs, self.cutoff), vote, -vote)
        vote *= views.weight_of_entry(prefs)
        score = sum_by(prefs.entry_slot, vote, prefs.n_slots)
        if has_whole_weights(prefs):
            return score
        return snap(score, views.instance_of_slot(prefs), views.total_weight(prefs))
