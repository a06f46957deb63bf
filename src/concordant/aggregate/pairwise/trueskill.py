"""TrueSkill: Gaussian beliefs about skills, updated after every game by Bayes' rule.

A skill has a normal distribution (mean, sigma). In a game every item shows a performance with standard deviation
``beta`` around its skill; the better performance wins if it leads by more than the draw margin, otherwise the game is
drawn. Each game updates the beliefs by expectation propagation; surprising results and uncertain skills change most.
Unlike Elo the method estimates its uncertainty, accepts rankings of any length, and models draws.

A ranking is a chain of games between adjacent items: a win, or a draw if the two are tied (as in the paper and its
implementations). The items of a tie of three or more meet in the order of the ballot; with ``ties="pairs"`` all of them
draw with each other and beat all items of the next place, whatever their order.

The performance of a team is the sum of its members' performances, and the update of the sum is divided among them: the
member with the most uncertain skill changes most. Teams may differ in size; the draw margin grows with the number of
players, so that equal teams draw as often as equal items. ``ranking.model.p_beats(["a", "b"], ["c", "d"])`` is the
probability that one team beats another; it adds the variances of all skills, which are independent by construction (the
posterior is a product of one normal distribution per item).

The score is the mean; ``conservative`` ranks by mean - 3 sigma, a skill that the item almost certainly exceeds.
``drift`` lets skills change between games. ``draw``, the share of draws between equals, determines the draw margin.
``ranking.history`` has the beliefs over time, ``forecasts`` the predictions made before each game. Merged ballots are
rejected, because their order is lost.

Cost: one pass over the ballots, with an inner iteration for ballots of more than two items. Reference: R. Herbrich, T.
Minka and T. Graepel, TrueSkill: a Bayesian skill rating system, NIPS 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np

from concordant import kernels, views
from concordant.aggregate import options
from concordant.aggregate.pairwise._following import Following, before, history_of, replayed, unplayed
from concordant.ballots.segments import segment_index
from concordant.errors import InputError
from concordant.kernels import links
from concordant.method import Outcome
from concordant.models.fitted import ComparisonModel
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Ranking, snap
from concordant.results.explanation import Reason
from concordant.results.histories import History
from concordant.support.brief import Brief
from concordant.types import Floats, Int64s


@dataclass(frozen=True, kw_only=True)
class Trueskill(Following):
    """Gaussian beliefs about skills, updated game by game, for matches, draws and rankings of any length."""

    usual_name = "TrueSkill"
    likelihood_of = ""  # that of the final beliefs
    takes_teams = True
    errors_by_ballots = True
    waives = {
        "anonymity": "skill estimates depend on the order of the games",
        "neutrality": "of three tied items, the middle one on the ballot draws twice",
        "condorcet_consistency": "later games count less than earlier ones",
    }

    mean: float = param(25.0, "initial mean skill")
    sigma: float = param(25.0 / 3, "initial standard deviation of a skill", low=1e-9)
    beta: float = param(25.0 / 6, "standard deviation of performance around the skill", low=1e-9)
    drift: float = param(25.0 / 300, "standard deviation of the change in skill before each game", low=0.0)
    draw: float = param(0.1, "probability of a draw between equal items", low=0.0, high=0.99)
    ties: str = param(
        "chain", "pairs of tied items that count as draws: adjacent on the ballot, or all", choices=("chain", "pairs")
    )
    score: str = param("mean", "rank by the mean or by mean - 3 sigma", choices=("mean", "conservative"))
    level: float = options.level()

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the skills after all games, with intervals."""
        mean, sigma, _, _ = self._played(prefs, has_trail=False)
        score, low, high = self._shown(mean, sigma)
        scale = np.full(prefs.n_instances, 1e3 * max(1.0, abs(self.mean)))
        played = np.zeros(prefs.n_slots, bool)
        played[prefs.entry_slot[views.has_opponents(prefs)]] = True
        return Outcome(
            score=snap(score, segment_index(prefs.slot_ptr), scale),
            low=low,
            high=high,
            warnings=unplayed(prefs, played, "keep their initial skill"),
            details={"stderr": sigma},
            model=SkillModel.of(
                prefs, mean, sigma=sigma, beta=self.beta, margin=self.margin, errors=Beliefs(prefs.slot_ptr, sigma)
            ),
            history=partial(self._history, prefs),
        )

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain ratings by the records of the top items and the rating changes of their most recent games."""
        from concordant.aggregate.pairwise._games import games_reasons
        from concordant.narrative.sentences import Scene

        start = self.mean - 3 * self.sigma if self.score == "conservative" else self.mean
        played = games_reasons(Scene(prefs, ranking), start, lambda part: self.scores(part).score)
        return [*super().reasons(prefs, ranking), *played]

    def _played(self, prefs: Preferences, has_trail: bool) -> tuple[Floats, Floats, Floats, Floats]:
        """Return mean and sigma of every slot after all games, and (``has_trail``) both after each entry."""
        team = np.empty(0, np.int32) if prefs.team is None else prefs.team
        beliefs = self.mean, self.sigma, self.beta, self.drift, self.margin
        ballots, is_paired = views.ballots(replayed(prefs)), self.ties == "pairs"
        return kernels.trueskill_stream(ballots, team, *beliefs, is_paired, has_trail)

    def _shown(self, mean: Floats, sigma: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the score that items are ranked by, and the bounds of its interval."""
        half = NormalDist().inv_cdf((1 + self.level) / 2) * sigma
        if self.score == "mean":
            return mean, mean - half, mean + half
        score = mean - 3 * sigma
        return score, np.minimum(mean - half, score), mean + half

    def _history(self, prefs: Preferences) -> History:
        return history_of(prefs, *self._shown(*self._played(prefs, has_trail=True)[2:]))

    def _predicted(self, prefs: Preferences, ballot: Int64s) -> Floats:
        """Return, for these two-item ballots, the win probability of the first entry before the ballot was cast."""
        trails = self._played(prefs, has_trail=True)[2:]
        mean, sigma = (
            before(prefs, trail, start) for trail, start in zip(trails, (self.mean, self.sigma), strict=True)
        )
        first = prefs.indptr[ballot]
        spread = np.sqrt(sigma[first] ** 2 + sigma[first + 1] ** 2 + 2 * (self.drift**2 + self.beta**2))
        lead = (mean[first] - mean[first + 1] - self.margin) / spread
        return links.chances(links.THURSTONE, lead, np.zeros(len(lead)))[0]

    @property
    def margin(self) -> float:
        """The draw margin: performances that differ by less are a draw."""
        return NormalDist().inv_cdf((self.draw + 1) / 2) * np.sqrt(2) * self.beta if self.draw > 0 else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class SkillModel(ComparisonModel):
    """Skills with their uncertainty, which predict the next game; the scores are the means."""

    sigma: Floats
    beta: float
    margin: float

    @property
    def has_ties(self) -> bool:
        """Whether a game can be drawn."""
        return self.margin > 0

    def p_beats(self, a: object, b: object, instance: object = None) -> float:
        """Return the probability that ``a`` beats ``b``; a list of items is a team."""
        return float(self._between(a, b, instance)[0][0])

    def p_tie(self, a: object, b: object, instance: object = None) -> float:
        """Return the probability that ``a`` and ``b`` draw; a list of items is a team."""
        return float(self._between(a, b, instance)[2][0])

    def chances(self, first: Int64s, second: Int64s, order: Floats | float = 0.0) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities that the first slot of each pair wins, loses and draws; ``order`` is ignored."""
        lead = self.score[first] - self.score[second]
        return self._chances(lead, self.sigma[first] ** 2 + self.sigma[second] ** 2, 2)

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other preferences; unknown candidates are ignored."""
        self._check_single(prefs)
        return super().log_likelihood(prefs)

    def pair_log_likelihood(self, prefs: Preferences) -> tuple[float, float]:
        """Return the log-likelihood of the strict pairs of other preferences, given no draw, and their weight."""
        self._check_single(prefs)
        return super().pair_log_likelihood(prefs)

    @staticmethod
    def _check_single(prefs: Preferences) -> None:
        if prefs.team is not None:
            raise InputError("The likelihood of team matches is not available: use p_beats with two teams.")

    def _between(self, a: object, b: object, instance: object) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities that team ``a`` wins, loses and draws against ``b``; a single item is a
        team of one.
        """
        sides = [list(side) if isinstance(side, (list, tuple)) else [side] for side in (a, b)]
        first, second = (np.array([self.slot(item, instance) for item in side], np.int64) for side in sides)
        if not len(first) or not len(second) or len({*first.tolist(), *second.tolist()}) < len(first) + len(second):
            raise InputError("A match needs two teams without common items, each with at least one item.")
        lead = self.score[first].sum() - self.score[second].sum()
        variance = (self.sigma[first] ** 2).sum() + (self.sigma[second] ** 2).sum()
        return self._chances(np.array([lead]), np.array([variance]), len(first) + len(second))

    def _chances(self, lead: Floats, variance: Floats, players: int) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities of a win, a loss and a draw; ``players`` is the number of items on both sides."""
        spread, margin = np.sqrt(variance + players * self.beta**2), self.margin * np.sqrt(players / 2)
        up, down = (
            links.chances(links.THURSTONE, (lead_of_side - margin) / spread, np.zeros(len(lead)))[0]
            for lead_of_side in (lead, -lead)
        )
        return up, down, np.maximum(1 - up - down, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Beliefs(Brief):
    """The covariance of the skills: beliefs about different items are independent."""

    slot_ptr: Int64s
    sigma: Floats

    def covariance(self, instance: int) -> Floats:
        """Return the covariance of the skills of an instance."""
        return np.diag(self.sigma[self.slot_ptr[instance] : self.slot_ptr[instance + 1]] ** 2)
