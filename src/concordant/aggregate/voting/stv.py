"""Single transferable vote (STV): proportional election of several candidates from ranked ballots.

A candidate that reaches the quota is elected; its surplus is transferred to the next preferences on its ballots. If
nobody has a surplus, the candidate with the fewest votes is excluded and its votes are transferred. If as many
candidates remain as seats, they are elected. ``seats`` is the number of candidates to elect; with one seat the rule is
instant runoff that stops at a majority.

``rules="scottish"`` are the rules of Scottish council elections. The quota is

    floor(votes / (seats + 1)) + 1

*All* papers of an elected candidate are transferred, each at the value surplus x value / votes, truncated to five
decimals (weighted inclusive Gregory); the largest surplus comes first. Papers of excluded candidates keep their values.
Votes are counted in whole units of 0.00001, so a recount gives the same figures to the last digit. Weights must be
whole numbers of votes: if they were fractions of all votes, the quota would exceed their sum.

``rules="meek"`` is designed for counting by computer: every elected candidate keeps the same share of every paper that
reaches it, such that it has exactly a quota, and papers are also transferred to elected candidates. The quota is

    (votes - exhausted votes) / (seats + 1)

and is recalculated at every stage. It is fairer to voters whose first preference is a certain winner.

Ties in votes are broken by the most recent earlier stage in which the candidates differ. The law then draws lots; here
Borda points decide. Candidates that are still tied are excluded together, or stay tied for the last seats, which only
lots can decide. Warnings name the candidates of both kinds of ties. Tied candidates on a ballot share it equally (real
Scottish ballots have no ties). Empty ballots do not count.

The ranking lists elected candidates in the order of election, then those still continuing when all seats were filled,
then the others, last excluded first. ``ranking.detail("elected")`` is 1 for elected candidates, and the share of a seat
if lots must decide; ``ranking.model`` has the votes, transfers and quota of every stage.

Cost: stages x (ballots + candidates); instances are counted one after another. References: The Scottish Local
Government Elections Order 2007, schedule 1, rules 46 to 52; I. D. Hill, B. A. Wichmann and D. R. Woodall, Algorithm
123: single transferable vote by Meek's method, The Computer Journal, 1987.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from concordant.aggregate.election_counts import Count, CountModel, count_picture, count_reasons
from concordant.aggregate.explain.wording import listed
from concordant.aggregate.majorities import tie_notice
from concordant.aggregate.voting._meek import meek_count
from concordant.aggregate.voting._scottish import VALUE, scottish_count
from concordant.aggregate.voting._transfers import Result, elections
from concordant.ballots.vocabulary import shorten
from concordant.errors import NeedError, arg
from concordant.method import Method, Outcome
from concordant.models.notices import in_instances
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.results.explanation import Reason
from concordant.support.text import plain_number

MAX_VOTES = 2**62 // VALUE  # whose values fit into 64 bits


@dataclass(frozen=True, kw_only=True)
class STV(Method):
    """Multi-seat election by quota; surpluses and votes of excluded candidates transfer to next preferences."""

    usual_name = "single transferable vote"
    needs = frozenset({"whole weights"})
    silence = "the ballot is exhausted once all candidates it names are elected or excluded"
    waives = {"condorcet_consistency": "a candidate that everyone ranks second is excluded first"}
    aliases = {
        "single-transferable-vote": {},
        "wigm": {},
        "scottish-stv": {},
        "meek": {"rules": "meek"},
        "meek-stv": {"rules": "meek"},
    }

    seats: int = param(1, "number of candidates to elect", low=1)
    rules: str = param("scottish", "rules for the transfer of surpluses", choices=("scottish", "meek"))

    def needed(self) -> frozenset[str]:
        """Return the requirements: the Scottish rules require whole votes, because their quota is a whole number."""
        return self.needs if self.rules == "scottish" else frozenset()

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of tiers below every slot, and the count of every instance."""
        if self.rules == "scottish" and prefs.weight.sum() > MAX_VOTES:
            raise NeedError(
                f"stv by the Scottish rules counts up to {MAX_VOTES:,} votes: use " + arg("rules", "meek") + "."
            )
        rule = scottish_count if self.rules == "scottish" else meek_count
        results = [rule(election, self.seats) for election in elections(prefs)]
        score = [(result.tier.max(initial=0) - result.tier).astype(np.float64) for result in results]
        contested = [result.tally for result in results if len(result.tier)]
        return Outcome(
            np.concatenate([*score, np.empty(0)]),
            fit={
                "seats": float(self.seats),
                "quota": float(np.mean([tally.stages[-1].quota / tally.unit for tally in contested])),
                "stages": float(np.mean([len(tally.stages) for tally in contested])),
            },
            warnings=_notices(prefs, results),
            details={"elected": np.concatenate([*(result.share for result in results), np.empty(0)])},
            model=CountModel(prefs.instances, partial(_count_of, results)),
        )

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain every stage of the count."""
        count = _count(ranking)
        quota, total = plain_number(count.stages[0].quota), plain_number(_total(count))
        if self.rules == "scottish":
            opening = (
                f"{total} votes for {_seats(count.seats)}: the quota is {total} / {count.seats + 1}, rounded down, "
            )
            opening += f"plus 1 = {quota}."
        else:
            opening = f"{total} votes for {_seats(count.seats)}: the quota is {total} / {count.seats + 1} = {quota} at "
            opening += "first, and falls as ballots are exhausted."
        names = listed([shorten(label, 30) for label in count.elected])
        title = f"Elected by STV ({self.rules} rules): {names or 'nobody'}"
        return count_reasons(count, title, ranking.items, "stage", [opening])

    def picture(self, prefs: Preferences, ranking: Ranking) -> Callable[[], str] | None:
        """Return a function that draws the transfers of votes from stage to stage, or None for a single stage."""
        title = f"Transfers of votes: STV, {_seats(self.seats)}"
        return count_picture(_count(ranking), title, ranking.items, "stage")


def _count_of(results: Sequence[Result], instance: int) -> Count:
    """Return the count of an instance."""
    return results[instance].count


def _count(ranking: Ranking) -> Count:
    """Return the count of the ranking's instance."""
    model = ranking.model
    assert isinstance(model, CountModel)
    return model.count(ranking.instance)


def _total(count: Count) -> float:
    """Return the number of votes cast: those counted at the first stage plus empty ballots."""
    first = count.stages[0]
    return sum(first.votes.values()) + first.over


def _seats(n: int) -> str:
    return "1 seat" if n == 1 else f"{n} seats"


def _notices(prefs: Preferences, results: Sequence[Result]) -> tuple[Notice, ...]:
    """Return notices about ties and about counts that did not converge."""
    tie = np.concatenate([*(result.tally.tie for result in results), np.empty(0, np.uint8)])
    unsettled = [q for q, result in enumerate(results) if not result.tally.is_settled]
    not_converged = (
        f"the keep factors of elected candidates did not converge{in_instances(prefs, np.array(unsettled, np.int64))}"
    )
    together = "candidates tied at all stages and in Borda points; they were excluded together or stay tied"
    settled = "candidates tied in votes; ties were broken by earlier stages or Borda points"
    return (
        *([Notice("not-converged", not_converged)] if unsettled else []),
        *tie_notice(prefs, "unbroken-ties", f"{together}, and must be decided by lot", tie == 2),
        *tie_notice(prefs, "broken-ties", settled, tie == 1),
    )
