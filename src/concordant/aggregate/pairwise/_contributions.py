"""Decomposition of a score into the contributions of its opponents and the prior.

At the fitted scores the gradient is zero for every item i:

    sum_j g_ij + p_i = 0

g_ij is the gradient in s_i of the log-likelihood of the games between i and j (for Bradley-Terry, actual minus expected
wins), and p_i that of the log prior. With w_ij the curvature of these games and v_i that of the prior, the score is
therefore exactly a weighted mean:

    s_i = (sum_j w_ij (s_i + g_ij / w_ij) + v_i (s_i + p_i / v_i)) / (sum_j w_ij + v_i)

Here s_i + g_ij / w_ij is the score implied by the games with opponent j alone, to first order: the opponent's score
plus the lead these games show. The score implied by a Gaussian prior is its mean, 0. Close games have the largest
weights; an expected win has little. The *contribution* of an opponent is its term divided by the common denominator;
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
    "The score is the weighted mean of the scores implied by the comparisons with each opponent and by the "
    "prior. Close comparisons have the largest weights. Contributions (weight x implied score) add up to the score."
)


@dataclass(frozen=True, eq=False)
class Met:
    """The games of one item, by opponent: records, points won and expected, weights, and contributions."""

    opponent: Int64s
    won: Floats
    lost: Floats
    tied: Floats
    expected: Floats
    """Points (half for a tie) expected from the scores."""
    weight: Floats
    """The opponent's share of the total weight."""
    contribution: Floats
    prior_weight: float
    prior_contribution: float

    @property
    def points(self) -> Floats:
        """Points won against each opponent; a tie is half a point."""
        return np.asarray(self.won + self.tied / 2)

    @property
    def games(self) -> Floats:
        """The number (weight) of comparisons with each opponent."""
        return np.asarray(self.won + self.lost + self.tied)

    @property
    def share(self) -> float:
        """The share of all points that the item won."""
        return float(self.points.sum() / max(self.games.sum(), 1e-300))

    def strength(self, score: Floats) -> float:
        """Return the mean score of the opponents, weighted by games."""
        return float(self.games @ score[self.opponent] / max(self.games.sum(), 1e-300))


@dataclass(frozen=True, eq=False)
class Contributions:
    """The pairwise comparisons of one instance under a fitted model, a row for each side."""

    duels: Duels
    link: int
    score: Floats
    advantage: float
    tie: float
    prior: Prior
    factor: float = 1.0
    """Factor and shift from these scores to those of the ranking, if it is on another scale."""
    shift: float = 0.0

    @cached_property
    def shown(self) -> Floats:
        """The scores on the scale of the ranking."""
        return self.factor * self.score + self.shift

    def written(self, value: float, decimals: int = 4) -> str:
        """Return a score as text, with one decimal on the Elo scale."""
        return f"{value:.{decimals if self.factor == 1 else 1}f}"

    @cached_property
    def _rows(self) -> tuple[links.Terms, Floats]:
        """Return gradient and curvature of every pair in its score difference, and the expected points of its first
        item.
        """
        d = self.duels
        order = d.order if len(d.order) else np.zeros(len(d.first))
        lead = self.score[d.first] - self.score[d.second] + order * self.advantage
        tie = np.full(len(lead), self.tie)
        up, _, even = links.chances(self.link, lead, tie)
        return links.terms(self.link, lead, tie, d.won, d.lost, d.tied), (up + even / 2) * d.total

    def of(self, slot: int) -> Met:
        """Decompose the score of an item: records, weights and contributions by opponent, and those of the prior.

        An opponent's weight is the curvature of the games between the two; its contribution is (weight * score +
        gradient) / sum of weights.
        """
        duels, (terms, expected) = self.duels, self._rows
        home, away = np.flatnonzero(duels.first == slot), np.flatnonzero(duels.second == slot)
        rows = np.concatenate([home, away])
        is_home = np.arange(len(rows)) < len(home)
        opponent, code = np.unique(np.where(is_home, duels.second[rows], duels.first[rows]), return_inverse=True)

        def by_opponent(score: Floats) -> Floats:
            return sum_by(code.reshape(-1), score, len(opponent))

        sign = np.where(is_home, 1.0, -1.0)
        weight, slope = by_opponent(terms.curve[rows]), by_opponent(sign * terms.slope[rows])
        score = float(self.score[slot])
        prior_curve = float(self._bend[slot])
        total_weight = float(weight.sum()) + prior_curve
        scale = 1 / total_weight if total_weight > 0 else 0.0
        return Met(
            opponent.astype(np.int64),
            by_opponent(np.where(is_home, duels.won[rows], duels.lost[rows])),
            by_opponent(np.where(is_home, duels.lost[rows], duels.won[rows])),
            by_opponent(duels.tied[rows]),
            by_opponent(np.where(is_home, expected[rows], duels.total[rows] - expected[rows])),
            weight * scale,
            self.factor * (weight * score + slope) * scale + self.shift * weight * scale,
            prior_curve * scale,
            self.factor * (prior_curve * score + float(self._slope[slot])) * scale + self.shift * prior_curve * scale,
        )

    @cached_property
    def _slope(self) -> Floats:
        """The gradient of the log prior by slot."""
        return self.prior.slope(self.score, self.duels.slot_ptr)

    @cached_property
    def _bend(self) -> Floats:
        """The curvature of the prior by slot."""
        if self.prior.basis is not None:  # then it speaks for what the properties explain
            return np.full(len(self.score), float(self.prior.ridge[0]))
        return self.prior.pull(self.score, self.duels.slot_ptr)


def told(scene: Scene, contributions: Contributions) -> list[Reason]:
    """Explain the scores of the top items by their records, the strength of their opponents, and each opponent."""
    met = {slot: contributions.of(slot) for slot in scene.order[: len(scene.top) + 1]}
    if not any(len(of_item.opponent) for of_item in met.values()):
        return []
    sentences = [sentence for pair in scene.neighbours for sentence in _compared(scene, contributions, met, *pair)]
    rows = []
    write = number_format([float(contributions.shown[slot]) for slot in met])
    for slot in scene.top:
        of_item = met[slot]
        figures = (
            [f"{of_item.share:.0%}", contributions.written(of_item.strength(contributions.shown), 3)]
            if of_item.games.sum()
            else ["-", "-"]
        )
        expected = f"{number(of_item.points.sum())} ({of_item.expected.sum():.1f})"
        first_columns = [
            str(scene.rank[slot]),
            scene.names[slot],
            write(float(contributions.shown[slot])),
            f"{of_item.games.sum():,.6g}",
        ]
        rows.append([*first_columns, expected, *figures, f"{of_item.prior_weight:.0%}"])
    header = [
        "rank",
        "item",
        "score",
        "comparisons",
        "points (expected)",
        "share won",
        "opponents' mean score",
        "prior weight",
    ]
    return [
        Reason("Records and opponents", sentences, header, rows, frozenset(range(8)) - {1}),
        *(_opponents(scene, contributions, slot, met[slot]) for slot in scene.order[:TOLD] if len(met[slot].opponent)),
    ]


def _compared(scene: Scene, contributions: Contributions, met: dict[int, Met], one: int, two: int) -> list[str]:
    """Explain why ``one`` ranks above ``two`` despite a smaller share of wins; empty if its share is not smaller."""
    a, b, names = met[one], met[two], scene.names
    if scene.rank[one] >= scene.rank[two] or not (len(a.opponent) and len(b.opponent)) or a.share >= b.share:
        return []
    strength = a.strength(contributions.shown), b.strength(contributions.shown)
    claim = f"{names[one]} ranks above {names[two]} although {names[two]} won a larger share of its comparisons "
    claim += f"({b.share:.1%} against {a.share:.1%}), "
    if strength[0] > strength[1]:
        means = [contributions.written(mean, 3) for mean in strength]
        reason = f"because {names[one]}'s opponents were stronger (mean score {means[0]} against {means[1]})."
    elif b.prior_weight > a.prior_weight:
        reason = (
            "because the prior, which shrinks scores of items with few comparisons towards their mean, has a weight of "
            f"{b.prior_weight:.0%} for {names[two]} and {a.prior_weight:.0%} for {names[one]}."
        )
    else:
        reason = "because of the opponents it beat: close comparisons have the largest weights."
    return [claim + reason]


def _opponents(scene: Scene, contributions: Contributions, slot: int, met: Met) -> Reason:
    """List the opponents with the largest weights, the sum of the others, and the prior."""
    order = np.argsort(-met.weight, kind="stable")
    shown, rest = order[:OPPONENTS], order[OPPONENTS:]
    records = (met.won, met.lost, met.tied)
    rows = [
        [
            scene.names[rival], contributions.written(contributions.shown[rival]),
            "-".join(number(float(x[k])) for x in records), f"{met.points[k]:,.6g} ({met.expected[k]:.1f})",
            *_shares(contributions, met.weight[k], met.contribution[k]),
        ]
        for k, rival in zip(shown.tolist(), met.opponent[shown].tolist(), strict=True)
    ]  # fmt: skip
    if len(rest):
        record = "-".join(number(float(x[rest].sum())) for x in records)
        points = f"{met.points[rest].sum():,.6g} ({met.expected[rest].sum():.1f})"
        figures = _shares(contributions, met.weight[rest].sum(), met.contribution[rest].sum())
        rows.append([f"{len(rest):,} other{'s' * (len(rest) > 1)}", "", record, points, *figures])
    if met.prior_weight > 0:
        rows.append(["prior", "", "", "", *_shares(contributions, met.prior_weight, met.prior_contribution)])
    rows.append(["total", "", "", "", *_shares(contributions, 1.0, float(contributions.shown[slot]))])
    header = ["opponent", "score", "won-lost-tied", "points (expected)", "implied score", "weight", "contribution"]
    gained = met.points - met.expected
    best, worst = (
        [
            scene.names[int(met.opponent[k])]
            for k in np.argsort(-sign * gained, kind="stable")[:2]
            if sign * gained[k] > 0.05
        ]
        for sign in (1, -1)
    )
    sentences = [FORMULA] if slot == scene.order[0] else []
    if best:
        sentences.append(f"It won more than expected against {listed(best)}.")
    if worst:
        sentences.append(f"It won less than expected against {listed(worst)}.")
    return Reason(f"Contributions to the score of {scene.names[slot]}", sentences, header, rows, frozenset(range(1, 7)))


def _shares(contributions: Contributions, weight: float, contribution: float) -> list[str]:
    """Return the columns of a table row: implied score, weight and contribution."""
    speak_for = contributions.written(contribution / weight) if weight > 1e-9 else "-"
    return [speak_for, f"{weight:.1%}", contributions.written(contribution)]
