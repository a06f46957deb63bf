"""Proportional approval voting (PAV): the committee that satisfies the ballots most, less for every further member.

A ballot that approves of k members of a committee of ``seats`` is worth 1 + 1/2 + … + 1/k to it; PAV elects the
committee of the largest total. Groups get their share: of 100 voters, 60 who approve of one list and 40 of another get
6 and 4 of 10 seats. The best committee is found and proven by integer programming (HiGHS): x_c says who is elected,
z_gk whether the ballots of kind g have a k-th member they approve of,

    maximise sum of w_g z_gk / k   with   sum_k z_gk <= sum of x_c approved by g,   sum x_c = seats.

Ties are looked for: all committees with the same total are found (at most 50; of candidates that exactly the same
ballots approve of only one choice is looked at), and the one with the most approvals is taken, then the one whose
members have more Borda points, the best first, then the one whose members come first in the list of candidates.
Warnings name the candidates. Within the committee, and behind it, candidates are ranked by approvals. ``fit`` has the
total.

Cost: NP-hard. Random approvals, the hardest kind, take seconds for 20 candidates and 4 seats and half a minute for 30
and 5; beyond that the time limit often comes first, and a warning says how far off the committee may be.
``sequential-pav`` and ``phragmen`` are fast for any number. Instances one after the other. What counts as approved:
what ``approval`` counts. Reference: T. N. Thiele, Om flerfoldsvalg, 1895; H. Aziz et al., Justified representation in
approval-based committee voting, Social Choice and Welfare, 2017.
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
from concordant.support.interrupts import interruptible
from concordant.types import AnyArray, Bools, Bytes, Floats

MAX_TIED = 50  # optimal committees that are looked for


@dataclass(frozen=True, kw_only=True)
class PAV(CommitteeRule):
    """Committee that maximises the sum of 1 + 1/2 + … + 1/k over ballots with k approved members, proven optimal."""

    aliases = {"proportional-approval-voting": {}}
    title = "PAV"

    time_limit: float | None = param(30.0, "time limit in seconds; then the best committee found is returned", low=0)

    def choose(self, given: Approvals) -> Chosen:
        """Find all optimal committees, and settle ties between them by approvals."""
        m, support = given.table.shape[1], given.support
        tie = np.zeros(m, np.uint8)
        if self.seats >= m:
            return Chosen(_by_support(np.arange(m), support, given.slack), np.ones(m, bool), tie)
        optimal, gap = _optimal(given, self.seats, self.time_limit)
        approved = optimal @ support
        closest = optimal[approved >= approved.max() - given.slack]
        for level, committees in ((1, optimal), (2, closest)):
            tie[_differing(committees, _twins(given))] = level
        members = np.array(max(closest.tolist())) > 0  # those that come first
        inside, outside = (_by_support(np.flatnonzero(those), support, given.slack) for those in (members, ~members))
        groups = [*inside, *outside]
        return Chosen(groups, members, tie if not gap else np.zeros_like(tie), _total(given, members), gap)

    def measured(self, found: Sequence[Chosen]) -> dict[str, float]:
        """Return the mean of the totals."""
        return {"total": float(np.mean([one.value for one in found]))} if found else {}

    def notices(self, prefs: Preferences, tie: Bytes) -> tuple[Notice, ...]:
        """Name the candidates of ties between optimal committees."""
        several = "several committees are optimal"
        return (
            *tie_notice(
                prefs,
                "unbroken-ties",
                f"{several}; Borda points, then the list of candidates, decided",
                tie == 2,
            ),
            *tie_notice(prefs, "broken-ties", f"{several}; approvals decided", tie == 1),
        )

    def unproven_notices(self, prefs: Preferences, found: Sequence[Chosen]) -> tuple[Notice, ...]:
        """Tell where the time limit came before the proof, and how far off a committee may be."""
        rough = np.flatnonzero([one.gap > 0 for one in found])
        if not len(rough):
            return ()
        most = 100 * max(one.gap for one in found)
        text = (
            f"the time limit came before the proof{in_instances(prefs, rough)}; another committee's total may be up to"
        )
        advice = "raise " + arg("time_limit") + ", or use sequential-pav or phragmen"
        return (Notice("not-proven", f"{text} {most:.2g}% larger: " + advice),)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Say who is elected, and how the ballots are represented."""
        is_proven = all(notice.name != "not-proven" for notice in ranking.warnings)
        which = "No committee has a larger" if is_proven else "The committee has, as far as was found, the largest"
        return self.told(
            prefs, ranking, f"{which} sum of 1 + 1/2 + … + 1/k over the ballots that approve of k members."
        )


def _by_support(candidates: AnyArray, support: Floats, slack: float) -> list[AnyArray]:
    """Return candidates in groups of equally many approvals, most first."""
    order = candidates[np.argsort(-support[candidates], kind="stable")]
    cuts = np.flatnonzero(np.diff(-support[order]) > slack) + 1
    return [np.sort(group) for group in np.split(order, cuts)] if len(order) else []


def _twins(given: Approvals) -> list[AnyArray]:
    """Return the groups of candidates that exactly the same ballots approve of, in the order of the list."""
    packed = np.packbits(np.ascontiguousarray(given.table.T), axis=1)
    kinds: dict[bytes, list[int]] = {}
    for candidate, row in enumerate(packed):
        kinds.setdefault(row.tobytes(), []).append(candidate)
    return [np.array(group) for group in kinds.values() if len(group) > 1]


def _differing(committees: AnyArray, twins: Sequence[AnyArray]) -> Bools:
    """Say who is in some of these committees only; of twins of whom only some are in, all could be the others."""
    found = np.ptp(committees, axis=0) > 0
    for group in twins:
        count = committees[:, group].sum(axis=1)
        found[group] |= bool(((count > 0) & (count < len(group))).any())
    return np.asarray(found)


def _total(given: Approvals, members: AnyArray) -> float:
    counts = given.table[:, members].sum(axis=1)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, members.sum() + 1))])
    return float(given.weight @ harmonic[counts])


def _exact(given: Approvals, members: AnyArray) -> Fraction | float:
    """Return the total without rounding where weights are whole."""
    if (given.weight != np.floor(given.weight)).any():
        return _total(given, members)
    counts = np.bincount(given.table[:, members].sum(axis=1), weights=given.weight)
    worth = [sum((Fraction(1, k) for k in range(1, n + 1)), Fraction(0)) for n in range(len(counts))]
    return sum((int(weight) * one for weight, one in zip(counts, worth, strict=True)), Fraction(0))


def _optimal(given: Approvals, seats: int, time_limit: float | None) -> tuple[AnyArray, float]:
    """Return all optimal committees as rows of 0 and 1, and by what share a better one could exceed them (0: proven).

    Each is forbidden once it is found, until the total falls.
    """
    programme = _Programme(given, seats)
    found: list[AnyArray] = []
    totals: list[Fraction | float] = []
    slack = max(1e-6 * float(given.weight.sum()), 1e-12)
    gap = 0.0
    while len(found) < MAX_TIED and not gap:
        members, gap = programme.solve(time_limit)
        if members is None:
            break
        total = _exact(given, members)
        if found and float(total) < float(max(totals)) - slack:
            break
        found.append(members)
        totals.append(total)
        programme.forbid(members)
    best = max(totals)
    exact = isinstance(best, Fraction)
    kept = [k for k, total in enumerate(totals) if (total == best if exact else total >= best - given.slack)]
    return np.array([found[k] for k in kept], np.float64), gap


class _Programme:
    """The integer programme of the best committee; SciPy hands it to HiGHS."""

    def __init__(self, given: Approvals, seats: int) -> None:
        from scipy.sparse import coo_array

        n, self.m = given.table.shape
        self.seats = seats
        sizes = np.minimum(given.table.sum(axis=1), seats)
        group = np.repeat(np.arange(n), sizes)
        k = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
        self.worth = np.concatenate(
            [np.zeros(self.m), -given.weight[group] / k / max(given.weight.max(initial=0), 1e-300)]
        )
        row, candidate = np.nonzero(given.table)
        # Of twins none is elected before the one ahead of it in the list: fewer committees to look through.
        pairs = np.array([pair for twins in _twins(given) for pair in pairwise(twins.tolist())]).reshape(-1, 2)
        twin = n + 1 + np.arange(len(pairs))
        rows = np.concatenate([row, group, np.full(self.m, n), twin, twin])
        columns = np.concatenate([candidate, self.m + np.arange(len(group)), np.arange(self.m), *pairs.T.astype(int)])
        signs = (-len(row), len(group), self.m, -len(pairs), len(pairs))
        entries = np.concatenate([np.full(abs(count), np.sign(count), float) for count in signs])
        self.matrix = coo_array((entries, (rows, columns)), shape=(n + 1 + len(pairs), len(self.worth))).tocsr()
        self.low = np.concatenate([np.full(n, -np.inf), [seats], np.full(len(pairs), -np.inf)])
        self.high = np.concatenate([np.zeros(n), [seats], np.zeros(len(pairs))])

    def forbid(self, members: AnyArray) -> None:
        """Leave one committee out from now on."""
        from scipy.sparse import csr_array, vstack

        row = np.concatenate([members.astype(np.float64), np.zeros(len(self.worth) - self.m)])
        self.matrix = vstack([self.matrix, csr_array(row[None, :])], format="csr")
        self.low, self.high = np.append(self.low, -np.inf), np.append(self.high, self.seats - 1)

    def solve(self, time_limit: float | None) -> tuple[AnyArray | None, float]:
        """Return who is in the best committee (None where none is left), and by how much another may be better."""
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
        found: Any = interruptible(solve)
        if found.status == 2:
            return None, 0.0
        if found.x is None:
            late = "raise " + arg("time_limit") + ", or " if found.status == 1 else ""
            what = f"No committee was found ({found.message}): "
            raise ConcordantError(what + late + "use sequential-pav or phragmen.")
        gap = 0.0 if found.status == 0 else max(float(found.mip_gap), 1e-12)
        return np.asarray(found.x[: self.m] > 0.5), gap
