"""Shared by both rules for the single transferable vote: ballots as tables, stages, ties and elections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np

from concordant import views
from concordant.aggregate.election_counts import Count, CountStage, flows_of, labelled, labels_of
from concordant.aggregate.positional.borda import borda_levels
from concordant.aggregate.rounds import ballot_tables, distinct_rows
from concordant.preferences import Preferences
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s

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


@dataclass(frozen=True)
class Moves:
    """Transfers: a matrix (source x candidate), and the non-transferable votes of every source."""

    sources: Sequence[int]
    moved: AnyArray
    to_nobody: AnyArray

    @classmethod
    def none(cls) -> Self:
        """Return no transfers."""
        return cls((), np.empty((0, 0)), np.empty(0))


@dataclass
class _Stage:
    """One stage as numbers: candidates by index, values in the units of the count."""

    did: str
    sources: Sequence[int]
    votes: AnyArray
    moves: Moves
    over: float
    rounding: float
    quota: float
    elected: list[int] = field(default_factory=list)
    excluded: list[int] = field(default_factory=list)


@dataclass
class Tally:
    """The state of a count: continuing, elected and excluded candidates, votes after every stage, and ties so far."""

    election: Election
    seats: int
    unit: float = 1.0
    """The value of one vote in the units of this count."""
    tolerance: float = 0
    stages: list[_Stage] = field(default_factory=list)
    elected: list[list[int]] = field(default_factory=list)
    """Groups of candidates in order of election; ties within a group cannot be broken."""
    excluded: list[list[int]] = field(default_factory=list)
    undecided: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.is_in = np.ones(self.election.n_candidates, bool)
        self.tie = np.zeros(self.election.n_candidates, np.uint8)
        self.is_settled = True
        self.history = np.empty((0, self.election.n_candidates))
        """The votes after every stage; there is room for further ones."""
        self.alike = np.zeros(self.election.n_candidates, np.int64)
        """The same number for candidates with the same votes at all stages so far."""

    @property
    def vacancies(self) -> int:
        """The number of vacant seats."""
        return self.seats - sum(map(len, self.elected))

    @property
    def continuing(self) -> list[int]:
        """The candidates that are neither elected nor excluded."""
        return np.flatnonzero(self.is_in).tolist()

    def reaching(self, quota: float, votes: AnyArray, *, exceeding: bool = False) -> list[int]:
        """Return the continuing candidates whose votes reach a quota (or exceed it)."""
        return np.flatnonzero(self.is_in & (votes > quota if exceeding else votes >= quota)).tolist()

    def lowest(self, among: Sequence[int], votes: AnyArray, sign: int = 1, *, said: bool = True) -> list[int]:
        """Return the candidates with the fewest votes (with sign -1, the most votes).

        Ties are broken by the votes at the most recent earlier stage, then by Borda points; several candidates are
        returned if they are tied in all of these. ``said`` records the tie for the warning.
        """
        equal = np.asarray(among)
        equal = equal[_is_lowest(sign * votes[equal], self.tolerance)]
        out = self._lowest_earlier(equal, sign)
        out = out[_is_lowest(sign * self.election.borda[out], 0)]
        if said and len(equal) > len(out):
            self.tie[equal] = np.maximum(self.tie[equal], 1)
        if said and len(out) > 1:
            self.tie[out] = 2
        return [int(candidate) for candidate in out]

    def _lowest_earlier(self, among: Int64s, sign: int) -> Int64s:
        """Return the candidates with the fewest votes at the most recent stages in which they differ.

        One of each kind of candidates with the same votes at all stages is compared, at several stages at once.
        """
        if len(among) < 2:
            return among
        _, first, kind = np.unique(self.alike[among], return_index=True, return_inverse=True)
        left, stop, step = np.arange(len(first)), len(self.stages), 8
        while stop and len(left) > 1:
            start = max(stop - step, 0)
            votes = sign * self.history[start:stop, among[first[left]]]
            is_lowest = votes <= votes.min(axis=1, keepdims=True) + self.tolerance
            differing = np.flatnonzero(~is_lowest.all(axis=1))
            if len(differing):
                left, stop = left[is_lowest[differing[-1]]], start + int(differing[-1])
            else:
                stop, step = start, 2 * step
        return among[np.isin(kind, left)]

    def in_order(self, among: Sequence[int], votes: AnyArray) -> list[list[int]]:
        """Return candidates by number of votes, most first, in groups of candidates whose ties cannot be broken."""
        remaining, groups = np.asarray(among, np.int64), []
        while len(remaining):
            groups.append(self.lowest(remaining.tolist(), votes, -1, said=False))
            remaining = remaining[~np.isin(remaining, groups[-1])]
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
        self.close(excluded=out)

    def fill_last(self) -> list[int]:
        """Elect all continuing candidates if there are no more of them than vacant seats; return those elected."""
        if self.is_in.sum() > self.vacancies:
            return []
        return self.elect(self.in_order(self.continuing, self.stages[-1].votes))

    def next_out(self) -> list[int]:
        """Return the candidates to exclude next; empty if a tie for the last seats is undecided.

        In that case the candidates above them are elected, and the tied ones remain undecided until lots are drawn.
        """
        votes = self.stages[-1].votes
        out = self.lowest(self.continuing, votes)
        is_above = self.is_in.copy()
        is_above[out] = False
        if is_above.sum() >= self.vacancies:
            return out
        self.close(self.elect(self.in_order(np.flatnonzero(is_above).tolist(), votes)))
        self.undecided = out
        self.is_in[out] = False
        return []

    def record(
        self,
        did: str,
        sources: Sequence[int],
        votes: AnyArray,
        moves: Moves,
        over: float,
        rounding: float,
        quota: float,
    ) -> None:
        """Add a stage; ``close`` adds the candidates elected at its end."""
        n = len(self.stages)
        if n == len(self.history):
            grown = np.empty((max(8, 2 * n), self.election.n_candidates), votes.dtype)
            grown[:n] = self.history
            self.history = grown
        self.history[n] = votes
        _, value = np.unique(votes, return_inverse=True)
        self.alike = np.unique(self.alike * (len(votes) + 1) + value.reshape(-1), return_inverse=True)[1].reshape(-1)
        self.stages.append(_Stage(did, sources, np.array(votes), moves, over, rounding, quota))

    def close(self, elected: Sequence[int] = (), excluded: Sequence[int] = ()) -> None:
        """Add the candidates that are elected, or about to be excluded, to the last stage."""
        self.stages[-1].elected += elected
        self.stages[-1].excluded += excluded

    def result(self) -> Result:
        """Return the tier of every candidate (0 best), and the elected candidates."""
        continuing = self.in_order(self.continuing, self.stages[-1].votes)
        groups = [*self.elected, *([self.undecided] if self.undecided else []), *continuing, *self.excluded[::-1]]
        tier, share = np.empty(self.election.n_candidates, np.int64), np.zeros(self.election.n_candidates)
        for k, group in enumerate(groups):
            tier[group] = k
        share[[candidate for group in self.elected for candidate in group]] = 1.0
        if self.undecided:
            share[self.undecided] = self.vacancies / len(self.undecided)
        return Result(self, tier, share)

    def count(self) -> Count:
        """Return the stages with the labels of the candidates."""
        labels, unit = self.election.labels, self.unit
        stages = [
            CountStage(
                number,
                stage.did,
                tuple(labels[candidate] for candidate in stage.sources),
                labelled(labels, stage.votes / unit),
                flows_of(labels, stage.moves.sources, stage.moves.moved / unit, stage.moves.to_nobody / unit),
                float(stage.over) / unit,
                float(stage.rounding) / unit,
                float(stage.quota) / unit,
                tuple(labels[candidate] for candidate in stage.elected),
                tuple(labels[candidate] for candidate in stage.excluded),
            )
            for number, stage in enumerate(self.stages, 1)
        ]
        undecided = tuple(labels[candidate] for candidate in self.undecided)
        return Count(labels, self.seats, tuple(stages), undecided)


def _is_lowest(values: AnyArray, tolerance: float) -> Bools:
    return np.asarray(values <= values.min() + tolerance)


@dataclass(frozen=True)
class Result:
    """The result of a count: stages, and the tier and the share of a seat of every candidate."""

    tally: Tally
    tier: AnyArray
    share: Floats

    @cached_property
    def count(self) -> Count:
        """The stages with labels, built on first access."""
        return self.tally.count()
