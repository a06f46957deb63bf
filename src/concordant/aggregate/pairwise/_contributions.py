"""Why an item has its score: whom it met, what came of it, and how much each opponent counts.

At the fitted scores the pulls on item i balance: over all opponents j, sum_j g_ij + p_i = 0, with g_ij the slope of the
log-likelihood of their games in s_i (for Bradley-Terry what i won of them less what was expected) and p_i that of the
prior. With w_ij the curvature of these games and v_i that of the prior, the score is therefore exactly a weighted mean

    s_i = (sum_j w_ij (s_i + g_ij / w_ij) + v_i (s_i + p_i / v_i)) / (sum_j w_ij + v_i)

of what the games with each opponent speak for, s_i + g_ij / w_ij (the opponent's score and the lead these games alone
show, to first order), and of what the prior speaks for: the middle, 0, for a normal one. Games that could go either way
weigh most; a sure win says little. A term divided by the common denominator is the *contribution* of the opponent, and
contributions add up to the score.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant.ballots.segments import sum_by
from concordant.kernels import links
from concordant.models.likelihoods.priors import Prior
from concordant.models.observations.duels import Duels
from concordant.narrative.sentences import Scene, listed, number
from concordant.results.explanation import Reason
from concordant.support.text import number_format
from concordant.types import Floats, Int64s

OPPONENTS = 6  # that the table of an item shows
TOLD = 2  # items whose opponents are listed
FORMULA = (
    "A score is exactly the weighted mean of what the comparisons with each opponent speak for and what the prior "
    "does: those that could go either way weigh most, and contributions (weight x what they speak for) add up to the "
    "score."
)


@dataclass(frozen=True, eq=False)
class Met:
    """What one item met, by opponent (slots): records, points won and expected, weights and contributions."""

    opponent: Int64s
    won: Floats
    lost: Floats
    tied: Floats
    expected: Floats
    """Points (a tie is half) that the scores lead to expect."""
    weight: Floats
    """The share of all weights that falls to the opponent."""
    contribution: Floats
    prior_weight: float
    prior_contribution: float

    @property
    def points(self) -> Floats:
        """Points won of each opponent; a tie is half a point."""
        return np.asarray(self.won + self.tied / 2)

    @property
    def games(self) -> Floats:
        """How much was counted against each opponent."""
        return np.asarray(self.won + self.lost + self.tied)

    @property
    def share(self) -> float:
        """The share of all points that the item won."""
        return float(self.points.sum() / max(self.games.sum(), 1e-300))

    def strength(self, score: Floats) -> float:
        """Return the mean score of the opponents, by games."""
        return float(self.games @ score[self.opponent] / max(self.games.sum(), 1e-300))


@dataclass(frozen=True, eq=False)
class Contributions:
    """The duels of one instance under a fitted model, row by row from both sides."""

    duels: Duels
    link: int
    score: Floats
    advantage: float
    tie: float
    prior: Prior

    @cached_property
    def _rows(self) -> tuple[links.Terms, Floats]:
        """Return slope and curve of every row in the lead of its first item, and the points expected of it."""
        d = self.duels
        order = d.order if len(d.order) else np.zeros(len(d.first))
        lead = self.score[d.first] - self.score[d.second] + order * self.advantage
        tie = np.full(len(lead), self.tie)
        up, _, even = links.chances(self.link, lead, tie)
        return links.terms(self.link, lead, tie, d.won, d.lost, d.tied), (up + even / 2) * d.total

    def of(self, slot: int) -> Met:
        """Tell what an item met."""
        d, (terms, expected) = self.duels, self._rows
        home, away = np.flatnonzero(d.first == slot), np.flatnonzero(d.second == slot)
        rows = np.concatenate([home, away])
        is_home = np.arange(len(rows)) < len(home)
        opponent, code = np.unique(np.where(is_home, d.second[rows], d.first[rows]), return_inverse=True)

        def by_opponent(own: Floats) -> Floats:
            return sum_by(code.reshape(-1), own, len(opponent))

        sign = np.where(is_home, 1.0, -1.0)
        weight, pull = by_opponent(terms.curve[rows]), by_opponent(sign * terms.slope[rows])
        own = float(self.score[slot])
        bend = float(self._bend[slot])
        whole = float(weight.sum()) + bend
        scale = 1 / whole if whole > 0 else 0.0
        return Met(
            opponent.astype(np.int64),
            by_opponent(np.where(is_home, d.won[rows], d.lost[rows])),
            by_opponent(np.where(is_home, d.lost[rows], d.won[rows])),
            by_opponent(d.tied[rows]),
            by_opponent(np.where(is_home, expected[rows], d.total[rows] - expected[rows])),
            weight * scale,
            (weight * own + pull) * scale,
            bend * scale,
            (bend * own + float(self._slope[slot])) * scale,
        )

    @cached_property
    def _slope(self) -> Floats:
        return self.prior.slope(self.score, self.duels.slot_ptr)

    @cached_property
    def _bend(self) -> Floats:
        if self.prior.basis is not None:  # then it speaks for what the properties explain
            return np.full(len(self.score), float(self.prior.ridge[0]))
        return self.prior.pull(self.score, self.duels.slot_ptr)


def told(scene: Scene, found: Contributions) -> list[Reason]:
    """Say what the first ones met: records and strengths side by side, then opponent by opponent."""
    met = {slot: found.of(slot) for slot in scene.order[: len(scene.top) + 1]}
    if not any(len(one.opponent) for one in met.values()):
        return []
    said = [sentence for pair in scene.neighbours for sentence in _compared(scene, found, met, *pair)]
    rows = []
    write = number_format([float(found.score[slot]) for slot in met])
    for slot in scene.top:
        one = met[slot]
        figures = [f"{one.share:.0%}", f"{one.strength(found.score):.3f}"] if one.games.sum() else ["-", "-"]
        expected = f"{number(one.points.sum())} ({one.expected.sum():.1f})"
        own = [str(scene.rank[slot]), scene.names[slot], write(float(found.score[slot])), f"{one.games.sum():,.6g}"]
        rows.append([*own, expected, *figures, f"{one.prior_weight:.0%}"])
    header = ["rank", "item", "score", "compared", "points (expected)", "won", "opponents' mean", "prior's weight"]
    return [
        Reason("Who beat whom", said, header, rows, frozenset(range(8)) - {1}),
        *(_opponents(scene, found, slot, met[slot]) for slot in scene.order[:TOLD] if len(met[slot].opponent)),
    ]


def _compared(scene: Scene, found: Contributions, met: dict[int, Met], one: int, two: int) -> list[str]:
    """Say why one stands above the next in spite of a worse record, where that is so."""
    a, b, names = met[one], met[two], scene.names
    if scene.rank[one] >= scene.rank[two] or not (len(a.opponent) and len(b.opponent)) or a.share >= b.share:
        return []
    strength = a.strength(found.score), b.strength(found.score)
    worse = f"{names[one]} scores above {names[two]} although {names[two]} won more of its comparisons "
    worse += f"({b.share:.1%} against {a.share:.1%}), "
    if strength[0] > strength[1]:
        reason = (
            f"because {names[one]}'s opponents were stronger (mean score {strength[0]:.3f} against {strength[1]:.3f})."
        )
    elif b.prior_weight > a.prior_weight:
        reason = (
            "because the prior, which draws scores of rarely seen items to the middle, counts for "
            f"{b.prior_weight:.0%} of {names[two]} and {a.prior_weight:.0%} of {names[one]}."
        )
    else:
        reason = "because of whom it won against: comparisons that could go either way weigh most."
    return [worse + reason]


def _opponents(scene: Scene, found: Contributions, slot: int, met: Met) -> Reason:
    """List the opponents that weigh most, all others together, and the prior; contributions add up to the score."""
    order = np.argsort(-met.weight, kind="stable")
    shown, rest = order[:OPPONENTS], order[OPPONENTS:]
    records = (met.won, met.lost, met.tied)
    rows = [
        [
            scene.names[other], f"{found.score[other]:.4f}", "-".join(number(float(x[k])) for x in records),
            f"{met.points[k]:,.6g} ({met.expected[k]:.1f})", *_shares(met.weight[k], met.contribution[k]),
        ]
        for k, other in zip(shown.tolist(), met.opponent[shown].tolist(), strict=True)
    ]  # fmt: skip
    if len(rest):
        record = "-".join(number(float(x[rest].sum())) for x in records)
        points = f"{met.points[rest].sum():,.6g} ({met.expected[rest].sum():.1f})"
        others = _shares(met.weight[rest].sum(), met.contribution[rest].sum())
        rows.append([f"{len(rest):,} other{'s' * (len(rest) > 1)}", "", record, points, *others])
    if met.prior_weight > 0:
        rows.append(["the prior", "", "", "", *_shares(met.prior_weight, met.prior_contribution)])
    rows.append(["all", "", "", "", *_shares(1.0, float(found.score[slot]))])
    header = ["opponent", "its score", "won-lost-tied", "points (expected)", "speak for", "weight", "contribution"]
    gained = met.points - met.expected
    best, worst = (
        [
            scene.names[int(met.opponent[k])]
            for k in np.argsort(-sign * gained, kind="stable")[:2]
            if sign * gained[k] > 0.05
        ]
        for sign in (1, -1)
    )
    said = [FORMULA] if slot == scene.order[0] else []
    if best:
        said.append(f"It did better than its score leads to expect against {listed(best)}.")
    if worst:
        said.append(f"It did worse against {listed(worst)}.")
    return Reason(f"What makes the score of {scene.names[slot]}", said, header, rows, frozenset(range(1, 7)))


def _shares(weight: float, contribution: float) -> list[str]:
    """Write what comparisons speak for, their weight and what they contribute."""
    speak_for = f"{contribution / weight:.4f}" if weight > 1e-9 else "-"
    return [speak_for, f"{weight:.1%}", f"{contribution:.4f}"]
