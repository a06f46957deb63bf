"""The count of Scottish local elections: weighted inclusive Gregory transfers, in units of 0.00001 vote.

All numbers are integers, so values are rounded only where the law says so: the transfer value of a ballot paper,
surplus x value / votes, is truncated to five decimals. Weights are whole numbers of votes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from concordant.aggregate.voting._transfers import NOT_NAMED, Election, Moves, Result, Tally
from concordant.types import Bools, Int64s

VALUE = 100_000  # of a paper that was never transferred: five decimals


class _Papers:
    """Pieces of ballots: ballot, holder and value; a ballot with tied candidates is split into several pieces."""

    def __init__(self, election: Election) -> None:
        self.places, m = election.places, election.n_candidates
        self.weight = election.weight.astype(np.int64)
        self.ballot = np.empty(0, np.int64)
        self.holder = np.empty(0, np.int64)
        self.value = np.empty(0, np.int64)
        self.n_candidates = m
        self.is_shared = False
        """Whether some ballot has been split between tied candidates."""

    def take(self, out: Sequence[int]) -> tuple[Int64s, Int64s, Int64s]:
        """Remove the pieces of some candidates; return their ballots, holders and values."""
        is_out = np.zeros(self.n_candidates, bool)
        is_out[out] = True
        is_taken = is_out[self.holder]
        pieces = self.ballot[is_taken], self.holder[is_taken], self.value[is_taken]
        self.ballot, self.holder, self.value = self.ballot[~is_taken], self.holder[~is_taken], self.value[~is_taken]
        return pieces

    def deal(
        self, sources: Sequence[int], ballot: Int64s, source: Int64s, value: Int64s, is_in: Bools
    ) -> tuple[Int64s, Int64s]:
        """Transfer pieces to the next continuing candidates, equally in ties; return moves and non-transferable votes.

        Moves are a matrix (source x candidate); pieces of a ballot with the same holder are merged.
        """
        weight = self.weight
        row_of = np.zeros(max(self.n_candidates, 1), np.int64)
        row_of[sources] = np.arange(len(sources))
        source = row_of[source]
        moved, over = np.zeros((len(sources), self.n_candidates), np.int64), np.zeros(len(sources), np.int64)
        for start in range(0, len(ballot), 100_000):
            chunk = slice(start, start + 100_000)
            place = np.where(is_in, self.places[ballot[chunk]], NOT_NAMED)
            best = place.min(axis=1, initial=NOT_NAMED, keepdims=True)
            is_best = (place == best) & (best < NOT_NAMED)
            sharing = is_best.sum(axis=1)
            np.add.at(over, source[chunk], np.where(sharing == 0, value[chunk] * weight[ballot[chunk]], 0))
            row, candidate = np.nonzero(is_best)
            piece = value[chunk][row] // sharing[row]
            ballot_of_piece = ballot[chunk][row]
            np.add.at(moved, (source[chunk][row], candidate), piece * weight[ballot_of_piece])
            self.ballot = np.concatenate([self.ballot, ballot_of_piece])
            self.holder = np.concatenate([self.holder, candidate])
            self.value = np.concatenate([self.value, piece])
            self.is_shared |= bool((sharing > 1).any())
        if self.is_shared:
            self._join()
        return moved, over

    def _join(self) -> None:
        """Merge the pieces of a ballot that have the same holder."""
        key = self.ballot * self.n_candidates + self.holder
        kept, index = np.unique(key, return_inverse=True)
        if len(kept) < len(key):
            value = np.zeros(len(kept), np.int64)
            np.add.at(value, index.reshape(-1), self.value)
            self.ballot, self.holder, self.value = kept // self.n_candidates, kept % self.n_candidates, value


def scottish_count(election: Election, seats: int) -> Result:
    """Count an election by the rules of the Scottish Local Government Elections Order 2007."""
    papers, m = _Papers(election), election.n_candidates
    quota = (int(papers.weight.sum()) // (seats + 1) + 1) * VALUE
    tally = Tally(election, seats, float(VALUE))
    n = len(papers.weight)
    all_papers = np.arange(n), np.zeros(n, np.int64), np.full(n, VALUE)
    first, _ = papers.deal([0] if m else [], *all_papers, tally.is_in)
    votes = first.sum(axis=0)
    over, total = 0, int(papers.weight.sum()) * VALUE
    tally.record("first", (), votes, Moves.none(), over, total - int(votes.sum()), quota)
    surplus = np.zeros(m, bool)
    while True:
        reached = tally.elect(tally.in_order(tally.reaching(quota, votes), votes))
        surplus[[candidate for candidate in reached if votes[candidate] > quota]] = True
        reached += tally.fill_last() if tally.vacancies else []
        tally.close(reached)
        if not tally.vacancies or not tally.is_in.any():
            break
        if surplus.any():
            sources = tally.lowest(np.flatnonzero(surplus).tolist(), votes, -1)
            surplus[sources] = False
            ballot, holder, value = papers.take(sources)
            value = _transfer_values(value, holder, votes, quota)
            did, remains = "surplus", quota
        else:
            sources = tally.next_out()
            if not sources:
                break
            tally.exclude(sources)
            ballot, holder, value = papers.take(sources)
            did, remains = "exclusion", 0
        moved, to_nobody = papers.deal(sources, ballot, holder, value, tally.is_in)
        votes = votes + moved.sum(axis=0)
        votes[sources] = remains
        over += int(to_nobody.sum())
        moves = Moves(sources, moved, to_nobody)
        tally.record(did, sources, votes, moves, over, total - int(votes.sum()) - over, quota)
    return tally.result()


def _transfer_values(value: Int64s, holder: Int64s, votes: Int64s, quota: int) -> Int64s:
    """Return surplus x value / votes of every piece, truncated to five decimals, in exact integer arithmetic."""
    new_value = np.zeros_like(value)
    for candidate in np.unique(holder).tolist():
        is_held = holder == candidate
        total = int(votes[candidate])
        distinct, index = np.unique(value[is_held], return_inverse=True)
        transferred = [(total - quota) * old // total for old in distinct.tolist()]
        new_value[is_held] = np.array(transferred, np.int64)[index.reshape(-1)]
    return new_value
