"""Veto (anti-plurality): the fewest ballots that put an item last.

A ballot's last place goes to the items of its last tier in equal shares; where it leaves candidates unnamed (or in an
open last tier, "the rest"), to those. The score is minus the weight of the last places, so 0 is an item nobody puts
last. All but the last place is thrown away: a rule to avoid what many object to, with many ties where there are more
candidates than ballots.

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
    waives = {"condorcet_consistency": "it does not look above the last place"}
    aliases = {"anti-plurality": {}, "antiplurality": {}}

    def scores(self, prefs: Preferences) -> Floats:
        """Return minus the weight of the last places of every slot."""
        return 0.0 - Papers(prefs).last_places(np.ones(prefs.n_slots, bool))

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain how many ballots put each candidate last."""
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
