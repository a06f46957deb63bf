"""Approval-based committee rules: approval tables, seats, and the resulting ranking.

The ranking lists the committee first. Approvals make ties common (all candidates of a list that the same voters approve
of are tied), and electing tied candidates together would break proportionality. Ties are therefore broken by the number
of approvals, then by Borda points, then by the order of the list of candidates; warnings name the candidates.
Columns are therefore sorted by Borda points. A ballot approves of the same candidates as in ``approval``: everything
above its last tier, or whatever reaches the ``cutoff``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from concordant.aggregate.explain.wording import Wording, score_table
from concordant.aggregate.majorities import tie_notice
from concordant.aggregate.positional.approval import Approval
from concordant.aggregate.positional.borda import borda_levels
from concordant.aggregate.rounds import ballot_tables, distinct_rows
from concordant.method import Method, Outcome
from concordant.narrative.certainty import Certainty, assess
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE, Notice, Ranking
from concordant.results.explanation import Reason
from concordant.types import AnyArray, Bools, Bytes, Floats, Int64s


@dataclass(frozen=True)
class Approvals:
    """The approvals of one instance: distinct sets of approved candidates, and the weight of each."""

    table: Bools
    weight: Floats
    order: Int64s
    """The candidate of every column, sorted by Borda points, then by the list of candidates."""

    @property
    def support(self) -> Floats:
        """The weight of the ballots that approve of each candidate."""
        return np.asarray(self.weight @ self.table)

    @property
    def slack(self) -> float:
        """The tolerance within which sums of weights are equal."""
        return 1e3 * TIE_TOLERANCE * max(float(self.weight.sum()), 1e-300)


def approvals(prefs: Preferences, cutoff: float | None) -> Iterator[Approvals]:
    """Iterate over the approvals of all instances; equal ballots are merged, and empty ones are left out."""
    is_approved, borda = Approval(cutoff=cutoff).votes(prefs), borda_levels(prefs, "last")
    for slots, ballots, table in ballot_tables(prefs, is_approved, is_approved, False):
        approves = table.any(axis=1)
        order = np.argsort(-borda[slots], kind="stable")
        yield Approvals(*distinct_rows(table[approves][:, order], prefs.weight[ballots[approves]]), order)


@dataclass(frozen=True)
class Chosen:
    """The result of a rule for one instance: groups of candidates, best first; seats; ties."""

    groups: Sequence[AnyArray]
    elected: Bools
    tie: Bytes
    """1 for a candidate in a tie broken by approvals, 2 for one in a tie broken by Borda points or the list."""
    value: float = 0.0
    """The value of the objective, if the rule has one."""
    gap: float = 0.0
    """Relative optimality gap of the objective."""

    def in_slots(self, ballots: Approvals) -> Chosen:
        """Return the same result with candidates numbered as in the list of candidates instead of by column."""
        elected, tie = np.empty_like(self.elected), np.empty_like(self.tie)
        elected[ballots.order], tie[ballots.order] = self.elected, self.tie
        return Chosen([ballots.order[group] for group in self.groups], elected, tie, self.value, self.gap)


@dataclass(frozen=True, kw_only=True)
class CommitteeRule(Method):
    """Base of the rules that elect a committee from approvals."""

    title: ClassVar[str]
    principle: ClassVar[str]
    """A sentence on how seats are allocated."""
    silence = "they are not approved"
    unmentioned = "last"
    waives = {
        "neutrality": "ties in approvals and Borda points go to the first in the list of candidates",
        "condorcet_consistency": "a committee represents minorities as well as the majority",
    }

    renamed = {"output": "result"}

    seats: int = param(1, "number of candidates to elect", low=1)
    cutoff: float | None = param(
        None, "lowest approved rating, or last approved rank; none: all items above the ballot's last tier are approved"
    )
    result: str = param(
        "ranking",
        "rank all candidates, or only separate the committee from the rest",
        choices=("ranking", "committee"),
    )

    @abstractmethod
    def choose(self, ballots: Approvals) -> Chosen:
        """Elect the committee of one instance; candidates are columns."""

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of tiers below every slot; the committee comes first."""
        choices = [self.choose(ballots).in_slots(ballots) for ballots in approvals(prefs, self.cutoff)]
        score = np.empty(prefs.n_slots)
        for q, choice in enumerate(choices):
            score_of_instance = score[prefs.slot_ptr[q] : prefs.slot_ptr[q + 1]]
            for k, group in enumerate(choice.groups):
                score_of_instance[group] = len(choice.groups) - 1 - k
        elected = np.concatenate([*(choice.elected for choice in choices), np.empty(0, bool)])
        tie = np.concatenate([*(choice.tie for choice in choices), np.empty(0, np.uint8)])
        return Outcome(
            elected.astype(np.float64) if self.result == "committee" else score,
            fit={"seats": float(self.seats), **self.measured(choices)},
            warnings=(*self.notices(prefs, tie), *self.unproven_notices(prefs, choices)),
            details={"elected": elected.astype(np.float64)},
        )

    def assessed(self, prefs: Preferences, ranking: Ranking) -> Sequence[Certainty]:
        """Return how certain the first place is; the runner-up is compared only if there is a single seat."""
        if self.seats == 1 and self.result == "ranking":
            return super().assessed(prefs, ranking)
        return [replace(certainty, runner_up=None) for certainty in assess(ranking)]

    def measured(self, choices: Sequence[Chosen]) -> dict[str, float]:
        """Return statistics over all instances for ``ranking.fit``."""
        return {}

    def notices(self, prefs: Preferences, tie: Bytes) -> tuple[Notice, ...]:
        """Return notices about tied candidates."""
        ordered = "candidates tied, also in approvals; ties were broken by Borda points, then by the list of candidates"
        settled = "candidates tied; the one with more approvals was elected"
        return (
            *tie_notice(prefs, "unbroken-ties", ordered, tie == 2),
            *tie_notice(prefs, "broken-ties", settled, tie == 1),
        )

    def unproven_notices(self, prefs: Preferences, choices: Sequence[Chosen]) -> tuple[Notice, ...]:
        """Return notices about instances whose committee is not proven optimal."""
        return ()

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain who is elected and how the voters are represented."""
        return self.told(prefs, ranking, self.principle)

    def told(self, prefs: Preferences, ranking: Ranking, principle: str) -> list[Reason]:
        """Explain who is elected and how many committee members the ballots approve of."""
        words, (ballots,) = Wording(prefs), approvals(prefs, self.cutoff)
        elected = (ranking.details["elected"] > 0)[ballots.order]
        place = np.argsort(ballots.order)
        people = "1 seat is" if self.seats == 1 else f"{self.seats} seats are"
        opening = (
            f"{words.number(ballots.weight.sum())} ballots approve of at least one candidate; {people} to be filled."
        )
        sentences = [opening, principle]
        members = ballots.table[:, elected].sum(axis=1)
        weight_by_count = np.bincount(members, weights=ballots.weight, minlength=1)
        parts = [
            f"{words.number(weight)} approve of {count}"
            for count, weight in enumerate(weight_by_count.tolist())
            if weight
        ]
        if parts:
            sentences.append(f"Ballots by number of elected candidates they approve of: {', '.join(parts)}.")
        only_this = np.array(
            [ballots.weight[ballots.table[:, slot] & (members == 1)].sum() for slot in range(len(elected))]
        )
        columns = [
            ["elected" if elected[k] else "" for k in place],
            [words.number(ballots.support[k]) for k in place],
            [words.number(only_this[k]) if elected[k] else "" for k in place],
        ]
        verb = "is elected" if elected.sum() == 1 else "are elected"
        header = ["", "approvals", "ballots with no other elected"]
        title = f"{words.names(elected[place])} {verb} under {self.title}"
        return [Reason(title, tuple(sentences)), score_table(words, ranking, header, columns)]


def one_by_one(
    ballots: Approvals, seats: int, best: Callable[[Bools], tuple[Bools, float]], take: Callable[[int, float], None]
) -> Chosen:
    """Elect candidates one by one until all are placed; candidates without approvals are tied in last place.

    ``best`` returns which of the remaining candidates are best, and their value; ``take`` elects one. Ties are recorded
    while there are seats to fill: broken by approvals (1), or by Borda points and the list (2).
    """
    m = ballots.table.shape[1]
    support, is_left = ballots.support, np.ones(m, bool)
    groups: list[AnyArray] = []
    tie = np.zeros(m, np.uint8)
    while (is_left & (support > 0)).any():
        equal, value = best(is_left & (support > 0))
        still_equal = equal & (support >= support[equal].max() - ballots.slack)
        chosen = int(np.flatnonzero(still_equal)[0])
        if len(groups) < seats:
            tie[equal] = np.maximum(tie[equal], int(equal.sum() > 1))
            tie[still_equal] = np.maximum(tie[still_equal], 2 * int(still_equal.sum() > 1))
        groups.append(np.array([chosen]))
        take(chosen, value)
        is_left[chosen] = False
    elected = np.zeros(m, bool)
    elected[[int(group[0]) for group in groups[:seats]]] = True
    if is_left.any():
        rest = np.flatnonzero(is_left)
        elected[rest[: max(seats - len(groups), 0)]] = True
        groups.append(rest)
    return Chosen(groups, elected, tie)
