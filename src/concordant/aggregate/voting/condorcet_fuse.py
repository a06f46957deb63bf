"""Condorcet fuse: an order in which no candidate is beaten by the next one.

Such an order (a Hamiltonian path of the majority graph) always exists. It is found by insertion sort: each candidate
moves up as long as a majority prefers it to the one ahead. The order puts the Smith set first, and the rule is the
classic Condorcet method for merging search results. A cycle allows many such orders: candidates are inserted in Borda
order, and those tied in Borda points in input order. Adjacent candidates that tie by majority and by Borda points
share a rank.

Cost: the pairwise counts, then at most candidates². Reference: M. Montague and J. A. Aslam, Condorcet fusion for
improved retrieval, CIKM 2002.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.aggregate import options
from concordant.aggregate.explain.contests import Contest
from concordant.aggregate.majorities import majorities
from concordant.aggregate.positional.borda import borda_levels
from concordant.ballots.segments import first_of
from concordant.method import Method
from concordant.narrative.sentences import Scene
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Floats


@dataclass(frozen=True, kw_only=True)
class CondorcetFuse(Method):
    """Hamiltonian path of the majority graph: no candidate is beaten by the next one."""

    usual_name = "Condorcet-fuse"
    matrices = 4
    by_parts = True
    waives = {"neutrality": "a cycle of candidates with equal Borda points is broken by input order"}

    missing: str = options.missing()

    def scores(self, prefs: Preferences) -> Floats:
        """Return minus the position of every slot in the order.

        Adjacent candidates that are tied share the better position.
        """
        majority = majorities(prefs, self.missing)
        borda = borda_levels(prefs, self.missing)
        first = first_of(prefs.slot_ptr)
        start = np.lexsort((-borda, first))
        path = kernels.majority_path(prefs.slot_ptr, majority.margin, start)
        ahead, behind = path[:-1], path[1:]
        is_inside = first[ahead] == first[behind]
        pair = np.where(is_inside, majority.row_start[ahead] + behind - first[behind], 0)
        is_level = is_inside & (majority.margin[pair] == 0) & (borda[ahead] == borda[behind])
        begins_rank = np.append(True, ~is_level)
        position = np.maximum.accumulate(np.where(begins_rank, np.arange(len(path)), 0)) - first
        score = np.empty(len(path))
        score[path] = 0.0 - position
        return score

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """List the pairwise contests of adjacent candidates at the top: the one ahead never loses."""
        contest = Contest(Scene(prefs, ranking, self.missing), majorities(prefs, self.missing))
        path = contest.neighbours("No candidate is beaten by the next one", lambda a, b: [f"{contest.duel(a, b)}."])
        return [
            contest.condorcet(),
            *([path] if path.sentences else []),
            contest.records("Head-to-head results of the top candidates"),
        ]
