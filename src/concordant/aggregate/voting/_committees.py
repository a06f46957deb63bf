"""What rules that elect a committee from approvals share: approval tables, seats, and the ranking that comes of it.

The ranking has the committee first. Approvals make ties common (all candidates of a list that its friends approve of as
a whole are equal), and electing equals together would break the proportions these rules promise. So of several that are
equal the one more ballots approve of is taken, then the one with more Borda points, then the one that comes first in
the list of candidates; warnings name them. To this end columns stand in the order of Borda points.

What counts as approved is what ``approval`` counts: everything above a ballot's last tier, or what reaches the
``cutoff``.
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
    """Who approves of whom in one instance: distinct sets of approved candidates, and the weight of each."""

    table: Bools
    weight: Floats
    order: Int64s
    """The candidate of every column, by Borda points, then as in the list of candidates."""

    @property
    def support(self) -> Floats:
        """By candidate: the weight of the ballots that approve of it."""
        return np.asarray(self.weight @ self.table)

    @property
    def slack(self) -> float:
        """The difference within which sums of weights are equal."""
        return 1e3 * TIE_TOLERANCE * max(float(self.weight.sum()), 1e-300)


def approvals(prefs: Preferences, cutoff: float | None) -> Iterator[Approvals]:
    """Iterate over the approvals of all instances; equal ballots are joined, and those that approve of nobody left
    out.
    """
    is_approved, borda = Approval(cutoff=cutoff).votes(prefs), borda_levels(prefs, "last")
    for slots, ballots, table in ballot_tables(prefs, is_approved, is_approved, False):
        approves = table.any(axis=1)
        order = np.argsort(-borda[slots], kind="stable")
        yield Approvals(*distinct_rows(table[approves][:, order], prefs.weight[ballots[approves]]), order)


@dataclass(frozen=True)
class Chosen:
    """What a rule says of one instance: candidates in groups, best first; who has a seat; ties."""

    groups: Sequence[AnyArray]
    elected: Bools
    tie: Bytes
    """1 for a candidate in a tie that approvals decided, 2 in one that Borda points or the list decided."""
    value: float = 0.0
    """What the rule optimises, where it optimises something."""
    gap: float = 0.0
    """By what share a better committee could exceed that, as far as is known."""

    def in_slots(self, ballots: Approvals) -> Chosen:
        """Return the same with candidates numbered as in the list of candidates, not by column."""
        elected, tie = np.empty_like(self.elected), np.empty_like(self.tie)
        elected[ballots.order], tie[ballots.order] = self.elected, self.tie
        return Chosen([ballots.order[group] for group in self.groups], elected, tie, self.value, self.gap)


@dataclass(frozen=True, kw_only=True)
class CommitteeRule(Method):
    """Base of the rules that elect a committee from approvals."""

    title: ClassVar[str]
    principle: ClassVar[str]
    """How seats are given, in a sentence."""
    silence = "they are not approved of"
    unmentioned = "last"
    waives = {
        "neutrality": "of candidates equal in approvals and Borda points the first in the list is taken",
        "condorcet_consistency": "a committee represents groups, which a majority may not",
    }

    renamed = {"output": "result"}

    seats: int = param(1, "number of candidates to elect", low=1)
    cutoff: float | None = param(
        None, "lowest approved rating, or last approved rank; none: approve above the ballot's last tier"
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
        """Return how many tiers are below every slot; the committee comes first."""
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
        """Return how certain the first place is; the runner-up is compared only where one seat separates the two."""
        if self.seats == 1 and self.result == "ranking":
            return super().assessed(prefs, ranking)
        return [replace(certainty, runner_up=None) for certainty in assess(ranking)]

    def measured(self, choices: Sequence[Chosen]) -> dict[str, float]:
        """Return figures of all instances for ``ranking.fit``."""
        return {}

    def notices(self, prefs: Preferences, tie: Bytes) -> tuple[Notice, ...]:
        """Return notices on candidates in ties."""
        ordered = "candidates were equal, in approvals too; Borda points, then the list of candidates, decided"
        settled = "candidates were equal; the one more ballots approve of was taken"
        return (
            *tie_notice(prefs, "unbroken-ties", ordered, tie == 2),
            *tie_notice(prefs, "broken-ties", settled, tie == 1),
        )

    def unproven_notices(self, prefs: Preferences, choices: Sequence[Chosen]) -> tuple[Notice, ...]:
        """Return notices on instances whose committee is not proven optimal."""
        return ()

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain who is elected, and how the ballots are represented."""
        return self.told(prefs, ranking, self.principle)

    def told(self, prefs: Preferences, ranking: Ranking, principle: str) -> list[Reason]:
        """Explain who is elected, and how many of the committee every ballot approves of."""
        words, (ballots,) = Wording(prefs), approvals(prefs, self.cutoff)
        elected = (ranking.details["elected"] > 0)[ballots.order]
        place = np.argsort(ballots.order)
        people = "1 is" if self.seats == 1 else f"{self.seats} are"
        opening = f"{words.number(ballots.weight.sum())} ballots approve of somebody; {people} to be elected."
        sentences = [opening, principle]
        members = ballots.table[:, elected].sum(axis=1)
        weight_by_count = np.bincount(members, weights=ballots.weight, minlength=1)
        parts = [
            f"{words.number(weight)} of {count}" for count, weight in enumerate(weight_by_count.tolist()) if weight
        ]
        if parts:
            sentences.append(f"Ballots by how many of the elected they approve of: {', '.join(parts)}.")
        only_this = np.array(
            [ballots.weight[ballots.table[:, slot] & (members == 1)].sum() for slot in range(len(elected))]
        )
        columns = [
            ["elected" if elected[k] else "" for k in place],
            [words.number(ballots.support[k]) for k in place],
            [words.number(only_this[k]) if elected[k] else "" for k in place],
        ]
        verb = "is elected" if elected.sum() == 1 else "are elected"
        header = ["", "approvals", "approve of no other elected"]
        title = f"{words.names(elected[place])} {verb} by {self.title}"
        return [Reason(title, tuple(sentences)), score_table(words, ranking, header, columns)]


def one_by_one(
    ballots: Approvals, seats: int, best: Callable[[Bools], tuple[Bools, float]], take: Callable[[int, float], None]
) -> Chosen:
    """Elect one candidate after the other until all are placed; those nobody approves of come last, tied.

    ``best`` returns which of the candidates left are best, and their value; ``take`` counts one as elected. Ties are
    recorded while there are seats to fill: settled by approvals (1), or by Borda points and the list (2).
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
