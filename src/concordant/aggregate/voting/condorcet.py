"""Condorcet: the candidate that beats every other by majority, or the Smith set.

The Smith set is the smallest group whose members all beat everyone outside; a Condorcet winner is a Smith set of one.
``result="smith"`` ranks by iterated Smith sets: the Smith set first, then the Smith set of the remaining candidates,
and so on; the members of a set stay tied. ``result="winner"`` puts the Condorcet winner first and leaves all others
tied. The score is minus the number of sets above.

Use it to see what majorities alone decide, before a rule such as Schulze or ranked pairs resolves cycles. If there is
no Condorcet winner, a warning names the Smith set. ``fit`` contains the share of instances with a Condorcet winner
and the mean size of the Smith set.

Cost: the pairwise counts, then one sort by Copeland points. References: Condorcet, Essai sur l'application de
l'analyse, 1785; J. H. Smith, Aggregation of preferences with variable electorate, 1973.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.aggregate.explain.contests import Contest
from concordant.aggregate.majorities import majorities, smith_tiers
from concordant.method import Method, Outcome
from concordant.models.notices import in_instances
from concordant.narrative.sentences import Scene
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.results.explanation import Reason
from concordant.types import Int64s


@dataclass(frozen=True, kw_only=True)
class Condorcet(Method):
    """Iterated Smith sets: each tier is the smallest set that beats all candidates below it."""

    usual_name = "Condorcet (Smith sets)"
    matrices = 5
    by_parts = True
    renamed = {"output": "result"}

    result: str = param(
        "smith", "rank by iterated Smith sets, or only put a Condorcet winner first", choices=("smith", "winner")
    )
    missing: str = options.missing()

    def scores(self, prefs: Preferences) -> Outcome:
        """Return minus the number of sets above every slot."""
        tier = smith_tiers(majorities(prefs, self.missing))
        size = np.diff(prefs.slot_ptr)
        instance = views.instance_of_slot(prefs)
        smith_size = np.bincount(instance[tier == 0], minlength=len(size))
        if self.result == "winner":
            tier = np.where(smith_size[instance] == 1, np.minimum(tier, 1), 0)
        filled = smith_size[size > 0]
        fit = {"condorcet_winners": float((filled == 1).mean()), "smith_set_size": float(filled.mean())}
        return Outcome(0.0 - tier.astype(np.float64), fit=fit, warnings=_no_winner(prefs, tier, smith_size))

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Name the Condorcet winner or the top cycle, and list the head-to-head results."""
        contest = Contest(Scene(prefs, ranking, self.missing), majorities(prefs, self.missing))
        rule = (
            "A Condorcet winner is ranked first; all others are tied."
            if self.result == "winner"
            else "Each Smith set beats all candidates below it; its members share a rank."
        )
        return [contest.condorcet(), contest.records("Head-to-head results of the top candidates", [rule])]


def _no_winner(prefs: Preferences, tier: Int64s, smith_size: Int64s) -> tuple[Notice, ...]:
    """Return a notice about instances without a Condorcet winner, with the Smith set of the first one."""
    affected = np.flatnonzero(smith_size > 1)
    if not len(affected):
        return ()
    span = slice(int(prefs.slot_ptr[affected[0]]), int(prefs.slot_ptr[affected[0] + 1]))
    smith_set = prefs.items.take(prefs.slot_item[span][tier[span] == 0])
    where = in_instances(prefs, affected)
    text = f"no candidate beats all others by majority{where}; the Smith set is tied for first place"
    return (Notice("no-condorcet-winner", text, tuple(smith_set)),)
