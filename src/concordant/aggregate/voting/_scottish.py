"""The count of Scotland's local elections: weighted inclusive Gregory transfers in whole numbers of 0.00001 vote.

All numbers are integers, so nothing is rounded but where the law says so: the value of a paper in a transferred
surplus, surplus x value / votes, is cut off after five decimals. Weights are whole numbers of votes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from concordant.aggregate.voting._transfers import NOT_NAMED, Election, Result, Tally
from concordant.types import Bools, Int64s

VALUE = 100_000  # of a paper that was never transferred: five decimals


class _Papers:
    """Pieces of ballots: which ballot, who holds it, and its value; a ballot that ties candidates is in several."""

    def __init__(self, election: Election) -> None:
        self.places, m = election.places, election.n_candidates
        self.weight = election.weight.astype(np.int64)
        self.ballot = np.empty(0, np.int64)
        self.holder = np.empty(0, np.int64)
        self.value = np.empty(0, np.int64)
        self.n_candidates = m

    def take(self, out: Sequence[int]) -> tuple[Int64s, Int64s, Int64s]:
        """Take the pieces of some candidates away: their ballots, holders and values."""
        taken = np.isin(self.holder, out)
        found = self.ballot[taken], self.holder[taken], self.value[taken]
        self.ballot, self.holder, self.value = self.ballot[~taken], self.holder[~taken], self.value[~taken]
        return found

    def deal(self, ballot: Int64s, source: Int64s, value: Int64s, is_in: Bools) -> tuple[Int64s, Int64s]:
        """Give pieces to the best candidates that are in, tied ones sharing equally; return moves and what is over.

        Moves are a matrix (source, candidate); pieces of one ballot in one hand become one.
        """
        m, weight = self.n_candidates, self.weight
        moved, over = np.zeros((m, m), np.int64), np.zeros(m, np.int64)
        for start in range(0, len(ballot), 100_000):
            some = slice(start, start + 100_000)
            place = np.where(is_in, self.places[ballot[some]], NOT_NAMED)
            best = place.min(axis=1, initial=NOT_NAMED, keepdims=True)
            top = (place == best) & (best < NOT_NAMED)
            sharing = top.sum(axis=1)
            np.add.at(over, source[some], np.where(sharing == 0, value[some] * weight[ballot[some]], 0))
            row, candidate = np.nonzero(top)
            piece = value[some][row] // sharing[row]
            own = ballot[some][row]
            np.add.at(moved, (source[some][row], candidate), piece * weight[own])
            self.ballot = np.concatenate([self.ballot, own])
            self.holder = np.concatenate([self.holder, candidate])
            self.value = np.concatenate([self.value, piece])
        self._join()
        return moved, over

    def _join(self) -> None:
        """Make one piece of those of one ballot in one hand."""
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
    everybody = np.arange(n), np.zeros(n, np.int64), np.full(n, VALUE)
    first, _ = papers.deal(*everybody, tally.is_in)
    votes = first.sum(axis=0) if m else np.zeros(0, np.int64)
    over, total = 0, int(papers.weight.sum()) * VALUE
    tally.record("first", (), votes, np.zeros((m, m)), np.zeros(m), over, total - int(votes.sum()), quota)
    surplus = np.zeros(m, bool)
    while True:
        reached = tally.elect(tally.in_order([one for one in tally.continuing if votes[one] >= quota]))
        surplus[[one for one in reached if votes[one] > quota]] = True
        reached += tally.fill_last() if tally.vacancies else []
        tally.close(reached)
        if not tally.vacancies or not tally.continuing:
            break
        if surplus.any():
            sources = tally.lowest(np.flatnonzero(surplus).tolist(), -1)
            surplus[sources] = False
            ballot, holder, value = papers.take(sources)
            value = _transfer_values(value, holder, votes, quota)
            did, remains = "surplus", quota
        else:
            sources = tally.next_out()
            if not sources:
                tally.close([one for group in tally.elected for one in group if one not in _seated(tally)])
                break
            tally.exclude(sources)
            tally.close(excluded=sources)
            ballot, holder, value = papers.take(sources)
            did, remains = "exclusion", 0
        moved, to_nobody = papers.deal(ballot, holder, value, tally.is_in)
        votes = votes + moved.sum(axis=0)
        votes[sources] = remains
        over += int(to_nobody.sum())
        tally.record(did, sources, votes, moved, to_nobody, over, total - int(votes.sum()) - over, quota)
    return tally.result()


def _seated(tally: Tally) -> set[int]:
    """Return who was named as elected at some stage."""
    said = {label for stage in tally.stages for label in stage.elected}
    return {k for k, label in enumerate(tally.election.labels) if label in said}


def _transfer_values(value: Int64s, holder: Int64s, votes: Int64s, quota: int) -> Int64s:
    """Return surplus x value / votes of every piece, cut off after five decimals; exact, so in Python's integers."""
    found = np.zeros_like(value)
    for one in np.unique(holder).tolist():
        own = holder == one
        total = int(votes[one])
        kinds, index = np.unique(value[own], return_inverse=True)
        new = [(total - quota) * kind // total for kind in kinds.tolist()]
        found[own] = np.array(new, np.int64)[index.reshape(-1)]
    return found
