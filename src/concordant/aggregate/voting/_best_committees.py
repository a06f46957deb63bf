"""The committees with the largest PAV score: greedy start, branch and bound, and integer programming.

The search starts from the committees of ``sequential-pav`` and ``phragmen``, improved by swaps of a member for another
candidate until no swap helps. The score is submodular: what a candidate adds to a committee shrinks as the committee
grows. A partial committee with r open seats can therefore gain at most the sum of the r largest additions among the
candidates still allowed. Candidates are added in order of approvals, and partial committees whose bound is below the
best known score are dropped. Many partial committees are bounded together, by two matrix products.

If there are more committees than ``MAX_ENUMERATED`` and a second of this is not enough, an integer programme (HiGHS)
continues from the best known committee:

    maximise sum_g sum_k w_g z_gk / k   subject to   sum_k z_gk <= sum of x_c over c approved by g,   sum_c x_c = seats

x_c is 1 if candidate c is elected; z_gk is 1 if ballots of kind g approve of at least k members.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import comb, inf, lcm
from typing import Any

import numpy as np

from concordant.aggregate.voting._committees import Approvals
from concordant.aggregate.voting.phragmen import Phragmen
from concordant.aggregate.voting.sequential_pav import SequentialPAV
from concordant.support import progress
from concordant.support.interrupts import interruptible
from concordant.types import AnyArray, Bools, Floats, Int64s

MAX_ENUMERATED = 1_000_000  # committees
MAX_TIED = 10_000  # optimal committees that branch and bound looks for
MAX_PROGRAMMES = 50  # optimal committees that the integer programme looks for
IMPRECISE = 1e-6  # of the weight: the precision of the integer programme
MAX_CELLS = 100_000_000  # of ballots x partial committees: about a second of branch and bound
CELLS = 4_000_000  # of ballots x partial committees, bounded together
TITLE = "searching for optimal committees"


@dataclass(frozen=True)
class Best:
    """The best committees, as rows of membership, and the relative optimality gap (0: proven optimal)."""

    committees: Bools
    gap: float


def best_committees(ballots: Approvals, seats: int, time_limit: float | None) -> Best:
    """Return all optimal committees; of twins, none is elected before the one ahead of it in the list."""
    deadline = inf if time_limit is None else time.monotonic() + time_limit
    additions = Additions(ballots)
    start = _first_twins(ballots, np.array([_improved(additions, members) for members in _greedy(ballots, seats)]))
    search = _Search(ballots, additions, start)
    max_cells = inf if comb(ballots.table.shape[1], seats) <= MAX_ENUMERATED else MAX_CELLS
    with progress.stage(TITLE) as step:
        while search.open and search.cells < max_cells and time.monotonic() < deadline:
            step()
            search.branch()
    found = _best_of(ballots, search.found(), _gap(search.best, search.bound(), ballots.slack))
    if not found.gap or time.monotonic() >= deadline:
        return found
    return _programmed(ballots, found.committees, search.bound(), deadline)


def _greedy(ballots: Approvals, seats: int) -> list[Bools]:
    """Return the committees of the sequential rules."""
    return [rule.choose(ballots).elected for rule in (SequentialPAV(seats=seats), Phragmen(seats=seats))]


def twins(ballots: Approvals) -> list[Int64s]:
    """Return the groups of candidates with exactly the same supporters, in the order of the list."""
    packed = np.packbits(np.ascontiguousarray(ballots.table.T), axis=1)
    by_ballots: dict[bytes, list[int]] = {}
    for candidate, row in enumerate(packed):
        by_ballots.setdefault(row.tobytes(), []).append(candidate)
    return [np.array(group) for group in by_ballots.values() if len(group) > 1]


def _first_twins(ballots: Approvals, committees: Bools) -> Bools:
    """Replace twins by those ahead of them in the list, which serve the same ballots."""
    for group in twins(ballots):
        committees[:, group] = np.arange(len(group)) < committees[:, group].sum(axis=1, keepdims=True)
    return committees


class Additions:
    """What every candidate would add to the score of each of some partial committees."""

    def __init__(self, ballots: Approvals) -> None:
        self.weight = ballots.weight
        self.table = ballots.table.astype(np.float64)
        self.single = ballots.table.T.astype(np.float32)

    def to(self, members: Bools) -> Floats:
        """Return the additions (committees x candidates); those of members are meaningless."""
        n_committees, n = len(members), len(self.weight)
        added = np.zeros((n_committees, self.table.shape[1]))
        step = max(1, CELLS // max(n_committees, 1))
        for start in range(0, n, step):
            part = slice(start, start + step)
            served = members.astype(np.float32) @ self.single[:, part]
            added += (self.weight[part] / (served + 1.0)) @ self.table[part]
        return added

    def bound(self, seats: int) -> float:
        """Return a score that no committee of this size exceeds."""
        alone = np.sort(self.to(np.zeros((1, self.table.shape[1]), bool))[0])
        return float(alone[-seats:].sum())


def totals(ballots: Approvals, committees: Bools) -> AnyArray:
    """Return the PAV score of every committee: exact whole numbers in a common unit if weights are whole, else floats.

    The score is the sum over k of 1/k times the weight of the ballots that approve of at least k members.
    """
    most = int(committees.sum(axis=1).max(initial=0))
    step = max(1, CELLS // max(len(ballots.weight), 1))
    at_least = np.zeros((len(committees), most))
    for start in range(0, len(committees), step):
        rows = slice(start, start + step)
        served = committees[rows].astype(np.float32) @ ballots.table.T.astype(np.float32)
        for k in range(1, most + 1):
            at_least[rows, k - 1] = (served >= k) @ ballots.weight
    if (ballots.weight != np.floor(ballots.weight)).any():
        return np.asarray(at_least @ (1 / np.arange(1, most + 1)))
    unit = lcm(*range(1, most + 1))
    shares = np.array([unit // k for k in range(1, most + 1)], object)
    whole = np.array([[int(weight) for weight in row] for row in at_least.tolist()], object).reshape(-1, most)
    return np.asarray(whole @ shares)


def total(ballots: Approvals, members: Bools) -> float:
    """Return the PAV score of a committee."""
    served = ballots.table[:, members].sum(axis=1)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, members.sum() + 1))])
    return float(ballots.weight @ harmonic[served])


def _best_of(ballots: Approvals, committees: Bools, gap: float) -> Best:
    """Return the distinct committees with the largest score among these."""
    distinct = np.unique(committees, axis=0)
    score = totals(ballots, distinct)
    slack = 0 if score.dtype == object else ballots.slack
    return Best(distinct[np.asarray(score >= score.max() - slack, bool)], gap)


def _improved(additions: Additions, members: Bools) -> Bools:
    """Swap a member for another candidate, the best swap first, until none increases the score."""
    members = members.copy()
    while True:
        inside = np.flatnonzero(members)
        without = np.repeat(members[None, :], len(inside), axis=0)
        without[np.arange(len(inside)), inside] = False
        added = additions.to(without)
        gain = added - added[np.arange(len(inside)), inside][:, None]
        gain[:, members] = 0.0
        row, candidate = np.unravel_index(int(gain.argmax()), gain.shape)
        if gain[row, candidate] <= 1e-9 * float(additions.weight.sum()):
            return members
        members[inside[row]], members[candidate] = False, True


# ---- branch and bound ----
def _gap(best: float, bound: float, slack: float) -> float:
    """Return by what share of the best known score another committee may exceed it; 0 if the best is proven."""
    return 0.0 if bound < best - slack else max(bound / max(best, 1e-300) - 1, 1e-12)


class _Search:
    """Branch and bound over committees; candidates are added in order of approvals, twins in the order of the list."""

    def __init__(self, ballots: Approvals, additions: Additions, start: Bools) -> None:
        m = ballots.table.shape[1]
        self.additions, self.seats = additions, int(start[0].sum())
        self.order = np.argsort(-ballots.support, kind="stable")
        place = np.argsort(self.order)
        self.ahead = np.full(m, -1)  # the place of the twin that must be elected earlier, or -1
        for group in twins(ballots):
            self.ahead[place[group[1:]]] = place[group[:-1]]
        self.slack, self.cells = ballots.slack, 0
        self.cells_each = max(len(ballots.weight), m)
        self.start, self.best = start, max(total(ballots, members) for members in start)
        self.kept: list[Int64s] = []
        self.open = [_Partial(np.empty((1, 0), np.int64), np.zeros(1), np.array([additions.bound(self.seats)]))]

    def found(self) -> Bools:
        """Return the committees whose score may be the best."""
        return np.concatenate([self.start, *map(self._members, self.kept)])

    def bound(self) -> float:
        """Return the largest score that an open partial committee can reach."""
        return max((float(partial.bound.max(initial=-inf)) for partial in self.open), default=-inf)

    @property
    def _wanted(self) -> float:
        """The lowest score that is of interest: of ties, once there are many, no more."""
        is_full = sum(map(len, self.kept)) >= MAX_TIED
        return self.best + (self.slack if is_full else -self.slack)

    def branch(self) -> None:
        """Add one candidate to the most promising of the largest partial committees, in every allowed way."""
        taken = self.open.pop()
        taken = taken.of(taken.bound >= self._wanted)
        rows = max(1, CELLS // self.cells_each)
        if len(taken.bound) > rows:
            self.open.append(taken.of(slice(rows, None)))
            taken = taken.of(slice(rows))
        self.cells += len(taken.bound) * self.cells_each
        added = self._allowed(taken)
        vacant = self.seats - taken.places.shape[1]
        bound = taken.score[:, None] + added + _largest_after(added, vacant - 1)
        if vacant == 1 and (best := float(bound.max(initial=-inf))) > self.best:
            self.kept = [] if best > self.best + self.slack else self.kept
            self.best = best
        row, candidate = np.nonzero(bound >= self._wanted)
        places = np.concatenate([taken.places[row], candidate[:, None]], axis=1)
        if vacant == 1:
            self.kept.append(places[:MAX_TIED])
            return
        bounds = bound[row, candidate]
        by_bound = np.argsort(-bounds, kind="stable")
        self.open.append(_Partial(places, taken.score[row] + added[row, candidate], bounds).of(by_bound))

    def _members(self, places: Int64s) -> Bools:
        """Return committees, given as rows of places in the order of the search, as rows of membership."""
        members = np.zeros((len(places), len(self.order)), bool)
        members[np.arange(len(places))[:, None], self.order[places]] = True
        return members

    def _allowed(self, taken: _Partial) -> Floats:
        """Return what each candidate adds, by place; -inf for those before the last member, or after an absent twin."""
        members = self._members(taken.places)
        added = self.additions.to(members)[:, self.order]
        last = taken.places.max(axis=1, initial=-1, keepdims=True)
        is_open = np.arange(len(self.order)) > last
        has_twin = self.ahead >= 0
        twin = self.ahead[has_twin]
        is_open[:, has_twin] &= members[:, self.order[twin]] | (twin > last)
        added[~is_open] = -inf
        return added


@dataclass(frozen=True)
class _Partial:
    """Partial committees of the same size, most promising first: places of the members, scores and bounds."""

    places: Int64s
    score: Floats
    bound: Floats

    def of(self, rows: AnyArray | slice) -> _Partial:
        """Return some of the partial committees."""
        return _Partial(self.places[rows], self.score[rows], self.bound[rows])


def _largest_after(added: Floats, count: int) -> Floats:
    """Return, for every column, the sum of the ``count`` largest values in the columns after it (-inf: too few)."""
    result = np.zeros_like(added)
    if count == 0:
        return result
    largest = np.full((len(added), count), -inf)
    for column in range(added.shape[1] - 1, -1, -1):
        result[:, column] = largest.sum(axis=1)
        largest[:, 0] = np.maximum(largest[:, 0], added[:, column])
        largest.sort(axis=1)
    return result


# ---- integer programming ----
def _programmed(ballots: Approvals, start: Bools, bound: float, deadline: float) -> Best:
    """Return the best committees by integer programming, up to the deadline; no score exceeds ``bound``.

    Each solution is excluded once it is found, until the score falls.
    """
    best = total(ballots, start[0])
    programme = _Programme(ballots, int(start[0].sum()))
    found = [*start]
    for _ in progress.iterations(range(MAX_PROGRAMMES), TITLE):
        members, bound_of_others = programme.solve(deadline - time.monotonic())
        bound = min(bound, bound_of_others)
        if members is None:
            break
        found.append(members)
        score = total(ballots, members)
        if programme.is_late or score < best - max(IMPRECISE * float(ballots.weight.sum()), 1e-12):
            break
        best = max(best, score)
        programme.forbid(members)
    gap = _gap(best, bound, ballots.slack) if programme.is_late else 0.0
    return _best_of(ballots, np.array(found), gap)


class _Programme:
    """The integer programme of the best committee, solved by HiGHS through SciPy."""

    def __init__(self, ballots: Approvals, seats: int) -> None:
        from scipy.sparse import coo_array

        n, self.m = ballots.table.shape
        self.seats, self.unit = seats, max(float(ballots.weight.max(initial=0)), 1e-300)
        self.is_late = False
        sizes = np.minimum(ballots.table.sum(axis=1), seats)
        group = np.repeat(np.arange(n), sizes)
        k = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
        self.worth = np.concatenate([np.zeros(self.m), -ballots.weight[group] / k / self.unit])
        row, candidate = np.nonzero(ballots.table)
        # Of twins none is elected before the one ahead of it in the list: fewer committees to look through.
        pairs = np.array([pair for group in twins(ballots) for pair in pairwise(group.tolist())]).reshape(-1, 2)
        twin = n + 1 + np.arange(len(pairs))
        rows = np.concatenate([row, group, np.full(self.m, n), twin, twin])
        columns = np.concatenate([candidate, self.m + np.arange(len(group)), np.arange(self.m), *pairs.T.astype(int)])
        signs = (-len(row), len(group), self.m, -len(pairs), len(pairs))
        entries = np.concatenate([np.full(abs(count), np.sign(count), float) for count in signs])
        self.matrix = coo_array((entries, (rows, columns)), shape=(n + 1 + len(pairs), len(self.worth))).tocsr()
        self.low = np.concatenate([np.full(n, -np.inf), [seats], np.full(len(pairs), -np.inf)])
        self.high = np.concatenate([np.zeros(n), [seats], np.zeros(len(pairs))])

    def forbid(self, members: Bools) -> None:
        """Exclude one committee from further solutions."""
        from scipy.sparse import csr_array, vstack

        row = np.concatenate([members.astype(np.float64), np.zeros(len(self.worth) - self.m)])
        self.matrix = vstack([self.matrix, csr_array(row[None, :])], format="csr")
        self.low, self.high = np.append(self.low, -np.inf), np.append(self.high, self.seats - 1)

    def solve(self, seconds: float) -> tuple[Bools | None, float]:
        """Return the members of the best committee (None: none is left or known) and a bound of its score.

        ``is_late`` is set if the time is up, or if HiGHS stops for another reason.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        is_whole = np.zeros(len(self.worth))
        is_whole[: self.m] = 1
        options = {"mip_rel_gap": 0.0, **({} if seconds == inf else {"time_limit": max(seconds, 0.0)})}
        solve = partial(
            milp,
            self.worth,
            integrality=is_whole,
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(self.matrix, self.low, self.high),
            options=options,
        )
        solution: Any = interruptible(solve)
        if solution.status == 2:
            return None, -inf
        self.is_late = solution.status != 0
        known = solution.mip_dual_bound
        bound = inf if known is None or not np.isfinite(known) else -float(known) * self.unit
        return None if solution.x is None else np.asarray(solution.x[: self.m] > 0.5), bound
