"""Majority vote: the weight of the ballots for an item minus the weight of those against it.

A ballot votes only on the items it names. Without a ``cutoff`` every named item gets a vote: the score is the number of
lists that contain the item, the simplest way to merge search results or nominations. With a ``cutoff`` a ballot votes
for ratings of at least the cutoff (or ranks or positions up to it) and against its other items. With yes/no judgements
as ratings 1 and 0 and ``cutoff=1`` this is the majority vote of crowdsourcing. Items in an open last tier ("the rest")
are not named. Without a cutoff, complete rankings tie all items.

Cost: linear in the ballots. Reference: R. Snow, B. O'Connor, D. Jurafsky and A. Ng, Cheap and fast, but is it good?,
EMNLP 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate.positional._votes import AddsVotes, is_within
from concordant.params import param
from concordant.preferences import Preferences
from concordant.types import Floats

CUTOFF = "lowest rating, or last rank, that counts as a yes vote (approval); none: every ranked item gets a yes vote"


@dataclass(frozen=True, kw_only=True)
class MajorityVote(AddsVotes):
    """Weight of the ballots for the item minus the weight of those against it."""

    silence = "the ballot is neither for nor against them"
    waives = {"condorcet_consistency": "it ignores the order among the items a ballot votes for"}

    cutoff: float | None = param(None, CUTOFF)

    def votes(self, prefs: Preferences) -> Floats:
        """Return 1 where a ballot is for its entry, -1 where it is against it."""
        vote = views.is_named(prefs).astype(np.float64)
        return vote if self.cutoff is None else np.where(is_within(prefs, self.cutoff), vote, -vote)
