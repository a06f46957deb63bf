"""Explanations of consensus rankings: total distance, overruled majorities, and the cycles that cause them.

A ranking that agreed with the majority on every pair would have the smallest conceivable total distance. If majorities
are cyclic there is no such ranking, and some must be overruled. The explanation lists them with their votes and the
cycle that each of them closes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from concordant import kernels
from concordant.aggregate.explain.contests import Contest, shortest_chain
from concordant.aggregate.majorities import majorities
from concordant.method import Method
from concordant.narrative.sentences import Scene, listed, number
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.solvers.ordering.costs import PairCosts, pair_costs

MAX_CANDIDATES = 2_000  # candidates up to which the pairs are counted for an explanation
SHOWN = 10  # overruled majorities that are listed


class WeighsMajorities(Method):
    """Base class of methods whose consensus is explained by the majorities it follows and overrules."""

    renamed = {"output": "result"}
    missing: str

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the total distance of the consensus, its proof of optimality, and the majorities it overrules."""
        if prefs.n_slots > MAX_CANDIDATES:
            return super().reasons(prefs, ranking)
        contest = Contest(Scene(prefs, ranking, self.missing), majorities(prefs, self.missing))
        sentences = [*_first(contest), *self._price(prefs, ranking), *self.proof(ranking)]
        return [Reason("The consensus", sentences), contest.condorcet(), *_overruled(contest)]

    def proof(self, ranking: Ranking) -> list[str]:
        """Return sentences on the quality of the consensus; methods with an optimality proof override this."""
        return []

    def _price(self, prefs: Preferences, ranking: Ranking) -> list[str]:
        """Return a sentence on the total distance of the ranking and its lower bound from the majorities."""
        costs, weight = pair_costs(prefs, self.missing), float(prefs.weight.sum())
        total = costs.total(ranking.rank_by_slot.astype(np.int64))
        if not weight or len(ranking.score) < 2:
            return []
        bound = _lower_bound(costs)
        sentence = f"Its total distance to all ballots is {number(total)}, {number(total / weight)} per ballot"
        if total <= bound:
            return [f"{sentence}: it agrees with the majority on every pair, so no ranking has a smaller distance."]
        return [
            f"{sentence}; if every pair could agree with its majority it would be {number(bound)}, "
            f"{100 * (total - bound) / total:.2g}% less."
        ]


def _lower_bound(costs: PairCosts) -> float:
    """Return a lower bound on the total cost: the sum of the cheapest order, or tie, of every pair."""
    after = kernels.transpose_matrices(costs.slot_ptr, costs.before)
    cheapest = np.minimum(np.minimum(costs.before, after), costs.tied)
    m = int(costs.slot_ptr[-1])
    np.fill_diagonal(cheapest.reshape(m, m), 0.0)
    return float(cheapest.sum() / 2 * costs.unit[0])


def _first(contest: Contest) -> list[str]:
    """Return a sentence that names the winner."""
    scene = contest.scene
    first = [scene.names[slot] for slot in scene.order if scene.rank[slot] == 1]
    return [f"{listed(first)} {'rank' if len(first) > 1 else 'ranks'} first of {len(scene.order):,}."]


def _overruled(contest: Contest) -> list[Reason]:
    """List the majorities that the ranking overrules, largest first, with the cycle that explains each."""
    scene = contest.scene
    rank = np.array(scene.rank)
    winner, loser = np.nonzero(contest.beats)
    if not len(winner):
        return []
    is_overruled = rank[winner] > rank[loser]
    n_tied, count = int((rank[winner] == rank[loser]).sum()), int(is_overruled.sum())
    sentences = [f"The ranking agrees with {len(winner) - count - n_tied:,} of {len(winner):,} majorities."]
    if n_tied:
        sentences.append(f"It ties the candidates of {n_tied:,} majorities.")
    if not count:
        return [Reason("The majorities", sentences)]
    followed = contest.beats & (rank[:, None] < rank[None, :])
    margin = contest.margin[winner, loser]
    largest = sorted(np.flatnonzero(is_overruled).tolist(), key=lambda k: (-margin[k], rank[loser[k]], rank[winner[k]]))
    rows = []
    for k in largest[:SHOWN]:
        above, below = int(loser[k]), int(winner[k])  # the ranking puts the loser of the duel above
        chain = shortest_chain(followed, above, below) or shortest_chain(contest.beats, above, below)
        cycle = " > ".join(scene.names[slot] for slot in [below, *chain]) if chain else "no cycle"
        rows.append([f"{scene.names[above]} above {scene.names[below]}", contest.duel(below, above), cycle])
    reason = "each is part of a cycle, and no ranking can follow every majority of a cycle"
    if any(row[2] == "no cycle" for row in rows):
        reason = "the rows without a cycle show that another ranking has a smaller total distance"
    sentences.append(f"It overrules {count:,}: {reason}.")
    if count > SHOWN:
        sentences.append(f"The {SHOWN} largest are shown.")
    return [Reason("The majorities", sentences, ["ranked", "overruled", "cycle of majorities"], rows)]
