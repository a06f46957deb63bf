"""Instant runoff: eliminate the candidate with the fewest first preferences until one is left.

In every round a ballot counts for its highest continuing candidate; tied candidates share it equally. A ballot that
ranks no continuing candidate (or only "the rest" of an open ballot) is exhausted. Candidates are ranked by the round of
their elimination. Ties for the fewest votes are broken by the most recent earlier round in which the candidates differ,
then by Borda points. Candidates that are still tied are eliminated together and share a rank. Warnings name the
candidates of both kinds of ties, because another tie-breaking rule may give another order, or even another winner.

The rule is used in public elections; it may fail to elect a Condorcet winner. ``ranking.model`` has the votes of every
round and the transfers from eliminated candidates.

Cost: rounds x ballots. Also known as the alternative vote, ranked-choice voting and Hare's rule. Reference: T. Hare, A
treatise on the election of representatives, 1859.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from concordant import kernels, views
from concordant.aggregate.election_counts import (
    Count,
    CountModel,
    CountStage,
    count_picture,
    count_reasons,
    flows_of,
    labelled,
)
from concordant.aggregate.explain.wording import Wording
from concordant.aggregate.majorities import tie_notice
from concordant.aggregate.positional.borda import borda_levels
from concordant.aggregate.rounds import Papers
from concordant.method import Method, Outcome
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.support.text import plain_number
from concordant.types import Bools, Floats


@dataclass(frozen=True, kw_only=True)
class InstantRunoff(Method):
    """Elimination of the candidate with the fewest first preferences in each round."""

    silence = "the ballot is exhausted once all candidates it names are eliminated"
    waives = {"condorcet_consistency": "a candidate that everyone ranks second is eliminated in the first round"}
    aliases = {"irv": {}, "alternative-vote": {}, "hare": {}, "ranked-choice": {}, "rcv": {}}

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the round (from 0) in which every slot is eliminated."""
        rounds, tie = kernels.runoff_rounds(views.ballots(prefs), borda_levels(prefs, "last"))
        together = "candidates tied in all rounds and in Borda points and were eliminated together"
        settled = (
            "candidates tied for the fewest votes; earlier rounds or Borda points decided who was eliminated first"
        )
        return Outcome(
            rounds.astype(np.float64),
            warnings=(
                *tie_notice(prefs, "unbroken-ties", together, tie == 2),
                *tie_notice(prefs, "broken-ties", settled, tie == 1),
            ),
            model=CountModel(prefs.instances, partial(_count, prefs, rounds.astype(np.float64))),
        )

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the votes, eliminations and transfers of every round."""
        count, words = _count(prefs, ranking.score, 0), Wording(prefs)
        best = words.best(ranking)
        last = next(stage for stage in reversed(count.stages) if len(stage.excluded) < len(words.labels))
        won = last.votes[ranking.items[0]]
        total = sum(last.votes.values())
        closing = ""
        if best.sum() == 1 and len(words.labels) > 1:
            closing = (
                f"{words.names(best)} wins with {plain_number(won)} of the {plain_number(total)} ballots that still "
                f"count in round {last.number}."
            )
        return count_reasons(count, words.heading(ranking, "instant runoff"), ranking.items, "round", [closing])

    def picture(self, prefs: Preferences, ranking: Ranking) -> Callable[[], str] | None:
        """Return a function that draws the transfers of votes from round to round, or None for a single round."""
        count = _count(prefs, ranking.score, 0)
        return count_picture(count, "Transfers of votes: instant runoff", ranking.items, "round")


def _count(prefs: Preferences, rounds: Floats, instance: int) -> Count:
    """Repeat the count of one instance, with transfers; ``rounds`` is the round of elimination by slot."""
    if prefs.n_instances > 1 and prefs.instances is not None:
        span = slice(int(prefs.slot_ptr[instance]), int(prefs.slot_ptr[instance + 1]))
        prefs, rounds = prefs.select(instances=[prefs.instances[instance]]), rounds[span]
    papers, words = Papers(prefs), Wording(prefs)
    labels = prefs.items.take(prefs.slot_item)
    stages: list[CountStage] = []
    is_out: Bools = np.zeros(len(labels), bool)
    exhausted = 0.0
    tops = papers.tops(~is_out)
    for number, (is_left, is_excluded) in enumerate(words.rounds(rounds), 1):
        if number > 1 and is_excluded.sum() == is_left.sum() == 1:
            break  # the last one has won
        sources = np.flatnonzero(is_out)
        moved, to_nobody = np.zeros((len(sources), len(labels))), np.zeros(len(sources))
        if number > 1:
            new_tops = papers.tops(is_left)
            moved, to_nobody = _moves(papers, tops, new_tops, is_out)
            tops = new_tops
        exhausted += float(to_nobody.sum())
        votes = papers.first_places(is_left)
        total = float(votes.sum())
        stages.append(
            CountStage(
                number,
                "exclusion" if number > 1 else "first",
                tuple(labels[slot] for slot in sources),
                labelled(labels, votes),
                flows_of(labels, sources.tolist(), moved, to_nobody),
                exhausted,
                0.0,
                total / 2,
                elected=tuple(labels[slot] for slot in np.flatnonzero(is_left & ~is_excluded))
                if is_left.sum() == 2
                else (),
                excluded=tuple(labels[slot] for slot in np.flatnonzero(is_excluded))
                if is_excluded.sum() < is_left.sum()
                else (),
            )
        )
        is_out = is_excluded
    return Count(tuple(labels), 1, tuple(stages))


_Tops = tuple[np.ndarray, np.ndarray, np.ndarray]


def _moves(papers: Papers, before: _Tops, after: _Tops, out: Bools) -> tuple[Floats, Floats]:
    """Return the votes of eliminated slots as a matrix (eliminated slot x to), and the exhausted votes by source.

    ``before`` and ``after`` are (ballot, slot, share of weight). The share of a ballot that leaves the eliminated slots
    goes to the slots that gain from the ballot, in proportion to their gains.
    """
    m = papers.n_slots
    is_moved = np.zeros(papers.n_ballots, bool)
    is_moved[before[0][out[before[1]]]] = True
    row = np.cumsum(is_moved) - 1
    share = np.zeros((2, int(is_moved.sum()), m))
    for table, (ballot, slot, weight) in zip(share, (before, after), strict=True):
        kept = is_moved[ballot]
        table[row[ballot[kept]], slot[kept]] = weight[kept]
    lost, gained = np.maximum(share[0] - share[1], 0.0), np.maximum(share[1] - share[0], 0.0)
    total = lost.sum(axis=1, keepdims=True)
    part = gained / total
    lost_by_source = lost[:, out].T
    return lost_by_source @ part, lost_by_source @ (1 - part.sum(axis=1))
