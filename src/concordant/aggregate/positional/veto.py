"""Veto (anti-plurality): the item that the fewest ballots rank last wins.

The items of a ballot's last tier share its last place equally. If the ballot leaves candidates unranked (or in an open
last tier, "the rest"), these share it instead. The score is minus the weight of the last places, so an item that no
ballot ranks last scores 0. Veto ignores everything above the last place: use it to avoid options that many object to.
It gives many ties if there are more candidates than ballots.

Cost: linear in the ballots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant.aggregate.explain.wording import Wording, score_table
from concordant.aggregate.rounds import Papers
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class Veto(Method):
    """Weight of the ballots that rank the item last, shared equally in ties; smallest first."""

    silence = "they share the last place of the ballot"
    waives = {"condorcet_consistency": "it ignores everything above the last place"}
    aliases = {"anti-plurality": {}, "antiplurality": {}}

    def scores(self, prefs: Preferences) -> Floats:
        """Return minus the weight of the last places of every slot."""
        return 0.0 - Papers(prefs).last_places(np.ones(prefs.n_slots, bool))

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the ranking by the number of ballots that rank each candidate last."""
        words, best = Wording(prefs), Wording.best(ranking)
        fewest = words.number(-ranking.score[best][0])
        verb = "is" if best.sum() == 1 else "are each"
        sentence = (
            f"{words.names(best)} {verb} last on {fewest} of {words.number(prefs.weight.sum())} ballots, the fewest."
        )
        last = [words.number(-value) for value in ranking.score]
        return [
            Reason(words.heading(ranking, "veto"), (sentence,)),
            score_table(words, ranking, ["last places"], [last]),
        ]
