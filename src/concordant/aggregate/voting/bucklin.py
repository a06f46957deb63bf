"""Bucklin's rule: count first places; while nobody has a majority, add second places, then third, and so on.

At level k a ballot counts for every candidate it puts among its first k (equal ranks share the better place, so each of
two at the top counts at level 1). A candidate's level is the first at which more than half of the ballots count for it:
the median of its places. Lower levels are better, and at one level more votes; candidates that never get a majority
come last, by their votes at the end. Equal level and equal votes stay tied, and where that is so at the top a warning
names them. Ballots that name nobody do not count towards the majority; who is not named on a ballot never gets it.

It asks for broad support rather than for first places, and is easy to count by hand. It may pass over a Condorcet
winner, and naming more candidates can hurt the one you like best.

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

    silence = "the ballot never counts for them"
    waives = {"condorcet_consistency": "places that many ballots agree on count for more than duels"}

    def scores(self, prefs: Preferences) -> Outcome:
        """Return how many tiers are below every slot: by level, then by votes at that level."""
        level, votes = _levels(prefs)
        score = tiers_below(prefs, -level, votes)
        instance = views.instance_of_slot(prefs)
        is_best = score == max_by(instance, score, prefs.n_instances)[instance]
        several = np.bincount(instance[is_best], minlength=prefs.n_instances)[instance] > 1
        text = "candidates have a majority at the same level with the same votes and stay tied at the top"
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
            sentence = f"Nobody gets one; {words.names(best)} is on the most ballots, {words.number(votes[best][0])}."
        else:
            place = "counting first places" if last == 1 else f"counting the first {last} places"
            verb = "has" if best.sum() == 1 else "have"
            sentence = f"{words.names(best)} {verb} one {place}: {words.number(votes[best][0])}."
        also = np.flatnonzero((level == level.min()) & ~best)
        rivals = [f"{words.labels[slot]} also has one there, with {words.number(votes[slot])}." for slot in also[:3]]
        present = [np.ones(len(level), bool)] * len(columns)
        return [
            Reason(words.heading(ranking, "Bucklin's rule"), (majority_text, sentence, *rivals)),
            *rounds_table(words, ranking, "Ballots that count for each, by level", columns, present, "level"),
        ]


def _majority(prefs: Preferences) -> Floats:
    """Return, by instance, half of the weight of the ballots that name somebody."""
    papers = Papers(prefs)
    names_any = np.bincount(papers.ballot, minlength=prefs.n_ballots) > 0
    return sum_by(papers.instance[names_any], papers.weight[names_any], prefs.n_instances) / 2


def _votes_within(prefs: Preferences, places: int) -> Floats:
    """Return the weight of the ballots that put each slot among their first ``places`` places."""
    is_within = (views.competition_ranks(prefs) <= places) & views.is_named(prefs)
    return sum_by(prefs.entry_slot[is_within], views.weight_of_entry(prefs)[is_within], prefs.n_slots)


def _levels(prefs: Preferences) -> tuple[Int64s, Floats]:
    """Return the level at which each slot has a majority (candidates + 1: never), and its votes there."""
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
