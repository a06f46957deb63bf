"""Ranked pairs: lock in majorities from strongest to weakest, skipping those that would close a cycle.

Majorities are sorted by decreasing ``strength`` (margin or winning votes). Ties are broken by fewer votes against, then
by the Borda score of the winner (higher first) and of the loser (lower first). Majorities that are equal in all of
these are considered together: those that contradict each other are left out, and the candidates may stay tied. If
another tie-breaking rule would give another order, a warning names the candidates.

Candidates with nobody above them in the locked order come first, tied if there are several (tied pairs lock nothing),
next those that are below the first tier only, and so on; the score is the number of tiers below. Like Schulze, the rule
elects from the Smith set and, apart from ties, is independent of clones; its result is easy to justify step by step.

Cost: the pairwise counts, a sort of all pairs, then at most candidates³/64. Reference: T. N. Tideman, Independence of
clones as a criterion for voting rules, Social Choice and Welfare, 1987.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concordant import kernels
from concordant.aggregate import options
from concordant.aggregate.explain.contests import Contest, shortest_chain
from concordant.aggregate.majorities import Majorities, majorities, strength, tie_notice, tiers_below
from concordant.aggregate.positional.borda import borda_levels
from concordant.method import Method, Outcome
from concordant.narrative.sentences import Scene, listed, number
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.types import Bools, Bytes, Floats, Int64s

SHOWN = 15  # majorities that the explanation lists


@dataclass(frozen=True, kw_only=True)
class RankedPairs(Method):
    """Majorities locked in from strongest to weakest, skipping those that create a cycle."""

    aliases = {"tideman": {}}
    matrices = 9
    by_parts = True

    strength: str = param("margins", "measure of the strength of a majority", choices=("margins", "winning-votes"))
    missing: str = options.missing()

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the number of tiers below every slot in the locked order."""
        majority = majorities(prefs, self.missing)
        is_above, dropped, contested = self._locked(prefs, majority)
        is_dropped = np.repeat(dropped > 0, np.diff(prefs.slot_ptr))
        text = "equally strong majorities contradict each other"
        return Outcome(
            tiers_below(majority, is_above),
            warnings=(
                *tie_notice(prefs, "unbroken-ties", f"{text} and were left out", contested & is_dropped),
                *tie_notice(
                    prefs,
                    "broken-ties",
                    f"{text}; ties were broken by votes against, then by Borda points",
                    contested & ~is_dropped,
                ),
            ),
        )

    def _locked(self, prefs: Preferences, majority: Majorities) -> tuple[Bytes, Int64s, Bytes]:
        """Return the locked order (flat m x m, row above column), the number of pairs left out, and affected slots."""
        strengths, borda = strength(majority, self.strength), borda_levels(prefs, self.missing)
        return kernels.lock_pairs(prefs.slot_ptr, strengths, majority.opposition, borda)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """List the majorities, strongest first: locked, or skipped with the cycle they would have closed."""
        contest = Contest(Scene(prefs, ranking, self.missing), majorities(prefs, self.missing))
        m = len(contest.scene.order)
        is_above = self._locked(prefs, contest.found)[0].reshape(m, m) > 0
        power = strength(contest.found, self.strength).reshape(m, m)
        return [contest.condorcet(), _locking(contest, power, is_above)]


def _locking(contest: Contest, power: Floats, is_above: Bools) -> Reason:
    """List which majorities are locked, strongest first, and why the others are skipped."""
    scene, names = contest.scene, contest.scene.names
    winner, loser = np.nonzero(power > 0)
    by_strength = np.lexsort((contest.support[loser, winner], -power[winner, loser]))
    pairs = [(int(winner[k]), int(loser[k])) for k in by_strength]
    if not pairs:
        text = f"There is no majority between any two candidates, so nothing is locked: {listed(names)}."
        return Reason("Majorities, strongest first", [text])
    skipped = [pair for pair in pairs if not is_above[pair]]
    shown = pairs[:SHOWN] + [pair for pair in pairs[SHOWN:] if not is_above[pair]][:SHOWN]
    rows = []
    for above, below in shown:
        state = "locked" if is_above[above, below] else _skipped(contest, power, is_above, above, below)
        rows.append(
            [f"{names[above]} over {names[below]}", contest.figures(above, below), number(power[above, below]), state]
        )
    first = [slot for slot in scene.order if scene.rank[slot] == 1]
    standing = (
        f"{listed([names[slot] for slot in first])} {'are' if len(first) > 1 else 'is'} below no other candidate."
    )
    sentences = [
        f"{len(pairs) - len(skipped):,} of {len(pairs):,} majorities are locked"
        + ("." if not skipped else f"; {len(skipped):,} are skipped because they contradict stronger ones."),
        f"In the locked order {standing}",
    ]
    if len(shown) < len(pairs):
        sentences.append(
            f"The table shows the {min(SHOWN, len(pairs))} strongest and the skipped ones, {len(shown):,} in total."
        )
    header = ["majority", "for-against", "strength", "result"]
    return Reason("Majorities, strongest first", sentences, header, rows, frozenset({1, 2}))


def _skipped(contest: Contest, power: Floats, is_above: Bools, one: int, two: int) -> str:
    """Name the cycle that the majority of ``one`` over ``two`` would have closed."""
    stronger = is_above & (power >= power[one, two])
    chain = shortest_chain(stronger, two, one)
    if not chain:
        return "left out: equally strong majorities contradict it"
    return "skipped: it would close the cycle " + " > ".join(contest.scene.names[slot] for slot in [one, *chain])
