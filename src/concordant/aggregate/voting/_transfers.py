"""Shared by both rules for the single transferable vote: ballots as tables, stages, ties and elections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from concordant import views
from concordant.aggregate.election_counts import Count, CountStage, flows_of, labelled, labels_of
from concordant.aggregate.positional.borda import borda_levels
from concordant.aggregate.rounds import ballot_tables, distinct_rows
from concordant.preferences import Preferences
from concordant.types import AnyArray, Floats, Int32s

NOT_NAMED = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Election:
    """The non-empty ballots of one instance: row b holds the position of every candidate on ballot b (0 is first)."""

    labels: tuple[str, ...]
    places: Int32s
    weight: Floats
    borda: AnyArray

    @property
    def n_candidates(self) -> int:
        """The number of candidates."""
        return len(self.labels)


def elections(prefs: Preferences) -> Iterator[Election]:
    """Iterate over the elections of all instances; equal ballots are merged, and empty ones are left out."""
    borda = borda_levels(prefs, "last")
    groups, named = views.tiers(prefs), views.is_named(prefs)
    first_tier = np.searchsorted(groups.ptr[:-1], prefs.indptr[:-1])
    place = groups.of_entry - np.repeat(first_tier, np.diff(prefs.indptr))
    tables = ballot_tables(prefs, named, place.astype(np.int32), NOT_NAMED)
    for q, (slots, ballots, table) in enumerate(tables):
        names_any = (table < NOT_NAMED).any(axis=1)
        places, weight = distinct_rows(table[names_any], prefs.weight[ballots[names_any]])
        yield Election(labels_of(prefs, q), places, weight, borda[slots])


@dataclass
class Tally:
    """The state of a count: continuing, elected and excluded candidates, votes after every stage, and ties so far."""

    election: Election
    seats: int
    unit: float = 1.0
    """The value of one vote in the units of this count."""
    tolerance: float = 0.0
    history: list[AnyArray] = field(default_factory=list)
    stages: list[CountStage] = field(default_factory=list)
    elected: list[list[int]] = field(default_factory=list)
    """Groups of candidates in order of election; ties within a group cannot be broken."""
    excluded: list[list[int]] = field(default_factory=list)
    undecided: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.is_in = np.ones(self.election.n_candidates, bool)
        self.tie = np.zeros(self.election.n_candidates, np.uint8)
        self.is_settled = True

    @property
    def vacancies(self) -> int:
        """The number of vacant seats."""
        return self.seats - sum(map(len, self.elected))

    @property
    def continuing(self) -> list[int]:
        """The candidates that are neither elected nor excluded."""
        return np.flatnonzero(self.is_in).tolist()

    def lowest(self, among: Sequence[int], sign: int = 1, *, said: bool = True) -> list[int]:
        """Return the candidates with the fewest votes (with sign -1, the most votes).

        Ties are broken by the votes at the most recent earlier stage, then by Borda points; several candidates are
        returned if they are tied in all of these. ``said`` records the tie for the warning.
        """
        equal = out = np.asarray(among)
        for k, votes in enumerate([*self.history[::-1], self.election.borda]):
            if len(out) < 2:
                break
            values = sign * votes[out]
            out = out[values <= values.min() + (self.tolerance if k < len(self.history) else 0)]
            equal = out if k == 0 else equal
        if said and len(equal) > len(out):
            self.tie[equal] = np.maximum(self.tie[equal], 1)
        if said and len(out) > 1:
            self.tie[out] = 2
        return [int(candidate) for candidate in out]

    def in_order(self, among: Sequence[int]) -> list[list[int]]:
        """Return candidates by number of votes, most first, in groups of candidates whose ties cannot be broken."""
        remaining, groups = list(among), []
        while remaining:
            groups.append(self.lowest(remaining, -1, said=False))
            remaining = [candidate for candidate in remaining if candidate not in groups[-1]]
        return groups

    def elect(self, groups: Iterable[Sequence[int]]) -> list[int]:
        """Elect candidates in this order; return all of them."""
        new = [list(group) for group in groups]
        self.elected += new
        chosen = [candidate for group in new for candidate in group]
        self.is_in[chosen] = False
        return chosen

    def exclude(self, out: Sequence[int]) -> None:
        """Exclude candidates together."""
        self.excluded.append(list(out))
        self.is_in[out] = False

    def fill_last(self) -> list[int]:
        """Elect all continuing candidates if there are no more of them than vacant seats; return those elected."""
        return self.elect(self.in_order(self.continuing)) if len(self.continuing) <= self.vacancies else []

    def next_out(self) -> list[int]:
        """Return the candidates to exclude next; empty if a tie for the last seats is undecided.

        In that case the candidates above them are elected, and the tied ones remain undecided until lots are drawn.
        """
        out = self.lowest(self.continuing)
        above = [candidate for candidate in self.continuing if candidate not in out]
        if len(above) >= self.vacancies:
            return out
        self.elect(self.in_order(above))
        self.undecided = out
        self.is_in[out] = False
        return []

    def record(
        self,
        did: str,
        sources: Sequence[int],
        votes: AnyArray,
        moved: AnyArray,
        to_nobody: AnyArray,
        over: float,
        rounding: float,
        quota: float,
    ) -> None:
        """Add a stage; ``close`` adds the candidates elected at its end."""
        labels, unit = self.election.labels, self.unit
        self.history.append(np.array(votes))
        self.stages.append(
            CountStage(
                len(self.stages) + 1,
                did,
                tuple(labels[candidate] for candidate in sources),
                labelled(labels, votes / unit),
                flows_of(labels, moved / unit, to_nobody / unit),
                float(over) / unit,
                float(rounding) / unit,
                float(quota) / unit,
            )
        )

    def close(self, elected: Sequence[int] = (), excluded: Sequence[int] = ()) -> None:
        """Add the candidates that are elected, or about to be excluded, to the last stage."""
        labels, stage = self.election.labels, self.stages[-1]
        self.stages[-1] = CountStage(
            **{
                **vars(stage),
                "elected": (*stage.elected, *(labels[candidate] for candidate in elected)),
                "excluded": (*stage.excluded, *(labels[candidate] for candidate in excluded)),
            }
        )

    def result(self) -> Result:
        """Return the count, the tier of every candidate (0 best), and the elected candidates."""
        continuing = self.in_order(self.continuing)
        groups = [*self.elected, *([self.undecided] if self.undecided else []), *continuing, *self.excluded[::-1]]
        tier, share = np.empty(self.election.n_candidates, np.int64), np.zeros(self.election.n_candidates)
        for k, group in enumerate(groups):
            tier[group] = k
        share[[candidate for group in self.elected for candidate in group]] = 1.0
        if self.undecided:
            share[self.undecided] = self.vacancies / len(self.undecided)
        labels = self.election.labels
        undecided = tuple(labels[candidate] for candidate in self.undecided)
        count = Count(labels, self.seats, tuple(self.stages), undecided)
        return Result(count, tier, share, self.tie, self.is_settled)


@dataclass(frozen=True)
class Result:
    """The result of a count: stages, and the tier, share of a seat and ties of every candidate."""

    count: Count
    tier: AnyArray
    share: Floats
    tie: AnyArray
    is_settled: bool
    """Whether the keep factors converged (Meek)."""
