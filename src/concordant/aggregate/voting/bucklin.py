"""Bucklin's rule: count first preferences, then add second, third, … preferences until a candidate has a majority.

At level k a ballot counts for every candidate among its first k (tied candidates share the better rank, so both of two
at the top count at level 1). The level of a candidate is the first at which more than half of the ballots count for it,
the median of its ranks. Lower levels are better; within a level more votes are better. Candidates that never reach a
majority come last, by their final votes. Candidates with the same level and the same votes stay tied; a warning names
those tied at the top. Empty ballots do not count towards the majority, and a ballot never counts for candidates it does
not rank.

The rule rewards broad support rather than first preferences and is easy to count by hand. It may fail to elect a
Condorcet winner, and ranking more candidates can hurt your favourite.

Cost: a sort of the entries. Reference: J. W. Bucklin's plan for Grand Junction, Colorado, 1909; C. G. Hoag and G. H.
Hallett, Proportional representation, 1926.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate.explain.wording import Wording, rounds_table
from concordant.aggregate.majorities import tie_notice
from concordant.aggregate.rounds import Papers, tiers_below
from concordant.ballots.segments import is_new, max_by, sum_by
from concordant.method import Method, Outcome
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE, Ranking, snap
from concordant.results.explanation import Reason
from concordant.types import Floats, Int64s


@dataclass(frozen=True, kw_only=True)
class Bucklin(Method):
    """Cumulative first, second, third, … preferences until a candidate has a majority."""

    usual_name = "Bucklin"
    silence = "the ballot never counts for them"
    waives = {"condorcet_consistency": "it counts ranks, not pairwise majorities"}

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of tiers below every slot: by level, then by votes at that level."""
        level, votes = _levels(prefs)
        score = tiers_below(prefs, -level, votes)
        instance = views.instance_of_slot(prefs)
        is_best = score == max_by(instance, score, prefs.n_instances)[instance]
        several = np.bincount(instance[is_best], minlength=prefs.n_instances)[instance] > 1
        text = "candidates reach a majority at the same level with the same votes and stay tied at the top"
        return Outcome(score, warnings=tie_notice(prefs, "unbroken-ties", text, is_best & several))

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain how many ballots count for each candidate at every level."""
        level, votes = _levels(prefs)
        words, (half,) = Wording(prefs), _majority(prefs)
        best = words.best(ranking)
        last = int(min(level.min(), len(words.labels)))
        columns = [_votes_within(prefs, k) for k in range(1, last + 1)]
        majority_text = f"A majority is more than {words.number(half)} of {words.number(2 * half)} ballots."
        if level.min() > len(words.labels):
            sentence = (
                f"No candidate has one; {words.names(best)} is on the most ballots, {words.number(votes[best][0])}."
            )
        else:
            place = "counting first preferences" if last == 1 else f"counting the first {last} preferences"
            verb = "has" if best.sum() == 1 else "have"
            sentence = f"{words.names(best)} {verb} a majority {place}: {words.number(votes[best][0])}."
        also = np.flatnonzero((level == level.min()) & ~best)
        rivals = [
            f"{words.labels[slot]} also has a majority there, with {words.number(votes[slot])}." for slot in also[:3]
        ]
        present = [np.ones(len(level), bool)] * len(columns)
        return [
            Reason(words.heading(ranking, "Bucklin's rule"), (majority_text, sentence, *rivals)),
            *rounds_table(words, ranking, "Votes by level", columns, present, "level"),
        ]


def _majority(prefs: Preferences) -> Floats:
    """Return half of the weight of the non-empty ballots of each instance."""
    papers = Papers(prefs)
    names_any = np.bincount(papers.ballot, minlength=prefs.n_ballots) > 0
    return sum_by(papers.instance[names_any], papers.weight[names_any], prefs.n_instances) / 2


def _votes_within(prefs: Preferences, places: int) -> Floats:
    """Return the weight of the ballots that rank each slot among their first ``places``."""
    is_within = (views.competition_ranks(prefs) <= places) & views.is_named(prefs)
    return sum_by(prefs.entry_slot[is_within], views.weight_of_entry(prefs)[is_within], prefs.n_slots)


def _levels(prefs: Preferences) -> tuple[Int64s, Floats]:
    """Return the level at which each slot reaches a majority (candidates + 1: never), and its votes there."""
    instance, half = views.instance_of_slot(prefs), _majority(prefs)
    named = views.is_named(prefs)
    slot, place = prefs.entry_slot[named], views.competition_ranks(prefs)[named].astype(np.int64)
    order = np.lexsort((place, slot))
    slot, place, weight = slot[order], place[order], views.weight_of_entry(prefs)[named][order]
    cumulative = np.cumsum(weight)
    cumulative_before = np.where(is_new(slot), cumulative - weight, 0.0) if len(slot) else cumulative
    votes = cumulative - np.maximum.accumulate(cumulative_before) if len(slot) else cumulative
    is_end = np.append(is_new(slot, place)[1:], True) if len(slot) else np.empty(0, bool)
    slot, place, votes = slot[is_end], place[is_end], votes[is_end]
    level = np.repeat(np.diff(prefs.slot_ptr), np.diff(prefs.slot_ptr)) + 1
    votes_at_level = sum_by(prefs.entry_slot[named], views.weight_of_entry(prefs)[named], prefs.n_slots)
    line = half * (1 + TIE_TOLERANCE)
    reached = np.flatnonzero(votes > line[instance[slot]])[::-1]  # the lowest level of a slot is written last
    level[slot[reached]], votes_at_level[slot[reached]] = place[reached], votes[reached]
    return level, votes_at_level if views.has_whole_weights(prefs) else snap(votes_at_level, instance, 2 * half)
