"""Instant runoff: eliminate the candidate with the fewest first places until one is left.

In every round a ballot counts for the best candidate it names that is still in; tied ones share it equally; a
ballot that names nobody left (or only "the rest" of an open ballot) counts for nobody. Candidates are ranked by the
round they go out in. Of several with the fewest votes, the one goes out that had fewer in the latest earlier round
where they differ, then the one with fewer Borda points; those still equal go out together and stay tied. Warnings
name the candidates of either kind, because another rule for ties may give another order, even another winner. Used in
public elections; it can pass over a Condorcet winner.

Cost: rounds x ballots. Also known as the alternative vote, ranked-choice voting and Hare's rule. Reference: T. Hare,
A treatise on the election of representatives, 1859.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant import kernels, views
from concordant.aggregate.majorities import tie_notice
from concordant.aggregate.positional.borda import borda_levels
from concordant.method import Method, Outcome
from concordant.preferences import Preferences


@dataclass(frozen=True, kw_only=True)
class InstantRunoff(Method):
    """Elimination of the candidate with the fewest first places, round by round."""

    silence = "the ballot counts for nobody once all it names are out"
    waives = {"condorcet_consistency": "a candidate everybody likes second best goes out in the first round"}
    aliases = {"irv": {}, "alternative-vote": {}, "hare": {}}

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the round every slot goes out in, from 0."""
        rounds, tie = kernels.runoff_rounds(views.ballots(prefs), borda_levels(prefs, "last"))
        together = "candidates were equal in all rounds and in Borda points and went out together"
        settled = "candidates had equally few votes; earlier rounds or Borda points decided who went out first"
        return Outcome(
            rounds.astype(np.float64),
            warnings=(
                *tie_notice(prefs, "unbroken-ties", together, tie == 2),
                *tie_notice(prefs, "broken-ties", settled, tie == 1),
            ),
        )
