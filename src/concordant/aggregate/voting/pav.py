"""Proportional approval voting (PAV): the committee with the largest total satisfaction, 1 + 1/2 + … + 1/k per ballot.

A ballot that approves of k members of a committee of ``seats`` contributes 1 + 1/2 + … + 1/k; PAV elects the committee
with the largest total. Groups get their proportional share: if 60 of 100 voters approve of one list and 40 of another,
the lists get 6 and 4 of 10 seats.

The optimal committees are found by branch and bound (at most 10,000 of them) or, if there are more than a million
committees and a second is not enough, by integer programming (HiGHS; at most 50). Both start from the committees of
``sequential-pav`` and ``phragmen``, improved by swaps, so the result is never worse than these. Candidates with exactly
the same supporters are interchangeable, and only one choice among them is tried. Ties are broken by total approvals,
then by the Borda points of the members, best first, then by the order of the list of candidates; warnings name the
candidates. Candidates are ranked by approvals within the committee and outside it. ``fit`` has the total.

Cost: NP-hard. Up to a million committees take about a second per 2,000 distinct ballots. More committees of random
approvals, the hardest kind, often reach the time limit, and a warning states the optimality gap. ``sequential-pav`` and
``phragmen`` are fast for any size. Instances are solved one after another. Approvals are defined as in ``approval``.
Reference: T. N. Thiele, Om flerfoldsvalg, 1895; H. Aziz et al., Justified representation in approval-based committee
voting, Social Choice and Welfare, 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant.aggregate.majorities import tie_notice
from concordant.aggregate.voting._best_committees import best_committees, total, twins
from concordant.aggregate.voting._committees import Approvals, Chosen, CommitteeRule
from concordant.errors import arg
from concordant.models.notices import in_instances
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.results.explanation import Reason
from concordant.types import AnyArray, Bools, Bytes, Floats


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
        best = best_committees(ballots, self.seats, self.time_limit)
        optimal = best.committees.astype(np.float64)
        n_approvals = optimal @ support
        most_approved = optimal[n_approvals >= n_approvals.max() - ballots.slack]
        for level, committees in ((1, optimal), (2, most_approved)):
            tie[_differing(committees, twins(ballots))] = level
        members = np.array(max(most_approved.tolist())) > 0  # those that come first
        inside, outside = (
            _by_support(np.flatnonzero(is_chosen), support, ballots.slack) for is_chosen in (members, ~members)
        )
        groups = [*inside, *outside]
        return Chosen(groups, members, tie if not best.gap else np.zeros_like(tie), total(ballots, members), best.gap)

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


def _differing(committees: AnyArray, twins: Sequence[AnyArray]) -> Bools:
    """Return the candidates that are in some of these committees only.

    If a committee contains part of a group of twins, each member of the group could be in or out.
    """
    is_differing = np.ptp(committees, axis=0) > 0
    for group in twins:
        count = committees[:, group].sum(axis=1)
        is_differing[group] |= bool(((count > 0) & (count < len(group))).any())
    return np.asarray(is_differing)
