"""What the models of choices share: hyper-parameters, fitting, warnings; uncertainty when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.method import Method, Outcome
from concordant.models.evidence import PriorSearch
from concordant.models.first_order import fit_by
from concordant.models.fitted import StageModel
from concordant.models.likelihoods import ObservedStages
from concordant.models.notices import LOOSE, OF_STAGES, stage_standing, standing_notices
from concordant.models.priors import Prior
from concordant.models.solve import Fit, fit
from concordant.models.stages import Stages, Staging
from concordant.models.uncertainty import Asked, ScoreErrors
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice

TIE_OF_FITTED = 1e-8  # fitted scores this close, relative to the largest, are one score
LARGEST_IN_BATCH = 256  # candidates up to which Newton's method is asked for in the kernel


@dataclass(frozen=True, kw_only=True)
class ChoiceModel(Method):
    """Base of the models in which items, or tiers of them, are chosen one after the other in proportion to worth."""

    errors_by_ballots = True
    missing: str = options.missing_choices()
    solver: str = param("auto", "how the scores are found", choices=("auto", "newton", "lbfgs", "mm"))
    errors: str = param("hessian", "where standard errors come from", choices=("hessian", "none"))
    level: float = options.level()

    def fitted(self, stages: Stages, prior: Prior, start: list[Fit] | None = None) -> list[Fit]:
        """Fit every instance by the solver asked for."""
        observed = ObservedStages(stages)
        if self.solver in ("lbfgs", "mm"):
            return fit_by(self.solver, observed, prior)
        way = None
        if self.solver == "newton":
            way = "batch" if np.diff(stages.slot_ptr).max(initial=0) <= LARGEST_IN_BATCH else "matrix"
        return fit(observed, prior, start, way=way)

    def outcome(
        self,
        prefs: Preferences,
        staging: Staging,
        fits: list[Fit],
        doubt: float = 0.0,
        told: tuple[Notice, ...] = (),
    ) -> Outcome:
        """Return scores with their fit and warnings."""
        score = np.zeros(prefs.n_slots)
        for one in fits:
            score[one.slots] = one.score
        score = snap_scores(prefs, score, TIE_OF_FITTED, least=1e-3)
        scale = [np.maximum(one.observed.total + one.prior.ridge, 1e-300) for one in fits]
        left = max(float((one.slack / by).max(initial=0.0)) for one, by in zip(fits, scale, strict=True))
        observed = [one.observed for one in fits if isinstance(one.observed, ObservedStages)]
        found = stage_standing(observed[0].stages if len(observed) == 1 else staging.stages(prefs))
        warnings = [*told, *standing_notices(prefs, found, OF_STAGES)]
        if left > LOOSE:
            warnings.append(Notice("no-convergence", "the fit did not converge, so the scores are approximate"))
        asked, errors = Asked("hessian", self.level, seed=staging.seed), None
        if self.errors == "hessian":
            errors = ScoreErrors(prefs, fits, score, asked, doubt)
        return Outcome(
            score=score,
            fit={
                "log_likelihood": float(sum(one.value.sum() for one in fits)),
                "prior": float(fits[0].prior.ridge[0]),
                "gradient": left,
                "steps": float(max(one.iterations.max(initial=0) for one in fits)),
            },
            warnings=tuple(warnings),
            uncertainty=errors,
            model=StageModel.of(prefs, score, staging=staging, errors=errors),
        )


def prior_of(strength: float, kind: str, n_instances: int) -> Prior:
    """Return the same prior for every instance."""
    ridge = np.full(n_instances, float(strength))
    return Prior(ridge, ridge, kind == "gamma")


def chosen_prior(stages: Stages, strength: float | str, kind: str) -> tuple[float, float, list[Fit] | None]:
    """Return the prior's strength, by evidence where it is "auto", the variance of its logarithm, and a fit."""
    if not isinstance(strength, str):
        return strength, 0.0, None
    search = search_of(stages, kind)
    best, doubt = search.best()
    return best, doubt, search.fitted(best)


def search_of(stages: Stages, kind: str) -> PriorSearch:
    """Return the search for the prior of these choices."""
    n = len(stages.slot_ptr) - 1
    return PriorSearch(ObservedStages(stages), partial(prior_of, kind=kind, n_instances=n))
