"""Base class of the choice models: hyper-parameters, fitting and warnings, with uncertainty computed on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.errors import arg
from concordant.method import Method, Outcome
from concordant.models.effects import ON_COEFFICIENTS, Effects, refuse
from concordant.models.fitted import StageModel
from concordant.models.likelihoods.evidence import PriorSearch
from concordant.models.likelihoods.observed import Observed, ObservedStages
from concordant.models.likelihoods.priors import Prior
from concordant.models.notices import LOOSE, OF_STAGES, Standing, stage_standing, standing_notices
from concordant.models.observations.contestants import Design, contest_of
from concordant.models.observations.designs import Designed, stage_standing_of
from concordant.models.observations.stages import Stages, Staging
from concordant.models.solve.objectives import Fit
from concordant.models.style_reasons import style_reasons
from concordant.models.uncertainty import ScoreErrors, UncertaintyOptions
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.results.explanation import Reason

TIE_OF_FITTED = 1e-8  # fitted scores this close, relative to the largest, are one score


@dataclass(frozen=True, kw_only=True)
class ChoiceModel(Method):
    """Base of the models in which items, or tiers, are chosen successively with probability proportional to worth."""

    takes_teams: ClassVar[bool] = True
    errors_by_ballots = True
    renamed = {"solver": ""}

    missing: str = options.missing_choices()
    style_control: bool = options.style_control()
    team_strength: str = options.team_strength()
    errors: str = param("hessian", "estimator of the standard errors", choices=("hessian", "none"))
    level: float = options.level()

    @property
    def log_odds(self) -> float | None:
        """Score difference that multiplies the odds of a win by e, between any two items."""
        return 1.0

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the lead, and how often the top items were chosen compared with the expected number."""
        from concordant.aggregate.stagewise._choices import choices_reason
        from concordant.narrative.sentences import Scene

        lead, model = super().reasons(prefs, ranking), ranking.model
        if not isinstance(model, StageModel) or self.contest(prefs)[1] is not None:
            return [*lead, *style_reasons(ranking)]
        return [*lead, choices_reason(Scene(prefs, ranking, self.missing), model.staging.stages(prefs))]

    def contest(self, prefs: Preferences) -> tuple[Preferences, Design | None]:
        """Return the ballots over contestants and the design of their strengths; None if contestants are items."""
        contest = contest_of(prefs, self.team_strength, self.style_control)
        if contest is None:
            return prefs, None
        if self.missing != "ignore":
            refuse(arg("missing", self.missing), arg("missing", "ignore"))
        return contest.prefs, contest.design

    def outcome(
        self,
        prefs: Preferences,
        staging: Staging,
        fits: list[Fit],
        doubt: float = 0.0,
        notices: tuple[Notice, ...] = (),
        design: Design | None = None,
    ) -> Outcome:
        """Return the outcome of fits: scores, fit statistics, uncertainty, notices and the model."""
        score = np.zeros(prefs.n_slots)
        for part in fits:
            score[part.slots] = part.score
        score = snap_scores(prefs, score, TIE_OF_FITTED, min_scale=1e-3)
        scale = [np.maximum(part.observed.total + part.prior.ridge, 1e-300) for part in fits]
        gradient = max(
            float((part.slack / scale_of_part).max(initial=0.0))
            for part, scale_of_part in zip(fits, scale, strict=True)
        )
        standing = self._standing(prefs, staging, fits, design)
        warnings = [*notices, *standing_notices(prefs, standing, OF_STAGES)]
        if gradient > LOOSE:
            warnings.append(Notice("no-convergence", "the fit did not converge, so the scores are approximate"))
        uncertainty_options, errors = UncertaintyOptions("hessian", self.level, seed=staging.seed), None
        if self.errors == "hessian":
            errors = ScoreErrors(prefs, fits, score, uncertainty_options, doubt)
        effects = Effects.of(self, prefs, design, fits, errors)
        if effects is not None:
            warnings += effects.notices()
        return Outcome(
            score=score,
            fit={
                "log_likelihood": float(sum(part.value.sum() for part in fits)),
                "prior": float(fits[0].prior.ridge[0]),
                "gradient": gradient,
                "steps": float(max(part.iterations.max(initial=0) for part in fits)),
            },
            warnings=tuple(warnings),
            uncertainty=errors,
            model=StageModel.of(
                prefs,
                score,
                staging=staging,
                errors=errors,
                coefficients={} if effects is None else effects.values,
                effects=effects,
            ),
            beside={} if effects is None else effects.beside(),
            coefficients=None if effects is None or not effects.design.names else partial(getattr, effects, "known"),
        )

    def _standing(
        self, prefs: Preferences, staging: Staging, fits: list[Fit], design: Design | None
    ) -> Standing | None:
        """Find the connected components of the comparison graph."""
        if design is not None:
            return stage_standing_of(design, staging.stages(self.contest(prefs)[0]))
        only = fits[0].observed if len(fits) == 1 else None
        return stage_standing(only.stages if isinstance(only, ObservedStages) else staging.stages(prefs))


def observed_of(stages: Stages, design: Design | None) -> Observed:
    """Return the observations to fit: choices of items, or of contestants."""
    observed = ObservedStages(stages)
    return observed if design is None else Designed(observed, design)


def prior_of(strength: float, kind: str, n_instances: int) -> Prior:
    """Return the same prior for every instance."""
    ridge = np.full(n_instances, float(strength))
    return Prior(ridge, ridge, kind == "gamma", on_coefficients=ON_COEFFICIENTS)


def chosen_prior(
    stages: Stages, strength: float | str, kind: str, design: Design | None = None
) -> tuple[float, float, list[Fit] | None]:
    """Return the prior ("auto": by marginal likelihood), the variance of its logarithm, and an initial fit."""
    if not isinstance(strength, str):
        return strength, 0.0, None
    search = search_of(stages, kind, design)
    best, doubt = search.best()
    return best, doubt, search.fitted(best)


def search_of(stages: Stages, kind: str, design: Design | None = None) -> PriorSearch:
    """Return the search for the prior of these choices."""
    n = len(stages.slot_ptr) - 1
    return PriorSearch(observed_of(stages, design), partial(prior_of, kind=kind, n_instances=n))
