"""Coombs' rule: eliminate the candidate with the most last places until one has a majority of first places.

In every round the last place of a ballot goes to its lowest continuing candidate; tied candidates share it equally, and
so do unranked candidates, which count as last. A candidate that is first on more than half of the non-exhausted ballots
wins and is not eliminated; further rounds rank the others. Ties for the most last places are broken by the most recent
earlier round in which the candidates differ, then by Borda points. Candidates that are still tied are eliminated
together and share a rank. Warnings name the candidates of both kinds of ties.

The rule elects broadly acceptable candidates where instant runoff elects those with the most committed supporters: if
preferences are single-peaked it finds the Condorcet winner, which instant runoff may miss. It needs complete ballots.

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

    usual_name = "Coombs"
    silence = "they share the last place of the ballot"
    waives = {"condorcet_consistency": "a Condorcet winner with the most last places is eliminated"}

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the round (from 0) in which every slot is eliminated."""
        papers = Papers(prefs)

        def standing(is_left: Bools) -> Floats:
            return np.where(_has_majority(papers, is_left), 1.0, -papers.last_places(is_left))

        elimination = eliminate(prefs, standing, borda_levels(prefs, "last"), papers.total)
        return Outcome(elimination.rounds.astype(np.float64), warnings=elimination.notices(prefs, "last places"))

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain which candidate has the most last places in every round, and which has a majority of first places."""
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
                    "and wins; further rounds rank the others."
                )
            if out.sum() < is_left.sum():
                columns.append(last)
                most_last = words.number(last[out].max())
                sentences.append(f"Round {number}: {words.names(out)} {words.goes(out)} with {most_last} last places.")
        return eliminated(words, ranking, "Coombs' rule", columns, sentences, "Last places in every round")


def _has_majority(papers: Papers, is_left: Bools) -> Bools:
    """Return, for every slot, whether it is first on more than half of the non-exhausted ballots."""
    first = papers.first_places(is_left)
    half = majority_line(papers, first)
    return np.asarray(first > half[papers.instance_of_slot] * (1 + 1e-12))
