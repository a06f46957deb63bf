"""Covariate coefficients after a fit: estimates, standard errors, warnings, and their use for other preferences.

Each coefficient has a weak Gaussian prior (``ON_COEFFICIENTS``, in standard units), which matters only where the data
do not identify the coefficient. A notice names these coefficients. Their covariates are constant within ballots,
collinear with other covariates or with the items, or separate the outcomes perfectly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from concordant.errors import InputError, ParameterError, action, arg, phrase
from concordant.models.notices import named, notice_on
from concordant.models.observations.contestants import TEAM_SIZE, Contest, Design, contest_of
from concordant.models.solve.objectives import Fit
from concordant.models.uncertainty import ScoreErrors, simultaneous
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.results.coefficients import Coefficient
from concordant.support.brief import Brief
from concordant.types import AnyArray, Floats, Int64s

if TYPE_CHECKING:
    from concordant.models.fitted import FittedModel

M = TypeVar("M", bound="FittedModel")
ON_COEFFICIENTS = 1e-4
DECIDES = 0.01  # share of a coefficient's precision that comes from its prior, from which the prior decides


@dataclass(frozen=True, eq=False, repr=False)
class Effects(Brief):
    """The coefficients of a fit, with their errors and notices."""

    prefs: Preferences
    design: Design
    fits: list[Fit]
    team_strength: str
    errors: ScoreErrors | None = None
    level: float = 0.95
    plain: Callable[[], Ranking] | None = None
    """Computes the ranking without covariates."""

    @classmethod
    def of(
        cls, method: Any, prefs: Preferences, design: Design | None, fits: list[Fit], errors: ScoreErrors | None
    ) -> Effects | None:
        """Return the effects that a method estimated; None without teams and covariates."""
        if design is None:
            return None
        has_covariates = bool(method.style_control and prefs.covariates)
        plain = replace(method, style_control=False).with_learnt(**method.learnt) if has_covariates else None
        ranked = None if plain is None else partial(plain.rank, prefs)
        return cls(prefs, design, fits, method.team_strength, errors, method.level, ranked)

    @cached_property
    def uncorrected(self) -> Ranking | None:
        """The ranking without covariates; None if no covariates were used."""
        return None if self.plain is None else self.plain()

    @cached_property
    def known(self) -> tuple[Coefficient, ...]:
        """All coefficients with their standard errors, instance by instance."""
        half, out = simultaneous(self.level), []
        parts = self.fits if self.errors is None else self.errors.parts
        for part in sorted(parts, key=lambda fit: int(fit.instances[0])):
            label = None if self.prefs.instances is None else self.prefs.instances[int(part.instances[0])]
            for k, name in enumerate(self.design.names):
                unit = self.design.spread[k] or 1.0
                coefficient = Coefficient(
                    name, float(part.coefficient[0, k] / unit), float(self.design.spread[k]), instance=label
                )
                if self.errors is not None:
                    stderr = float(np.sqrt(max(part.coefficient_covariance[k, k], 0.0)) / unit)
                    coefficient = replace(
                        coefficient,
                        stderr=stderr,
                        low=coefficient.value - half * stderr,
                        high=coefficient.value + half * stderr,
                    )
                out.append(coefficient)
        return tuple(out)

    @property
    def values(self) -> dict[str, float]:
        """The coefficients by name, for a single instance; ``ranking.coefficients`` has those of several."""
        if len(self.fits) != 1:
            return {}
        unit = np.where(self.design.spread > 0, self.design.spread, 1.0)
        return dict(zip(self.design.names, (self.fits[0].coefficient[0] / unit).tolist(), strict=True))

    def beside(self) -> dict[str, AnyArray]:
        """Return rank and score of the ranking without covariates, as additional columns."""
        if self.uncorrected is None:
            return {}
        return {"uncorrected_rank": self.uncorrected.rank_by_slot, "uncorrected_score": self.uncorrected.score}

    def notices(self) -> list[Notice]:
        """Return notices on coefficients that only the prior determines, and on items the data cannot distinguish."""
        notices, unknown, constant = [], set(), set()
        if self.design.inseparable.any():
            text = "these items were always in the same teams, so the data cannot separate them: their scores are equal"
            notices.append(notice_on(self.prefs, "inseparable", text, self.design.inseparable))
        for part in (fit for fit in self.fits if fit.observed.total[0] > 0):
            share = ON_COEFFICIENTS * np.diag(_among_coefficients(part))
            for name, of_prior, spread in zip(self.design.names, share, self.design.spread, strict=True):
                if spread == 0:
                    constant.add(name)
                elif of_prior > DECIDES:
                    unknown.add(name)
        if constant:
            text = "these covariates never differ within a ballot, so they have no effect"
            notices.append(Notice("constant-covariate", f"{text}: {named(sorted(constant))}"))
        if unknown:
            text = (
                "only a weak prior keeps the coefficients of these covariates finite: they explain every outcome, do "
                "not differ, or are collinear with each other or with the items, so neither they nor the corrected "
                "scores are reliable"
            )
            notices.append(Notice("undecided-covariate", f"{text}: {named(sorted(unknown))}"))
        return notices

    def lifted(self, model: M, prefs: Preferences) -> tuple[M, Preferences]:
        """Return the model over the contestants of other preferences, and those preferences over contestants."""
        prefs, slot = model.known_part(prefs)
        contest = contest_of(prefs, self.team_strength, style_control=self.plain is not None)
        if contest is None:
            contest = _as_they_are(prefs)
        instance = model.instances_of(prefs, slot)
        coefficients = self._translated(contest.design, instance)
        strengths = contest.design.strengths(model.score[slot], coefficients)
        contest_prefs = contest.prefs
        return model.moved_to(contest_prefs, strengths, instance), contest_prefs

    def _translated(self, design: Design, instance: Int64s) -> Floats:
        """Return the coefficients of these instances (rows) in the standard units of another design."""
        place = {name: k for k, name in enumerate(self.design.names)}
        by_instance = np.zeros((len(self.fits), len(self.design.names)))
        for part in self.fits:
            by_instance[part.instances] = part.coefficient
        unit = np.where(self.design.spread > 0, self.design.spread, 1.0)
        out = np.zeros((len(instance), len(design.names)))
        for k, name in enumerate(design.names):
            if name in place:
                column = place[name]
                out[:, k] = by_instance[instance, column] / unit[column] * design.spread[k]
            elif name != TEAM_SIZE:
                raise InputError(f"This model was fitted without the covariate {name!r}: omit it, or refit.")
        return out


def _as_they_are(prefs: Preferences) -> Contest:
    """Return preferences as a ``Contest`` whose contestants are single items, without covariates."""
    n = prefs.n_slots
    ptr = np.arange(n + 1)  # one member per contestant
    design = Design(prefs.slot_ptr, prefs.slot_ptr, ptr, np.arange(n), np.ones(n), np.zeros((n, 0)))
    return Contest(prefs, design)


def _among_coefficients(part: Fit) -> Floats:
    """Return the covariance of the coefficients: their block of the inverse negative Hessian."""
    if not part.coefficient.shape[1]:
        return np.zeros((0, 0))
    return part.objective(0).among_others()[-part.coefficient.shape[1] :, -part.coefficient.shape[1] :]


def refuse(what: str, use: str) -> None:
    """Raise an error for a setting that supports neither teams nor covariates."""
    raise ParameterError(
        phrase(
            "{} supports neither teams nor covariates: use {}, or leave them out with {}{}.",
            *(what, use, arg("style_control", False), action("no_teams", " and prefs.replace(team=None)")),
        )
    )
