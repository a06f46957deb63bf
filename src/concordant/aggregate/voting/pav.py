"""Proportional approval voting (PAV): the committee with the largest total satisfaction, 1 + 1/2 + … + 1/k per ballot.

A ballot that approves of k members of a committee of ``seats`` contributes 1 + 1/2 + … + 1/k; PAV elects the committee
with the largest total. Groups get their proportional share: if 60 of 100 voters approve of one list and 40 of another,
the lists get 6 and 4 of 10 seats.

The optimal committee is found and proven by integer programming (HiGHS):

    maximise sum_g sum_k w_g z_gk / k   subject to   sum_k z_gk <= sum of x_c over c approved by g,   sum_c x_c = seats

x_c is 1 if candidate c is elected; z_gk is 1 if ballots of kind g approve of at least k members. All optimal committees
are found (at most 50; candidates with exactly the same supporters are interchangeable, and only one choice among them
is tried). Ties are broken by total approvals, then by the Borda points of the members, best first, then by the order of
the list of candidates; warnings name the candidates. Candidates are ranked by approvals within the committee and
outside it. ``fit`` has the total.

Cost: NP-hard. Random approvals, the hardest kind, take seconds for 20 candidates and 4 seats and half a minute for 30
and 5; larger ones often reach the time limit, and a warning states the optimality gap. ``sequential-pav`` and
``phragmen`` are fast for any size. Instances are solved one after another. Approvals are defined as in ``approval``.
Reference: T. N. Thiele, Om flerfoldsvalg, 1895; H. Aziz et al., Justified representation in approval-based committee
voting, Social Choice and Welfare, 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from concordant.aggregate.majorities import tie_notice
from concordant.aggregate.voting._committees import Approvals, Chosen, CommitteeRule
from concordant.errors import ConcordantError, arg
from concordant.models.notices import in_instances
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.results.explanation import Reason
from concordant.support import progress
from concordant.support.interrupts import interruptible
from concordant.types import AnyArray, Bools, Bytes, Floats

MAX_TIED = 50  # optimal committees that are looked for


@dataclass(frozen=True, kw_only=True)
class PAV(CommitteeRule):
    """Committee that maximises the sum of 1 + 1/2 + … + 1/k over ballots with k approved members, proven optimal."""

    usual_name = "proportional approval voting"
    aliases = {"proportional-approval-voting": {}}
    title = "PAV"

    time_limit: float | None = param(30.0, "time limit in seconds; then the best committee found is returned", low=0)

    def choose(self, ballots: Approvals) -> Chosen:
        """Find all optimal committees, and break ties by approvals, then by the order of candidates."""
        m, support = ballots.table.shape[1], ballots.support
        tie = np.zeros(m, np.uint8)
        if self.seats >= m:
            return Chosen(_by_support(np.arange(m), support, ballots.slack), np.ones(m, bool), tie)
        optimal, gap = _optimal(ballots, self.seats, self.time_limit)
        n_approvals = optimal @ support
        most_approved = optimal[n_approvals >= n_approvals.max() - ballots.slack]
        for level, committees in ((1, optimal), (2, most_approved)):
            tie[_differing(committees, _twins(ballots))] = level
        members = np.array(max(most_approved.tolist())) > 0  # those that come first
        inside, outside = (
            _by_support(np.flatnonzero(is_chosen), support, ballots.slack) for is_chosen in (members, ~members)
        )
        groups = [*inside, *outside]
        return Chosen(groups, members, tie if not gap else np.zeros_like(tie), _total(ballots, members), gap)

    def measured(self, choices: Sequence[Chosen]) -> dict[str, float]:
        """Return the mean of the totals."""
        return {"total": float(np.mean([choice.value for choice in choices]))} if choices else {}

    def notices(self, prefs: Preferences, tie: Bytes) -> tuple[Notice, ...]:
        """Return notices about candidates that are in some of the optimal committees only."""
        several = "several committees are optimal"
        return (
            *tie_notice(
                prefs,
                "unbroken-ties",
                f"{several}; ties were broken by Borda points, then by the list of candidates",
                tie == 2,
            ),
            *tie_notice(prefs, "broken-ties", f"{several}; ties were broken by approvals", tie == 1),
        )

    def unproven_notices(self, prefs: Preferences, choices: Sequence[Chosen]) -> tuple[Notice, ...]:
        """Return a notice with the optimality gap of instances that reached the time limit."""
        late = np.flatnonzero([choice.gap > 0 for choice in choices])
        if not len(late):
            return ()
        largest_gap = 100 * max(choice.gap for choice in choices)
        text = (
            f"the time limit was reached before optimality was proven{in_instances(prefs, late)}; another "
            f"committee's total may be up to"
        )
        advice = "raise " + arg("time_limit") + ", or use sequential-pav or phragmen"
        return (Notice("not-proven", f"{text} {largest_gap:.2g}% larger: " + advice),)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain who is elected and how the voters are represented."""
        is_proven = all(notice.name != "not-proven" for notice in ranking.warnings)
        claim = "No committee has a larger" if is_proven else "The committee has the largest known"
        return self.told(
            prefs, ranking, f"{claim} sum of 1 + 1/2 + … + 1/k over the ballots that approve of k members."
        )


def _by_support(candidates: AnyArray, support: Floats, slack: float) -> list[AnyArray]:
    """Return candidates in groups with the same number of approvals, most first."""
    order = candidates[np.argsort(-support[candidates], kind="stable")]
    cuts = np.flatnonzero(np.diff(-support[order]) > slack) + 1
    return [np.sort(group) for group in np.split(order, cuts)] if len(order) else []


def _twins(ballots: Approvals) -> list[AnyArray]:
    """Return the groups of candidates with exactly the same supporters, in the order of the list."""
    packed = np.packbits(np.ascontiguousarray(ballots.table.T), axis=1)
    by_ballots: dict[bytes, list[int]] = {}
    for candidate, row in enumerate(packed):
        by_ballots.setdefault(row.tobytes(), []).append(candidate)
    return [np.array(group) for group in by_ballots.values() if len(group) > 1]


def _differing(committees: AnyArray, twins: Sequence[AnyArray]) -> Bools:
    """Return the candidates that are in some of these committees only.

    If a committee contains part of a group of twins, each member of the group could be in or out.
    """
    is_differing = np.ptp(committees, axis=0) > 0
    for group in twins:
        count = committees[:, group].sum(axis=1)
        is_differing[group] |= bool(((count > 0) & (count < len(group))).any())
    return np.asarray(is_differing)


def _total(ballots: Approvals, members: AnyArray) -> float:
    """Return the PAV score of a committee: the sum of 1 + 1/2 + … + 1/k over ballots that approve of k members."""
    counts = ballots.table[:, members].sum(axis=1)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, members.sum() + 1))])
    return float(ballots.weight @ harmonic[counts])


def _exact(ballots: Approvals, members: AnyArray) -> Fraction | float:
    """Return the PAV score as an exact fraction where weights are whole, else as a float."""
    if (ballots.weight != np.floor(ballots.weight)).any():
        return _total(ballots, members)
    counts = np.bincount(ballots.table[:, members].sum(axis=1), weights=ballots.weight)
    harmonic = [sum((Fraction(1, k) for k in range(1, n + 1)), Fraction(0)) for n in range(len(counts))]
    return sum((int(weight) * value for weight, value in zip(counts, harmonic, strict=True)), Fraction(0))


def _optimal(ballots: Approvals, seats: int, time_limit: float | None) -> tuple[AnyArray, float]:
    """Return all optimal committees as rows of 0 and 1, and the relative optimality gap (0: proven).

    Each solution is excluded once it is found, until the total falls.
    """
    programme = _Programme(ballots, seats)
    committees: list[AnyArray] = []
    totals: list[Fraction | float] = []
    slack = max(1e-6 * float(ballots.weight.sum()), 1e-12)
    gap = 0.0
    for _ in progress.iterations(range(MAX_TIED), "searching for optimal committees"):
        if gap:
            break
        members, gap = programme.solve(time_limit)
        if members is None:
            break
        total = _exact(ballots, members)
        if committees and float(total) < float(max(totals)) - slack:
            break
        committees.append(members)
        totals.append(total)
        programme.forbid(members)
    best = max(totals)
    is_exact = isinstance(best, Fraction)
    kept = [k for k, total in enumerate(totals) if (total == best if is_exact else total >= best - ballots.slack)]
    return np.array([committees[k] for k in kept], np.float64), gap


class _Programme:
    """The integer programme of the best committee, solved by HiGHS through SciPy."""

    def __init__(self, ballots: Approvals, seats: int) -> None:
        from scipy.sparse import coo_array

        n, self.m = ballots.table.shape
        self.seats = seats
        sizes = np.minimum(ballots.table.sum(axis=1), seats)
        group = np.repeat(np.arange(n), sizes)
        k = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
        self.worth = np.concatenate(
            [np.zeros(self.m), -ballots.weight[group] / k / max(ballots.weight.max(initial=0), 1e-300)]
        )
        row, candidate = np.nonzero(ballots.table)
        # Of twins none is elected before the one ahead of it in the list: fewer committees to look through.
        pairs = np.array([pair for twins in _twins(ballots) for pair in pairwise(twins.tolist())]).reshape(-1, 2)
        twin = n + 1 + np.arange(len(pairs))
        rows = np.concatenate([row, group, np.full(self.m, n), twin, twin])
        columns = np.concatenate([candidate, self.m + np.arange(len(group)), np.arange(self.m), *pairs.T.astype(int)])
        signs = (-len(row), len(group), self.m, -len(pairs), len(pairs))
        entries = np.concatenate([np.full(abs(count), np.sign(count), float) for count in signs])
        self.matrix = coo_array((entries, (rows, columns)), shape=(n + 1 + len(pairs), len(self.worth))).tocsr()
        self.low = np.concatenate([np.full(n, -np.inf), [seats], np.full(len(pairs), -np.inf)])
        self.high = np.concatenate([np.zeros(n), [seats], np.zeros(len(pairs))])

    def forbid(self, members: AnyArray) -> None:
        """Exclude one committee from further solutions."""
        from scipy.sparse import csr_array, vstack

        row = np.concatenate([members.astype(np.float64), np.zeros(len(self.worth) - self.m)])
        self.matrix = vstack([self.matrix, csr_array(row[None, :])], format="csr")
        self.low, self.high = np.append(self.low, -np.inf), np.append(self.high, self.seats - 1)

    def solve(self, time_limit: float | None) -> tuple[AnyArray | None, float]:
        """Return the members of the best committee (None if none is left), and the relative optimality gap."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        is_whole = np.zeros(len(self.worth))
        is_whole[: self.m] = 1
        solve = partial(
            milp,
            self.worth,
            integrality=is_whole,
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(self.matrix, self.low, self.high),
            options={"mip_rel_gap": 0.0, **({} if time_limit is None else {"time_limit": time_limit})},
        )
        solution: Any = interruptible(solve)
        if solution.status == 2:
            return None, 0.0
        if solution.x is None:
            advice = "raise " + arg("time_limit") + ", or " if solution.status == 1 else ""
            message = f"No committee was found ({solution.message}): "
            raise ConcordantError(message + advice + "use sequential-pav or phragmen.")
        gap = 0.0 if solution.status == 0 else max(float(solution.mip_gap), 1e-12)
        return np.asarray(solution.x[: self.m] > 0.5), gap
