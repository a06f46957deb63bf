"""From a fit of stages to what a reader gets: scores, fit and warnings at once, uncertainty when asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from concordant import kernels
from concordant.aggregate.common import snap_scores
from concordant.method import Outcome
from concordant.models.fitted import StageModel
from concordant.models.notices import LOOSE, OF_STAGES, notice_on, stage_standing, standing_notices
from concordant.models.stages import SMALL, StageFit, Stages, Staging
from concordant.models.uncertainty import BEST_DRAWS, REACH, simultaneous
from concordant.preferences import Preferences
from concordant.ranking import Notice, Uncertainty
from concordant.types import AnyArray, Floats

TIE_OF_FITTED = 1e-8  # fitted scores this close, relative to the largest, are one score


@dataclass(frozen=True, eq=False)
class StageErrors:
    """The uncertainty of scores fitted to stages, found when first asked for."""

    prefs: Preferences
    score: Floats
    refit: Callable[[], StageFit]
    level: float
    seed: int | None

    def known(self) -> Uncertainty:
        """Return intervals, standard errors, ranks that hold together, and the chances to be the best."""
        return self._known

    @cached_property
    def fit(self) -> StageFit:
        """The fit with its covariances."""
        return self.refit()

    @cached_property
    def _known(self) -> Uncertainty:
        prefs, fit = self.prefs, self.fit
        assert fit.covariance is not None
        lacking = ~fit.is_definite & (np.diff(prefs.slot_ptr) > 1)
        if lacking.any():
            text = (
                "the likelihood is flat or curves upwards at these scores (with ties, unequal scores may fit better "
                "either way), or there are too many items, so there are no standard errors; a stronger or a gamma "
                "prior helps"
            )
            slots = np.repeat(lacking, np.diff(prefs.slot_ptr))
            return Uncertainty(warnings=(notice_on(prefs, "no-errors", text, slots),))
        stderr = np.sqrt(np.maximum(_diagonals(prefs, fit.covariance), 0.0))
        half = simultaneous(self.level) * stderr
        details = {"stderr": stderr, **_ranks(prefs, self.score, fit.covariance, self.level, self.seed)}
        return Uncertainty(self.score - half, self.score + half, details)

    def covariance(self, instance: int) -> Floats | None:
        """Return the covariance of the scores of an instance; None where it does not exist."""
        size = np.diff(self.prefs.slot_ptr)
        start, m = int((size[:instance] ** 2).sum()), int(size[instance])
        if self.fit.covariance is None or not self.fit.is_definite[instance]:
            return None
        return self.fit.covariance[start : start + m * m].reshape(m, m)


def outcome_of(
    prefs: Preferences,
    staging: Staging,
    stages: Stages,
    fit: StageFit,
    *,
    prior: float,
    errors: Callable[[Floats], StageErrors] | None,
    told: tuple[Notice, ...],
) -> Outcome:
    """Return scores with their fit and warnings."""
    score = snap_scores(prefs, fit.score, TIE_OF_FITTED, least=1e-3)
    warnings = [*told, *standing_notices(prefs, stage_standing(stages), OF_STAGES)]
    if fit.norm > LOOSE:
        warnings.append(Notice("no-convergence", "the fit did not converge, so the scores are approximate"))
    known = None if errors is None else errors(score)
    return Outcome(
        score=score,
        fit={
            "log_likelihood": fit.log_likelihood,
            "prior": prior,
            "gradient": fit.norm,
            "steps": float(fit.steps),
        },
        warnings=tuple(warnings),
        uncertainty=known,
        model=StageModel.of(prefs, score, staging=staging, errors=known),
    )


def _diagonals(prefs: Preferences, covariance: Floats) -> Floats:
    size = np.diff(prefs.slot_ptr)
    start = np.concatenate([[0], np.cumsum(size**2)])[:-1]
    local = np.arange(prefs.n_slots) - np.repeat(prefs.slot_ptr[:-1], size)
    return np.asarray(covariance[np.repeat(start, size) + local * (np.repeat(size, size) + 1)])


def _ranks(
    prefs: Preferences, score: Floats, covariance: Floats, level: float, seed: int | None
) -> dict[str, AnyArray]:
    """Return ranks that hold together at this level, and the chance to be the best."""
    size = np.diff(prefs.slot_ptr)
    critical = np.array([simultaneous(level, n * (n - 1) // 2) for n in size.tolist()])
    low, high = kernels.rank_bounds(prefs.slot_ptr, score, covariance, critical)
    details: dict[str, AnyArray] = {"rank_low": low, "rank_high": high}
    if size.max(initial=0) <= SMALL:
        draws = np.random.default_rng(seed).standard_normal((BEST_DRAWS, int(size.max(initial=1))))
        details["p_best"] = kernels.best_chances(prefs.slot_ptr, score, covariance, draws, REACH)
    return details
