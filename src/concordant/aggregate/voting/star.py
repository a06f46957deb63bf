"""STAR (score then automatic runoff): a majority runoff between the two candidates with the highest total ratings.

Every ballot rates the candidates; unrated candidates get 0. The two with the highest sums are the finalists, and each
ballot counts for the finalist it rates higher; a drawn runoff goes to the higher sum. The finalists come first and
second, the others follow by their sums. A tie for the second finalist is broken by Borda points. If these are also
equal, all of the tied candidates are finalists, ranked by their head-to-head wins among each other. Warnings name the
candidates of both kinds of ties. In a pairwise contest a rated candidate beats an unrated one.

Ratings express the strength of preferences, but in the runoff every ballot has the same weight, so exaggeration gains
less than in plain score voting.

Cost: the ratings, and the pairwise counts. Reference: S. Wolk, J. Quinn and M. Ogren, STAR voting, equality of voice,
and voter satisfaction, Constitutional Political Economy, 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import kernels, views
from concordant.aggregate.explain.wording import Wording, score_table
from concordant.aggregate.majorities import Majorities, majorities, tie_notice
from concordant.aggregate.positional.borda import borda_levels
from concordant.aggregate.positional.score import rating_sums
from concordant.aggregate.rounds import tiers_below
from concordant.ballots.segments import number_inside, pointer, sum_by
from concordant.method import Method, Outcome
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Bools, Floats


@dataclass(frozen=True, kw_only=True)
class Star(Method):
    """The two candidates with the highest total ratings, then a majority runoff between them."""

    usual_name = "STAR voting"
    silence = "they get 0 from the ballot"
    needs = frozenset({"values"})
    waives = {"condorcet_consistency": "only the two candidates with the highest sums take part in the runoff"}
    aliases = {"star-voting": {}}
    matrices = 5
    by_parts = True

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of tiers below every slot."""
        total, borda = rating_sums(prefs), borda_levels(prefs, "last")
        is_finalist, is_tied = _finalists(prefs, total, borda)
        duels = _duels(majorities(prefs, "last"), is_finalist)
        score = tiers_below(
            prefs, is_finalist, np.where(is_finalist, duels, 0.0), total, np.where(is_finalist, borda, 0)
        )
        several = np.bincount(views.instance_of_slot(prefs)[is_finalist], minlength=prefs.n_instances) > 2
        crowded = several[views.instance_of_slot(prefs)]
        settled = "candidates tied in total ratings; Borda points decided who is a finalist"
        more = "candidates tied in total ratings and Borda points, so there are more than two finalists"
        return Outcome(
            score,
            warnings=(
                *tie_notice(prefs, "unbroken-ties", more, is_tied & crowded),
                *tie_notice(prefs, "broken-ties", settled, is_tied & ~crowded),
            ),
        )

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain who the finalists are and how the runoff is decided."""
        words, total = Wording(prefs), rating_sums(prefs)
        is_finalist, _ = _finalists(prefs, total, borda_levels(prefs, "last"))
        ordered = [slot for slot in ranking.order.tolist() if is_finalist[slot]]
        sums = " and ".join(f"{words.labels[slot]} ({words.number(total[slot])})" for slot in ordered)
        sentences = [f"The finalists have the highest sums of ratings: {sums}."]
        if len(ordered) == 2:
            first, second = ordered
            wins = views.win_matrices(prefs, "last").matrix(0)
            ahead, behind = wins[first, second], wins[second, first]
            verdict = "wins the runoff" if ahead > behind else "ties the runoff and wins by the higher sum"
            sentences.append(
                f"{words.labels[first]} {verdict}: {words.number(ahead)} ballots rate it higher than "
                f"{words.labels[second]}, {words.number(behind)} lower, "
                f"{words.number(prefs.weight.sum() - ahead - behind)} the same."
            )
        sentences.append("The others follow by their sums.")
        columns = [[words.number(value) for value in total], ["yes" if is_in else "" for is_in in is_finalist]]
        return [
            Reason(words.heading(ranking, "STAR"), tuple(sentences)),
            score_table(words, ranking, ["sum of ratings", "finalist"], columns),
        ]


def _finalists(prefs: Preferences, total: Floats, borda: Floats | np.ndarray) -> tuple[Bools, Bools]:
    """Return the finalists, and the candidates tied in total ratings for the second place in the runoff."""
    level = tiers_below(prefs, total, borda)
    is_finalist = level >= _second_best(prefs, level)
    is_at_line, instance = total == _second_best(prefs, total), views.instance_of_slot(prefs)
    n_finalists = np.bincount(instance[is_finalist], minlength=prefs.n_instances)[instance]
    some_missed = sum_by(instance, is_at_line & ~is_finalist, prefs.n_instances)[instance] > 0
    return is_finalist, is_at_line & (some_missed | (n_finalists > 2))


def _second_best(prefs: Preferences, values: Floats) -> Floats:
    """Return, for every slot, the second largest value of its instance (the only value if there is one slot)."""
    order, _ = kernels.order_segments(values, prefs.slot_ptr, 0.0)
    size = np.diff(prefs.slot_ptr)
    has_slots = size > 0
    second = prefs.slot_ptr[:-1][has_slots] + np.minimum(1, size[has_slots] - 1)
    return np.repeat(values[order[second]], size[has_slots])


def _duels(majority: Majorities, is_finalist: Bools) -> Floats:
    """Return the number of pairwise wins of each slot against finalists, draws as half."""
    size = np.diff(majority.slot_ptr)
    length = np.repeat(size, size)
    opponent = np.repeat(np.repeat(majority.slot_ptr[:-1], size), length) + number_inside(pointer(length))
    counted = is_finalist[opponent]
    return (
        majority.count_rows((majority.margin > 0) & counted) + majority.count_rows((majority.margin == 0) & counted) / 2
    )
