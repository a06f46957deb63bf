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
        """The weight of the ballots that approve of every candidate."""
        return np.asarray(self.weight @ self.table)

    @property
    def slack(self) -> float:
        """Within which sums of weights are equal."""
        return 1e3 * TIE_TOLERANCE * max(float(self.weight.sum()), 1e-300)


def approvals(prefs: Preferences, cutoff: float | None) -> Iterator[Approvals]:
    """Go through all instances."""
    is_approved, borda = Approval(cutoff=cutoff).votes(prefs), borda_levels(prefs, "last")
    for slots, own, table in ballot_tables(prefs, is_approved, is_approved, False):
        approves = table.any(axis=1)
        order = np.argsort(-borda[slots], kind="stable")
        yield Approvals(*distinct_rows(table[approves][:, order], prefs.weight[own[approves]]), order)


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

    def in_slots(self, given: Approvals) -> Chosen:
        """Return the same with candidates by their number in the list, not by column."""
        elected, tie = np.empty_like(self.elected), np.empty_like(self.tie)
        elected[given.order], tie[given.order] = self.elected, self.tie
        return Chosen([given.order[group] for group in self.groups], elected, tie, self.value, self.gap)


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
    def choose(self, given: Approvals) -> Chosen:
        """Elect the committee of one instance; candidates are columns."""

    def scores(self, prefs: Preferences) -> Outcome:
        """Return how many tiers stand below every slot; the committee is first."""
        found = [self.choose(given).in_slots(given) for given in approvals(prefs, self.cutoff)]
        score = np.empty(prefs.n_slots)
        for q, one in enumerate(found):
            own = score[prefs.slot_ptr[q] : prefs.slot_ptr[q + 1]]
            for k, group in enumerate(one.groups):
                own[group] = len(one.groups) - 1 - k
        elected = np.concatenate([*(one.elected for one in found), np.empty(0, bool)])
        tie = np.concatenate([*(one.tie for one in found), np.empty(0, np.uint8)])
        return Outcome(
            elected.astype(np.float64) if self.result == "committee" else score,
            fit={"seats": float(self.seats), **self.measured(found)},
            warnings=(*self.notices(prefs, tie), *self.unproven_notices(prefs, found)),
            details={"elected": elected.astype(np.float64)},
        )

    def assessed(self, prefs: Preferences, ranking: Ranking) -> Sequence[Certainty]:
        """Return who is first; the runner-up is compared only where one seat separates the two."""
        if self.seats == 1 and self.result == "ranking":
            return super().assessed(prefs, ranking)
        return [replace(one, runner_up=None) for one in assess(ranking)]

    def measured(self, found: Sequence[Chosen]) -> dict[str, float]:
        """Return figures of all instances for ``ranking.fit``."""
        return {}

    def notices(self, prefs: Preferences, tie: Bytes) -> tuple[Notice, ...]:
        """Name the candidates of ties."""
        ordered = "candidates were equal, in approvals too; Borda points, then the list of candidates, decided"
        settled = "candidates were equal; the one more ballots approve of was taken"
        return (
            *tie_notice(prefs, "unbroken-ties", ordered, tie == 2),
            *tie_notice(prefs, "broken-ties", settled, tie == 1),
        )

    def unproven_notices(self, prefs: Preferences, found: Sequence[Chosen]) -> tuple[Notice, ...]:
        """Tell what is not proven."""
        return ()

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Say who is elected, and how the ballots are represented."""
        return self.told(prefs, ranking, self.principle)

    def told(self, prefs: Preferences, ranking: Ranking, principle: str) -> list[Reason]:
        """Say who is elected, and how many of the committee every ballot approves of."""
        told, (given,) = Wording(prefs), approvals(prefs, self.cutoff)
        elected = (ranking.details["elected"] > 0)[given.order]
        place = np.argsort(given.order)
        people = "1 is" if self.seats == 1 else f"{self.seats} are"
        counted = f"{told.number(given.weight.sum())} ballots approve of somebody; {people} to be elected."
        sentences = [counted, principle]
        members = given.table[:, elected].sum(axis=1)
        held = np.bincount(members, weights=given.weight, minlength=1)
        parts = [f"{told.number(weight)} of {count}" for count, weight in enumerate(held.tolist()) if weight]
        if parts:
            sentences.append(f"Ballots by how many of the elected they approve of: {', '.join(parts)}.")
        alone = np.array([given.weight[given.table[:, slot] & (members == 1)].sum() for slot in range(len(elected))])
        columns = [
            ["elected" if elected[k] else "" for k in place],
            [told.number(given.support[k]) for k in place],
            [told.number(alone[k]) if elected[k] else "" for k in place],
        ]
        verb = "is elected" if elected.sum() == 1 else "are elected"
        header = ["", "approvals", "approve of no other elected"]
        title = f"{told.names(elected[place])} {verb} by {self.title}"
        return [Reason(title, tuple(sentences)), score_table(told, ranking, header, columns)]


def one_by_one(
    given: Approvals, seats: int, best: Callable[[Bools], tuple[Bools, float]], take: Callable[[int, float], None]
) -> Chosen:
    """Elect one after the other until all are placed; those nobody approves of come last, tied.

    ``best`` returns who of those left is best, and how good; ``take`` counts one as elected. Ties are remembered as
    long as there are seats to fill.
    """
    m = given.table.shape[1]
    support, is_left = given.support, np.ones(m, bool)
    groups: list[AnyArray] = []
    tie = np.zeros(m, np.uint8)
    while (is_left & (support > 0)).any():
        equal, value = best(is_left & (support > 0))
        alike = equal & (support >= support[equal].max() - given.slack)
        chosen = int(np.flatnonzero(alike)[0])
        if len(groups) < seats:
            tie[equal] = np.maximum(tie[equal], int(equal.sum() > 1))
            tie[alike] = np.maximum(tie[alike], 2 * int(alike.sum() > 1))
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
