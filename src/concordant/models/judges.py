"""Judges of pairs: the strength of their shrinkage, the fitted model that knows them, and their table.

The precisions of the priors on the position biases and on the discriminations of the judges, and that of the prior on
the scores, are chosen together by marginal likelihood: one after the other, until none of them changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from concordant.ballots.segments import sum_by
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.kernels import links
from concordant.models.fitted import PairModel, decided_pairs
from concordant.models.likelihoods.evidence import PriorSearch, choose_prior, log_evidence
from concordant.models.likelihoods.observed import Observed
from concordant.models.likelihoods.priors import Prior
from concordant.models.observations.duels import Counting, Duels
from concordant.models.observations.judged import JudgedDuels, centred, judged_rows, leads
from concordant.models.solve.objectives import Fit
from concordant.models.uncertainty import ScoreErrors, simultaneous
from concordant.preferences import Preferences
from concordant.support import progress
from concordant.support.display import Block, Displayed, DisplayTable, text
from concordant.support.text import interval_cells, interval_heading, number_format
from concordant.types import Bools, Floats

USUAL = 4.0  # precision of judges whose effects have a standard deviation of one half
ROUNDS = 6  # of the search for all precisions
SHOWN = 50  # judges in a table for people


@dataclass(frozen=True)
class Shrinkage:
    """The precision of the prior on the scores, the variance of its logarithm, and the precision of each effect."""

    prior: float
    doubt: float = 0.0
    start: list[Fit] | None = None
    precision: Mapping[str, float] = field(default_factory=dict)

    def applied(self, prior: Prior, observed: Observed) -> Prior:
        """Return a prior with the precisions of the effects of judges, if there are any."""
        return _with_judges(prior, observed, self.precision) if isinstance(observed, JudgedDuels) else prior

    def deviations(self) -> dict[str, float]:
        """Return the standard deviation of every effect between judges, as figures of a fit."""
        return {f"judge_{effect}_sd": float(value**-0.5) for effect, value in self.precision.items()}


def _with_judges(prior: Prior, observed: JudgedDuels, precision: Mapping[str, float]) -> Prior:
    """Return a prior with these precisions of the effects of judges."""
    by_parameter = np.repeat([precision[effect] for effect in observed.effects], observed.n_judges)
    return replace(prior, on_coefficients=by_parameter)


def choose_shrinkage(
    observed: JudgedDuels, prior_of: Callable[[float], Prior], prior: float | str, unit: float = 1.0
) -> Shrinkage:
    """Choose the precisions by marginal likelihood; that of the scores unless it is given as a number.

    ``unit`` is the number of observations over which the log-likelihood is averaged (see ``PriorSearch.best``).
    """
    chosen, doubt, times = 1 / unit if isinstance(prior, str) else prior, 0.0, 1.0
    precision, fits = dict.fromkeys(observed.effects, USUAL), []

    def searched(effect: str | None) -> PriorSearch:
        """Return the search along one precision, with the others at their present values."""
        if effect is None:
            return PriorSearch(observed, lambda value: _with_judges(prior_of(value), observed, precision))
        of_scores, others = prior_of(chosen), dict(precision)
        return PriorSearch(observed, lambda value: _with_judges(of_scores, observed, others | {effect: value}))

    with progress.stage("choosing the shrinkage of judges"):
        for _ in range(ROUNDS):
            before = (chosen, *precision.values())
            if isinstance(prior, str):
                search = searched(None)
                times = search.dispersion(unit)
                chosen, doubt = search.best(times, times * unit)
            for effect in observed.effects:
                search = searched(effect)
                precision[effect], _ = choose_prior(_evidence(search, observed.n_judges, times), USUAL)
                fits = search.fitted(precision[effect])
            if before == (chosen, *precision.values()):
                break
    return Shrinkage(chosen, doubt, fits, precision)


def _evidence(search: PriorSearch, n_judges: int, times: float) -> Callable[[float], float]:
    """Return the evidence of a precision of one effect of the judges, with the constant of its prior."""
    constant = n_judges / 2
    return lambda value: log_evidence(search.fitted(value), times, False) + constant * float(np.log(value))


# ---- what is known of the judges ----
@dataclass(frozen=True, eq=False, repr=False)
class JudgeEffects(Displayed):
    """The discrimination and the position bias of every judge, shrunk towards those of the average judge.

    Attributes
    ----------
    judges : list of str
        The names of the judges.
    votes : array
        The number of votes of each judge.
    skill, bias : array or None
        By judge, the discrimination (mean: 1, random answers: 0, reversed answers: below 0), and the position bias in
        log odds for the item shown first; None if it was not estimated.
    level : float
        The confidence level of the intervals.
    """

    agents: Vocabulary
    observed: JudgedDuels
    part: Callable[[], Fit]
    has_errors: bool
    level: float

    @property
    def judges(self) -> list[str]:
        """The names of the judges."""
        return list(map(str, self.agents.labels))

    @cached_property
    def votes(self) -> Floats:
        """The number of votes of each judge."""
        return sum_by(self.observed.judge, self.observed.duels.total, self.observed.n_judges)

    @cached_property
    def _fit(self) -> Fit:
        return self.part()

    @cached_property
    def deviations(self) -> tuple[Floats, Floats]:
        """The deviations of position bias, and the discriminations, by judge."""
        return self.observed.split(self._fit.coefficient[0])

    @property
    def skill(self) -> Floats | None:
        """The discrimination of each judge."""
        return self.deviations[1] if "skill" in self.observed.effects else None

    @property
    def bias(self) -> Floats | None:
        """The position bias of each judge: the common position bias plus the deviation of the judge."""
        return self._fit.advantage[0] + self.deviations[0] if "bias" in self.observed.effects else None

    @property
    def discrimination(self) -> dict[str, float] | None:
        """The discrimination of each judge by name; None if it was not estimated."""
        return None if self.skill is None else dict(zip(self.judges, self.skill.tolist(), strict=True))

    def stderr(self, effect: str) -> Floats | None:
        """Return the standard errors of an effect (skill or bias), from the joint Hessian; None without errors."""
        if not self.has_errors or effect not in self.observed.effects:
            return None
        n, place = self.observed.n_judges, self.observed.effects.index(effect)
        block = slice(place * n, (place + 1) * n)
        covariance = self._fit.coefficient_covariance[block, block]
        variance = np.diag(centred(centred(covariance).T) if effect == "skill" else covariance)
        if effect == "bias":  # of the sum of the common bias and the deviation
            likelihood = self._fit.objective(0).likelihood
            shared = likelihood.extras()["advantage"] - likelihood.m
            among = self._fit.objective(0).among_others()
            first = len(among) - likelihood.n_coefficients + place * n
            variance = variance + among[shared, shared] + 2 * among[shared, first : first + n]
        return np.sqrt(np.maximum(variance, 0.0))

    def columns(self) -> dict[str, Any]:
        """Return the table: a row per judge, sorted by discrimination, or by position bias.

        Returns
        -------
        dict of str to array
            The columns.
        """
        half, columns = simultaneous(self.level), {"judge": np.array(self.judges, object), "votes": self.votes}
        for name, effect, values in (("discrimination", "skill", self.skill), ("position_bias", "bias", self.bias)):
            if values is None:
                continue
            columns[name] = values
            stderr = self.stderr(effect)
            if stderr is not None:
                columns |= {f"{name}_low": values - half * stderr, f"{name}_high": values + half * stderr}
        by = self.skill if self.skill is not None else self.bias
        order = np.argsort(-np.asarray(by), kind="stable")
        return {name: values[order] for name, values in columns.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return plain data, a dictionary per judge.

        Returns
        -------
        list of dict
            The rows of the table.
        """
        columns = {name: values.tolist() for name, values in self.columns().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def blocks(self) -> list[Block]:
        """Return the table for people.

        Returns
        -------
        list of DisplayTable
            The table.
        """
        columns = {name: values.tolist()[:SHOWN] for name, values in self.columns().items()}
        cells = [("judge", list(map(shorten, columns["judge"]))), ("votes", [f"{n:,.6g}" for n in columns["votes"]])]
        for name in ("discrimination", "position_bias"):
            if name not in columns:
                continue
            low, high = (columns.get(f"{name}_{side}", []) for side in ("low", "high"))
            write = number_format(columns[name], [*low, *high])
            cells.append((name.replace("_", " "), list(map(write, columns[name]))))
            if low:
                cells.append((interval_heading(self.level), interval_cells(low, high, write)))
        header, values = zip(*cells, strict=True)
        more = len(self.judges) - SHOWN
        notes = [f"… {more:,} more judges"] if more > 0 else []
        return [
            DisplayTable(header, list(zip(*values, strict=True)), set(range(1, len(header))), "judge effects", notes)
        ]

    def __repr__(self) -> str:
        return text(self.blocks())

    @classmethod
    def of(
        cls, prefs: Preferences, observed: JudgedDuels, fits: list[Fit], errors: ScoreErrors | None, level: float
    ) -> JudgeEffects:
        """Return the effects that a fit estimated."""
        assert prefs.agents is not None
        part = (lambda: fits[0]) if errors is None else (lambda: errors.parts[0])
        return cls(prefs.agents, observed, part, errors is not None, level)


@dataclass(frozen=True, eq=False, repr=False)
class JudgedModel(PairModel):
    """A model of pairwise comparisons that knows the judges; probabilities are those of the average judge.

    The log-likelihood of other preferences uses the effects of the judges it knows, and the average for others.
    """

    judges: JudgeEffects = field(kw_only=True)

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other preferences; candidates unknown to this model are left out."""
        duels, (up, down, even) = self._judged(prefs)
        won, lost, tied = duels.won, duels.lost, duels.tied
        if not self.has_ties:
            won, lost, tied = won + tied / 2, lost + tied / 2, np.zeros(len(tied))
        tiny = np.finfo(float).tiny
        terms = ((won, up), (lost, down), (tied, even))
        return float(sum(weight @ np.log(np.maximum(chance, tiny)) for weight, chance in terms))

    def pair_log_likelihood(self, prefs: Preferences) -> tuple[float, float]:
        """Return the log-probability of the strict pairs of other preferences, given no tie, and their total weight."""
        duels, chances = self._judged(prefs)
        return decided_pairs(chances, duels.won, duels.lost)

    def _judged(self, prefs: Preferences) -> tuple[Duels, tuple[Floats, Floats, Floats]]:
        """Return the counts of other preferences by judge, and the probabilities of win, loss and tie of every row."""
        prefs, slot = self.known_part(prefs)
        duels, judge = judged_rows(prefs, Counting(order_effect=self.counting.order_effect))
        assert prefs.agents is not None
        number = self.judges.agents.codes(prefs.agents)
        bias, skill = self.judges.deviations
        known: Bools = number >= 0
        bias, skill = np.where(known, bias[number], 0.0), np.where(known, skill[number], 1.0)
        lead = leads(duels, judge, self.score[slot], float(self.advantage[0]), bias, skill)
        return duels, links.chances(self.link, lead, np.full(len(lead), float(self.tie[0])))
