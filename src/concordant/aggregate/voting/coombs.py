"""Coombs' rule: eliminate the candidate with the most last places until somebody has a majority of first places.

In every round a ballot's last place goes to the worst candidate that is still in; tied ones share it equally, and so
do candidates that the ballot does not name, who come after all it names. Whoever is first on more than half of the
ballots that still name somebody has won and goes out no more; the others are ranked by letting the rounds go on. Of
several with the most last places, the one goes out that had more in the latest earlier round where they differ, then
the one with fewer Borda points; those still equal go out together and stay tied. Warnings name both kinds.

It elects the candidate nobody minds where instant runoff elects the one with the firmest friends: on one line of
opinions it finds the Condorcet winner, which instant runoff may miss. It asks for complete ballots.

Cost: rounds x ballots. Reference: C. H. Coombs, A theory of data, 1964; B. Grofman and S. L. Feld, If you like the
alternative vote (a.k.a. the instant runoff), then you ought to know about the Coombs rule, Electoral Studies, 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant.aggregate.explain.wording import Wording, eliminated
from concordant.aggregate.positional.borda import borda_levels
from concordant.aggregate.rounds import Papers, eliminate, majority_line
from concordant.method import Method, Outcome
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Bools, Floats


@dataclass(frozen=True, kw_only=True)
class Coombs(Method):
    """Elimination of the candidate with the most last places until one has a majority of first places."""

    silence = "they share the last place of the ballot"
    waives = {"condorcet_consistency": "a candidate whom most rank last goes out, though it may win every duel"}

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the round every slot goes out in, from 0."""
        papers = Papers(prefs)

        def standing(is_left: Bools) -> Floats:
            return np.where(_has_majority(papers, is_left), 1.0, -papers.last_places(is_left))

        elimination = eliminate(prefs, standing, borda_levels(prefs, "last"), papers.total)
        return Outcome(elimination.rounds.astype(np.float64), warnings=elimination.notices(prefs, "last places"))

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain who had the most last places in every round, and who had a majority of first places."""
        papers, words = Papers(prefs), Wording(prefs)
        columns: list[Floats] = []
        sentences: list[str] = []
        is_won = False
        for number, (is_left, out) in enumerate(words.rounds(ranking.score), 1):
            last, has_majority = papers.last_places(is_left), _has_majority(papers, is_left)
            if has_majority.any() and not is_won:
                is_won, first = True, papers.first_places(is_left)
                sentences.append(
                    f"Round {number}: {words.names(has_majority)} is first on "
                    f"{words.number(first[has_majority][0])} of {words.number(first.sum())} ballots, a majority, "
                    "and has won; the rounds go on for the others."
                )
            if out.sum() < is_left.sum():
                columns.append(last)
                most_last = words.number(last[out].max())
                sentences.append(
                    f"Round {number}: {words.names(out)} {words.goes(out)} out with {most_last} last places."
                )
        return eliminated(words, ranking, "Coombs' rule", columns, sentences, "Last places in every round")


def _has_majority(papers: Papers, is_left: Bools) -> Bools:
    """Return, for every slot, whether it is first on more than half of the ballots that still name somebody."""
    first = papers.first_places(is_left)
    half = majority_line(papers, first)
    return np.asarray(first > half[papers.instance_of_slot] * (1 + 1e-12))
