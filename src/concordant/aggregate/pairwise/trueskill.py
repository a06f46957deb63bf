"""TrueSkill: a belief about every item's skill, sharpened by every game.

A skill is a normal distribution (mean, sigma). In a game every item shows a performance with standard deviation
``beta`` around its skill; whoever performs better by more than the draw margin wins, less is a draw. Each game updates
the beliefs by Bayes' rule (expectation propagation), surprising results and unsure skills moving most. Unlike Elo it
knows how sure it is, takes whole rankings of any length, and models draws. A ranking is a chain in which every item
meets the next one: a win, or a draw where the two are tied (as in the paper and in its implementations). Of a tie of
three or more the items meet in the order the ballot names them; ``ties="pairs"`` lets all of them draw with each
other, and beat all of the next place, whatever their order.

The score is the mean; ``conservative`` ranks by mean - 3 sigma, a skill the item has almost surely. ``drift`` lets
skills change between games. The draw margin follows from ``draw``, the share of draws between equals.

Refuses merged ballots, because their order is lost. Cost: one pass over the ballots, with an inner iteration for
ballots of more than two items. Reference: R. Herbrich, T. Minka and T. Graepel, TrueSkill: a Bayesian skill rating
system, NIPS 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from concordant import kernels, views
from concordant.aggregate import options
from concordant.aggregate.pairwise.elo import unplayed
from concordant.gather import segment_index
from concordant.kernels import links
from concordant.method import Method, Outcome
from concordant.models.fitted import ComparisonModel
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import snap
from concordant.types import Floats, Int64s


@dataclass(frozen=True, kw_only=True)
class Trueskill(Method):
    """Beliefs about skills, sharpened game by game, with draws and rankings of any length."""

    silence = "they did not play"
    errors_by_ballots = True
    needs = frozenset({"order"})
    waives = {
        "anonymity": "beliefs depend on the order of the games",
        "neutrality": "of three tied items the one named between the others draws twice",
        "condorcet_consistency": "late games count less than early ones",
    }

    mean: float = param(25.0, "mean skill before the first game")
    sigma: float = param(25.0 / 3, "standard deviation of a skill before the first game", low=1e-9)
    beta: float = param(25.0 / 6, "standard deviation of a performance around the skill", low=1e-9)
    drift: float = param(25.0 / 300, "standard deviation a skill gains before every game", low=0.0)
    draw: float = param(0.1, "share of draws between equal items", low=0.0, high=0.99)
    ties: str = param("chain", "who draws in a tie: neighbours on the ballot, or all pairs", choices=("chain", "pairs"))
    score: str = param("mean", "rank by the mean or by mean - 3 sigma", choices=("mean", "conservative"))
    level: float = options.level()

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the skills after all games, with intervals."""
        mean, sigma = kernels.trueskill_stream(
            views.ballots(prefs), self.mean, self.sigma, self.beta, self.drift, self.margin, self.ties == "pairs"
        )
        half = NormalDist().inv_cdf((1 + self.level) / 2) * sigma
        score = mean - 3 * sigma if self.score == "conservative" else mean
        scale = np.full(prefs.n_instances, 1e3 * max(1.0, abs(self.mean)))
        played = np.zeros(prefs.n_slots, bool)
        sizes = np.diff(prefs.indptr)
        played[prefs.entry_slot[np.repeat(sizes > 1, sizes)]] = True
        return Outcome(
            score=snap(score, segment_index(prefs.slot_ptr), scale),
            low=mean - half if self.score == "mean" else np.minimum(mean - half, score),
            high=mean + half,
            warnings=unplayed(prefs, played, "keep the skill they started with"),
            details={"stderr": sigma},
            model=SkillModel.of(
                prefs, mean, sigma=sigma, beta=self.beta, margin=self.margin, errors=Beliefs(prefs.slot_ptr, sigma)
            ),
        )

    @property
    def margin(self) -> float:
        """The difference of two performances below which a game is drawn."""
        return NormalDist().inv_cdf((self.draw + 1) / 2) * np.sqrt(2) * self.beta if self.draw > 0 else 0.0


@dataclass(frozen=True, eq=False)
class SkillModel(ComparisonModel):
    """Skills with their uncertainty, ready for questions about the next game; the scores are their means."""

    sigma: Floats
    beta: float
    margin: float

    @property
    def has_ties(self) -> bool:
        """Whether a game can be drawn."""
        return self.margin > 0

    def chances(self, first: Int64s, second: Int64s, order: Floats | float = 0.0) -> tuple[Floats, Floats, Floats]:
        """Return the chances that the first slot of each pair wins, loses and draws; nobody gains by being first."""
        lead = self.score[first] - self.score[second]
        spread = np.sqrt(self.sigma[first] ** 2 + self.sigma[second] ** 2 + 2 * self.beta**2)
        up, down = (
            links.chances(links.THURSTONE, (own - self.margin) / spread, np.zeros(len(lead)))[0]
            for own in (lead, -lead)
        )
        return up, down, np.maximum(1 - up - down, 0.0)


@dataclass(frozen=True, eq=False)
class Beliefs:
    """How sure skills are: beliefs about different items are independent."""

    slot_ptr: Int64s
    sigma: Floats

    def covariance(self, instance: int) -> Floats:
        """Return the covariance of the skills of an instance."""
        return np.diag(self.sigma[self.slot_ptr[instance] : self.slot_ptr[instance + 1]] ** 2)
