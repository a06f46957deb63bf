"""Meek's method: every elected candidate keeps the share of each ballot that leaves it with exactly a quota.

Candidate c keeps the share k_c of whatever reaches it on a ballot and passes the rest on to the next preference,
elected or not. k_c is 1 for continuing candidates and 0 for excluded ones. For elected candidates it is iterated as

    k_c <- k_c x quota / votes_c

until votes and quota agree within 1e-13 of all votes. Ballots without further preferences are exhausted, and the quota
falls with them: quota = (votes - exhausted) / (seats + 1). Tied candidates on a ballot share it equally.
"""

from __future__ import annotations

import numpy as np

from concordant.aggregate.voting._transfers import NOT_NAMED, Election, Moves, Result, Tally
from concordant.types import Floats

AGREES = 1e-13  # of all votes
EQUAL = 1e-12  # of all votes: candidates closer than this are tied
MAX_STEPS = 20_000


class _Papers:
    """The entries of the ballots by position, so that transferred votes reach the next position."""

    def __init__(self, election: Election) -> None:
        ballot, candidate = np.nonzero(election.places < NOT_NAMED)
        place = election.places[ballot, candidate]
        depth = int(place.max(initial=-1)) + 1
        self.levels = [(ballot[place == k], candidate[place == k]) for k in range(depth)]
        self.weight, self.n_candidates = election.weight, election.n_candidates
        self.total = float(election.weight.sum())

    def votes(self, keep: Floats) -> tuple[Floats, float]:
        """Return the votes of every candidate, and the votes exhausted; a candidate keeps the share ``keep`` of each
        vote.
        """
        rest = np.ones(len(self.weight))
        votes = np.zeros(self.n_candidates)
        for ballot, candidate in self.levels:
            counts = keep[candidate] > 0
            ballots, chosen = ballot[counts], candidate[counts]
            sharing = np.bincount(ballots, minlength=len(rest))[ballots]
            received = rest[ballots] * keep[chosen] / sharing
            votes += np.bincount(chosen, weights=received * self.weight[ballots], minlength=self.n_candidates)
            rest -= np.bincount(ballots, weights=received, minlength=len(rest))
        return votes, self.total - float(votes.sum())


def meek_count(election: Election, seats: int) -> Result:
    """Count an election by Meek's rules: stage by stage, until all seats are filled."""
    papers, m = _Papers(election), election.n_candidates
    tally = Tally(election, seats, tolerance=EQUAL * papers.total)
    keep = np.ones(m)
    sources: list[int] = []
    before = np.zeros(m)
    while True:
        votes, over, quota, reached = _settled(papers, tally, keep)
        moves = _moves(sources, before, votes, over - (tally.stages[-1].over if tally.stages else 0.0))
        tally.record("exclusion" if sources else "first", sources, votes, moves, over, 0.0, quota)
        tally.close([*reached, *(tally.fill_last() if tally.vacancies else [])])
        if not tally.vacancies or not tally.continuing:
            break
        sources = tally.next_out()
        if not sources:
            break
        tally.exclude(sources)
        last = tally.fill_last()
        if last:
            tally.close(last)
            break
        keep[sources] = 0.0
        before = votes
    return tally.result()


def _settled(papers: _Papers, tally: Tally, keep: Floats) -> tuple[Floats, float, float, list[int]]:
    """Iterate keep factors until elected candidates have exactly the quota; elect all who reach it. Updates ``keep``.

    Returns votes, exhausted votes, quota and the candidates newly elected.
    """
    reached: list[int] = []
    slack = AGREES * papers.total
    votes, over = papers.votes(keep)
    for _ in range(MAX_STEPS):
        quota = (papers.total - over) / (tally.seats + 1)
        passed = tally.reaching(quota + slack, votes, exceeding=True)
        reached += tally.elect(tally.in_order(passed, votes)) if len(passed) <= tally.vacancies else []
        elected = [candidate for group in tally.elected for candidate in group]
        if not elected or np.abs(votes[elected] - quota).max() <= slack or not tally.vacancies:
            break
        keep[elected] = np.minimum(keep[elected] * quota / votes[elected], 1.0)
        votes, over = papers.votes(keep)
    else:
        tally.is_settled = False
    return votes, over, (papers.total - over) / (tally.seats + 1), reached


def _moves(sources: list[int], before: Floats, votes: Floats, ran_out: float) -> Moves:
    """Return the transfers of a stage.

    All surpluses are transferred at once, so no vote has a single source: each loss is divided in proportion to the
    gains.
    """
    losing = np.flatnonzero(before > votes)
    lost, gained = (before - votes)[losing], np.maximum(votes - before, 0.0)
    total = gained.sum() + max(ran_out, 0.0)
    if not sources or total <= 0:
        return Moves.none()
    return Moves(losing.tolist(), np.outer(lost, gained / total), lost * max(ran_out, 0.0) / total)
